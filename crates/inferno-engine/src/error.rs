//! What can go wrong while generating.

/// Why a request was refused, or a step failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// A sampling parameter is outside its range.
    #[error("{field} must be {range}, but is {value}")]
    ParamOutOfRange {
        /// The parameter.
        field: &'static str,
        /// What it may be, in words.
        range: &'static str,
        /// What it was.
        value: f32,
    },
    /// A request names a token that the vocabulary does not have.
    #[error(
        "{field} names token {token}, but the vocabulary has {vocab_size} tokens, counted from 0"
    )]
    TokenOutOfRange {
        /// The part of the request.
        field: &'static str,
        /// The id that was given.
        token: u32,
        /// Tokens in the vocabulary.
        vocab_size: usize,
    },
    /// A row of logits does not have one value a token.
    #[error("the model gave {found} logits for a vocabulary of {expected} tokens")]
    LogitsLength {
        /// Tokens in the vocabulary.
        expected: usize,
        /// Logits that came.
        found: usize,
    },
    /// The model computed a logit that is not a number, or infinite.
    #[error(
        "the model gave {value} as the logit of token {token}; its weights may be damaged, or overflow in this format"
    )]
    NonFiniteLogit {
        /// The token.
        token: usize,
        /// Its logit.
        value: f32,
    },
    /// Every token of the vocabulary is forbidden at this step.
    #[error("no token may follow: all of the vocabulary is forbidden here")]
    NoCandidates,
    /// A request asks for no tokens at all.
    #[error(
        "max_tokens must be 1 or more, but is 0; to read a prompt without an answer, extend the session"
    )]
    MaxTokensZero,
    /// A request asks for more tokens than it allows.
    #[error("min_tokens is {min_tokens}, which is more than max_tokens, {max_tokens}")]
    MinTokensAboveMax {
        /// The least number of tokens.
        min_tokens: usize,
        /// The greatest.
        max_tokens: usize,
    },
    /// A stop string holds no character, and would end every text.
    #[error("stop string {index} is empty; leave it out")]
    EmptyStopString {
        /// Its place in the list, from 0.
        index: usize,
    },
}
