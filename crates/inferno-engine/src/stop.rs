//! Detects the end of a generation, and holds back text that may belong to a stop string.
//!
//! Stop strings do not respect token boundaries. Text that may still become one is held back, and
//! released as soon as it cannot. What is released depends only on the text, not on its tokens, and
//! is always whole characters.

mod strings;

use crate::EngineError;
use crate::error::check_list;
use crate::sampler::check_tokens;
use strings::StopStrings;

/// Maximum number of stop strings of a request.
const MAX_STOP_STRINGS: usize = 256;
/// Maximum total length of the stop strings, in bytes.
const MAX_STOP_BYTES: usize = 16 << 10;
/// Maximum number of stop tokens of a request.
const MAX_STOP_TOKENS: usize = 1024;

/// When a generation ends, besides the model's own end-of-generation token and a full context.
///
/// ```
/// use inferno_engine::StopParams;
///
/// let params = StopParams { max_tokens: Some(64), stop: vec!["\n\n".into()], ..Default::default() };
/// assert!(params.validate().is_ok());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StopParams {
    /// Maximum number of tokens to generate; `None` for no limit but the context.
    pub max_tokens: Option<usize>,
    /// Minimum number of tokens before any stop string, stop token or end-of-generation token counts.
    pub min_tokens: usize,
    /// Strings that end the text.
    pub stop: Vec<String>,
    /// Tokens that end the text, besides the model's own.
    pub stop_token_ids: Vec<u32>,
    /// Continues after the model's own end-of-generation tokens.
    pub ignore_eos: bool,
    /// Includes the stop string, or the text of the stop token, in the text.
    pub include_stop_str_in_output: bool,
}

impl StopParams {
    /// Checks the fields.
    ///
    /// **Errors**: [`EngineError::MaxTokensZero`], [`EngineError::MinTokensAboveMax`],
    /// [`EngineError::EmptyStopString`], and [`EngineError::ListTooLong`] for more than 256 stop strings or
    /// 16 KiB of them, or more than 1024 stop tokens.
    pub fn validate(&self) -> Result<(), EngineError> {
        if let Some(max_tokens) = self.max_tokens {
            if max_tokens == 0 {
                return Err(EngineError::MaxTokensZero);
            }
            if self.min_tokens > max_tokens {
                let min_tokens = self.min_tokens;
                return Err(EngineError::MinTokensAboveMax { min_tokens, max_tokens });
            }
        }
        check_list("stop", "strings", self.stop.len(), MAX_STOP_STRINGS)?;
        let bytes = self.stop.iter().map(String::len).sum();
        check_list("stop", "bytes", bytes, MAX_STOP_BYTES)?;
        check_list("stop_token_ids", "tokens", self.stop_token_ids.len(), MAX_STOP_TOKENS)?;
        match self.stop.iter().position(String::is_empty) {
            Some(index) => Err(EngineError::EmptyStopString { index }),
            None => Ok(()),
        }
    }
}

/// Why a generation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinishReason {
    /// The model generated an end-of-generation token.
    EndOfGeneration,
    /// The text reached a stop string: its index in [`StopParams::stop`].
    StopString(usize),
    /// The model generated this one of [`StopParams::stop_token_ids`].
    StopToken(u32),
    /// [`StopParams::max_tokens`] tokens were generated.
    Length,
    /// The context is full.
    ContextFull,
    /// The caller cancelled the generation.
    Cancelled,
    /// The deadline passed.
    DeadlineExceeded,
}

impl FinishReason {
    /// Returns the name of the reason: `stop`, `length`, `context_full`, `cancelled` or `deadline_exceeded`.
    pub fn name(self) -> &'static str {
        match self {
            Self::EndOfGeneration | Self::StopString(_) | Self::StopToken(_) => "stop",
            Self::Length => "length",
            Self::ContextFull => "context_full",
            Self::Cancelled => "cancelled",
            Self::DeadlineExceeded => "deadline_exceeded",
        }
    }
}

/// Text that may be shown, and why it is the last, if so.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Released {
    /// Text that can no longer become part of a stop string; often empty.
    pub text: String,
    /// Why no text follows, if so.
    pub finish_reason: Option<FinishReason>,
}

