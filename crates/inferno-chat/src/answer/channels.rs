//! Answers that are a series of messages, each with a header that names its channel: Harmony.

use super::call::CallScanner;
use super::{AnswerParser, State};

/// Ends the header of a message.
const MESSAGE: &str = "<|message|>";
/// Begin the header of a message, or a part of it.
const HEADER_STARTS: [&str; 2] = ["<|", "to="];
/// The role of the model, which is no tool.
const ASSISTANT: &str = "assistant";
/// End messages.
pub(super) const MESSAGE_ENDS: [&str; 3] = ["<|end|>", "<|return|>", "<|call|>"];

impl AnswerParser {
    /// Reads the header of a message: its channel, and the tool that it is for.
    pub(super) fn header(&mut self, at_end: bool) -> bool {
        let text = self.pending.trim_start();
        let has_begun = HEADER_STARTS.iter().any(|start| text.starts_with(start));
        let is_header = has_begun || HEADER_STARTS.iter().any(|start| start.starts_with(text));
        let Some(end) = self.pending.find(MESSAGE).filter(|_| is_header) else {
            if at_end && has_begun {
                // The answer was cut off in a header.
                return self.go(State::Dropping);
            }
            return (at_end || !is_header) && !text.is_empty() && self.go(State::Plain);
        };
        let rest = self.pending.split_off(end + MESSAGE.len());
        let header = std::mem::replace(&mut self.pending, rest);
        // Models repeat parts of a header; the last channel counts.
        let after = |key: &str| {
            let (_, text) = header.rsplit_once(key)?;
            text.split(|c: char| c == '<' || c.is_whitespace()).next()
        };
        let name = after("to=").filter(|to| *to != ASSISTANT);
        let name = name.map(|to| to.strip_prefix("functions.").unwrap_or(to).to_owned());
        let is_reasoning = after("<|channel|>") == Some("analysis");
        match (name, &self.calls) {
            (Some(_), Some(rules)) if rules.single && self.num_calls > 0 => {
                self.go(State::Dropping)
            }
            (Some(name), Some(rules)) => {
                match CallScanner::with_name(rules.clone(), header.clone(), &name) {
                    Some(scanner) => {
                        self.go(State::Call { scanner: Box::new(scanner), in_reasoning: None })
                    }
                    None => {
                        self.pending.insert_str(0, &header);
                        self.go(State::Plain)
                    }
                }
            }
            _ if is_reasoning => self.go(State::Reasoning { has_begun: false }),
            _ => self.go(State::Content),
        }
    }

    /// Skips the tag that ends a call.
    pub(super) fn after_call_in_channel(&mut self, at_end: bool) -> bool {
        let text = self.pending.trim_start();
        if let Some(rest) = MESSAGE_ENDS.iter().find_map(|end| text.strip_prefix(end)) {
            self.pending = rest.to_owned();
            return self.go(State::Header);
        }
        let is_partial = MESSAGE_ENDS.iter().any(|end| end.starts_with(text));
        (at_end || !is_partial) && self.go(State::Header)
    }
}
