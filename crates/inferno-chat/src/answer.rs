//! Incremental parsing of answers into reasoning, content and tool calls.
//!
//! The result depends on the text alone, not on how it was split. Text that could become a delimiter is held back. What looks
//! like a tool call and turns out not to be one is content.

mod call;
mod calls;
mod channels;
mod content;
mod literal;
mod parameters;
mod reasoning;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::form::{AnswerForm, CallForm, CallOpening};
use crate::{Tool, Tools};
use call::CallScanner;

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
    /// The opening of a first call, and the one without the trigger.
    openings: Arc<[Option<CallOpening>; 2]>,
}

impl ToolCallRules {
    pub(crate) fn new(tools: &Tools, form: &AnswerForm) -> Self {
        Self::of(Arc::clone(&form.calls), tools.callable().cloned().collect(), tools.single)
    }

    fn of(form: Arc<CallForm>, tools: Arc<[Tool]>, single: bool) -> Self {
        let openings = Arc::new([form.opening(), form.inner_opening()]);
        Self { form, tools, single, openings }
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
    /// Whether text of this state was passed on already.
    has_passed: bool,
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
    Call {
        scanner: Box<CallScanner>,
        /// If it began in reasoning, the length of the text up to its tag, which is reasoning unless this is a call.
        in_reasoning: Option<usize>,
    },
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
        Self {
            form: form.clone(),
            calls,
            pending: String::new(),
            state,
            has_passed: false,
            num_calls: 0,
        }
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
            State::Start => self.start(at_end),
            State::Reasoning { .. } => self.reasoning(at_end, deltas),
            State::AfterReasoning => {
                self.drain_line_ends();
                (at_end || !self.pending.is_empty()) && self.go(State::ContentStart)
            }
            State::ContentStart => self.content_start(at_end),
            State::Content => self.content(at_end, deltas),
            State::Call { .. } => self.call(at_end, deltas),
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
        self.has_passed = false;
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
