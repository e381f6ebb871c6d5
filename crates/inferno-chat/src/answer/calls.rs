//! Where tool calls begin and end in an answer.

use std::sync::Arc;

use super::call::{CallEvent, CallScanner};
use super::{
    AnswerDelta, AnswerParser, Match, State, partial_delimiter, push_arguments, push_text,
};
use crate::form::{CallOpening, ID, INDEX, compact};

/// Where a call begins in a text: at its opening, followed by the name of a tool.
pub(super) enum Beginning {
    /// Here, with a tag of this length, which `lead` follows.
    At {
        at: usize,
        tag_len: usize,
        lead: String,
    },
    /// Perhaps here: the text is too short to decide.
    NotYet(usize),
    None,
}

impl Beginning {
    /// Whether no call begins before a position.
    pub(super) fn is_after(&self, position: usize) -> bool {
        match self {
            Self::At { at, .. } | Self::NotYet(at) => *at > position,
            Self::None => true,
        }
    }
}

impl AnswerParser {
    /// Starts parsing the first call of a list after its trigger, which ends `opening`.
    pub(super) fn begin_first_call(&mut self, opening: String) -> bool {
        let lead = self.calls.as_ref().map(|rules| {
            let text = compact(&format!("{}{}", rules.form.open, rules.form.before()));
            let trigger = compact(rules.form.trigger().unwrap_or_default());
            text.strip_prefix(&trigger).unwrap_or_default().to_owned()
        });
        self.begin_call(opening, &lead.unwrap_or_default())
    }

    /// Starts parsing a call that begins with `opening`, followed by `lead`.
    pub(super) fn begin_call(&mut self, opening: String, lead: &str) -> bool {
        self.begin_call_in(opening, lead, None)
    }

    /// Starts parsing a call, which may be in reasoning: see [`State::Call`].
    pub(super) fn begin_call_in(
        &mut self,
        opening: String,
        lead: &str,
        in_reasoning: Option<usize>,
    ) -> bool {
        match &self.calls {
            Some(rules) if !(rules.single && self.num_calls > 0) => {
                let scanner = Box::new(CallScanner::new(rules.clone(), opening, lead));
                self.go(State::Call { scanner, in_reasoning })
            }
            _ => self.go(State::Dropping),
        }
    }

    /// Finds the first call in the pending text that begins with an opening, from this one in the list, and the name of a tool.
    pub(super) fn find_opening(&self, first: usize, at_end: bool) -> Beginning {
        let Some(rules) = &self.calls else {
            return Beginning::None;
        };
        let text = self.pending.as_str();
        let mut earliest = Beginning::None;
        for opening in rules.openings[first..].iter().flatten() {
            let tag_len = opening.tag.len();
            for (at, _) in text.match_indices(&opening.tag) {
                if !earliest.is_after(at) {
                    break;
                }
                if !self.may_open(opening, at) {
                    continue;
                }
                match self.is_call(&text[at + tag_len..], opening, at_end) {
                    Some(true) => {
                        earliest = Beginning::At { at, tag_len, lead: opening.lead.clone() };
                    }
                    Some(false) => {}
                    None => earliest = Beginning::NotYet(at),
                }
            }
            let partial = partial_delimiter(&opening.tag, text);
            let at = text.len() - partial;
            if partial > 0 && !at_end && earliest.is_after(at) && self.may_open(opening, at) {
                earliest = Beginning::NotYet(at);
            }
        }
        earliest
    }

    /// Whether an opening counts at a position of the pending text: at most blanks come before it in its line, if that matters.
    fn may_open(&self, opening: &CallOpening, at: usize) -> bool {
        if !opening.begins_line() {
            return true;
        }
        match self.pending[..at].trim_end_matches([' ', '\t']).chars().next_back() {
            Some(character) => character == '\n',
            None => !self.has_passed,
        }
    }

    /// Whether the rest of an opening and the name of a tool follow its tag; `None` if the text is too short to decide.
    fn is_call(&self, text: &str, opening: &CallOpening, at_end: bool) -> Option<bool> {
        let rules = self.calls.as_ref()?;
        let text = match match_loosely(text, &opening.rest, at_end) {
            LooseMatch::Yes(len) => text[len..].trim_start(),
            LooseMatch::No => return Some(false),
            LooseMatch::NotYet => return None,
        };
        let names = || rules.tools.iter().map(|tool| rules.form.written_name(&tool.name));
        // The next character shows whether the name ends.
        let is_word = |character: char| character.is_alphanumeric() || "_-.".contains(character);
        let after = |name: String| text.strip_prefix(&name).map(|rest| rest.chars().next());
        let may_be_name = !at_end && names().any(|name| name.starts_with(text));
        match names().filter_map(after).any(|next| next.is_some_and(|next| !is_word(next))) {
            true => Some(true),
            false if may_be_name => None,
            false => Some(false),
        }
    }

    pub(super) fn call(&mut self, at_end: bool, deltas: &mut Vec<AnswerDelta>) -> bool {
        let State::Call { scanner, .. } = &mut self.state else {
            return false;
        };
        let mut taken = 0;
        for character in self.pending.chars() {
            taken += character.len_utf8();
            let event = scanner.push(character);
            if let Some(name) = scanner.take_name() {
                let index = self.num_calls;
                self.num_calls += 1;
                let id = self.form.calls.new_call_id();
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
                CallEvent::Malformed if scanner.is_named() => {
                    // What was passed on as arguments remains; the rest is content.
                    let index = self.num_calls.saturating_sub(1);
                    push_arguments(index, scanner.take_arguments(), deltas);
                    self.pending.drain(..taken - character.len_utf8());
                    return self.go(State::Plain);
                }
                CallEvent::Malformed => {
                    self.pending.drain(..taken);
                    return self.give_up(deltas);
                }
            }
        }
        self.pending.clear();
        if scanner.is_named() {
            let index = self.num_calls.saturating_sub(1);
            push_arguments(index, scanner.take_arguments(), deltas);
        } else if at_end && !self.form.has_channels {
            return self.give_up(deltas);
        }
        false
    }

