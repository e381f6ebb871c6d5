//! From a conversation to the tokens that the model reads.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use inferno_chat::ChatRequest;
use inferno_engine::{GenerationParams, TokenConstraint};
use inferno_tokenizer::{EncodeOptions, Tokenizer};
use serde_json::{Map, Value};

use super::answer::{AnswerParser, CallRules};
use super::format::check_arguments;
use super::grammar::{self, Reasoning};
use super::{OutputFormat, THINK_CLOSE, THINK_OPEN, ToolForm, Tools, continuation};
use crate::ServedModel;
use crate::errors::ApiError;
use crate::generation::{ThinkingBudget, ThinkingMarks};
use crate::model::Template;

/// How long the part of a grammar that does not compile is looked for.
const MISTAKE_TIMEOUT: Duration = Duration::from_millis(500);

/// A conversation and what is asked about it, whichever API it came by.
#[derive(Debug, Clone, Default)]
pub(crate) struct ChatJob {
    /// In the shape that templates read.
    pub messages: Vec<Value>,
    /// The field that they came by, for errors.
    pub messages_field: &'static str,
    pub tools: Tools,
    pub format: OutputFormat,
    /// The field that the format came by, for errors.
    pub format_field: &'static str,
    /// Further variables of the template.
    pub variables: Map<String, Value>,
    /// Whether the text ends with the beginning of an answer.
    pub add_generation_prompt: bool,
    /// Whether the last message goes on instead of being answered.
    pub continue_final_message: bool,
    pub params: GenerationParams,
    pub num_choices: usize,
    pub priority: i32,
    /// Tokens of thoughts, at most.
    pub thinking_budget: Option<usize>,
}

/// A conversation as the model reads it.
pub(crate) struct Rendered {
    pub text: String,
    pub tokens: Vec<u32>,
}

/// All that the answers need to begin and to be read.
pub(super) struct Prepared {
    pub tokens: Vec<u32>,
    pub constraint: Option<Box<dyn TokenConstraint>>,
    pub parser: ParserSetup,
}

/// How each answer is told apart.
#[derive(Debug, Clone)]
pub(super) struct ParserSetup {
    calls: Option<CallRules>,
    reasoning_has_begun: bool,
}

impl ParserSetup {
    pub fn parser(&self) -> AnswerParser {
        AnswerParser::new(self.calls.clone(), self.reasoning_has_begun)
    }
}

impl ChatJob {
    /// The text and the tokens. Takes a while for long conversations, so never on a thread that speaks HTTP.
    ///
    /// **Errors**: a model without a template, or whose template takes no tools; what the template itself refuses; a last
    /// message that cannot go on.
    pub fn render(&self, model: &ServedModel) -> Result<Rendered, ApiError> {
        let template = template(model)?;
        let mut request = ChatRequest::new(self.messages.iter().cloned());
        request.variables = self.variables.clone();
        request.add_generation_prompt = self.add_generation_prompt && !self.continue_final_message;
        if self.tools.are_on_offer() {
            form(template)?;
            request.tools = Some(self.tools.list.iter().map(|tool| tool.for_template()).collect());
        }
        let text = match self.continue_final_message {
            true => continuation::render(&template.compiled, request, self.messages_field)?,
            false => template
                .compiled
                .render(&request)
                .map_err(|error| ApiError::of_template(self.messages_field, &error))?,
        };
        // The template writes every token that the model wants before a text.
        let options = EncodeOptions { add_special: false, parse_special: true };
        let tokens = model.tokenizer().encode(&text, options);
        Ok(Rendered { text, tokens })
    }

    /// Which part of a grammar does not compile, told by itself, so that nothing is told but what the caller wrote; `message`
    /// tells of the whole.
    fn mistake(&self, model: &ServedModel, message: &str) -> ApiError {
        if let Err(message) = self.format.compile(&model.grammars) {
            return ApiError::invalid_grammar(self.format_field, &message);
        }
        let started = Instant::now();
        for (index, tool) in self.tools.list.iter().enumerate() {
            // Each may take as long as the whole did.
            if started.elapsed() > MISTAKE_TIMEOUT {
                break;
            }
            if let Err(message) = check_arguments(tool, &model.grammars) {
                let message = format!("the schema of {:?}: {message}", tool.name);
                return ApiError::invalid_grammar(&format!("tools[{index}]"), &message);
            }
        }
        ApiError::invalid_grammar("tools", message)
    }

