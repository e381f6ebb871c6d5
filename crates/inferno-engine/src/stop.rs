//! When a generation ends, and which of its text may be shown before that is known.
//!
//! Stop strings do not respect token borders. Text that could still become one is held back, and
//! released as soon as it cannot. What is released depends on the text alone, never on how it was
//! split into pieces, and is always whole characters.

mod strings;

use crate::EngineError;
use crate::error::check_list;
use crate::sampler::check_tokens;
use strings::StopStrings;

/// The most stop strings of a request.
const MAX_STOP_STRINGS: usize = 256;
/// The most bytes that they have together.
const MAX_STOP_BYTES: usize = 16 << 10;
/// The most stop tokens of a request.
const MAX_STOP_TOKENS: usize = 1024;

/// When to end a generation, besides the model's own end-of-generation token and a full context.
///
/// ```
/// use inferno_engine::StopParams;
///
/// let params = StopParams { max_tokens: Some(64), stop: vec!["\n\n".into()], ..Default::default() };
/// assert!(params.validate().is_ok());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StopParams {
    /// Ends after this many tokens; `None` goes on until the context is full.
    pub max_tokens: Option<usize>,
    /// So many tokens come before any stop string, stop token or end-of-generation token counts.
    pub min_tokens: usize,
    /// Strings that end the text.
    pub stop: Vec<String>,
    /// Tokens that end the text, besides the model's own.
    pub stop_token_ids: Vec<u32>,
    /// Goes on after the model's own end-of-generation tokens.
    pub ignore_eos: bool,
    /// Keeps the stop string, or the text of the stop token, at the end of the text.
    pub include_stop_str_in_output: bool,
}

impl StopParams {
    /// Checks that the fields make sense together.
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
    /// The model gave one of its end-of-generation tokens.
    EndOfGeneration,
    /// The text came to a stop string: its place in [`StopParams::stop`].
    StopString(usize),
    /// The model gave this one of [`StopParams::stop_token_ids`].
    StopToken(u32),
    /// [`StopParams::max_tokens`] were generated.
    Length,
    /// The context holds no further token.
    ContextFull,
    /// The caller asked to stop.
    Cancelled,
    /// The time that the caller gave has passed.
    DeadlineExceeded,
}

impl FinishReason {
    /// The reason in one word: `stop`, `length`, `context_full`, `cancelled` or `deadline_exceeded`.
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

/// Text that may be shown, and whether it is the last.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Released {
    /// Text that no longer can become part of a stop string; often empty.
    pub text: String,
    /// Why nothing comes after it, if so.
    pub finish_reason: Option<FinishReason>,
}

/// Watches the tokens and the text of one generation for its end.
///
/// Each token goes to [`push_token`](Self::push_token), and the text that it adds to
/// [`push_text`](Self::push_text). A generation that did not come to a stop string ends with
/// [`finish`](Self::finish), so that no text is lost.
///
/// ```
/// use inferno_engine::{FinishReason, StopChecker, StopParams};
///
/// # fn main() -> Result<(), inferno_engine::EngineError> {
/// let params = StopParams { stop: vec!["END".into()], ..Default::default() };
/// let mut checker = StopChecker::new(params, 100, &[2])?;
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
    stop_tokens: Vec<u32>,
    strings: StopStrings,
    num_tokens: usize,
}

impl StopChecker {
    /// A checker for a model of `vocab_size` tokens that ends with one of `end_of_generation`.
    ///
    /// **Errors**: what [`StopParams::validate`] finds, and [`EngineError::TokenOutOfRange`] for a
    /// stop token that does not exist.
    pub fn new(
        params: StopParams,
        vocab_size: usize,
        end_of_generation: &[u32],
    ) -> Result<Self, EngineError> {
        params.validate()?;
        check_tokens("stop_token_ids", params.stop_token_ids.iter().copied(), vocab_size)?;
        let end_of_generation = if params.ignore_eos { &[] } else { end_of_generation }.to_vec();
        Ok(Self {
            stop_tokens: [&end_of_generation[..], &params.stop_token_ids].concat(),
            end_of_generation,
            strings: StopStrings::new(&params.stop, params.include_stop_str_in_output),
            num_tokens: 0,
            params,
        })
    }

    /// The tokens that must not be sampled next, since too few came before them.
    pub fn banned(&self) -> &[u32] {
        self.banned_after(0)
    }

    /// The tokens that must not be sampled after `num_tokens` more, since too few come before them.
    pub fn banned_after(&self, num_tokens: usize) -> &[u32] {
        let is_early = self.num_tokens + num_tokens < self.params.min_tokens;
        if is_early { &self.stop_tokens } else { &[] }
    }

    /// Counts a token, and says whether it ends the generation by itself.
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

    /// Whether the text of the token that ended the generation for `reason` is to be seen.
    pub fn shows_last_token(&self, reason: FinishReason) -> bool {
        match reason {
            FinishReason::EndOfGeneration => false,
            FinishReason::StopToken(_) => self.params.include_stop_str_in_output,
            _ => true,
        }
    }

    /// How many tokens may follow by [`StopParams::max_tokens`]; `None` when it sets no end.
    pub fn num_tokens_left(&self) -> Option<usize> {
        self.params.max_tokens.map(|max_tokens| max_tokens.saturating_sub(self.num_tokens))
    }

    /// Whether [`StopParams::max_tokens`] were counted.
    pub fn is_at_max_tokens(&self) -> bool {
        self.num_tokens_left() == Some(0)
    }

    /// Takes text that the last token added, and says what to show. It is the last if it came to a
    /// stop string.
    pub fn push_text(&mut self, text: &str) -> Released {
        let mut released = Released::default();
        let found = self.strings.push(text, self.may_stop(), &mut released.text);
        released.finish_reason = found.map(FinishReason::StopString);
        released
    }

    /// Text that was pushed and not released, since it may become part of a stop string.
    pub fn held_back(&self) -> &str {
        self.strings.held()
    }

    /// Ends for `reason`, and releases what was held back.
    pub fn finish(&mut self, reason: FinishReason) -> Released {
        Released { text: self.strings.take_held(), finish_reason: Some(reason) }
    }

    /// Whether enough tokens came for stop strings and stop tokens to count.
    fn may_stop(&self) -> bool {
        self.num_tokens > self.params.min_tokens
    }
}

#[cfg(test)]
mod tests;
