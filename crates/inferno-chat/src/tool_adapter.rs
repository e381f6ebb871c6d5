//! Adapts requests with tools to templates that support them in part or not at all.
//!
//! What a template does not write is written into the texts of messages: the tools with an explanation of how to call them,
//! earlier calls in the form in which they are parsed, and their results.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::{Value, json};

use crate::form::Probe;
use crate::message_form::remove_reasoning;
use crate::{ChatRequest, ChatTemplate};

/// Returns the request in the form that a template supports; `None` if it needs no change. With `explains_tools`, the tools are
/// explained even if the template describes tools, because it fails on these.
pub(crate) fn adapted(
    request: &ChatRequest,
    template: &ChatTemplate,
    explains_tools: bool,
) -> Option<ChatRequest> {
    let tools = request.tools.as_deref().unwrap_or_default();
    let has_calls = |message: &Value| {
        message["role"] == "tool"
            || message["tool_calls"].as_array().is_some_and(|it| !it.is_empty())
    };
    if tools.is_empty() && !request.messages.iter().any(has_calls) {
        return None;
    }
    let probe = template.probe();
    let is_parallel =
        |message: &Value| message["tool_calls"].as_array().is_some_and(|calls| calls.len() > 1);
    let writes_tools = probe.writes_tools && !explains_tools;
    let is_native = writes_tools
        && (probe.writes_parallel_calls || !request.messages.iter().any(is_parallel))
        && probe.writes_calls
        && probe.writes_results
        && !probe.string_arguments
        && !probe.null_content
        && !probe.named_ids;
    if is_native {
        return None;
    }
    let mut adapted = request.clone();
    adapted.messages.clear();
    let messages = match probe.writes_calls && !probe.writes_parallel_calls {
        true => with_single_calls(&request.messages),
        false => request.messages.clone(),
    };
    for message in &messages {
        match message["role"].as_str() {
            Some("assistant") if has_calls(message) => {
                adapted.messages.push(calling_message(message, template));
            }
            Some("tool") if !probe.writes_results => add_result(&mut adapted.messages, message),
            _ => add_message(&mut adapted.messages, message),
        }
    }
    // Only rendering shows whether the template explains calls, so that comes last.
    let is_supported =
        || writes_tools && (probe.writes_calls || explains_calls(template, &adapted));
    if !tools.is_empty() && !is_supported() {
        let text = instructions(tools, writes_tools, template);
        adapted.tools = match explains_tools && probe.writes_tools {
            true => Some(tools.iter().map(without_parameters).collect()),
            false => request.tools.clone().filter(|_| writes_tools),
        };
        explain(&mut adapted.messages, &text);
    }
    if probe.named_ids {
        name_ids(&mut adapted.messages);
    }
    Some(adapted)
}

/// Whether a template that describes tools explains how to call them. Some do unless there is a system message.
fn explains_calls(template: &ChatTemplate, request: &ChatRequest) -> bool {
    let mut request = request.clone();
    request.messages.retain(|message| message["role"] == "system");
    request.messages.push(json!({"role": "user", "content": ""}));
    let prompt = template.render(&request).unwrap_or_default();
    template.answer_form().calls.trigger().is_some_and(|tag| prompt.contains(tag))
}

/// Divides messages with several calls into messages with one, each with its result.
fn with_single_calls(messages: &[Value]) -> Vec<Value> {
    let mut divided = Vec::new();
    let mut rest = messages;
    while let Some((message, after)) = rest.split_first() {
        let calls = message["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
        let num_results = after.iter().take_while(|message| message["role"] == "tool").count();
        let (results, others) = after.split_at(if calls.len() > 1 { num_results } else { 0 });
        rest = others;
        if calls.len() < 2 {
            divided.push(message.clone());
            continue;
        }
        for (index, call) in calls.iter().enumerate() {
            let mut message = message.clone();
            message["tool_calls"] = json!([call]);
            if index > 0 {
                message["content"] = json!("");
                remove_reasoning(&mut message);
            }
            divided.push(message);
            // Without ids, results are in the order of their calls.
            let is_own = |&(at, result): &(usize, &Value)| match result["tool_call_id"].is_null() {
                true => at == index,
                false => result["tool_call_id"] == call["id"],
            };
            let own = results.iter().enumerate().filter(is_own);
            divided.extend(own.map(|(_, result)| result.clone()));
        }
        let is_known = |&(at, result): &(usize, &Value)| match result["tool_call_id"].is_null() {
            true => at < calls.len(),
            false => calls.iter().any(|it| it["id"] == result["tool_call_id"]),
        };
        let others = results.iter().enumerate().filter(|result| !is_known(result));
        divided.extend(others.map(|(_, result)| result.clone()));
    }
    divided
}

/// An assistant message with calls, as the template expects it.
fn calling_message(message: &Value, template: &ChatTemplate) -> Value {
    let probe = template.probe();
    let mut message = message.clone();
    let has_content = message["content"].as_str().is_some_and(|text| !text.is_empty());
    let calls = message["tool_calls"].as_array_mut().map(std::mem::take).unwrap_or_default();
    // A template that writes either content or calls would drop one.
    if !probe.writes_calls || probe.null_content && has_content {
        let calls: Vec<_> = calls
            .iter()
            .map(|call| {
                let function = call.get("function").unwrap_or(call);
                (function["name"].as_str().unwrap_or_default(), arguments(&function["arguments"]))
            })
            .collect();
        let calls: Vec<_> = calls.iter().map(|(name, value)| (*name, value.as_ref())).collect();
        let content = message["content"].as_str().unwrap_or_default();
        let separator = if content.is_empty() { "" } else { "\n" };
        let text = template.answer_form().calls.write(&calls);
        message["content"] = json!(format!("{content}{separator}{text}"));
        message.as_object_mut().map(|fields| fields.shift_remove("tool_calls"));
        return message;
    }
    if probe.null_content {
        message["content"] = Value::Null;
    }
    let calls = calls.into_iter().map(|mut call| {
        if let Some(arguments) = call.pointer_mut("/function/arguments")
            && probe.string_arguments
            && !arguments.is_string()
        {
            *arguments = json!(arguments.to_string());
        }
        call
    });
    message["tool_calls"] = calls.collect();
    message
}

/// The arguments of a call, which may be in a string.
fn arguments(value: &Value) -> Cow<'_, Value> {
    match value.as_str().map(serde_json::from_str) {
        Some(Ok(parsed)) => Cow::Owned(parsed),
        _ => Cow::Borrowed(value),
    }
}

