//! Incremental parsing of answers into reasoning, content and tool calls.
//!
//! The result depends on the text alone, not on how it was split. Text that could become a delimiter is held back. What looks
//! like a tool call and turns out not to be one is content.

mod call;
mod calls;
mod channels;
mod literal;
mod parameters;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::form::{AnswerForm, CallForm, Head, PYTHON_TAG, compact};
use crate::{Tool, Tools};
use call::CallScanner;
use channels::MESSAGE_ENDS;

/// An increment of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerDelta {
    /// More reasoning, without its delimiters.
    Reasoning(String),
    /// More content.
    Content(String),
    /// A tool call begins.
    ToolCall {
        /// Index of the call, from 0.
        index: usize,
        /// A unique id.
        id: String,
        /// Name of the tool.
        name: String,
    },
    /// More arguments of a tool call, which are JSON once complete.
    Arguments {
        /// Index of the call.
        index: usize,
        /// The text, as the model wrote it.
        text: String,
    },
}

/// The tool calls that an answer may contain.
#[derive(Debug, Clone)]
pub(crate) struct ToolCallRules {
    form: Arc<CallForm>,
    /// The tools that may be called. A call of another tool is content.
    tools: Arc<[Tool]>,
    /// Whether calls after the first are dropped.
    single: bool,
}

impl ToolCallRules {
    pub(crate) fn new(tools: &Tools, form: &AnswerForm) -> Self {
        let (form, single) = (Arc::clone(&form.calls), tools.single);
        Self { form, tools: tools.callable().cloned().collect(), single }
    }
}

/// Parses one answer.
///
/// ```
/// use inferno_chat::{AnswerDelta, AnswerForm, AnswerParser};
///
/// let mut parser = AnswerParser::new(&AnswerForm::default(), None, false);
/// let mut deltas = Vec::new();
/// parser.push("<think>\nEasy.\n</thi", &mut deltas);
/// parser.push("nk>\n\nFour.", &mut deltas);
/// parser.finish(&mut deltas);
/// let expected = [AnswerDelta::Reasoning("Easy.".into()), AnswerDelta::Content("Four.".into())];
/// assert_eq!(deltas, expected);
/// ```
#[derive(Debug)]
pub struct AnswerParser {
    form: AnswerForm,
    calls: Option<ToolCallRules>,
    /// Text that is not parsed yet.
    pending: String,
    state: State,
    num_calls: usize,
}

#[derive(Debug)]
enum State {
    /// In the header of a message, if answers have channels.
    Header,
    /// Only whitespace so far.
    Start,
    /// Inside reasoning.
    Reasoning {
        /// Whether there was anything but line ends.
        has_begun: bool,
    },
    /// After reasoning; templates write the empty lines there themselves.
    AfterReasoning,
    /// Only whitespace after reasoning, or at all.
    ContentStart,
    Content,
    /// Inside a tool call.
    Call(Box<CallScanner>),
    /// After the arguments of a tool call, before the rest of its text.
    AfterCall,
    /// After a tool call.
    Between,
    /// Content up to the end, without tool calls.
    Plain,
    /// The rest is dropped.
    Dropping,
}

impl AnswerParser {
    /// Creates a parser for answers with these tool calls. `is_reasoning` if the prompt ends with the opening delimiter of
    /// reasoning.
    pub(crate) fn with_rules(
        form: &AnswerForm,
        calls: Option<ToolCallRules>,
        is_reasoning: bool,
    ) -> Self {
        let state = match is_reasoning {
            true => State::Reasoning { has_begun: false },
            false if form.has_channels => State::Header,
            false => State::Start,
        };
        Self { form: form.clone(), calls, pending: String::new(), state, num_calls: 0 }
    }

    /// Creates a parser for answers in a form that may call tools. `is_reasoning` if the prompt ends with the opening delimiter
    /// of reasoning.
    pub fn new(form: &AnswerForm, tools: Option<&Tools>, is_reasoning: bool) -> Self {
        let rules = tools.map(|tools| ToolCallRules::new(tools, form));
        Self::with_rules(form, rules, is_reasoning)
    }

