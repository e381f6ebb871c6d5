//! Tools, and the formats in which models call them.

use crate::{ChatTemplate, unique_id};
use serde_json::{Value, json};

/// A function that the model may call.
#[derive(Debug, Clone)]
pub struct Tool {
    /// The name.
    pub name: String,
    /// What the function does, for the model.
    pub description: Option<String>,
    /// The JSON schema of the arguments.
    pub parameters: Value,
    /// Whether unsupported keywords in the schema are an error; otherwise they are ignored.
    pub strict: bool,
}

impl Tool {
    /// Returns the tool in OpenAI's format, which templates read.
    pub fn for_template(&self) -> Value {
        let mut function = json!({"name": self.name});
        if let Some(description) = &self.description {
            function["description"] = json!(description);
        }
        function["parameters"] = self.parameters.clone();
        json!({"type": "function", "function": function})
    }
}

/// Whether the model may or must call tools.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ToolChoice {
    /// No call.
    None,
    /// Any number of calls.
    #[default]
    Auto,
    /// At least one call.
    Required,
    /// A call of this tool.
    Named(String),
}

/// The tools of a request.
#[derive(Debug, Clone, Default)]
pub struct Tools {
    /// All tools, in template order.
    pub list: Vec<Tool>,
    /// Whether the model may or must call them.
    pub choice: ToolChoice,
    /// Whether at most one call is allowed.
    pub single: bool,
}

impl Tools {
    /// Whether the model may call a tool.
    pub fn are_available(&self) -> bool {
        !self.list.is_empty() && self.choice != ToolChoice::None
    }

    /// The tools that may be called.
    pub fn callable(&self) -> impl Iterator<Item = &Tool> {
        self.list.iter().filter(|tool| match &self.choice {
            ToolChoice::Named(name) => tool.name == *name,
            _ => true,
        })
    }
}

/// How a model writes tool calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolCallFormat {
    /// `<tool_call>\n{"name": …, "arguments": …}\n</tool_call>`: Hermes, Qwen.
    Hermes,
    /// `{"name": …, "parameters": …}`, separated by `; `: Llama 3.
    Llama,
    /// `[TOOL_CALLS] [{"name": …, "arguments": …}, …]`: Mistral.
    Mistral,
    /// `[TOOL_CALLS]name[ARGS]{…}`: Mistral, newer.
    MistralArgs,
}

impl ToolCallFormat {
    pub(crate) const HERMES_OPENING: &str = "<tool_call>";
    pub(crate) const HERMES_CLOSING: &str = "</tool_call>";
    pub(crate) const MISTRAL_OPENING: &str = "[TOOL_CALLS]";
    pub(crate) const MISTRAL_ARGUMENTS: &str = "[ARGS]";
    pub(crate) const LLAMA_OPENING: &str = "<|python_tag|>";

    /// Returns the format in which a template writes tool calls; `None` if it does not support tools, or in an unknown
    /// format.
    pub fn of_template(template: &ChatTemplate) -> Option<Self> {
        let has = |text: &str| template.mentions(text);
        if !has("tools") {
            None
        } else if has(Self::HERMES_OPENING) {
            Some(Self::Hermes)
        } else if has(Self::MISTRAL_OPENING) {
            Some(if has(Self::MISTRAL_ARGUMENTS) { Self::MistralArgs } else { Self::Mistral })
        } else if has("\"parameters\"") || has(Self::LLAMA_OPENING) {
            Some(Self::Llama)
        } else {
            None
        }
    }

    /// The text that always begins a call, if there is one.
    pub(crate) fn opening(self) -> Option<&'static str> {
        match self {
            Self::Hermes => Some(Self::HERMES_OPENING),
            Self::Mistral | Self::MistralArgs => Some(Self::MISTRAL_OPENING),
            Self::Llama => None,
        }
    }

    /// Whether calls may begin with a control token, so that control tokens must not be skipped in the text.
    pub fn uses_control_tokens(self) -> bool {
        self != Self::Hermes
    }

    /// The JSON key of a call's arguments.
    pub(crate) fn arguments_key(self) -> &'static str {
        match self {
            Self::Llama => "parameters",
            _ => "arguments",
        }
    }

    /// Returns a new id for a call. Mistral's templates require nine letters and digits.
    pub(crate) fn new_call_id(self) -> String {
        let id = unique_id("");
        match self {
            Self::Mistral | Self::MistralArgs => id[id.len() - 9..].to_owned(),
            _ => format!("call_{id}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_of_calls_is_detected_in_the_template() {
        let of = |source| ToolCallFormat::of_template(&ChatTemplate::new(source).unwrap());
        assert_eq!(of("{% if tools %}<tool_call>{% endif %}"), Some(ToolCallFormat::Hermes));
        assert_eq!(of("{% if tools %}[TOOL_CALLS]{% endif %}"), Some(ToolCallFormat::Mistral));
        assert_eq!(
            of("{% if tools %}[TOOL_CALLS]x[ARGS]{% endif %}"),
            Some(ToolCallFormat::MistralArgs)
        );
        let llama = "{% if tools %}{\"name\": …, \"parameters\": …{% endif %}";
        assert_eq!(of(llama), Some(ToolCallFormat::Llama));
        assert_eq!(of("{% for message in messages %}<tool_call>{% endfor %}"), None);
    }

    #[test]
    fn ids_for_mistral_are_nine_letters_and_digits() {
        let id = ToolCallFormat::Mistral.new_call_id();
        assert!(id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
    }
}
