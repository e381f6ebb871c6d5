//! Where reasoning begins and ends in an answer.

use super::calls::Beginning;
use super::channels::MESSAGE_ENDS;
use super::{AnswerDelta, AnswerParser, Match, State, partial_delimiter, push_text};

impl AnswerParser {
    /// Reads the opening delimiter of reasoning. A closing one that has nothing to close is dropped: models write it if they do
    /// not reason.
    pub(super) fn start(&mut self, at_end: bool) -> bool {
        let open = self.match_start(self.form.reasoning.open.clone(), at_end);
        if matches!(open, Match::Yes(_)) {
            return self.go(State::Reasoning { has_begun: false });
        }
        match (open, self.match_start(self.form.reasoning.close.clone(), at_end)) {
            (_, Match::Yes(_)) => self.go(State::AfterReasoning),
            (Match::No, Match::No) => self.go(State::ContentStart),
            _ => false,
        }
    }

    /// Reads reasoning up to its closing delimiter, or to a call.
    pub(super) fn reasoning(&mut self, at_end: bool, deltas: &mut Vec<AnswerDelta>) -> bool {
        if matches!(self.state, State::Reasoning { has_begun: false }) {
            self.drain_line_ends();
            self.state = State::Reasoning { has_begun: !self.pending.is_empty() };
        }
        let has_channels = self.form.has_channels;
        let close = if has_channels { MESSAGE_ENDS[0] } else { &self.form.reasoning.close };
        let call = match has_channels {
            true => Beginning::None,
            false => self.find_opening(0, at_end),
        };
        let end = self.pending.find(close).map(|at| (at, close.len()));
        if let Some((at, len)) = end.filter(|(at, _)| call.is_after(*at)) {
            let rest = self.pending.split_off(at + len);
            self.take_reasoning(at, deltas);
            self.pending = rest;
            return self.go(if has_channels { State::Header } else { State::AfterReasoning });
        }
        let held = match at_end {
            true => self.pending.len(),
            false => self.pending.len() - partial_delimiter(close, &self.pending),
        };
        match call {
            Beginning::At { at, tag_len, lead } => {
                self.take_reasoning(at, deltas);
                let opening_len = self.pending.len() - self.pending.trim_start_matches('\n').len();
                let opening: String = self.pending.drain(..opening_len + tag_len).collect();
                let in_reasoning = Some(opening.len());
                self.begin_call_in(opening, &lead, in_reasoning)
            }
            Beginning::NotYet(at) => {
                self.take_reasoning(held.min(at), deltas);
                false
            }
            Beginning::None => {
                self.take_reasoning(held, deltas);
                if at_end {
                    self.pending.clear();
                }
                false
            }
        }
    }

    /// Passes on the reasoning before a position, without the line ends before that, which remain.
    fn take_reasoning(&mut self, end: usize, deltas: &mut Vec<AnswerDelta>) {
        let len = self.pending[..end].trim_end_matches('\n').len();
        self.has_passed |= len > 0;
        push_text(AnswerDelta::Reasoning, self.pending.drain(..len).collect(), deltas);
    }

    pub(super) fn drain_line_ends(&mut self) {
        let len = self.pending.len() - self.pending.trim_start_matches('\n').len();
        self.pending.drain(..len);
    }
}
