//! How a template reads messages, and the conversion of messages to that form.
//!
//! In requests, contents are strings, reasoning is a field of assistant messages, and instructions are system messages. Some
//! templates write only contents that are lists of parts, read reasoning from another place, or reject or omit system messages.

use std::borrow::Cow;

use inferno_jinja::Limits;
use serde_json::{Value, json};

use crate::{ChatRequest, ChatTemplate};

/// Limits of one rendering that probes a template. There are up to 100, which may take twice as long as a long conversation.
pub(crate) const PROBE_LIMITS: Limits = Limits { steps: 400_000, bytes: 8 << 20 };

/// The fields of assistant messages that hold reasoning. A request may have any of them; templates read one.
const REASONING_FIELDS: [&str; 4] = ["reasoning_content", "reasoning", "thinking", "tool_plan"];

const SYSTEM: &str = "systemprobe8s";
const USER: &str = "userprobe8u";
const CONTENT: &str = "contentprobe8c";
const REASONING: &str = "reasoningprobe8r";

/// How a template reads messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MessageForm {
    /// It writes contents that are lists of parts, and none that are strings.
    reads_parts: bool,
    /// Which system messages it writes.
    system: SystemMessages,
    /// Where it reads the reasoning of earlier answers; `None` if it writes none.
    reasoning: Option<ReasoningPlace>,
}

/// Which system messages a template writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SystemMessages {
    None,
    /// One at the start.
    First,
    All,
}

/// Where a template reads the reasoning of an assistant message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReasoningPlace {
    /// In a field.
    Field {
        name: &'static str,
        /// It fails on calls with both content and reasoning.
        excludes_content: bool,
    },
    /// In a part of the content, with the type `thinking`.
    Part,
    /// In a block of the content, with the type `thoughts`. Contents of all assistant messages must then have blocks.
    Block,
}

impl MessageForm {
    /// Finds the form by rendering short conversations.
    pub(crate) fn of(template: &ChatTemplate) -> Self {
        let mut form = Self { reads_parts: false, system: SystemMessages::All, reasoning: None };
        let mut writes_user = form.rendered(template, [user()]).any(|text| text.contains(USER));
        if !writes_user {
            form.reads_parts = true;
            writes_user = form.rendered(template, [user()]).any(|text| is_written(&text, USER));
            form.reads_parts = writes_user;
        }
        if writes_user {
            form.system = form.system_messages(template);
        }
        form.reasoning = form.reasoning_place(template);
        form
    }

