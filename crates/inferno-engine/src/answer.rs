//! The text of one generation, as its tokens come: whole characters. Of a character that the end cuts in half, nothing is told,
//! as by vLLM's server: the bytes that are missing are not known to be wrong, and an answer may be gone on with.

use inferno_tokenizer::Detokenizer;

use crate::{EngineError, FinishReason, Released, StopChecker};

/// Turns the tokens of one generation into the text that may be shown, and says when it ends.
#[derive(Debug)]
pub(crate) struct Answer {
    stop: StopChecker,
    /// Has read what comes before: spaces, and characters cut in half, depend on it.
    detokenizer: Detokenizer,
}

impl Answer {
    /// An answer without tokens.
    pub(crate) fn new(stop: StopChecker, detokenizer: Detokenizer) -> Self {
        Self { stop, detokenizer }
    }

    /// What has been counted, for the next token to be sampled.
    pub(crate) fn stop(&self) -> &StopChecker {
        &self.stop
    }

    /// Adds a token, after which the context `is_full` or not, and gives the text that may be shown
    /// because of it.
    ///
    /// **Errors**: a token that the vocabulary does not have.
    pub(crate) fn push(&mut self, token: u32, is_full: bool) -> Result<Released, EngineError> {
        let end = self.stop.push_token(token);
        // Of a token that is not to be seen, not even the end of a character may be.
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

    /// Gives the text that was held back, as no token will follow.
    pub(crate) fn finish(&mut self, reason: FinishReason) -> Released {
        self.stop.finish(reason)
    }
}
