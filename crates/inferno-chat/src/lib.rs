//! Conversations: from messages to the prompt of a model, and from its answer to content, reasoning and tool calls.
//!
//! [`ChatTemplate`] renders a [`ChatRequest`] (messages, tools, template variables) to text, with the
//! chat template in a model's file or any other, and [`RenderedPrompt`] keeps control tokens in the contents of messages
//! from being parsed. [`AnswerSetup`] compiles what the answer may contain (an
//! [`OutputFormat`], [`Tools`], a limit on reasoning) into a constraint for the sampler, and creates the
//! [`AnswerParser`] that splits the generated text into [`AnswerDelta`]s.
//!
//! ```
//! use inferno_chat::{ChatRequest, ChatTemplate};
//! use serde_json::json;
//!
//! let source = "{% for message in messages %}[{{ message.role }}] {{ message.content }}\n{% endfor %}";
//! let template = ChatTemplate::new(source)?;
//! let request = ChatRequest::new([json!({"role": "user", "content": "Hello"})]);
//! assert_eq!(template.render(&request)?, "[user] Hello\n");
//! # Ok::<(), inferno_chat::ChatTemplateError>(())
//! ```

#![forbid(unsafe_code)]

mod answer;
mod answer_grammar;
mod answer_setup;
mod continuation;
mod enforcement;
mod error;
mod form;
mod gbnf;
mod grammar;
mod json_schema;
#[cfg(test)]
mod matching;
mod message_form;
mod output_format;
mod reasoning;
mod reasoning_budget;
mod rendered_prompt;
mod request;
mod rerank_template;
mod schema;
mod template;
mod tool_adapter;
mod tools;
mod unique_id;

pub use answer::{AnswerDelta, AnswerParser};
pub use answer_setup::{AnswerOptions, AnswerSetup, AnswerSetupError};
pub use error::ChatTemplateError;
pub use form::{AnswerForm, REASONING_CLOSE, REASONING_OPEN};
pub use grammar::{GRAMMAR_STACK_BYTES, GrammarCompiler, GrammarError};
pub use output_format::{CompiledFormat, OutputFormat};
pub use reasoning::Reasoning;
pub use rendered_prompt::RenderedPrompt;
pub use request::ChatRequest;
pub use rerank_template::RerankTemplate;
pub use template::ChatTemplate;
pub use tools::{Tool, ToolChoice, Tools, ToolsError};
pub use unique_id::unique_id;
