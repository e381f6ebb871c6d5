//! Conversations: from messages to the prompt that a model reads.
//!
//! [`ChatTemplate`] renders a [`ChatRequest`] (messages, tools, template variables) to text, with the
//! chat template in a model's file or any other.
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

mod error;
mod request;
mod template;

pub use error::ChatTemplateError;
pub use request::ChatRequest;
pub use template::ChatTemplate;
