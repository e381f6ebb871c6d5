//! The form of a model's answers: how it writes reasoning, content and tool calls.
//!
//! A form is data. The parser of answers and their grammar are both derived from it, so that what the grammar allows is what the
//! parser reads. [`detect`] finds the form of a chat template in what the template writes.

mod align;
mod detect;
mod known;
mod openings;
mod parameters;
mod probe;
#[cfg(test)]
pub(crate) mod test_forms;
mod writing;

use std::sync::Arc;

use serde_json::Value;

use crate::unique_id;

pub(crate) use align::{compact, leading_tag, leading_word};
pub(crate) use detect::detect;
pub(crate) use openings::CallOpening;
pub(crate) use probe::Probe;

/// Begins reasoning, unless a template writes another tag.
pub const REASONING_OPEN: &str = "<think>";
/// Ends reasoning, unless a template writes another tag.
pub const REASONING_CLOSE: &str = "</think>";
/// Begins a call in an answer of a single object, for models that have a token for it.
pub(crate) const PYTHON_TAG: &str = "<|python_tag|>";

/// Represents the name of the tool in [`CallForm::call`].
pub(crate) const NAME: char = '\u{e000}';
/// Represents the arguments.
pub(crate) const ARGUMENTS: char = '\u{e001}';
/// Represents the id of the call.
pub(crate) const ID: char = '\u{e002}';
/// Represents the number of the call.
pub(crate) const INDEX: char = '\u{e003}';
/// Represents the key of a parameter in [`ParameterForm::after_value`].
pub(crate) const KEY: char = '\u{e004}';

/// How a model writes its answers.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerForm {
    /// The delimiters of reasoning.
    pub(crate) reasoning: Delimiters,
    /// Whether the template writes reasoning, or asks for it.
    pub(crate) reasons: bool,
    /// The delimiters of content; empty if it has none.
    pub(crate) content: Delimiters,
    /// Whether an answer is a series of messages, each with a header that names its channel: Harmony.
    pub(crate) has_channels: bool,
    pub(crate) calls: Arc<CallForm>,
}

impl Default for AnswerForm {
    /// Reasoning between `<think>` and `</think>`, and calls as JSON between `<tool_call>` and `</tool_call>`.
    fn default() -> Self {
        Self {
            reasoning: Delimiters::new(REASONING_OPEN, REASONING_CLOSE),
            reasons: false,
            content: Delimiters::default(),
            has_channels: false,
            calls: Arc::new(CallForm::hermes()),
        }
    }
}

impl AnswerForm {
    /// Whether delimiters of an answer, with or without calls, are control tokens. `token_id` returns the id of a control token.
    pub(crate) fn has_control_tokens(
        &self,
        has_tools: bool,
        token_id: impl Fn(&str) -> Option<u32>,
    ) -> bool {
        let trigger = match (has_tools, self.calls.trigger()) {
            (true, None) => Some(PYTHON_TAG),
            (true, trigger) => trigger,
            (false, _) => None,
        };
        let delimiters = [&self.reasoning, &self.content];
        let tags = delimiters.into_iter().flat_map(|it| [it.open.as_str(), it.close.as_str()]);
        self.has_channels
            || tags.chain(trigger).filter_map(leading_tag).any(|tag| token_id(tag).is_some())
    }
}

/// What encloses a part of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Delimiters {
    pub(crate) open: String,
    pub(crate) close: String,
}

impl Delimiters {
    pub(crate) fn new(open: &str, close: &str) -> Self {
        Self { open: open.to_owned(), close: close.to_owned() }
    }
}

/// How calls are written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CallForm {
    /// The text before the first call.
    pub(crate) open: String,
    /// One call, in which [`NAME`] and [`ARGUMENTS`], and possibly [`ID`] and [`INDEX`], represent what varies.
    pub(crate) call: String,
    /// The text between two calls.
    pub(crate) separator: String,
    /// The text after the last call.
    pub(crate) close: String,
    pub(crate) arguments: ArgumentForm,
    /// Whether an answer may also begin with a call, without the text before the first one.
    pub(crate) optional_open: bool,
    head: Head,
    before: String,
    after: String,
}

/// How the arguments of a call are written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ArgumentForm {
    /// A JSON object.
    Json,
    /// A list of parameters.
    Parameters(Box<ParameterForm>),
}

