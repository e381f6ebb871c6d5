//! Chat templates: lookup in a model's file, and rendering.

use std::borrow::Cow;
use std::sync::OnceLock;

use inferno_gguf::Metadata;
use inferno_jinja::{Context, Limits, Template};
use inferno_tokenizer::{TokenizerError, special_token_texts};
use serde_json::Value;

use crate::form::{Probe, detect};
use crate::message_form::MessageForm;
use crate::tool_adapter::adapted;
use crate::tools::with_descriptions;
use crate::{AnswerForm, ChatRequest, ChatTemplateError};

/// The metadata key of the chat template; a suffix names further templates.
const CHAT_TEMPLATE: &str = "tokenizer.chat_template";

/// The template that turns a conversation into the prompt format a model was trained on.
///
/// ```
/// use inferno_chat::{ChatRequest, ChatTemplate};
///
/// let template = ChatTemplate::new("{{ bos_token }}{{ messages | length }} messages")?
///     .with_special_tokens([("bos_token", "<s>")]);
/// assert_eq!(template.render(&ChatRequest::new([]))?, "<s>0 messages");
/// # Ok::<(), inferno_chat::ChatTemplateError>(())
/// ```
#[derive(Debug)]
pub struct ChatTemplate {
    template: Template,
    /// The template for requests with tools, if the file has a separate one.
    tool_use: Option<Template>,
    /// The source of all templates.
    source: String,
    special_tokens: Vec<(String, String)>,
    fixed_time: Option<String>,
    /// Whether control tokens in the contents of messages are parsed.
    parses_contents: bool,
    /// How the template reads messages, found when it is first needed.
    message_form: OnceLock<MessageForm>,
    /// The form of answers and what the template supports, found when it is first needed.
    detected: OnceLock<(AnswerForm, Probe)>,
}

impl ChatTemplate {
    /// Parses a template.
    ///
    /// **Errors**: [`ChatTemplateError::Syntax`].
    pub fn new(source: &str) -> Result<Self, ChatTemplateError> {
        Ok(Self {
            template: Template::parse(source)?,
            tool_use: None,
            source: source.to_owned(),
            special_tokens: Vec::new(),
            fixed_time: None,
            parses_contents: false,
            message_form: OnceLock::new(),
            detected: OnceLock::new(),
        })
    }

    /// Parses the templates in a model's metadata, with its special tokens; `None` if it has no
    /// template.
    ///
    /// **Errors**: [`ChatTemplateError::Syntax`]; a metadata key of the wrong type.
    pub fn from_metadata(metadata: &Metadata) -> Result<Option<Self>, ChatTemplateError> {
        let source_of = |key: &str| metadata.optional::<&str>(key).map_err(TokenizerError::from);
        let Some(source) = source_of(CHAT_TEMPLATE)? else {
            return Ok(None);
        };
        let mut template = Self::new(source)?.with_special_tokens_of(metadata)?;
        if let Some(source) = source_of(&format!("{CHAT_TEMPLATE}.tool_use"))? {
            template.tool_use = Some(Template::parse(source)?);
            template.source.push_str(source);
        }
        Ok(Some(template))
    }

    /// Adds variables that hold special tokens, such as `bos_token`.
    pub fn with_special_tokens<N: Into<String>, T: Into<String>>(
        mut self,
        tokens: impl IntoIterator<Item = (N, T)>,
    ) -> Self {
        let tokens = tokens.into_iter().map(|(name, text)| (name.into(), text.into()));
        self.special_tokens.extend(tokens);
        self.message_form = OnceLock::new();
        self.detected = OnceLock::new();
        self
    }

    /// Adds the variables for the special tokens in a model's metadata.
    ///
    /// **Errors**: a metadata key of the wrong type, a token id out of range.
    pub fn with_special_tokens_of(self, metadata: &Metadata) -> Result<Self, ChatTemplateError> {
        Ok(self.with_special_tokens(special_token_texts(metadata)?))
    }

    /// Makes `strftime_now` return this text for every format, so that renderings are repeatable.
    pub fn with_fixed_time(mut self, text: impl Into<String>) -> Self {
        self.fixed_time = Some(text.into());
        self
    }

    /// Parses control tokens in the contents of messages, which are text otherwise. For trusted messages only.
    pub fn with_parsed_contents(mut self, parses_contents: bool) -> Self {
        self.parses_contents = parses_contents;
        self
    }

    /// Whether control tokens in the contents of messages are parsed.
    pub(crate) fn parses_contents(&self) -> bool {
        self.parses_contents
    }