    /// Renders, and compiles the grammar that the answers are held to.
    ///
    /// **Errors**: as [`render`](Self::render); a schema, regular expression or grammar that does not compile.
    pub(super) fn prepare(&self, model: &Arc<ServedModel>) -> Result<Prepared, ApiError> {
        let room = model.handle.context_length();
        // A message is a token at least, whatever the template makes of it: this one need not be asked, which may take long.
        if self.messages.len() > room {
            return Err(ApiError::too_many_messages(
                self.messages_field,
                self.messages.len(),
                room,
            ));
        }
        let rendered = self.render(model)?;
        if rendered.tokens.len() >= room {
            let len = rendered.tokens.len();
            return Err(ApiError::context_length_exceeded(self.messages_field, len, room));
        }
        let template = template(model)?;
        let form = match self.tools.are_on_offer() {
            true => Some(form(template)?),
            false => None,
        };
        let reasoning = reasoning(template, &rendered.text);
        let control = |text: &str| {
            let tokenizer = model.tokenizer();
            tokenizer.token_id(text).filter(|&id| tokenizer.is_special(id))
        };
        let tools = form.map(|form| (&self.tools, form));
        let lark = grammar::lark(&self.format, tools, reasoning, control);
        let constraint = lark.map(|lark| model.grammars.compile(lark)).transpose();
        let constraint = constraint.map_err(|message| self.mistake(model, &message))?;
        let reasoning_has_begun = reasoning == Reasoning::HasBegun;
        let constraint = match self.thinking_budget {
            None => constraint,
            Some(budget) => {
                let marks = thinking_marks(model.tokenizer())?;
                let bounded = ThinkingBudget::new(marks, budget, reasoning_has_begun, constraint);
                Some(Box::new(bounded) as Box<dyn TokenConstraint>)
            }
        };
        let calls = form.map(|form| CallRules::new(&self.tools, form));
        let parser = ParserSetup { calls, reasoning_has_begun };
        Ok(Prepared { tokens: rendered.tokens, constraint, parser })
    }

    /// What the engine is asked for.
    pub(super) fn params(&self, setup: &ParserSetup) -> GenerationParams {
        let mut params = self.params.clone();
        // Their marks are control tokens, and must be seen to be understood.
        if setup.calls.as_ref().is_some_and(|calls| calls.form.has_control_mark()) {
            params.skip_special_tokens = false;
        }
        params
    }
}

fn template(model: &ServedModel) -> Result<&Template, ApiError> {
    model.template.as_ref().ok_or_else(|| {
        let message =
            "the model has no chat template; give one with --chat-template, or use /v1/completions";
        ApiError::new(StatusCode::BAD_REQUEST, message).with_code("no_chat_template")
    })
}

fn form(template: &Template) -> Result<ToolForm, ApiError> {
    template.tool_form.ok_or_else(|| {
        ApiError::unsupported(
            "tools",
            "the chat template of this model does not call tools in a known form",
        )
    })
}

/// The tokens around thoughts.
///
/// **Errors**: a model that has no such tokens.
fn thinking_marks(tokenizer: &Tokenizer) -> Result<ThinkingMarks, ApiError> {
    match (tokenizer.token_id(THINK_OPEN), tokenizer.token_id(THINK_CLOSE)) {
        (Some(open), Some(close)) => {
            let after = tokenizer.encode("\n\n", EncodeOptions::default());
            Ok(ThinkingMarks { open, close: std::iter::once(close).chain(after).collect() })
        }
        _ => {
            let why = "this model has no tokens around its thoughts to count between";
            Err(ApiError::unsupported("thinking.budget_tokens", why))
        }
    }
}

/// What the template and its text say about thoughts in the answer.
fn reasoning(template: &Template, prompt: &str) -> Reasoning {
    let prompt = prompt.trim_end();
    if prompt.ends_with(THINK_OPEN) {
        Reasoning::HasBegun
    } else if prompt.ends_with(THINK_CLOSE) || !template.compiled.mentions(THINK_OPEN) {
        Reasoning::None
    } else {
        Reasoning::MayCome
    }
}
