//! Tools of Anthropic's requests.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::chat::{Tool, ToolChoice, Tools};
use crate::errors::ApiError;
use crate::fields::UnknownFields;
use crate::openai::tools::checked;

/// A tool.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[schema(as = AnthropicTool)]
pub(crate) struct ToolField {
    /// `custom`; tools of other types are ignored.
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    name: String,
    description: Option<String>,
    /// A JSON schema.
    input_schema: Option<Map<String, Value>>,
    /// Accepted for compatibility; prompts are always cached.
    #[allow(dead_code, reason = "prompts are always cached")]
    cache_control: Option<Value>,
    /// Accepted for compatibility; inputs are always streamed as they are generated.
    #[allow(dead_code, reason = "inputs are always streamed")]
    eager_input_streaming: Option<bool>,
    /// Accepted for compatibility; all tools are loaded at the start.
    #[allow(dead_code, reason = "all tools are loaded at the start")]
    defer_loading: Option<bool>,
    /// A tool that does not list `direct` is ignored.
    allowed_callers: Option<Vec<String>>,
    /// Examples of inputs; ignored, as chat templates have no place for them.
    #[allow(dead_code, reason = "chat templates have no place for them")]
    input_examples: Option<Vec<Value>>,
    /// Rejects a schema with unsupported keywords, instead of ignoring those.
    strict: Option<bool>,
}

/// Whether and which tools the model calls.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct ToolChoiceField {
    /// `auto`, `any`, `tool` or `none`.
    #[schema(pattern = "^(auto|any|tool|none)$")]
    #[serde(rename = "type")]
    kind: String,
    /// With `tool`: the name of the tool.
    name: Option<String>,
    /// At most one call.
    disable_parallel_tool_use: Option<bool>,
}

/// Reads the tools of a request.
///
/// **Errors**: an invalid choice; in strict mode, a tool that the server would have to run.
pub(super) fn tools(
    list: Option<Vec<ToolField>>,
    choice: Option<ToolChoiceField>,
    unknown: &UnknownFields,
) -> Result<Tools, ApiError> {
    let mut tools = Tools::default();
    for tool in list.unwrap_or_default() {
        // The server runs no tools, and no code that calls tools.
        if let Some(kind) = tool.kind.as_deref().filter(|kind| *kind != "custom") {
            unknown.found(&format!("tools[{kind}]"))?;
            continue;
        }
        let is_direct = |callers: &Vec<String>| callers.iter().any(|caller| caller == "direct");
        if !tool.allowed_callers.as_ref().is_none_or(is_direct) {
            unknown.found("tools[].allowed_callers")?;
            continue;
        }
        let schema = tool.input_schema.map_or_else(|| json!({"type": "object"}), Value::Object);
        tools.list.push(Tool {
            name: tool.name,
            description: tool.description,
            parameters: schema,
            strict: tool.strict == Some(true),
        });
    }
    if let Some(choice) = choice {
        tools.single = choice.disable_parallel_tool_use == Some(true);
        tools.choice = match (choice.kind.as_str(), choice.name) {
            ("auto", None) => ToolChoice::Auto,
            ("any", None) => ToolChoice::Required,
            ("none", None) => ToolChoice::None,
            ("tool", Some(name)) => ToolChoice::Named(name),
            ("tool", None) => {
                return Err(ApiError::invalid("tool_choice.name", "tool_choice.name is missing"));
            }
            ("auto" | "any" | "none", Some(_)) => {
                let message = "tool_choice.name requires type \"tool\"";
                return Err(ApiError::invalid("tool_choice.name", message));
            }
            (kind, _) => {
                let message =
                    format!("tool_choice.type must be auto, any, tool or none, but is {kind:?}");
                return Err(ApiError::invalid("tool_choice.type", message));
            }
        };
    }
    checked(tools)
}
