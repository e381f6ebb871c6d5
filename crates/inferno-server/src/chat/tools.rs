//! Tools on offer, and the forms in which models call them.

use inferno_chat::ChatTemplate;
use serde_json::{Value, json};

/// A function that the model may call.
#[derive(Debug, Clone)]
pub(crate) struct Tool {
    pub name: String,
    pub description: Option<String>,
    /// A JSON schema.
    pub parameters: Value,
    /// Whether a schema that cannot be held to in every point is refused; else it is held to as far as it can be, as
    /// many tools say more than grammars know.
    pub strict: bool,
}

impl Tool {
    /// In OpenAI's shape, which templates read.
    pub fn for_template(&self) -> Value {
        let mut function = json!({"name": self.name});
        if let Some(description) = &self.description {
            function["description"] = json!(description);
        }
        function["parameters"] = self.parameters.clone();
        json!({"type": "function", "function": function})
    }
}

/// Whether the model calls tools.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum ToolChoice {
    None,
    #[default]
    Auto,
    /// At least one call.
    Required,
    /// A call of this tool.
    Named(String),
}

/// What a request says about tools.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tools {
    pub list: Vec<Tool>,
    pub choice: ToolChoice,
    /// At most one call.
    pub single: bool,
}

impl Tools {
    /// Whether the model may call a tool.
    pub fn are_on_offer(&self) -> bool {
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

/// How a model writes a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolForm {
    /// `<tool_call>\n{"name": …, "arguments": …}\n</tool_call>`: Hermes, Qwen.
    Hermes,
    /// `{"name": …, "parameters": …}`, several with `; ` between: Llama 3.
    Llama,
    /// `[TOOL_CALLS] [{"name": …, "arguments": …}, …]`: Mistral.
    Mistral,
    /// `[TOOL_CALLS]name[ARGS]{…}`: Mistral, newer.
    MistralArgs,
}

impl ToolForm {
    pub const HERMES_OPEN: &str = "<tool_call>";
    pub const HERMES_CLOSE: &str = "</tool_call>";
    pub const MISTRAL_MARK: &str = "[TOOL_CALLS]";
    pub const MISTRAL_ARGS: &str = "[ARGS]";
    pub const LLAMA_MARK: &str = "<|python_tag|>";

    /// The form that a template writes earlier calls in; `None` where it takes no tools.
    pub fn of_template(template: &ChatTemplate) -> Option<Self> {
        let has = |text: &str| template.mentions(text);
        if !has("tools") {
            None
        } else if has(Self::HERMES_OPEN) {
            Some(Self::Hermes)
        } else if has(Self::MISTRAL_MARK) {
            Some(if has(Self::MISTRAL_ARGS) { Self::MistralArgs } else { Self::Mistral })
        } else if has("\"parameters\"") || has(Self::LLAMA_MARK) {
            Some(Self::Llama)
        } else {
            None
        }
    }

    /// The text that begins calls, where there is one that always does.
    pub fn mark(self) -> Option<&'static str> {
        match self {
            Self::Hermes => Some(Self::HERMES_OPEN),
            Self::Mistral | Self::MistralArgs => Some(Self::MISTRAL_MARK),
            Self::Llama => None,
        }
    }

    /// Whether calls begin with a control token, which is not seen unless it is asked for.
    pub fn has_control_mark(self) -> bool {
        self != Self::Hermes
    }

    /// The key of a call's arguments.
    pub fn arguments_key(self) -> &'static str {
        match self {
            Self::Llama => "parameters",
            _ => "arguments",
        }
    }

    /// The id of a call. Mistral's templates take nine letters and digits, and nothing else.
    pub fn fresh_call_id(self) -> String {
        let id = crate::request::fresh_id("");
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
    fn the_form_of_calls_is_read_from_the_template() {
        let of = |source| ToolForm::of_template(&ChatTemplate::new(source).unwrap());
        assert_eq!(of("{% if tools %}<tool_call>{% endif %}"), Some(ToolForm::Hermes));
        assert_eq!(of("{% if tools %}[TOOL_CALLS]{% endif %}"), Some(ToolForm::Mistral));
        assert_eq!(of("{% if tools %}[TOOL_CALLS]x[ARGS]{% endif %}"), Some(ToolForm::MistralArgs));
        let llama = "{% if tools %}{\"name\": …, \"parameters\": …{% endif %}";
        assert_eq!(of(llama), Some(ToolForm::Llama));
        assert_eq!(of("{% for message in messages %}<tool_call>{% endfor %}"), None);
    }

    #[test]
    fn ids_for_mistral_are_nine_letters_and_digits() {
        let id = ToolForm::Mistral.fresh_call_id();
        assert!(id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
    }
}
