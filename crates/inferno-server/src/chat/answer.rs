//! Tells an answer apart as it comes: reasoning, text, tool calls.
//!
//! What is told depends on the text alone, never on how it was cut. Text that could still become a mark is held back. What
//! looks like a call and turns out to be none is text.

mod call;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::{THINK_CLOSE, THINK_OPEN, ToolForm, Tools};
use call::{CallEvent, CallScanner};

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// What the model says to itself.
    Reasoning(String),
    Content(String),
    /// A call begins; calls are counted from 0.
    Call {
        index: usize,
        id: String,
        name: String,
    },
    /// More of a call's arguments, which together are JSON.
    Arguments {
        index: usize,
        text: String,
    },
}

/// The calls that an answer may hold.
#[derive(Debug, Clone)]
pub(super) struct CallRules {
    pub form: ToolForm,
    /// The tools that may be called. What names another is text.
    names: Arc<[String]>,
    /// Whether further calls are left out.
    single: bool,
}

impl CallRules {
    pub fn new(tools: &Tools, form: ToolForm) -> Self {
        let names = tools.callable().map(|tool| tool.name.clone()).collect();
        Self { form, names, single: tools.single }
    }
}

/// Tells one answer apart.
#[derive(Debug)]
pub(super) struct AnswerParser {
    calls: Option<CallRules>,
    /// Text that nothing is known of.
    pending: String,
    state: State,
    num_calls: usize,
}

#[derive(Debug)]
enum State {
    /// Nothing but blanks came.
    Start,
    /// Within thoughts; whether any came.
    Reasoning {
        has_begun: bool,
    },
    /// After thoughts; templates write the empty lines there themselves.
    AfterReasoning,
    /// Nothing but blanks came after thoughts, or at all.
    ContentStart,
    Content,
    /// Within a call.
    Call(CallScanner),
    /// After a call.
    AfterCall,
    /// After a call and its second mark.
    Between,
    /// Text in which nothing is looked for any more.
    Plain,
    /// The rest is left out.
    Ended,
}

impl AnswerParser {
    /// For an answer in which these calls may stand. Some templates write the first mark of thoughts themselves.
    pub fn new(calls: Option<CallRules>, reasoning_has_begun: bool) -> Self {
        let state = match reasoning_has_begun {
            true => State::Reasoning { has_begun: false },
            false => State::Start,
        };
        Self { calls, pending: String::new(), state, num_calls: 0 }
    }

    fn form(&self) -> Option<ToolForm> {
        self.calls.as_ref().map(|calls| calls.form)
    }

    pub fn num_calls(&self) -> usize {
        self.num_calls
    }

    pub fn is_reasoning(&self) -> bool {
        matches!(self.state, State::Reasoning { .. })
    }

    /// Takes more text, and appends what is known by now.
    pub fn push(&mut self, text: &str, pieces: &mut Vec<Piece>) {
        self.pending.push_str(text);
        while self.advance(false, pieces) {}
    }

    /// Appends what is left at the end.
    pub fn finish(&mut self, pieces: &mut Vec<Piece>) {
        while self.advance(true, pieces) {}
    }

    /// Goes one step on, if that can be done with the text that is there.
    fn advance(&mut self, at_end: bool, pieces: &mut Vec<Piece>) -> bool {
        match &mut self.state {
            State::Start => match self.match_start(THINK_OPEN, at_end) {
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
                self.reasoning(at_end, pieces)
            }
            State::AfterReasoning => {
                let blank = self.pending.len() - self.pending.trim_start_matches('\n').len();
                self.pending.drain(..blank);
                (at_end || !self.pending.is_empty()) && self.go(State::ContentStart)
            }
            State::ContentStart => self.content_start(at_end),
            State::Content => self.content(at_end, pieces),
            State::Call(_) => self.call(at_end, pieces),
            State::AfterCall => match self.form() {
                Some(ToolForm::Hermes) => match self.match_start(ToolForm::HERMES_CLOSE, at_end) {
                    Match::NotYet => false,
                    Match::Yes(_) | Match::No => self.go(State::Between),
                },
                _ => self.go(State::Between),
            },
            State::Between => self.between(at_end),
            State::Plain => {
                let text = std::mem::take(&mut self.pending);
                tell(Piece::Content, text, pieces);
                false
            }
            State::Ended => {
                self.pending.clear();
                false
            }
        }
    }

    fn go(&mut self, state: State) -> bool {
        self.state = state;
        true
    }

    /// Whether the text begins with `mark` after blanks; takes both away if so.
    fn match_start(&mut self, mark: &str, at_end: bool) -> Match {
        let text = self.pending.trim_start();
        if text.starts_with(mark) {
            let taken = self.pending.len() - text.len() + mark.len();
            Match::Yes(self.pending.drain(..taken).collect())
        } else if mark.starts_with(text) && !at_end {
            Match::NotYet
        } else {
            Match::No
        }
    }

