//! Incremental parsing of answers into reasoning, content and tool calls.
//!
//! The result depends on the text alone, not on how it was split. Text that could become a delimiter is held back. What looks
//! like a tool call and turns out not to be one is content.

mod call;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::reasoning::{REASONING_CLOSE, REASONING_OPEN};
use crate::{ToolCallFormat, Tools};
use call::{CallEvent, CallScanner};

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
    pub(crate) format: ToolCallFormat,
    /// The tools that may be called. A call of another tool is content.
    names: Arc<[String]>,
    /// Whether calls after the first are dropped.
    single: bool,
}

impl ToolCallRules {
    pub(crate) fn new(tools: &Tools, format: ToolCallFormat) -> Self {
        let names = tools.callable().map(|tool| tool.name.clone()).collect();
        Self { format, names, single: tools.single }
    }
}

/// Parses one answer.
///
/// ```
/// use inferno_chat::{AnswerDelta, AnswerParser};
///
/// let mut parser = AnswerParser::new(None, false);
/// let mut deltas = Vec::new();
/// parser.push("<think>\nEasy.\n</thi", &mut deltas);
/// parser.push("nk>\n\nFour.", &mut deltas);
/// parser.finish(&mut deltas);
/// let expected = [AnswerDelta::Reasoning("Easy.".into()), AnswerDelta::Content("Four.".into())];
/// assert_eq!(deltas, expected);
/// ```
#[derive(Debug)]
pub struct AnswerParser {
    calls: Option<ToolCallRules>,
    /// Text that is not parsed yet.
    pending: String,
    state: State,
    num_calls: usize,
}

#[derive(Debug)]
enum State {
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
    Call(CallScanner),
    /// After a tool call.
    AfterCall,
    /// After a tool call and its closing delimiter.
    Between,
    /// Content up to the end, without tool calls.
    Plain,
    /// The rest is dropped.
    Dropping,
}

impl AnswerParser {
    /// Creates a parser for answers with these tool calls. `is_reasoning` if the prompt ends with the opening delimiter of
    /// reasoning.
    pub(crate) fn with_rules(calls: Option<ToolCallRules>, is_reasoning: bool) -> Self {
        let state = match is_reasoning {
            true => State::Reasoning { has_begun: false },
            false => State::Start,
        };
        Self { calls, pending: String::new(), state, num_calls: 0 }
    }

    /// Creates a parser for answers that may call tools in a format. `is_reasoning` if the prompt ends with the opening
    /// delimiter of reasoning.
    pub fn new(tools: Option<(&Tools, ToolCallFormat)>, is_reasoning: bool) -> Self {
        let rules = tools.map(|(tools, format)| ToolCallRules::new(tools, format));
        Self::with_rules(rules, is_reasoning)
    }