    /// Number of tool calls so far.
    pub fn num_calls(&self) -> usize {
        self.num_calls
    }

    /// Whether the end of the text so far is reasoning.
    pub fn is_reasoning(&self) -> bool {
        matches!(self.state, State::Reasoning { .. })
    }

    /// Parses more text, and appends what is certain by now.
    pub fn push(&mut self, text: &str, deltas: &mut Vec<AnswerDelta>) {
        self.pending.push_str(text);
        while self.advance(false, deltas) {}
    }

    /// Appends what remains at the end of the answer.
    pub fn finish(&mut self, deltas: &mut Vec<AnswerDelta>) {
        while self.advance(true, deltas) {}
    }

    /// Makes one transition, if the pending text allows it.
    fn advance(&mut self, at_end: bool, deltas: &mut Vec<AnswerDelta>) -> bool {
        match &mut self.state {
            State::Header => self.header(at_end),
            State::Start => match self.match_start(self.form.reasoning.open.clone(), at_end) {
                Match::Yes(_) => self.go(State::Reasoning { has_begun: false }),
                Match::No => self.go(State::ContentStart),
                Match::NotYet => false,
            },
            State::Reasoning { has_begun } => {
                if !*has_begun {
                    let blank = self.pending.len() - self.pending.trim_start_matches('\n').len();
                    self.pending.drain(..blank);
                    *has_begun = !self.pending.is_empty();
                }
                self.reasoning(at_end, deltas)
            }
            State::AfterReasoning => {
                let blank = self.pending.len() - self.pending.trim_start_matches('\n').len();
                self.pending.drain(..blank);
                (at_end || !self.pending.is_empty()) && self.go(State::ContentStart)
            }
            State::ContentStart => self.content_start(at_end),
            State::Content => self.content(at_end, deltas),
            State::Call(_) => self.call(at_end, deltas),
            State::AfterCall => self.after_call(at_end),
            State::Between => self.between(at_end),
            State::Plain => {
                let text = std::mem::take(&mut self.pending);
                push_text(AnswerDelta::Content, text, deltas);
                false
            }
            State::Dropping => {
                self.pending.clear();
                false
            }
        }
    }

    fn go(&mut self, state: State) -> bool {
        self.state = state;
        true
    }

    /// Whether the text begins with `delimiter` after whitespace; removes both if so.
    fn match_start(&mut self, delimiter: impl AsRef<str>, at_end: bool) -> Match {
        let delimiter = delimiter.as_ref();
        let text = self.pending.trim_start();
        if text.starts_with(delimiter) {
            let taken = self.pending.len() - text.len() + delimiter.len();
            Match::Yes(self.pending.drain(..taken).collect())
        } else if delimiter.starts_with(text) && !at_end {
            Match::NotYet
        } else {
            Match::No
        }
    }

    fn reasoning(&mut self, at_end: bool, deltas: &mut Vec<AnswerDelta>) -> bool {
        let close = match self.form.has_channels {
            true => MESSAGE_ENDS[0],
            false => &self.form.reasoning.close,
        };
        if let Some(end) = self.pending.find(close) {
            let rest = self.pending.split_off(end + close.len());
            let reasoning = self.pending[..end].trim_end_matches('\n').to_owned();
            self.pending = rest;
            push_text(AnswerDelta::Reasoning, reasoning, deltas);
            let next = if self.form.has_channels { State::Header } else { State::AfterReasoning };
            return self.go(next);
        }
        let known = match at_end {
            true => self.pending.len(),
            false => self.pending.len() - partial_delimiter(close, &self.pending),
        };
        let reasoning = self.pending[..known].trim_end_matches('\n').to_owned();
        self.pending.drain(..reasoning.len());
        push_text(AnswerDelta::Reasoning, reasoning, deltas);
        if at_end {
            self.pending.clear();
        }
        false
    }