    fn reasoning(&mut self, at_end: bool, pieces: &mut Vec<Piece>) -> bool {
        if let Some(end) = self.pending.find(THINK_CLOSE) {
            let rest = self.pending.split_off(end + THINK_CLOSE.len());
            let thoughts = self.pending[..end].trim_end_matches('\n').to_owned();
            self.pending = rest;
            tell(Piece::Reasoning, thoughts, pieces);
            return self.go(State::AfterReasoning);
        }
        let known = match at_end {
            true => self.pending.len(),
            false => self.pending.len() - tail_that_may_become(THINK_CLOSE, &self.pending),
        };
        let thoughts = self.pending[..known].trim_end_matches('\n').to_owned();
        self.pending.drain(..thoughts.len());
        tell(Piece::Reasoning, thoughts, pieces);
        if at_end {
            self.pending.clear();
        }
        false
    }

    fn content_start(&mut self, at_end: bool) -> bool {
        if self.form() != Some(ToolForm::Llama) {
            return self.go(State::Content);
        }
        match self.match_start(ToolForm::LLAMA_MARK, at_end) {
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

    fn content(&mut self, at_end: bool, pieces: &mut Vec<Piece>) -> bool {
        let Some(mark) = self.form().and_then(ToolForm::mark) else {
            return self.go(State::Plain);
        };
        if let Some(at) = self.pending.find(mark) {
            let rest = self.pending.split_off(at + mark.len());
            // Blanks before a call are none of the text, but they are where it turns out to be no call.
            let opening = self.pending.split_off(self.pending[..at].trim_end().len());
            let text = std::mem::replace(&mut self.pending, rest);
            tell(Piece::Content, text, pieces);
            return self.begin_call(opening);
        }
        let known = match at_end {
            true => self.pending.len(),
            false => {
                let held = tail_that_may_become(mark, &self.pending);
                self.pending[..self.pending.len() - held].trim_end().len()
            }
        };
        let text = self.pending.drain(..known).collect();
        tell(Piece::Content, text, pieces);
        false
    }

    /// Goes on within a call, which this text begins.
    fn begin_call(&mut self, opening: String) -> bool {
        match &self.calls {
            Some(rules) if !(rules.single && self.num_calls > 0) => {
                let scanner = CallScanner::new(rules.clone(), opening);
                self.go(State::Call(scanner))
            }
            _ => self.go(State::Ended),
        }
    }

    fn call(&mut self, at_end: bool, pieces: &mut Vec<Piece>) -> bool {
        let form = self.form();
        let (State::Call(scanner), Some(form)) = (&mut self.state, form) else {
            return false;
        };
        let mut taken = 0;
        for character in self.pending.chars() {
            taken += character.len_utf8();
            let event = scanner.push(character);
            if let Some(name) = scanner.take_name() {
                let (index, id) = (self.num_calls, form.fresh_call_id());
                self.num_calls += 1;
                pieces.push(Piece::Call { index, id, name });
            }
            match event {
                CallEvent::GoesOn => {}
                CallEvent::Complete => {
                    let index = self.num_calls.saturating_sub(1);
                    tell_arguments(index, scanner.take_arguments(), pieces);
                    self.pending.drain(..taken);
                    return self.go(State::AfterCall);
                }
                CallEvent::Malformed if scanner.is_told() => return self.go(State::Ended),
                CallEvent::Malformed => {
                    self.pending.drain(..taken);
                    return self.give_up();
                }
            }
        }
        self.pending.clear();
        if scanner.is_told() {
            let index = self.num_calls.saturating_sub(1);
            tell_arguments(index, scanner.take_arguments(), pieces);
        } else if at_end {
            return self.give_up();
        }
        false
    }

    /// It was no call: puts everything back as text.
    fn give_up(&mut self) -> bool {
        if let State::Call(scanner) = &self.state {
            self.pending.insert_str(0, scanner.raw());
        }
        self.go(State::Plain)
    }

    fn between(&mut self, at_end: bool) -> bool {
        let form = self.form();
        let blank = self.pending.len()
            - self
                .pending
                .trim_start_matches(|c: char| {
                    c.is_whitespace() || (c == ';' && form == Some(ToolForm::Llama))
                })
                .len();
        self.pending.drain(..blank);
        if self.pending.is_empty() {
            return false;
        }
        match form {
            Some(ToolForm::Mistral) if self.pending.starts_with(',') => {
                self.begin_call(String::new())
            }
            Some(ToolForm::Mistral) if self.pending.starts_with(']') => {
                self.pending.drain(..1);
                true
            }
            Some(ToolForm::Llama) => self.content_start(at_end),
            Some(form) => match self.match_start(form.mark().unwrap_or_default(), at_end) {
                Match::Yes(opening) => self.begin_call(opening),
                Match::NotYet => false,
                Match::No => self.go(State::Content),
            },
            None => self.go(State::Plain),
        }
    }
}

enum Match {
    /// With the text that was taken away.
    Yes(String),
    No,
    /// The text is too short to tell.
    NotYet,
}

fn tell(piece: impl FnOnce(String) -> Piece, text: String, pieces: &mut Vec<Piece>) {
    if !text.is_empty() {
        pieces.push(piece(text));
    }
}

fn tell_arguments(index: usize, text: String, pieces: &mut Vec<Piece>) {
    if !text.is_empty() {
        pieces.push(Piece::Arguments { index, text });
    }
}

/// Bytes at the end of `text` that are the beginning of `mark`.
fn tail_that_may_become(mark: &str, text: &str) -> usize {
    let longest = text.len().min(mark.len() - 1);
    (1..=longest)
        .rev()
        .find(|&len| text.as_bytes()[text.len() - len..] == mark.as_bytes()[..len])
        .unwrap_or(0)
}