/// Adds a message. Results of calls before it became a user message, to which the text of another one is added.
fn add_message(messages: &mut Vec<Value>, message: &Value) {
    let is_text = message["role"] == "user" && message["content"].is_string();
    match messages.last_mut().filter(|last| is_text && last[RESULTS] == true) {
        Some(last) => {
            let text = [&last["content"], &message["content"]].map(|it| it.as_str().unwrap_or(""));
            last["content"] = json!(text.join("\n\n"));
        }
        None => messages.push(message.clone()),
    }
}

/// Marks user messages that contain results; templates do not read it.
const RESULTS: &str = "has_tool_results";

/// Adds the result of a call to a user message.
fn add_result(messages: &mut Vec<Value>, message: &Value) {
    let content = match &message["content"] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let content = format!("<tool_response>\n{content}\n</tool_response>");
    let mut message = json!({"role": "user", "content": content});
    match messages.last() {
        Some(last) if last[RESULTS] == true => add_message(messages, &message),
        _ => {
            message[RESULTS] = json!(true);
            messages.push(message);
        }
    }
}

/// A tool without its parameters.
fn without_parameters(tool: &Value) -> Value {
    let mut tool = tool.clone();
    if let Some(parameters) = tool.pointer_mut("/function/parameters") {
        *parameters = json!({"type": "object", "properties": {}});
    }
    tool
}

/// Explains how to call tools, and the tools unless the template describes them.
fn instructions(tools: &[Value], writes_tools: bool, template: &ChatTemplate) -> String {
    let form = &template.answer_form().calls;
    let mut text = String::from("# Tools\n\n");
    if !writes_tools {
        text.push_str("You can call these functions, described as JSON:\n");
        for tool in tools {
            let function = tool.get("function").unwrap_or(tool);
            text.push_str(&format!("{function}\n"));
        }
        text.push('\n');
    }
    let example = form.write(&[("function_name", &json!({"parameter": "value"}))]);
    text.push_str("To call a function, reply in exactly this form:\n");
    text.push_str(&example);
    text.push_str("\n\nThe results are sent to you in the next message.");
    text
}

/// Adds a text to the system message.
fn explain(messages: &mut Vec<Value>, text: &str) {
    let found = messages.iter_mut().find(|message| message["role"] == "system");
    match found.filter(|message| message["content"].is_string()) {
        Some(message) => {
            let content = message["content"].as_str().unwrap_or_default();
            message["content"] = json!(format!("{content}\n\n{text}"));
        }
        None => messages.insert(0, json!({"role": "system", "content": text})),
    }
}

/// Replaces the ids of calls and of their results by those that name the tools.
fn name_ids(messages: &mut [Value]) {
    let (mut named, mut num_calls) = (HashMap::new(), 0);
    // Without ids, results are in the order of their calls.
    let mut ids_in_order = Vec::new().into_iter();
    for message in messages {
        if let Some(calls) = message.get_mut("tool_calls").and_then(Value::as_array_mut) {
            let mut ids = Vec::new();
            for call in calls.iter_mut().filter_map(Value::as_object_mut) {
                let name = call.get("function").and_then(|function| function["name"].as_str());
                let id = Probe::named_id(name.unwrap_or_default(), num_calls);
                num_calls += 1;
                if let Some(Value::String(earlier)) = call.insert("id".to_owned(), json!(id)) {
                    named.insert(earlier, id.clone());
                }
                ids.push(id);
            }
            ids_in_order = ids.into_iter();
        }
        if message["role"] == "tool" {
            let next = ids_in_order.next();
            let id = match message["tool_call_id"].as_str() {
                Some(id) => named.get(id).cloned(),
                None => next,
            };
            if let Some(id) = id {
                message["tool_call_id"] = json!(id);
            }
        }
    }
}
