//! The results of generation that Python code reads.

use inferno::{Finished, TokenLogprobs};
use pyo3::prelude::*;

type TokenLogprobFields = (u32, f32, usize, Vec<(u32, f32)>);
type TimingsFields = (f64, Option<f64>, f64, f64);
type ChunkFields = (
    String,
    Option<u32>,
    Option<Py<TokenLogprob>>,
    Option<Vec<Py<TokenLogprob>>>,
    Option<String>,
    Option<Py<Usage>>,
    Option<Py<Timings>>,
);

/// The log-probability of a token, and the most probable tokens at its position.
#[pyclass(frozen, get_all, module = "inferno")]
pub struct TokenLogprob {
    /// The token.
    token: u32,
    /// Natural logarithm of its probability.
    logprob: f32,
    /// How many tokens are more probable, plus one.
    rank: usize,
    /// The most probable tokens with their log-probabilities, the most probable first.
    top: Vec<(u32, f32)>,
}

impl TokenLogprob {
    pub(crate) fn new(token: u32, logprobs: TokenLogprobs) -> Self {
        let TokenLogprobs { logprob, rank, top } = logprobs;
        Self { token, logprob, rank, top }
    }
}

#[pymethods]
impl TokenLogprob {
    #[new]
    fn create(token: u32, logprob: f32, rank: usize, top: Vec<(u32, f32)>) -> Self {
        Self { token, logprob, rank, top }
    }

    /// The arguments that `pickle` and `copy` create it with.
    fn __getnewargs__(&self) -> TokenLogprobFields {
        (self.token, self.logprob, self.rank, self.top.clone())
    }

    fn __repr__(&self) -> String {
        format!("TokenLogprob(token={}, logprob={}, rank={})", self.token, self.logprob, self.rank)
    }
}

/// The number of tokens of a request.
#[pyclass(frozen, get_all, eq, hash, module = "inferno")]
#[derive(PartialEq, Eq, Hash)]
pub struct Usage {
    /// Tokens of the prompt.
    prompt_tokens: usize,
    /// Tokens of the prompt that were found in the prefix cache.
    cached_tokens: usize,
    /// Generated tokens, including one that ended the generation.
    completion_tokens: usize,
}

impl Usage {
    pub(crate) fn new(
        prompt_tokens: usize,
        cached_tokens: usize,
        completion_tokens: usize,
    ) -> Self {
        Self { prompt_tokens, cached_tokens, completion_tokens }
    }
}

#[pymethods]
impl Usage {
    #[new]
    fn create(prompt_tokens: usize, cached_tokens: usize, completion_tokens: usize) -> Self {
        Self::new(prompt_tokens, cached_tokens, completion_tokens)
    }

    fn __getnewargs__(&self) -> (usize, usize, usize) {
        (self.prompt_tokens, self.cached_tokens, self.completion_tokens)
    }

    fn __repr__(&self) -> String {
        let Self { prompt_tokens, cached_tokens, completion_tokens } = self;
        format!(
            "Usage(prompt_tokens={prompt_tokens}, cached_tokens={cached_tokens}, completion_tokens={completion_tokens})"
        )
    }
}

/// The times of a request, in seconds.
#[pyclass(frozen, get_all, module = "inferno")]
pub struct Timings {
    /// From the request to its first computation.
    queued: f64,
    /// From the request to the first token; `None` without one.
    time_to_first_token: Option<f64>,
    /// From the first token to the last.
    decode: f64,
    /// From the request to the end.
    total: f64,
}

impl Timings {
    pub(crate) fn of(finished: &Finished) -> Self {
        let timings = &finished.timings;
        Self {
            queued: timings.queued.as_secs_f64(),
            time_to_first_token: timings.time_to_first_token.map(|time| time.as_secs_f64()),
            decode: timings.decode.as_secs_f64(),
            total: timings.total.as_secs_f64(),
        }
    }
}

#[pymethods]
impl Timings {
    #[new]
    fn create(queued: f64, time_to_first_token: Option<f64>, decode: f64, total: f64) -> Self {
        Self { queued, time_to_first_token, decode, total }
    }

    fn __getnewargs__(&self) -> TimingsFields {
        (self.queued, self.time_to_first_token, self.decode, self.total)
    }

    fn __repr__(&self) -> String {
        format!("Timings(total={:.3}, decode={:.3})", self.total, self.decode)
    }
}

/// A part of a generation: a token with the text that it adds, or the end.
#[pyclass(frozen, get_all, module = "inferno")]
#[derive(Default)]
pub struct Chunk {
    /// The text that can now be shown: complete characters, often none.
    pub text: String,
    /// The token; `None` for the end.
    pub token: Option<u32>,
    /// The log-probability of the token, if it was requested.
    pub logprob: Option<Py<TokenLogprob>>,
    /// The log-probabilities of the prompt from its second token on, if they were requested; in a chunk of their own.
    pub prompt_logprobs: Option<Vec<Py<TokenLogprob>>>,
    /// Why the generation ended: `stop`, `length`, `context_full`, `cancelled` or `deadline_exceeded`.
    pub finish_reason: Option<String>,
    /// The number of tokens; at the end.
    pub usage: Option<Py<Usage>>,
    /// The times of a request; at the end.
    pub timings: Option<Py<Timings>>,
}

#[pymethods]
impl Chunk {
    #[new]
    fn create(
        text: String,
        token: Option<u32>,
        logprob: Option<Py<TokenLogprob>>,
        prompt_logprobs: Option<Vec<Py<TokenLogprob>>>,
        finish_reason: Option<String>,
        usage: Option<Py<Usage>>,
        timings: Option<Py<Timings>>,
    ) -> Self {
        Self { text, token, logprob, prompt_logprobs, finish_reason, usage, timings }
    }

    fn __getnewargs__(&self, py: Python<'_>) -> ChunkFields {
        let each = |logprobs: &Vec<Py<TokenLogprob>>| {
            logprobs.iter().map(|logprob| logprob.clone_ref(py)).collect()
        };
        (
            self.text.clone(),
            self.token,
            self.logprob.as_ref().map(|logprob| logprob.clone_ref(py)),
            self.prompt_logprobs.as_ref().map(each),
            self.finish_reason.clone(),
            self.usage.as_ref().map(|usage| usage.clone_ref(py)),
            self.timings.as_ref().map(|timings| timings.clone_ref(py)),
        )
    }

    fn __repr__(&self) -> String {
        let token = self.token.map_or("None".to_owned(), |token| token.to_string());
        let finish_reason = self.finish_reason.as_deref().unwrap_or("None");
        format!("Chunk(text={:?}, token={token}, finish_reason={finish_reason})", self.text)
    }
}
