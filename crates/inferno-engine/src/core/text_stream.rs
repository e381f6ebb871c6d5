//! The text of one generation, as its tokens arrive: whole characters. If the end cuts a character in
//! half, its bytes are not shown (as in vLLM's server): the missing ones are not known to be wrong, and
//! a later generation may continue the text.

use inferno_tokenizer::Detokenizer;

use crate::{EngineError, FinishReason, Released, StopChecker};

/// Turns the tokens of one generation into text that may be shown, and detects its end.
#[derive(Debug)]
pub(super) struct TextStream {
    stop: StopChecker,
    /// Has read what comes before: spaces, and characters cut in half, depend on it.
    detokenizer: Detokenizer,
}

impl TextStream {
    pub(super) fn new(stop: StopChecker, detokenizer: Detokenizer) -> Self {
        Self { stop, detokenizer }
    }

    /// What has been counted, for the next token to be sampled.
    pub(super) fn stop(&self) -> &StopChecker {
        &self.stop
    }

    /// Text that is not shown yet, since it may become part of a stop string.
    pub(super) fn held_back(&self) -> &str {
        self.stop.held_back()
    }

    /// Adds a token, after which the context is full or not, and returns the text that may be shown
    /// because of it.
    ///
    /// **Errors**: a token that the vocabulary does not have.
    pub(super) fn push(&mut self, token: u32, is_full: bool) -> Result<Released, EngineError> {
        let end = self.stop.push_token(token);
        // Of a token that is not shown, not even the end of a character may be.
        let mut released = match end {
            Some(reason) if !self.stop.shows_last_token(reason) => Released::default(),
            _ => self.stop.push_text(self.detokenizer.push(token)?),
        };
        let end = end
            .or(self.stop.is_at_max_tokens().then_some(FinishReason::Length))
            .or(is_full.then_some(FinishReason::ContextFull));
        if let (None, Some(reason)) = (released.finish_reason, end) {
            let last = self.finish(reason);
            released.text.push_str(&last.text);
            released.finish_reason = last.finish_reason;
        }
        Ok(released)
    }

    /// Returns the text that was held back, as no token will follow.
    pub(super) fn finish(&mut self, reason: FinishReason) -> Released {
        self.stop.finish(reason)
    }
}
