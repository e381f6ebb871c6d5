//! Log-probabilities of tokens.

use inferno_engine::SampledToken;
use inferno_tokenizer::Tokenizer;
use serde::Serialize;
use utoipa::ToSchema;

use crate::openai::logprobs::{finite, spelled};

/// Log-probability of a generated token, with the most probable alternatives.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct TokenProbability {
    #[serde(flatten)]
    token: CandidateToken,
    top_logprobs: Vec<CandidateToken>,
}

/// A token and its log-probability.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct CandidateToken {
    id: u32,
    token: String,
    bytes: Vec<u8>,
    /// In double precision, so that streams and whole answers have the same digits.
    logprob: f64,
}

impl TokenProbability {
    /// `None` if the token has no log-probabilities.
    pub fn of(token: &SampledToken, tokenizer: &Tokenizer) -> Option<Self> {
        let logprobs = token.logprobs.as_ref()?;
        let top = logprobs.top.iter();
        let top = top.map(|&(id, logprob)| CandidateToken::new(id, logprob, tokenizer));
        let token = CandidateToken::new(token.id, logprobs.logprob, tokenizer);
        Some(Self { token, top_logprobs: top.collect() })
    }
}

impl CandidateToken {
    fn new(id: u32, logprob: f32, tokenizer: &Tokenizer) -> Self {
        let (token, bytes) = spelled(id, tokenizer);
        Self { id, token, bytes, logprob: f64::from(finite(logprob)) }
    }
}
