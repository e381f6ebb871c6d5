//! Content, and where it ends.

use std::cmp::Reverse;

use super::calls::Beginning;
use super::channels::MESSAGE_ENDS;
use super::{AnswerDelta, AnswerParser, Match, State, ToolCallRules, partial_delimiter, push_text};
use crate::form::{Head, PYTHON_TAG, compact, leading_tag};

/// A delimiter in content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Mark {
    /// Ends content.
    End,
    /// Begins calls.
    Trigger,
    /// Begins reasoning.
    Reasoning,
    /// Belongs to reasoning, and is alone here.
    Stray,
}

impl AnswerParser {
    /// Reads what may come before content: its opening delimiter, or a call without a tag.
    pub(super) fn content_start(&mut self, at_end: bool) -> bool {
        if !self.form.content.open.is_empty() {
            match self.match_start(self.form.content.open.clone(), at_end) {
                Match::Yes(_) => return self.go(State::Content),
                Match::NotYet => return false,
                Match::No => {}
            }
        }
        let begins_bare = |rules: &&ToolCallRules| {
            let form = &rules.form;
            form.trigger().is_none() || form.begins_bare() || form.optional_open
        };
        let Some(rules) = self.calls.as_ref().filter(begins_bare) else {
            return self.go(State::Content);
        };
        // Without a tag, a call can only be the beginning of an answer.
        let has_trigger = rules.form.trigger().is_some();
        let lead = match rules.form.optional_open {
            true => String::new(),
            false => compact(&format!("{}{}", rules.form.open, rules.form.before())),
        };
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
    pub(super) fn begins_call(&self, text: &str) -> bool {
        self.calls.as_ref().is_some_and(|rules| match rules.form.head() {
            Head::Object { .. } | Head::Member => text.starts_with('{'),
            Head::Text => rules.tools.iter().any(|tool| {
                !text.is_empty() && (text.starts_with(&tool.name) || tool.name.starts_with(text))
            }),
        })
    }

    /// The delimiters that content may have.
    fn marks(&self) -> Vec<(String, Mark)> {
        if self.form.has_channels {
            return MESSAGE_ENDS.map(|end| (end.to_owned(), Mark::End)).to_vec();
        }
        let mut marks = vec![(self.form.content.close.as_str(), Mark::End)];
        let trigger = self.calls.as_ref().and_then(|rules| rules.form.trigger());
        marks.extend(trigger.map(|trigger| (trigger, Mark::Trigger)));
        let reasoning = &self.form.reasoning;
        let open_tag = leading_tag(&reasoning.open).unwrap_or_default();
        let tags = [open_tag, reasoning.close.as_str()];
        // Tags such as `<think>` may be content.
        if tags.iter().all(|tag| tag.contains(['|', '｜'])) {
            marks.extend(tags.map(|tag| (tag, Mark::Stray)));
            marks.push((&reasoning.open, Mark::Reasoning));
        }
        let marks = marks.into_iter().filter(|(text, _)| !text.is_empty());
        marks.map(|(text, mark)| (text.to_owned(), mark)).collect()
    }

    /// Reads content up to a delimiter or a call.
    pub(super) fn content(&mut self, at_end: bool, deltas: &mut Vec<AnswerDelta>) -> bool {
        let marks = self.marks();
        if marks.is_empty() {
            return self.go(State::Plain);
        }
        // Of two at the same place, the longer one counts, once it is known whether it is there.
        let found = marks.iter().filter_map(|(text, mark)| {
            Some((self.pending.find(text.as_str())?, Reverse(text.len()), *mark))
        });
        let found = found.min();
        let partial = marks.iter().map(|(text, _)| partial_delimiter(text, &self.pending)).max();
        let undecided = self.pending.len() - partial.unwrap_or(0);
        let found = found.filter(|(at, _, _)| at_end || *at < undecided);
        let call = match self.form.has_channels {
            true => Beginning::None,
            false => self.find_opening(1, at_end),
        };
        match (found, call) {
            (Some((at, Reverse(len), mark)), call) if call.is_after(at) => {
                let rest = self.pending.split_off(at + len);
                let opening = self.take_content(at, deltas);
                match mark {
                    Mark::Trigger => {
                        self.pending = rest;
                        self.begin_first_call(opening)
                    }
                    Mark::Reasoning => {
                        self.pending = rest;
                        self.go(State::Reasoning { has_begun: false })
                    }
                    Mark::Stray => {
                        self.pending = opening[..opening.len() - len].to_owned() + &rest;
                        true
                    }
                    Mark::End => {
                        self.pending = rest;
                        let is_header = self.form.has_channels;
                        self.go(if is_header { State::Header } else { State::Content })
                    }
                }
            }
            (_, Beginning::At { at, tag_len, lead }) => {
                let rest = self.pending.split_off(at + tag_len);
                let opening = self.take_content(at, deltas);
                self.pending = rest;
                self.begin_call(opening, &lead)
            }
            (_, call) => {
                let known = match call {
                    Beginning::NotYet(at) => undecided.min(at),
                    Beginning::At { .. } | Beginning::None => undecided,
                };
                let len = match at_end {
                    true => self.pending.len(),
                    false => self.pending[..known].trim_end().len(),
                };
                self.has_passed |= len > 0;
                push_text(AnswerDelta::Content, self.pending.drain(..len).collect(), deltas);
                false
            }
        }
    }

    /// Passes on the content before a position, and returns the rest with the whitespace before that: it is not content before
    /// a call, unless that turns out not to be one.
    fn take_content(&mut self, end: usize, deltas: &mut Vec<AnswerDelta>) -> String {
        let rest = self.pending.split_off(self.pending[..end].trim_end().len());
        self.has_passed |= !self.pending.is_empty();
        push_text(AnswerDelta::Content, std::mem::replace(&mut self.pending, rest), deltas);
        std::mem::take(&mut self.pending)
    }
}