/// How parameters are written: elements such as `<parameter=key>value</parameter>`, or keyword arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParameterForm {
    /// The text between the name of the tool and the first parameter.
    pub(crate) open: String,
    pub(crate) before_key: String,
    /// The text between a key and its value; if the value is no string, [`before_other`](Self::before_other).
    pub(crate) before_value: String,
    /// Differs from [`before_value`](Self::before_value) if it shows the type of the value.
    pub(crate) before_other: String,
    /// The text after a value, in which [`KEY`] may represent its key.
    pub(crate) after_value: String,
    pub(crate) separator: String,
    /// The text after the last parameter.
    pub(crate) close: String,
    /// `None` if strings are written as they are, and other values as JSON.
    pub(crate) literals: Option<LiteralForm>,
    /// What encloses strings with markup or line ends, such as `<![CDATA[` and `]]>`.
    pub(crate) enclosure: Option<Delimiters>,
}

/// How values are written in a language that quotes strings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LiteralForm {
    /// The quotation mark: `"`, `'` or a tag. Nothing is escaped between tags.
    pub(crate) quote: String,
    /// Whether constants are `True`, `False` and `None`.
    pub(crate) is_python: bool,
    /// Whether the keys of nested objects are quoted.
    pub(crate) quotes_keys: bool,
}

/// Where the name and the arguments of a call are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Head {
    /// In a JSON object, as the values of two keys.
    Object { name_key: String, arguments_key: String },
    /// In a JSON object, as its only key and value.
    Member,
    /// The name in text, the arguments after it.
    Text,
}

impl CallForm {
    /// Creates a form, and finds where the name and the arguments are.
    pub(crate) fn new([open, call, separator, close]: [&str; 4], arguments: ArgumentForm) -> Self {
        let object = match arguments {
            ArgumentForm::Json => find_object(call),
            ArgumentForm::Parameters(_) => None,
        };
        let (start, end, head) = object.unwrap_or_else(|| {
            let end = call.find(ARGUMENTS).map_or(call.len(), |at| at + ARGUMENTS.len_utf8());
            (call.find(NAME).unwrap_or(0), end, Head::Text)
        });
        let (before, after) = (call[..start].to_owned(), call[end..].to_owned());
        let [open, call, separator, close] = [open, call, separator, close].map(str::to_owned);
        let optional_open = false;
        Self { open, call, separator, close, arguments, optional_open, head, before, after }
    }

    /// Where the name and the arguments are.
    pub(crate) fn head(&self) -> &Head {
        &self.head
    }

    /// The text of a call before its object, or before its name.
    pub(crate) fn before(&self) -> &str {
        &self.before
    }

    /// The text of a call after its object, or after its arguments.
    pub(crate) fn after(&self) -> &str {
        &self.after
    }

    /// The tag or other text that begins the first call after content and appears nowhere else; `None` if calls can only be
    /// recognized at the start of an answer.
    pub(crate) fn trigger(&self) -> Option<&str> {
        let starts = [&self.open, &self.before, &self.separator];
        // A separator is not distinctive within JSON.
        let num_starts = if self.head == Head::Text { 3 } else { 2 };
        let start = starts[..num_starts].iter().find(|text| !text.trim().is_empty())?;
        leading_tag(start).or_else(|| leading_word(start))
    }

    /// Whether there is no text before the object or name of the first call, if it is the start of an answer.
    pub(crate) fn begins_bare(&self) -> bool {
        self.open.trim().is_empty() && self.before.trim().is_empty()
    }

    /// Returns a new id for a call. Mistral's templates require nine letters and digits.
    pub(crate) fn new_call_id(&self) -> String {
        let id = unique_id("");
        match self.call.contains(ID) || self.trigger() == Some("[TOOL_CALLS]") {
            true => id[id.len() - 9..].to_owned(),
            false => format!("call_{id}"),
        }
    }
}

/// Finds the JSON object in a call that holds the name and the arguments: where it begins and ends, and where they are in it.
fn find_object(call: &str) -> Option<(usize, usize, Head)> {
    let text_of = |placeholder: char| Value::from(placeholder.to_string());
    let quoted = call.replace(ARGUMENTS, &text_of(ARGUMENTS).to_string());
    quoted.match_indices('{').find_map(|(start, _)| {
        let mut values = serde_json::Deserializer::from_str(&quoted[start..]).into_iter::<Value>();
        let Some(Ok(Value::Object(members))) = values.next() else { return None };
        let key_of = |placeholder| {
            let found = members.iter().find(|(_, value)| **value == text_of(placeholder));
            found.map(|(key, _)| key.clone())
        };
        let head = match (key_of(NAME), key_of(ARGUMENTS)) {
            (Some(name_key), Some(arguments_key)) => Head::Object { name_key, arguments_key },
            (None, Some(key)) if key.chars().eq([NAME]) => Head::Member,
            _ => return None,
        };
        let len_after = quoted.len() - (start + values.byte_offset());
        Some((start, call.len() - len_after, head))
    })
}