    fn content_start(&mut self, at_end: bool) -> bool {
        if !self.form.content.open.is_empty() {
            match self.match_start(self.form.content.open.clone(), at_end) {
                Match::Yes(_) => return self.go(State::Content),
                Match::NotYet => return false,
                Match::No => {}
            }
        }
        let begins_bare =
            |rules: &&ToolCallRules| rules.form.trigger().is_none() || rules.form.begins_bare();
        let Some(rules) = self.calls.as_ref().filter(begins_bare) else {
            return self.go(State::Content);
        };
        // Without a tag, a call can only be the beginning of an answer.
        let has_trigger = rules.form.trigger().is_some();
        let lead = compact(&format!("{}{}", rules.form.open, rules.form.before()));
        match self.match_start(PYTHON_TAG, at_end) {
            Match::Yes(opening) => self.begin_call(opening, &lead),
            Match::NotYet => false,
            Match::No => {
                let text = self.pending.trim_start();
                let is_call = match lead.chars().next() {
                    Some(first) => text.starts_with(first),
                    None => self.begins_call(text),
                };
                if !is_call {
                    let content = if has_trigger { State::Content } else { State::Plain };
                    return (at_end || !text.is_empty()) && self.go(content);
                }
                let blanks = self.pending.len() - text.len();
                let opening = self.pending.drain(..blanks).collect();
                self.begin_call(opening, &lead)
            }
        }
    }

    /// Whether a text may begin a call that has no text before its object or name.
    fn begins_call(&self, text: &str) -> bool {
        self.calls.as_ref().is_some_and(|rules| match rules.form.head() {
            Head::Object { .. } | Head::Member => text.starts_with('{'),
            Head::Text => rules.tools.iter().any(|tool| {
                !text.is_empty() && (text.starts_with(&tool.name) || tool.name.starts_with(text))
            }),
        })
    }

    fn content(&mut self, at_end: bool, deltas: &mut Vec<AnswerDelta>) -> bool {
        let ends: &[&str] = match self.form.has_channels {
            true => &MESSAGE_ENDS,
            false => &[self.form.content.close.as_str()],
        };
        let calls = self.calls.as_ref().filter(|_| !self.form.has_channels);
        let trigger = calls.and_then(|rules| rules.form.trigger());
        let delimiters = || ends.iter().copied().chain(trigger).filter(|text| !text.is_empty());
        if delimiters().next().is_none() {
            return self.go(State::Plain);
        }
        let found = delimiters().filter_map(|text| Some((self.pending.find(text)?, text))).min();
        if let Some((at, delimiter)) = found {
            let is_call = Some(delimiter) == trigger;
            let rest = self.pending.split_off(at + delimiter.len());
            // Whitespace before a call is not content, unless it turns out not to be a call.
            let opening = self.pending.split_off(self.pending[..at].trim_end().len());
            let text = std::mem::replace(&mut self.pending, rest);
            push_text(AnswerDelta::Content, text, deltas);
            return match is_call {
                true => self.begin_first_call(opening),
                false if self.form.has_channels => self.go(State::Header),
                false => true,
            };
        }
        let known = match at_end {
            true => self.pending.len(),
            false => {
                let held = delimiters().map(|text| partial_delimiter(text, &self.pending)).max();
                self.pending[..self.pending.len() - held.unwrap_or(0)].trim_end().len()
            }
        };
        let text = self.pending.drain(..known).collect();
        push_text(AnswerDelta::Content, text, deltas);
        false
    }
}

enum Match {
    /// With the text that was removed.
    Yes(String),
    No,
    /// The text is too short to decide.
    NotYet,
}

fn push_text(
    delta: impl FnOnce(String) -> AnswerDelta,
    text: String,
    deltas: &mut Vec<AnswerDelta>,
) {
    if !text.is_empty() {
        deltas.push(delta(text));
    }
}

fn push_arguments(index: usize, text: String, deltas: &mut Vec<AnswerDelta>) {
    if !text.is_empty() {
        deltas.push(AnswerDelta::Arguments { index, text });
    }
}

/// Number of bytes at the end of `text` that are the beginning of `delimiter`.
fn partial_delimiter(delimiter: &str, text: &str) -> usize {
    let longest = text.len().min(delimiter.len() - 1);
    (1..=longest)
        .rev()
        .find(|&len| text.as_bytes()[text.len() - len..] == delimiter.as_bytes()[..len])
        .unwrap_or(0)
}
