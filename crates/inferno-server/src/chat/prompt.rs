//! Converts a conversation to the prompt, the constraint and the parser of its answers.

use std::sync::Arc;

use axum::http::StatusCode;
use inferno_chat::{
    AnswerOptions, AnswerSetup, AnswerSetupError, ChatRequest, ChatTemplate, ChatTemplateError,
    OutputFormat, Tools,
};
use inferno_engine::GenerationParams;
use serde_json::{Map, Value, json};

use super::default_variables::{ENABLE_THINKING, set_defaults};
use super::merged_messages::merged;
use crate::ServedModel;
use crate::errors::ApiError;

/// The template variable of the reasoning effort.
const REASONING_EFFORT: &str = "reasoning_effort";

/// A conversation and its options, independent of the API it arrived through.
#[derive(Debug, Clone, Default)]
pub(crate) struct ChatJob {
    /// In the format that templates expect.
    pub messages: Vec<Value>,
    /// The request field of the messages, for errors.
    pub messages_field: &'static str,
    pub tools: Tools,
    pub format: OutputFormat,
    /// The request field of the format, for errors.
    pub format_field: &'static str,
    /// Further variables of the template.
    pub variables: Map<String, Value>,
    /// Whether the prompt ends with the start of an answer.
    pub add_generation_prompt: bool,
    /// Whether the last message is continued instead of answered.
    pub continue_final_message: bool,
    pub params: GenerationParams,
    /// Reports how much of the prompt has been processed.
    pub reports_progress: bool,
    pub num_choices: usize,
    pub priority: i32,
    /// Reasoning effort, such as `low` or `none`: a hint, which templates may not support.
    pub reasoning_effort: Option<String>,
    /// Maximum number of reasoning tokens, if the model has reasoning tags.
    pub reasoning_budget: Option<usize>,
}

/// A rendered conversation.
pub(crate) struct Rendered {
    pub text: String,
    pub tokens: Vec<u32>,
}

/// The prompt, and how its answers are constrained and parsed.
pub(super) struct Prepared {
    pub tokens: Vec<u32>,
    pub answers: AnswerSetup,
}

impl ChatJob {
    /// Renders and encodes the conversation. Takes a while for long conversations, so never call it on an HTTP thread.
    ///
    /// **Errors**: a model without a template; a conversation that the template rejects;
    /// a last message that cannot be continued.
    pub fn render(&self, model: &ServedModel) -> Result<Rendered, ApiError> {
        let template = template(model)?;
        let mut request = ChatRequest::new(self.messages.iter().cloned());
        request.variables = self.variables.clone();
        request.add_generation_prompt = self.add_generation_prompt && !self.continue_final_message;
        if self.tools.are_available() {
            request.tools = Some(self.tools.list.iter().map(|tool| tool.for_template()).collect());
        }
        let has_effort = self.set_reasoning_effort(template, &mut request.variables);
        set_defaults(&mut request.variables, template, model.info.reasoning);
        let tokenizer = model.tokenizer();
        let render = |request: &ChatRequest| self.render_leniently(template, request, has_effort);
        let prompt = template.render_with_plain_contents(&request, tokenizer, render);
        let prompt = prompt.map_err(|error| ApiError::of_template(self.messages_field, &error))?;
        Ok(Rendered { tokens: prompt.encode(tokenizer), text: prompt.into_text() })
    }

    /// Renders a conversation. If the template rejects it, tries without the effort, which is a hint, and with merged messages.
    ///
    /// **Errors**: those of the first attempt.
    fn render_leniently(
        &self,
        template: &ChatTemplate,
        request: &ChatRequest,
        has_effort: bool,
    ) -> Result<String, ChatTemplateError> {
        let render = |request: &ChatRequest| match self.continue_final_message {
            true => template.render_continuation(request.clone()),
            false => template.render_prompt(request),
        };
        let rejected = match render(request) {
            Err(error @ ChatTemplateError::Raised { .. }) => error,
            rendered => return rendered,
        };
        let merged = merged(&request.messages);
        for (drops_effort, merges) in [(true, false), (false, true), (true, true)] {
            if (drops_effort && !has_effort) || (merges && merged == request.messages) {
                continue;
            }
            let mut request = request.clone();
            if drops_effort {
                request.variables.remove(REASONING_EFFORT);
            }
            if merges {
                request.messages = merged.clone();
            }
            if let Ok(text) = render(&request) {
                return Ok(text);
            }
        }
        Err(rejected)
    }

    /// Sets the template variables for the reasoning effort, and returns whether the template reads the effort itself.
    fn set_reasoning_effort(
        &self,
        template: &ChatTemplate,
        variables: &mut Map<String, Value>,
    ) -> bool {
        let Some(effort) = &self.reasoning_effort else {
            return false;
        };
        if template.reads_reasoning_effort() {
            variables.insert(REASONING_EFFORT.to_owned(), json!(effort));
            return true;
        }
        if template.switches_thinking() {
            let thinks = !matches!(effort.as_str(), "none" | "minimal");
            variables.entry(ENABLE_THINKING).or_insert(json!(thinks));
        }
        false
    }

    fn setup_error(&self, error: AnswerSetupError) -> ApiError {
        let message = error.to_string();
        match error {
            AnswerSetupError::Format(problem) => {
                ApiError::invalid_grammar(self.format_field, &problem.0)
            }
            AnswerSetupError::ToolSchema { index, .. } => {
                ApiError::invalid_grammar(&format!("tools[{index}]"), &message)
            }
            _ => ApiError::invalid_grammar("tools", &message),
        }
    }

    /// Renders the prompt and compiles the grammar that constrains the answers.
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
        let setup = |reasoning_budget| {
            let (tools, format) = (self.tools.clone(), self.format.clone());
            let options = AnswerOptions { tools, format, reasoning_budget };
            let (tokenizer, grammars) = (model.tokenizer(), &model.grammars);
            AnswerSetup::new(template, &rendered.text, tokenizer, grammars, &options)
        };
        // A budget is a hint as well.
        let budgets = [self.reasoning_budget, model.reasoning_budget];
        let answers = match setup(budgets.into_iter().flatten().min()) {
            Err(AnswerSetupError::ReasoningBudgetUnsupported) => setup(None),
            answers => answers,
        };
        let answers = answers.map_err(|error| self.setup_error(error))?;
        Ok(Prepared { tokens: rendered.tokens, answers })
    }

    /// The parameters of the engine's request.
    pub(super) fn params(&self, answers: &AnswerSetup) -> GenerationParams {
        let mut params = self.params.clone();
        params.skip_special_tokens &= !answers.needs_control_tokens();
        params
    }
}

/// **Errors**: a model that does not generate text; one without a template.
fn template(model: &ServedModel) -> Result<&ChatTemplate, ApiError> {
    if let Some(template) = &model.info.template {
        return Ok(template);
    }
    model.handle.check_generates()?;
    let message = "the model has no chat template; load it with one (--chat-template, in Python chat_template), or use /v1/completions";
    Err(ApiError::new(StatusCode::BAD_REQUEST, message).with_code("no_chat_template"))
}
