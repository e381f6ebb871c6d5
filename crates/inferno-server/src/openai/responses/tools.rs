//! Tools of responses: functions, custom tools with free text as input, and namespaces of both.
//!
//! The model sees functions only. A custom tool becomes a function with one string, and a tool of a namespace gets a name
//! that includes the namespace; [`ToolOrigins`] converts calls back.

use std::collections::HashMap;
use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::response::{OutputItem, Status};
use crate::chat::{Tool, ToolCall};
use crate::errors::ApiError;
use crate::fields::UnknownFields;
use crate::request::fresh_id;

/// A tool that the model may call; tools that the server would have to run are ignored.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[schema(as = ResponsesTool)]
#[allow(dead_code, reason = "it describes the API; each type is read on its own")]
pub(crate) struct ToolField {
    /// `function`, `custom` or `namespace`.
    #[serde(rename = "type")]
    kind: String,
    name: Option<String>,
    description: Option<String>,
    /// With `function`: a JSON schema of the arguments.
    parameters: Option<Map<String, Value>>,
    /// With `function`: rejects a schema with unsupported keywords, instead of ignoring those.
    strict: Option<bool>,
    /// With `custom`: the format of the input, which is described to the model but not enforced.
    format: Option<Map<String, Value>>,
    /// With `namespace`: its functions and custom tools.
    tools: Option<Vec<Value>>,
}

/// A function.
#[derive(Deserialize)]
struct FunctionTool {
    name: String,
    description: Option<String>,
    parameters: Option<Map<String, Value>>,
    strict: Option<bool>,
    #[allow(dead_code, reason = "all tools are loaded at the start")]
    defer_loading: Option<bool>,
}

/// A tool whose input is text.
#[derive(Deserialize)]
struct CustomTool {
    name: String,
    description: Option<String>,
    format: Option<CustomFormat>,
    #[allow(dead_code, reason = "all tools are loaded at the start")]
    defer_loading: Option<bool>,
}

/// The format of a custom tool's input.
#[derive(Deserialize)]
struct CustomFormat {
    #[serde(rename = "type")]
    kind: String,
    /// With `grammar`: `lark` or `regex`.
    syntax: Option<String>,
    /// With `grammar`: the grammar.
    definition: Option<String>,
}

/// Tools with a common prefix.
#[derive(Deserialize)]
struct Namespace {
    name: String,
    #[allow(dead_code, reason = "each tool has a description of its own")]
    description: Option<String>,
    tools: Vec<Value>,
}

/// Tools by the names that the model sees, and as the request named them.
#[derive(Debug, Clone, Default)]
pub(super) struct ToolOrigins(HashMap<String, ToolOrigin>);

#[derive(Debug, Clone)]
struct ToolOrigin {
    namespace: Option<String>,
    name: String,
    is_custom: bool,
}

/// The name that the model sees.
pub(super) fn model_name(namespace: Option<&str>, name: &str) -> String {
    match namespace {
        None => name.to_owned(),
        Some(namespace) if namespace.ends_with("__") => format!("{namespace}{name}"),
        Some(namespace) => format!("{namespace}__{name}"),
    }
}

/// Reads the tools of a request.
///
/// **Errors**: a malformed tool; in strict mode, one that the server would have to run.
pub(super) fn read(
    tools: &[Value],
    unknown: &UnknownFields,
) -> Result<(Vec<Tool>, ToolOrigins), ApiError> {
    let mut reader = ToolReader { list: Vec::new(), origins: ToolOrigins::default(), unknown };
    for (index, tool) in tools.iter().enumerate() {
        reader.read(tool, None, &format!("tools[{index}]"))?;
    }
    Ok((reader.list, reader.origins))
}

struct ToolReader<'u> {
    list: Vec<Tool>,
    origins: ToolOrigins,
    unknown: &'u UnknownFields,
}