    /// Returns everything to content, or to reasoning: it was not a call.
    fn give_up(&mut self, deltas: &mut Vec<AnswerDelta>) -> bool {
        let State::Call { scanner, in_reasoning } = &self.state else { return false };
        let in_reasoning = *in_reasoning;
        self.pending.insert_str(0, scanner.raw());
        // What is returned is not mistaken for a call again.
        if let Some(len) = in_reasoning {
            push_text(AnswerDelta::Reasoning, self.pending.drain(..len).collect(), deltas);
            return self.go(State::Reasoning { has_begun: true });
        }
        let form = self.calls.as_ref().map(|rules| Arc::clone(&rules.form));
        let inner = self.calls.as_ref().and_then(|rules| rules.openings[1].as_ref());
        let tags = [form.as_ref().and_then(|form| form.trigger()), inner.map(|it| it.tag.as_str())];
        let text = self.pending.trim_start();
        match tags[0].is_none() || tags.into_iter().flatten().any(|tag| text.starts_with(tag)) {
            true => self.go(State::Plain),
            false => self.go(State::Content),
        }
    }

    /// Skips the rest of the text of a call, if it is there.
    pub(super) fn after_call(&mut self, at_end: bool) -> bool {
        if self.form.has_channels {
            return self.after_call_in_channel(at_end);
        }
        let after = self.calls.as_ref().map_or("", |rules| rules.form.after());
        match match_loosely(&self.pending, &compact(after), at_end) {
            LooseMatch::NotYet => false,
            LooseMatch::No => self.go(State::Between),
            LooseMatch::Yes(len) => {
                self.pending.drain(..len);
                self.go(State::Between)
            }
        }
    }

    /// Looks for another call, the end of the list, or content.
    pub(super) fn between(&mut self, at_end: bool) -> bool {
        let Some(rules) = &self.calls else {
            return self.go(State::Plain);
        };
        let form = Arc::clone(&rules.form);
        let blank = self.pending.len() - self.pending.trim_start().len();
        self.pending.drain(..blank);
        if self.pending.is_empty() {
            return false;
        }
        let next = compact(&format!("{}{}", form.separator, form.before()));
        let close = compact(&form.close);
        let has_no_tag = next.is_empty() || form.trigger().is_none();
        if has_no_tag && self.begins_call(&self.pending) {
            return self.begin_call(String::new(), "");
        }
        let matches = [&next, &close].map(|text| match text.is_empty() {
            true => LooseMatch::No,
            false => match_loosely(&self.pending, text, at_end),
        });
        match matches {
            [LooseMatch::Yes(len), _] => {
                let opening = self.pending.drain(..len).collect();
                self.begin_call(opening, "")
            }
            [LooseMatch::No, LooseMatch::Yes(len)] => {
                self.pending.drain(..len);
                true
            }
            [LooseMatch::No, LooseMatch::No] => self.content_between(at_end),
            _ => false,
        }
    }

    /// Reads what is neither another call of the list nor its end: another list or content.
    fn content_between(&mut self, at_end: bool) -> bool {
        // Calls inside of reasoning may come before its end.
        match self.match_start(self.form.reasoning.close.clone(), at_end) {
            Match::Yes(_) => return true,
            Match::NotYet => return false,
            Match::No => {}
        }
        let rules = self.calls.as_ref();
        let Some(trigger) = rules.and_then(|rules| rules.form.trigger().map(str::to_owned)) else {
            return self.go(State::Plain);
        };
        match self.match_start(trigger, at_end) {
            Match::Yes(opening) => self.begin_first_call(opening),
            Match::NotYet => false,
            Match::No => self.go(State::Content),
        }
    }
}

enum LooseMatch {
    /// With the number of bytes.
    Yes(usize),
    No,
    /// The text is too short to decide.
    NotYet,
}

/// What is left of `delimiter`, which has no whitespace, after a character; `None` if it does not match. Whitespace does not
/// count, and placeholders represent words.
pub(super) fn after_character(delimiter: &str, character: char) -> Option<&str> {
    if let Some(rest) = delimiter.strip_prefix(character) {
        return Some(rest);
    }
    let after_word = delimiter.strip_prefix([ID, INDEX]);
    let is_word = character.is_alphanumeric() || matches!(character, '_' | '-' | '.');
    match after_word.map(|rest| rest.strip_prefix(character)) {
        Some(Some(rest)) => Some(rest),
        Some(None) if is_word => Some(delimiter),
        _ => character.is_whitespace().then_some(delimiter),
    }
}

/// Whether a text begins with `delimiter`, which has no whitespace, except for whitespace.
fn match_loosely(text: &str, delimiter: &str, at_end: bool) -> LooseMatch {
    let mut left = delimiter;
    for (at, character) in text.char_indices() {
        if left.is_empty() {
            return LooseMatch::Yes(at);
        }
        match after_character(left, character) {
            Some(rest) => left = rest,
            None => return LooseMatch::No,
        }
    }
    match (left.is_empty(), at_end) {
        (true, _) => LooseMatch::Yes(text.len()),
        (false, true) => LooseMatch::No,
        (false, false) => LooseMatch::NotYet,
    }
}