    /// Returns how the model writes reasoning, content and tool calls, found by rendering short conversations.
    pub fn answer_form(&self) -> &AnswerForm {
        &self.detected().0
    }

    /// Whether the template describes tools or writes calls. Others are supported through the texts of messages.
    pub fn supports_tools(&self) -> bool {
        self.probe().writes_tools || self.probe().writes_calls
    }

    /// Returns what the template supports.
    pub(crate) fn probe(&self) -> &Probe {
        &self.detected().1
    }

    fn message_form(&self) -> &MessageForm {
        self.message_form.get_or_init(|| MessageForm::of(self))
    }

    fn detected(&self) -> &(AnswerForm, Probe) {
        self.detected.get_or_init(|| detect(self))
    }

    /// Returns the source of the template.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether the source contains the name of a variable, which the template may then read.
    pub fn mentions(&self, variable: &str) -> bool {
        self.source.contains(variable)
    }

    /// Whether the template switches reasoning on and off with the variable `enable_thinking`.
    pub fn switches_thinking(&self) -> bool {
        self.probe().switches_thinking
    }

    /// Whether the template reads the variable `reasoning_effort`.
    pub fn reads_reasoning_effort(&self) -> bool {
        self.probe().reads_effort
    }

    /// Whether answers may contain reasoning: the template writes it, asks for it, or switches it on and off.
    pub fn supports_reasoning(&self) -> bool {
        self.answer_form().reasons || self.probe().switches_thinking || self.probe().reads_effort
    }

    /// Renders a conversation exactly as it is.
    ///
    /// If the file has a separate template for tools, it renders requests that have tools.
    ///
    /// **Errors**: [`ChatTemplateError::Raised`] if the template rejects the conversation,
    /// [`ChatTemplateError::Failed`] if it cannot process it, [`ChatTemplateError::LimitExceeded`].
    pub fn render(&self, request: &ChatRequest) -> Result<String, ChatTemplateError> {
        self.render_exactly(request, Limits::default())
    }

    /// Renders a conversation to the prompt of an answer that is parsed in this template's [`AnswerForm`].
    ///
    /// Messages are converted to the form that the template reads: contents, the reasoning of earlier answers, and system
    /// messages, which become part of the next user message if the template does not write them. Tools, calls and their results
    /// that the template does not support are written into the texts of messages. Tools without a description have an empty one
    /// if the template fails without.
    ///
    /// **Errors**: as [`render`](Self::render).
    pub fn render_prompt(&self, request: &ChatRequest) -> Result<String, ChatTemplateError> {
        let render = |request: &ChatRequest, explains_tools| {
            let request =
                adapted(request, self, explains_tools).map_or(Cow::Borrowed(request), Cow::Owned);
            self.render_within(&self.message_form().converted(request), Limits::default())
        };
        let error = match render(request, false) {
            Err(error) if self.probe().writes_tools && request.tools.is_some() => error,
            rendered => return rendered,
        };
        // Some templates require descriptions, and some describe only simple schemas.
        let described = with_descriptions(request);
        let rendered = described.as_ref().and_then(|request| render(request, false).ok());
        let request = described.as_ref().unwrap_or(request);
        rendered.map_or_else(|| render(request, true).map_err(|_| error), Ok)
    }

    /// Renders a conversation within limits, with contents in the form that the template reads.
    pub(crate) fn render_within(
        &self,
        request: &ChatRequest,
        limits: Limits,
    ) -> Result<String, ChatTemplateError> {
        self.render_exactly(&self.message_form().in_parts(request), limits)
    }

    /// Renders a conversation as it is, within limits.
    pub(crate) fn render_exactly(
        &self,
        request: &ChatRequest,
        limits: Limits,
    ) -> Result<String, ChatTemplateError> {
        let template = match &self.tool_use {
            Some(tool_use) if request.tools.is_some() => tool_use,
            _ => &self.template,
        };
        Ok(template.render(&self.context(request), limits)?)
    }

    /// The template's variables; `tools` and `documents` are none by default, as in transformers.
    fn context(&self, request: &ChatRequest) -> Context {
        let mut context = Context::new();
        if let Some(text) = &self.fixed_time {
            context.fix_time(text);
        }
        for (name, text) in &self.special_tokens {
            context.set_text(name, text);
        }
        context.set_list("messages", &request.messages);
        match &request.tools {
            Some(tools) => context.set_list("tools", tools),
            None => context.set("tools", &Value::Null),
        }
        context.set("documents", &Value::Null);
        context.set("add_generation_prompt", &Value::Bool(request.add_generation_prompt));
        for (name, value) in &request.variables {
            context.set(name, value);
        }
        context
    }
}