impl ToolReader<'_> {
    fn read(&mut self, tool: &Value, namespace: Option<&str>, path: &str) -> Result<(), ApiError> {
        match (tool["type"].as_str(), namespace) {
            (Some("function"), _) => {
                let tool: FunctionTool = self.unknown.read(tool, path)?;
                let (schema, strict) =
                    (Tool::arguments_schema(tool.parameters), tool.strict == Some(true));
                self.add(namespace, tool.name, tool.description, schema, strict, false);
            }
            (Some("custom"), _) => {
                let tool: CustomTool = self.unknown.read(tool, path)?;
                let description = custom_description(tool.description, tool.format);
                self.add(namespace, tool.name, Some(description), one_string(), false, true);
            }
            (Some("namespace"), None) => {
                let namespace: Namespace = self.unknown.read(tool, path)?;
                for (index, tool) in namespace.tools.iter().enumerate() {
                    self.read(tool, Some(&namespace.name), &format!("{path}.tools[{index}]"))?;
                }
            }
            // The server runs no tools itself.
            (Some(kind), _) => self.unknown.found(&format!("tools[{kind}]"))?,
            (None, _) => {
                let param = format!("{path}.type");
                return Err(ApiError::invalid(&param, format!("{param} is missing")));
            }
        }
        Ok(())
    }

    fn add(
        &mut self,
        namespace: Option<&str>,
        name: String,
        description: Option<String>,
        parameters: Value,
        strict: bool,
        is_custom: bool,
    ) {
        let known_as = model_name(namespace, &name);
        if is_custom || namespace.is_some() {
            let origin = ToolOrigin { namespace: namespace.map(str::to_owned), name, is_custom };
            self.origins.0.insert(known_as.clone(), origin);
        }
        self.list.push(Tool { name: known_as, description, parameters, strict });
    }
}

/// The schema of a custom tool's arguments.
fn one_string() -> Value {
    json!({
        "type": "object",
        "properties": {"input": {"type": "string"}},
        "required": ["input"],
        "additionalProperties": false,
    })
}

/// The description of a custom tool, with the grammar of its input.
fn custom_description(description: Option<String>, format: Option<CustomFormat>) -> String {
    let mut text = description.unwrap_or_default();
    if let Some(CustomFormat { kind, syntax, definition: Some(definition) }) = format
        && kind == "grammar"
    {
        let syntax = syntax.unwrap_or_default();
        // Writing to a string never fails.
        let _ = write!(text, "\n\nThe input must match this {syntax} grammar:\n{definition}");
    }
    text
}

/// The arguments with which the model calls a custom tool.
pub(super) fn custom_arguments(input: &str) -> Value {
    json!({"input": input})
}

impl ToolOrigins {
    /// Whether the model calls a custom tool by this name.
    pub fn is_custom(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|origin| origin.is_custom)
    }

    /// The item of a call.
    pub fn item(&self, id: String, call: ToolCall, status: Status) -> OutputItem {
        let ToolCall { id: call_id, name, arguments } = call;
        match self.0.get(&name).cloned() {
            None => {
                OutputItem::FunctionCall { id, status, call_id, name, namespace: None, arguments }
            }
            Some(ToolOrigin { namespace, name, is_custom: false }) => {
                OutputItem::FunctionCall { id, status, call_id, name, namespace, arguments }
            }
            Some(ToolOrigin { namespace, name, is_custom: true }) => {
                let input = input(&arguments);
                OutputItem::CustomToolCall { id, status, call_id, name, namespace, input }
            }
        }
    }

    /// A new id for the item of a call to `name`.
    pub fn fresh_item_id(&self, name: &str) -> String {
        fresh_id(if self.is_custom(name) { "ctc_" } else { "fc_" })
    }
}

/// The input of a custom tool; arguments that were cut off have none.
pub(super) fn input(arguments: &str) -> String {
    let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
    arguments["input"].as_str().unwrap_or_default().to_owned()
}