    /// Returns the request with the messages in this form, except for parts.
    pub(crate) fn converted<'r>(&self, request: Cow<'r, ChatRequest>) -> Cow<'r, ChatRequest> {
        let messages = &request.messages;
        let num_kept = match self.system {
            SystemMessages::None => 0,
            SystemMessages::First => 1,
            SystemMessages::All => messages.len(),
        };
        let moves_system = messages.iter().skip(num_kept).any(|it| it["role"] == "system");
        let place = self.reasoning.filter(|_| messages.iter().any(|it| reasoning_of(it).is_some()));
        if !moves_system && place.is_none() {
            return request;
        }
        let mut request = request.into_owned();
        if moves_system {
            request.messages = with_system_in_user(request.messages, num_kept > 0);
        }
        if let Some(place) = place {
            let answers = request.messages.iter_mut().filter(|it| it["role"] == "assistant");
            answers.for_each(|message| place.write(message));
        }
        Cow::Owned(request)
    }

    /// Returns the request with contents as lists of parts, if the template reads only those.
    pub(crate) fn in_parts<'r>(&self, request: &'r ChatRequest) -> Cow<'r, ChatRequest> {
        if !self.reads_parts {
            return Cow::Borrowed(request);
        }
        let mut request = request.clone();
        for message in &mut request.messages {
            if let Some(content @ Value::String(_)) = message.get_mut("content") {
                *content = json!([{"type": "text", "text": content.take()}]);
            }
        }
        Cow::Owned(request)
    }

    /// What the template writes for a conversation, without tools and with one.
    fn rendered(
        &self,
        template: &ChatTemplate,
        messages: impl IntoIterator<Item = Value>,
    ) -> impl Iterator<Item = String> {
        let mut request = ChatRequest::new(messages);
        request.add_generation_prompt = false;
        for variable in ["enable_thinking", "thinking"] {
            request.set(variable, true);
        }
        let mut with_tool = request.clone();
        with_tool.tools = Some(vec![tool()]);
        let render = |request: ChatRequest| {
            template.render_exactly(&self.in_parts(&request), PROBE_LIMITS).ok()
        };
        [request, with_tool].into_iter().filter_map(render)
    }

    fn system_messages(&self, template: &ChatTemplate) -> SystemMessages {
        let systems = [0, 1].map(|index| format!("{SYSTEM}{index}"));
        let [first, second] = systems.each_ref().map(|text| message("system", text));
        let answer = message("assistant", CONTENT);
        let writes = |texts: &[String], messages: &[&Value]| {
            self.rendered(template, messages.iter().map(|it| (*it).clone()))
                .any(|rendered| texts.iter().all(|text| rendered.contains(text)))
        };
        if !writes(&systems[..1], &[&first, &user()]) {
            return SystemMessages::None;
        }
        match writes(&systems, &[&first, &second, &user()])
            && writes(&systems, &[&first, &user(), &answer, &second, &user()])
        {
            true => SystemMessages::All,
            false => SystemMessages::First,
        }
    }

    fn reasoning_place(&self, template: &ChatTemplate) -> Option<ReasoningPlace> {
        let answers = answers();
        let in_fields = answers.iter().filter_map(|message| {
            // Each field has another value, to see which one the template reads.
            let values = REASONING_FIELDS.map(|name| format!("{name}{REASONING}"));
            let mut message = message.clone();
            for (name, value) in REASONING_FIELDS.iter().zip(&values) {
                message[*name] = json!(value);
            }
            let mut rendered = self.rendered(template, [user(), message]);
            rendered.find_map(|text| values.iter().position(|value| text.contains(value)))
        });
        if let Some(index) = in_fields.min() {
            let name = REASONING_FIELDS[index];
            let excludes_content = self.excludes_content(template, name, &answers);
            return Some(ReasoningPlace::Field { name, excludes_content });
        }
        [ReasoningPlace::Part, ReasoningPlace::Block].into_iter().find(|place| {
            let mut message = message("assistant", CONTENT);
            message[REASONING_FIELDS[0]] = json!(REASONING);
            place.write(&mut message);
            self.rendered(template, [user(), message])
                .any(|text| is_written(&text, REASONING) && is_written(&text, CONTENT))
        })
    }

    /// Whether the template fails on an answer with a call only if it has both content and reasoning in this field.
    fn excludes_content(&self, template: &ChatTemplate, field: &str, answers: &[Value]) -> bool {
        answers.iter().filter(|message| message["content"] == "").any(|message| {
            let mut message = message.clone();
            message[field] = json!(REASONING);
            let mut rendered = self.rendered(template, [user(), message.clone()]);
            message["content"] = json!(CONTENT);
            rendered.any(|text| text.contains(REASONING))
                && self.rendered(template, [user(), message]).next().is_none()
        })
    }
}