    fn format(&self) -> Option<ToolCallFormat> {
        self.calls.as_ref().map(|calls| calls.format)
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
            State::Start => match self.match_start(REASONING_OPEN, at_end) {
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
            State::AfterCall => match self.format() {
                Some(ToolCallFormat::Hermes) => {
                    match self.match_start(ToolCallFormat::HERMES_CLOSING, at_end) {
                        Match::NotYet => false,
                        Match::Yes(_) | Match::No => self.go(State::Between),
                    }
                }
                _ => self.go(State::Between),
            },
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
    fn match_start(&mut self, delimiter: &str, at_end: bool) -> Match {
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
        if let Some(end) = self.pending.find(REASONING_CLOSE) {
            let rest = self.pending.split_off(end + REASONING_CLOSE.len());
            let reasoning = self.pending[..end].trim_end_matches('\n').to_owned();
            self.pending = rest;
            push_text(AnswerDelta::Reasoning, reasoning, deltas);
            return self.go(State::AfterReasoning);
        }
        let known = match at_end {
            true => self.pending.len(),
            false => self.pending.len() - partial_delimiter(REASONING_CLOSE, &self.pending),
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
        if self.format() != Some(ToolCallFormat::Llama) {
            return self.go(State::Content);
        }
        match self.match_start(ToolCallFormat::LLAMA_OPENING, at_end) {
            Match::Yes(opening) => self.begin_call(opening),
            Match::NotYet => false,
            Match::No => {
                let text = self.pending.trim_start();
                if !text.starts_with('{') {
                    return self.go(State::Plain);
                }
                let blanks = self.pending.len() - text.len();
                let opening = self.pending.drain(..blanks).collect();
                self.begin_call(opening)
            }
        }
    }

    fn content(&mut self, at_end: bool, deltas: &mut Vec<AnswerDelta>) -> bool {
        let Some(opening) = self.format().and_then(ToolCallFormat::opening) else {
            return self.go(State::Plain);
        };
        if let Some(at) = self.pending.find(opening) {
            let rest = self.pending.split_off(at + opening.len());
            // Whitespace before a call is not content, unless it turns out not to be a call.
            let opening = self.pending.split_off(self.pending[..at].trim_end().len());
            let text = std::mem::replace(&mut self.pending, rest);
            push_text(AnswerDelta::Content, text, deltas);
            return self.begin_call(opening);
        }
        let known = match at_end {
            true => self.pending.len(),
            false => {
                let held = partial_delimiter(opening, &self.pending);
                self.pending[..self.pending.len() - held].trim_end().len()
            }
        };
        let text = self.pending.drain(..known).collect();
        push_text(AnswerDelta::Content, text, deltas);
        false
    }

    /// Starts parsing a call that begins with this text.
    fn begin_call(&mut self, opening: String) -> bool {
        match &self.calls {
            Some(rules) if !(rules.single && self.num_calls > 0) => {
                let scanner = CallScanner::new(rules.clone(), opening);
                self.go(State::Call(scanner))
            }
            _ => self.go(State::Dropping),
        }
    }

    fn call(&mut self, at_end: bool, deltas: &mut Vec<AnswerDelta>) -> bool {
        let format = self.format();
        let (State::Call(scanner), Some(format)) = (&mut self.state, format) else {
            return false;
        };
        let mut taken = 0;
        for character in self.pending.chars() {
            taken += character.len_utf8();
            let event = scanner.push(character);
            if let Some(name) = scanner.take_name() {
                let (index, id) = (self.num_calls, format.new_call_id());
                self.num_calls += 1;
                deltas.push(AnswerDelta::ToolCall { index, id, name });
            }
            match event {
                CallEvent::Incomplete => {}
                CallEvent::Complete => {
                    let index = self.num_calls.saturating_sub(1);
                    push_arguments(index, scanner.take_arguments(), deltas);
                    self.pending.drain(..taken);
                    return self.go(State::AfterCall);
                }
                CallEvent::Malformed if scanner.is_named() => return self.go(State::Dropping),
                CallEvent::Malformed => {
                    self.pending.drain(..taken);
                    return self.give_up();
                }
            }
        }
        self.pending.clear();
        if scanner.is_named() {
            let index = self.num_calls.saturating_sub(1);
            push_arguments(index, scanner.take_arguments(), deltas);
        } else if at_end {
            return self.give_up();
        }
        false
    }

    /// Returns everything to content: it was not a call.
    fn give_up(&mut self) -> bool {
        if let State::Call(scanner) = &self.state {
            self.pending.insert_str(0, scanner.raw());
        }
        self.go(State::Plain)
    }

    fn between(&mut self, at_end: bool) -> bool {
        let format = self.format();
        let blank = self.pending.len()
            - self
                .pending
                .trim_start_matches(|c: char| {
                    c.is_whitespace() || (c == ';' && format == Some(ToolCallFormat::Llama))
                })
                .len();
        self.pending.drain(..blank);
        if self.pending.is_empty() {
            return false;
        }
        match format {
            Some(ToolCallFormat::Mistral) if self.pending.starts_with(',') => {
                self.begin_call(String::new())
            }
            Some(ToolCallFormat::Mistral) if self.pending.starts_with(']') => {
                self.pending.drain(..1);
                true
            }
            Some(ToolCallFormat::Llama) => self.content_start(at_end),
            Some(format) => match self.match_start(format.opening().unwrap_or_default(), at_end) {
                Match::Yes(opening) => self.begin_call(opening),
                Match::NotYet => false,
                Match::No => self.go(State::Content),
            },
            None => self.go(State::Plain),
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
