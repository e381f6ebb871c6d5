//! Rendering short conversations with a template, to see how it writes them.
//!
//! Names, arguments and texts are sentinels, so that they can be found in what the template wrote.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::align::{common_prefix, is_boundary, leading_tag};
use super::{ID, NAME};
use crate::message_form::PROBE_LIMITS;
use crate::{ChatRequest, ChatTemplate};

pub(super) const USER: &str = "userprobe7q";
pub(super) const CONTENT: &str = "contentprobe7c";
pub(super) const REASONING: &str = "reasoningprobe7r";
pub(super) const KEYS: [&str; 2] = ["keyprobea", "keyprobeb"];
pub(super) const VALUES: [&str; 2] = ["valueprobea", "valueprobeb"];
const RESULT: &str = "resultprobe7t";
const DESCRIPTION: &str = "descriptionprobe7d";
const NAMES: [&str; 2] = ["probetoola", "probetoolb"];
/// Mistral's templates require nine letters and digits.
const IDS: [&str; 2] = ["callida01", "callidb02"];

/// What a template supports, and in which form it expects messages. Requests are adapted to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Probe {
    /// It describes the tools.
    pub(crate) writes_tools: bool,
    /// It writes the calls of assistant messages.
    pub(crate) writes_calls: bool,
    /// It writes several calls of one message.
    pub(crate) writes_parallel_calls: bool,
    /// It writes the results of calls.
    pub(crate) writes_results: bool,
    /// It expects the arguments of calls as a string.
    pub(crate) string_arguments: bool,
    /// It expects no content next to calls.
    pub(crate) null_content: bool,
    /// It writes the id of a call in place of the name of the tool, so that the id must be a [`named_id`](Self::named_id).
    pub(crate) named_ids: bool,
    /// Its prompts depend on the variable `enable_thinking`.
    pub(crate) switches_thinking: bool,
    /// Its prompts depend on the variable `reasoning_effort`.
    pub(crate) reads_effort: bool,
}

impl Probe {
    /// Probes a template.
    pub(super) fn new(template: &ChatTemplate) -> Self {
        let written = |messages: &[Value], text: &str| {
            render(template, messages, &[]).is_some_and(|rendered| rendered.contains(text))
        };
        let mut probe = Self {
            writes_tools: [DESCRIPTION, NAMES[0], KEYS[0]].iter().all(|text| {
                render(template, &[user()], &[]).is_some_and(|rendered| rendered.contains(text))
            }),
            writes_calls: false,
            writes_parallel_calls: false,
            writes_results: false,
            string_arguments: false,
            null_content: false,
            named_ids: false,
            switches_thinking: depends_on(template, "enable_thinking", [true, false]),
            reads_effort: depends_on(template, "reasoning_effort", ["low", "high"]),
        };
        for (named_ids, num_calls) in [(false, 2), (false, 1), (true, 2), (true, 1)] {
            for (null_content, string_arguments) in
                [(false, false), (false, true), (true, false), (true, true)]
            {
                let attempt = Self { null_content, string_arguments, named_ids, ..probe };
                if !probe.writes_calls && attempt.calls(template, num_calls).is_some() {
                    probe = attempt;
                    probe.writes_calls = true;
                    probe.writes_parallel_calls = num_calls > 1;
                }
            }
        }
        let id = probe.call_id(0);
        let result =
            json!({"role": "tool", "tool_call_id": id, "name": NAMES[0], "content": RESULT});
        let calling = probe.calling_message(&arguments(), 1);
        probe.writes_results = probe.writes_calls && written(&[user(), calling, result], RESULT);
        probe
    }

    /// An id that names the tool, for the call with this number in a conversation: Kimi K2.
    pub(crate) fn named_id(name: &str, index: usize) -> String {
        format!("functions.{name}:{index}")
    }

    fn call_id(&self, index: usize) -> String {
        match self.named_ids {
            true => Self::named_id(NAMES[index], index),
            false => IDS[index].to_owned(),
        }
    }

    /// What the template writes for an answer with this many calls, with placeholders for names and ids.
    pub(super) fn calls(&self, template: &ChatTemplate, num_calls: usize) -> Option<String> {
        let message = self.calling_message(&arguments(), num_calls);
        let answer = answer(template, &message, &[])?;
        let is_written = NAMES[..num_calls].iter().all(|name| answer.matches(name).count() == 1);
        let num_values = VALUES.map(|value| answer.matches(value).count());
        (is_written && num_values == [num_calls; 2]).then(|| placeholders(&answer))
    }

