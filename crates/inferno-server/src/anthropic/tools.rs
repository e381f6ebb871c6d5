//! Tools of Anthropic's requests.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::chat::{Tool, ToolChoice, Tools};
use crate::errors::ApiError;
use crate::openai::tools::checked;

/// A tool.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct ToolField {
    /// Always `custom`.
    #[schema(pattern = "^custom$")]
    #[serde(rename = "type")]
    kind: Option<String>,
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
    /// Only false is supported.
    defer_loading: Option<bool>,
    /// Only `["direct"]` is supported.
    allowed_callers: Option<Vec<String>>,
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
/// **Errors**: an unsupported tool type or option, an invalid choice.
pub(super) fn tools(
    list: Option<Vec<ToolField>>,
    choice: Option<ToolChoiceField>,
) -> Result<Tools, ApiError> {
    let mut tools = Tools::default();
    for (index, tool) in list.unwrap_or_default().into_iter().enumerate() {
        let at = |field: &str| format!("tools.{index}.{field}");
        let is_run_here = tool.kind.as_deref().is_some_and(|kind| kind != "custom");
        let is_called_by_code = tool.allowed_callers.is_some_and(|callers| callers != ["direct"]);
        ApiError::reject_given([
            (&at("type"), is_run_here, "only custom tools are supported"),
            (
                &at("defer_loading"),
                tool.defer_loading == Some(true),
                "all tools are loaded at the start",
            ),
            (&at("allowed_callers"), is_called_by_code, "only direct calls are supported"),
        ])?;
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