/// Watches the tokens and the text of one generation for its end.
///
/// Pass each token to [`push_token`](Self::push_token), and the text that it adds to
/// [`push_text`](Self::push_text). End a generation without a stop string with [`finish`](Self::finish), so
/// that no text is lost.
///
/// ```
/// use inferno_engine::{FinishReason, StopChecker, StopParams};
///
/// # fn main() -> Result<(), inferno_engine::EngineError> {
/// let params = StopParams { stop: vec!["END".into()], ..Default::default() };
/// let mut checker = StopChecker::new(params, 100, &[2], &[])?;
/// let mut push = |token, text| {
///     assert_eq!(checker.push_token(token), None);
///     checker.push_text(text)
/// };
/// assert_eq!(push(10, "the E").text, "the ");
/// assert_eq!(push(11, "N").text, "");
/// let last = push(12, "D of it");
/// assert_eq!(last.text, "");
/// assert_eq!(last.finish_reason, Some(FinishReason::StopString(0)));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct StopChecker {
    params: StopParams,
    end_of_generation: Vec<u32>,
    /// Tokens that are suppressed, then those that end.
    banned: Vec<u32>,
    num_suppressed: usize,
    strings: StopStrings,
    num_tokens: usize,
}

impl StopChecker {
    /// Creates a checker for a model with `vocab_size` tokens, whose own end tokens are
    /// `end_of_generation`, and which must never generate a token of `suppressed`.
    ///
    /// **Errors**: as [`StopParams::validate`], and [`EngineError::TokenOutOfRange`] for a stop token outside
    /// the vocabulary.
    pub fn new(
        params: StopParams,
        vocab_size: usize,
        end_of_generation: &[u32],
        suppressed: &[u32],
    ) -> Result<Self, EngineError> {
        params.validate()?;
        check_tokens("stop_token_ids", params.stop_token_ids.iter().copied(), vocab_size)?;
        let end_of_generation = if params.ignore_eos { &[] } else { end_of_generation }.to_vec();
        Ok(Self {
            banned: [suppressed, &end_of_generation, &params.stop_token_ids].concat(),
            num_suppressed: suppressed.len(),
            end_of_generation,
            strings: StopStrings::new(&params.stop, params.include_stop_str_in_output),
            num_tokens: 0,
            params,
        })
    }

    /// Returns the tokens that must not be sampled next: those that are suppressed, and before
    /// [`StopParams::min_tokens`] those that end.
    pub fn banned(&self) -> &[u32] {
        match self.num_tokens < self.params.min_tokens {
            true => &self.banned,
            false => &self.banned[..self.num_suppressed],
        }
    }

    /// Counts a token, and returns the reason if it ends the generation.
    pub fn push_token(&mut self, token: u32) -> Option<FinishReason> {
        self.num_tokens += 1;
        if !self.may_stop() {
            None
        } else if self.params.stop_token_ids.contains(&token) {
            Some(FinishReason::StopToken(token))
        } else if self.end_of_generation.contains(&token) {
            Some(FinishReason::EndOfGeneration)
        } else {
            None
        }
    }

    /// Whether the text of the token that ended the generation for `reason` is shown.
    pub fn shows_last_token(&self, reason: FinishReason) -> bool {
        match reason {
            FinishReason::EndOfGeneration => false,
            FinishReason::StopToken(_) => self.params.include_stop_str_in_output,
            _ => true,
        }
    }

    /// Returns how many tokens may follow by [`StopParams::max_tokens`]; `None` without a limit.
    pub fn num_tokens_left(&self) -> Option<usize> {
        self.params.max_tokens.map(|max_tokens| max_tokens.saturating_sub(self.num_tokens))
    }

    /// Whether [`StopParams::max_tokens`] tokens were counted.
    pub fn is_at_max_tokens(&self) -> bool {
        self.num_tokens_left() == Some(0)
    }

    /// Adds the text of the last token, and returns the text to show. It is the last if it reached a stop
    /// string.
    pub fn push_text(&mut self, text: &str) -> Released {
        let mut released = Released::default();
        let found = self.strings.push(text, self.may_stop(), &mut released.text);
        released.finish_reason = found.map(FinishReason::StopString);
        released
    }

    /// Returns the text that was pushed and not released, since it may become part of a stop string.
    pub fn held_back(&self) -> &str {
        self.strings.held()
    }

    /// Ends for `reason`, and releases the text that was held back.
    pub fn finish(&mut self, reason: FinishReason) -> Released {
        Released { text: self.strings.take_held(), finish_reason: Some(reason) }
    }

    /// Whether enough tokens were counted for stop strings and stop tokens to apply.
    fn may_stop(&self) -> bool {
        self.num_tokens > self.params.min_tokens
    }
}

#[cfg(test)]
mod tests;