    /// What the template writes for a call with one argument.
    pub(super) fn call_with(&self, template: &ChatTemplate, value: Value) -> Option<String> {
        let arguments = json!({KEYS[0]: value});
        answer(template, &self.calling_message(&arguments, 1), &[]).map(|text| placeholders(&text))
    }

    /// An assistant message with this many equal calls of different tools.
    pub(super) fn calling_message(&self, arguments: &Value, num_calls: usize) -> Value {
        let arguments = match self.string_arguments {
            true => Value::from(arguments.to_string()),
            false => arguments.clone(),
        };
        let calls = (0..num_calls).map(|index| {
            let function = json!({"name": NAMES[index], "arguments": arguments});
            json!({"id": self.call_id(index), "type": "function", "function": function})
        });
        let content = if self.null_content { Value::Null } else { Value::from("") };
        json!({"role": "assistant", "content": content, "tool_calls": calls.collect::<Vec<_>>()})
    }
}

/// The arguments of all calls.
pub(super) fn arguments() -> Value {
    json!({KEYS[0]: VALUES[0], KEYS[1]: VALUES[1]})
}

fn placeholders(text: &str) -> String {
    let text =
        NAMES.iter().fold(text.to_owned(), |text, name| text.replace(name, &NAME.to_string()));
    IDS.iter().fold(text, |text, id| text.replace(id, &ID.to_string()))
}

fn user() -> Value {
    json!({"role": "user", "content": USER})
}

fn tools() -> Vec<Value> {
    let string = json!({"type": "string", "description": DESCRIPTION});
    let tool = |name: &str| {
        let parameters = json!({
            "type": "object", "properties": {KEYS[0]: string, KEYS[1]: string},
            "required": [KEYS[0]],
        });
        let function = json!({"name": name, "description": DESCRIPTION, "parameters": parameters});
        json!({"type": "function", "function": function})
    };
    NAMES.map(tool).to_vec()
}

fn request(messages: &[Value], variables: &[(&str, Value)]) -> ChatRequest {
    let mut request = ChatRequest::new(messages.iter().cloned());
    request.tools = Some(tools());
    for (name, value) in variables {
        request.set(*name, value.clone());
    }
    request
}

/// Renders a conversation that ends with its last message.
fn render(
    template: &ChatTemplate,
    messages: &[Value],
    variables: &[(&str, Value)],
) -> Option<String> {
    let mut request = request(messages, variables);
    request.add_generation_prompt = false;
    template.render_within(&request, PROBE_LIMITS).ok()
}

/// Whether what a template writes for a request depends on a variable.
fn depends_on(template: &ChatTemplate, variable: &str, values: [impl Into<Value>; 2]) -> bool {
    let prompts = values.map(|value| {
        let mut request = request(&[user()], &[(variable, value.into())]);
        let with_tools = template.render_within(&request, PROBE_LIMITS).ok();
        request.tools = None;
        [with_tools, template.render_within(&request, PROBE_LIMITS).ok()]
    });
    prompts[0] != prompts[1]
}

/// What a template writes after the last user message so that the model answers.
pub(super) fn generation_prompt(
    template: &ChatTemplate,
    variables: &[(&str, Value)],
) -> Option<String> {
    let text = template.render_within(&request(&[user()], variables), PROBE_LIMITS).ok()?;
    text.rfind(USER).map(|at| text[at + USER.len()..].to_owned())
}

/// What a template writes for an answer, after the text that it shares with the prompt.
pub(super) fn answer(
    template: &ChatTemplate,
    message: &Value,
    variables: &[(&str, Value)],
) -> Option<String> {
    let full = render(template, &[user(), message.clone()], variables)?;
    let prompt = generation_prompt(template, variables)?;
    let full = &full[full.rfind(USER)? + USER.len()..];
    // Some templates always write the beginning of the next answer, after the tag that ends a message.
    let full = match full.strip_suffix(prompt.as_str()).filter(|text| !text.is_empty()) {
        Some(text) if !prompt.is_empty() => {
            Cow::Owned(format!("{text}{}", leading_tag(&prompt).unwrap_or_default()))
        }
        _ => Cow::Borrowed(full),
    };
    let shared = common_prefix(&full, &prompt);
    let start = (0..=shared).rev().find(|&at| is_boundary(&full, at)).unwrap_or(0);
    Some(full[start..].to_owned())
}

/// What a template writes for an answer, after the user message.
pub(super) fn turn(
    template: &ChatTemplate,
    message: &Value,
    variables: &[(&str, Value)],
) -> Option<String> {
    let full = render(template, &[user(), message.clone()], variables)?;
    full.rfind(USER).map(|at| full[at + USER.len()..].to_owned())
}