impl ReasoningPlace {
    /// Puts the reasoning of an assistant message, if it has any, where the template reads it.
    fn write(self, message: &mut Value) {
        let reasoning = reasoning_of(message).map(str::to_owned);
        let text = match &message["content"] {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            _ => return,
        };
        let [text_part, reasoning_part] = match self {
            Self::Field { name, excludes_content } => {
                let Some(mut reasoning) = reasoning else { return };
                if excludes_content && !text.is_empty() && message.get("tool_calls").is_some() {
                    reasoning = format!("{reasoning}\n\n{text}");
                    message["content"] = json!("");
                }
                message[name] = json!(reasoning);
                return;
            }
            Self::Part => [("text", "text"), ("thinking", "thinking")],
            Self::Block => [("response", "text"), ("thoughts", "text")],
        };
        let part = |(kind, field): (&str, &str), text: String| json!({"type": kind, field: text});
        let reasoning = reasoning.map(|text| part(reasoning_part, text));
        let text = (!text.is_empty()).then(|| part(text_part, text));
        let parts: Vec<_> = [reasoning, text].into_iter().flatten().collect();
        message["content"] = match self {
            Self::Block => json!({"blocks": parts}),
            _ => json!(parts),
        };
    }
}

/// The reasoning of a message, whatever the name of its field.
fn reasoning_of(message: &Value) -> Option<&str> {
    let mut texts = REASONING_FIELDS.iter().filter_map(|name| message[*name].as_str());
    texts.find(|text| !text.is_empty())
}

/// Removes the reasoning from a message.
pub(crate) fn remove_reasoning(message: &mut Value) {
    if let Some(fields) = message.as_object_mut() {
        fields.retain(|name, _| !REASONING_FIELDS.contains(&name.as_str()));
    }
}

/// Puts the texts of system messages in front of the next user message. Without one, they become a user message. With
/// `keeps_first`, those at the start become one system message instead.
fn with_system_in_user(messages: Vec<Value>, keeps_first: bool) -> Vec<Value> {
    let (mut moved, mut texts) = (Vec::with_capacity(messages.len()), Vec::new());
    let mut is_start = keeps_first;
    for mut message in messages {
        let (is_system, is_user) = (message["role"] == "system", message["role"] == "user");
        if is_start && !is_system {
            moved.extend(joined("system", &mut texts));
        }
        is_start &= is_system;
        match message["content"].as_str() {
            Some(text) if is_system => {
                texts.push(text.to_owned());
                continue;
            }
            Some(text) if is_user && !texts.is_empty() => {
                texts.push(text.to_owned());
                message["content"] = json!(std::mem::take(&mut texts).join("\n\n"));
            }
            _ => moved.extend(joined("user", &mut texts)),
        }
        moved.push(message);
    }
    moved.extend(joined(if is_start { "system" } else { "user" }, &mut texts));
    moved
}

/// Takes the texts as a message; `None` if there are none.
fn joined(role: &str, texts: &mut Vec<String>) -> Option<Value> {
    let texts = std::mem::take(texts);
    (!texts.is_empty()).then(|| message(role, &texts.join("\n\n")))
}

/// Whether a template writes a text itself, rather than data that contain it between quotation marks.
fn is_written(rendered: &str, text: &str) -> bool {
    rendered.find(text).is_some_and(|at| !rendered[..at].ends_with(['"', '\'']))
}

fn message(role: &str, content: &str) -> Value {
    json!({"role": role, "content": content})
}

fn user() -> Value {
    message("user", USER)
}

/// Answers in the forms that templates expect: with content, and with a call.
fn answers() -> Vec<Value> {
    let call = |arguments: &Value| {
        let function = json!({"name": "probetool", "arguments": arguments});
        json!([{"id": "callida01", "type": "function", "function": function}])
    };
    let mut answers = vec![message("assistant", CONTENT)];
    for arguments in [json!({"key": "value"}), json!("{\"key\": \"value\"}")] {
        for content in [json!(""), Value::Null] {
            let calls = call(&arguments);
            answers.push(json!({"role": "assistant", "content": content, "tool_calls": calls}));
        }
    }
    answers
}

fn tool() -> Value {
    let text = json!({"type": "string", "description": "A key."});
    let parameters = json!({"type": "object", "properties": {"key": text}, "required": ["key"]});
    let function = json!({"name": "probetool", "description": "A tool.", "parameters": parameters});
    json!({"type": "function", "function": function})
}
