//! Tools of OpenAI's requests.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::chat::{Tool, ToolChoice, Tools};
use crate::errors::ApiError;
use crate::fields::UnknownFields;

/// A tool of a chat completion.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct ToolField {
    /// `function`; tools that the server would have to run are ignored.
    #[serde(rename = "type")]
    kind: String,
    /// With `function`.
    function: Option<FunctionField>,
}

/// A function that the model may call.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct FunctionField {
    name: String,
    description: Option<String>,
    /// A JSON schema of the arguments.
    parameters: Option<Map<String, Value>>,
    /// Rejects a schema with unsupported keywords, instead of ignoring those.
    strict: Option<bool>,
}

/// A `tool_choice` that names a function.
#[derive(Debug, Clone, Deserialize)]
struct NamedFunction {
    function: Name,
}

/// A function's name.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Name {
    pub name: String,
    /// The namespace of the function, in `/v1/responses`.
    pub namespace: Option<String>,
}

/// Reads the tools of a chat completion.
///
/// **Errors**: an unsupported tool type, an invalid choice, an unknown tool; in strict mode, a tool that the server would have
/// to run.
pub(crate) fn tools(
    list: Option<Vec<ToolField>>,
    choice: Option<Value>,
    parallel: Option<bool>,
    unknown: &UnknownFields,
) -> Result<Tools, ApiError> {
    let mut tools = Vec::new();
    for (index, tool) in list.unwrap_or_default().into_iter().enumerate() {
        let param = || format!("tools[{index}]");
        let function = match tool.kind.as_str() {
            "function" => tool.function.ok_or_else(|| {
                let param = format!("{}.function", param());
                ApiError::invalid(&param, format!("{param} is missing"))
            })?,
            "custom" => {
                let why = "custom tools are supported by /v1/responses; use a function";
                return Err(ApiError::unsupported(param(), why));
            }
            kind => {
                unknown.found(&format!("tools[{kind}]"))?;
                continue;
            }
        };
        let FunctionField { name, description, parameters, strict } = function;
        tools.push(Tool::function(name, description, parameters, strict));
    }
    let named = |choice: &Value| {
        let choice: NamedFunction = unknown.read(choice, "tool_choice")?;
        Ok(choice.function.name)
    };
    let choice = tool_choice(choice, named, &mut tools)?;
    checked(Tools { list: tools, choice, single: parallel == Some(false) })
}

/// Reads `tool_choice`; `named` extracts the name of a tool. `allowed_tools` removes the other tools from the list.
///
/// **Errors**: an invalid choice.
pub(super) fn tool_choice(
    choice: Option<Value>,
    named: impl Fn(&Value) -> Result<String, ApiError>,
    tools: &mut Vec<Tool>,
) -> Result<ToolChoice, ApiError> {
    let choice = choice.unwrap_or(Value::Null);
    match &choice {
        Value::Null => Ok(ToolChoice::Auto),
        Value::String(mode) => mode_choice(mode),
        Value::Object(fields) => match fields.get("type").and_then(Value::as_str) {
            Some("function" | "custom") => named(&choice).map(ToolChoice::Named),
            Some("allowed_tools") => {
                let allowed = fields.get("allowed_tools").unwrap_or(&choice);
                let names = allowed["tools"].as_array().ok_or_else(invalid_choice)?;
                let is_called_by_client =
                    |tool: &&Value| matches!(tool["type"].as_str(), Some("function" | "custom"));
                let names: HashSet<_> = names
                    .iter()
                    .filter(is_called_by_client)
                    .map(named)
                    .collect::<Result<_, _>>()?;
                tools.retain(|tool| names.contains(&tool.name));
                mode_choice(allowed["mode"].as_str().unwrap_or("auto"))
            }
            _ => Err(invalid_choice()),
        },
        _ => Err(invalid_choice()),
    }
}

fn mode_choice(mode: &str) -> Result<ToolChoice, ApiError> {
    ToolChoice::from_mode(mode).ok_or_else(invalid_choice)
}

fn invalid_choice() -> ApiError {
    let message = "tool_choice must be \"auto\", \"none\", \"required\", or an object of type \"function\" with a name or of type \"allowed_tools\"";
    ApiError::invalid("tool_choice", message)
}

/// Rejects unnamed tools, duplicate names, and a choice of an unknown tool.
pub(crate) fn checked(tools: Tools) -> Result<Tools, ApiError> {
    tools.checked().map_err(|error| ApiError::invalid(error.field(), error.to_string()))
}
