//! From logits to a token.
//!
//! The stages, in this order, which is that of llama.cpp's default chain:
//!
//! 1. logit bias,
//! 2. repetition, frequency and presence penalty,
//! 3. DRY,
//! 4. top-k,
//! 5. typical,
//! 6. top-p,
//! 7. min-p,
//! 8. temperature, and the draw.
//!
//! Each truncating stage looks at the probabilities among the tokens that the stages before it
//! left. Temperature comes last, so that it changes the probabilities of the remaining tokens
//! and not which tokens remain. At temperature 0 the best token after stage 3 is selected.

mod best_logits;
mod candidates;
mod draft;
mod dry;
mod history;
mod logit_bias;
mod logprobs;
mod min_p;
mod params;
mod penalties;
pub(crate) mod random;
mod recommended;
mod softmax;
mod temperature;
mod top_k;
mod top_p;
mod typical;
mod whole_row;

#[cfg(test)]
mod tests;

pub(crate) use dry::SequenceBreakerCache;
pub use dry::{DryParams, SequenceBreakers};
pub use logprobs::TokenLogprobs;
pub use params::SamplingParams;
pub(crate) use softmax::{LANES, Softmax, exp_of_negative};

use std::sync::Arc;

use crate::{EngineError, TokenMask};
use candidates::Candidates;
use history::History;
use random::Random;
use whole_row::WholeRow;

/// A sampled token.
#[derive(Debug, Clone, PartialEq)]
pub struct SampledToken {
    /// Its id.
    pub id: u32,
    /// Its log-probability and those of the most probable tokens, if [`SamplingParams::logprobs`] is set.
    pub logprobs: Option<TokenLogprobs>,
}

/// Samples the tokens of one sequence, one after another.
///
/// Buffers are reused between steps; the vocabulary is never sorted as a whole.
///
/// ```
/// use inferno_engine::{Sampler, SamplingParams};
///
/// # fn main() -> Result<(), inferno_engine::EngineError> {
/// let mut sampler = Sampler::new(SamplingParams { top_k: 2, seed: Some(1), ..Default::default() }, 4)?;
/// let token = sampler.sample(&[0.1, 3.0, -1.0, 2.9], &[])?;
/// assert!(token.id == 1 || token.id == 3);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Sampler {
    params: SamplingParams,
    vocab_size: usize,
    seed: u64,
    random: Random,
    history: History,
    adjusted: Vec<f32>,
    candidates: Candidates,
    whole_row: WholeRow,
    weights: Vec<f32>,
}

impl Sampler {
    /// Creates a sampler for a vocabulary of `vocab_size` tokens.
    ///
    /// **Errors**: as [`SamplingParams::validate`], and [`EngineError::TokenOutOfRange`] for a bias on a token
    /// outside the vocabulary.
    pub fn new(params: SamplingParams, vocab_size: usize) -> Result<Self, EngineError> {
        params.validate()?;
        check_tokens("logit_bias", params.logit_bias.iter().map(|&(token, _)| token), vocab_size)?;
        let seed = params.seed.unwrap_or_else(random::fresh_seed);
        Ok(Self {
            params,
            vocab_size,
            seed,
            random: Random::from_seed(seed),
            history: History::default(),
            adjusted: Vec::new(),
            candidates: Candidates::default(),
            whole_row: WholeRow::default(),
            weights: Vec::new(),
        })
    }

    /// Replaces the sequence breakers of DRY, which are those of [`DryParams::sequence_breakers`] in the tokens of the
    /// vocabulary. A new sampler has none.
    pub fn with_sequence_breakers(mut self, breakers: Arc<SequenceBreakers>) -> Self {
        self.history.set_sequence_breakers(breakers);
        self
    }

    /// Returns the seed in use: the one of the parameters, or a fresh one.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Adds tokens before the output, which the repetition penalty and DRY apply to.
    pub fn add_prompt(&mut self, tokens: &[u32]) {
        self.history.add_prompt(&self.params, tokens);
    }

    /// Samples the next token from `logits`, never one of `banned`, and records it for the penalties.
    ///
    /// **Shapes**: `logits` holds one value per token of the vocabulary.
    ///
    /// **Errors**: [`EngineError::LogitsLength`], [`EngineError::NonFiniteLogit`], and
    /// [`EngineError::NoCandidates`] when every token is banned.
    pub fn sample(&mut self, logits: &[f32], banned: &[u32]) -> Result<SampledToken, EngineError> {
        self.sample_allowed(logits, banned, None)
    }

    /// Samples as [`sample`](Self::sample) does, only from the tokens in `allowed` if it is present.
    ///
    /// **Errors**: as [`sample`](Self::sample).
    pub fn sample_allowed(
        &mut self,
        logits: &[f32],
        banned: &[u32],
        allowed: Option<&TokenMask>,
    ) -> Result<SampledToken, EngineError> {
        check_logits(logits, self.vocab_size)?;
        let id = self.choose(logits, banned, allowed)?;
        self.history.add_generated(&self.params, id);
        let Self { params, whole_row, candidates, .. } = self;
        let logprobs = params
            .logprobs
            .map(|count| TokenLogprobs::of(id, count, logits, whole_row, candidates));
        Ok(SampledToken { id, logprobs })
    }

    /// Returns the model's log-probability of `token`, and those of the `count` most probable tokens; nothing
    /// is sampled.
    ///
    /// **Shapes**: `logits` holds one value per token of the vocabulary, which includes `token`.
    ///
    /// **Errors**: [`EngineError::LogitsLength`], [`EngineError::NonFiniteLogit`].
    pub fn logprobs(
        &mut self,
        token: u32,
        count: usize,
        logits: &[f32],
    ) -> Result<TokenLogprobs, EngineError> {
        check_logits(logits, self.vocab_size)?;
        let Self { whole_row, candidates, .. } = self;
        Ok(TokenLogprobs::of(token, count, logits, whole_row, candidates))
    }

    /// All stages.
    fn choose(
        &mut self,
        logits: &[f32],
        banned: &[u32],
        allowed: Option<&TokenMask>,
    ) -> Result<u32, EngineError> {
        if self.params.truncates() && !self.params.is_greedy() {
            self.truncate(logits, banned, allowed)?;
            return Ok(self.draw());
        }
        let Self { params, history, adjusted, whole_row, random, .. } = self;
        if params.is_greedy() {
            // If logits are unchanged, the best of all is the best of those that are not banned.
            let stay = !params.changes_logits() && allowed.is_none();
            let best = stay.then(|| argmax(logits)).flatten();
            let best = best
                .filter(|best| !banned.contains(best))
                .or_else(|| argmax(adjust(params, history, logits, banned, allowed, adjusted)));
            return best.ok_or(EngineError::NoCandidates);
        }
        let row = adjust(params, history, logits, banned, allowed, adjusted);
        let drawn = whole_row.draw(row, params.temperature, random.unit());
        drawn.ok_or(EngineError::NoCandidates)
    }

    /// Stages 1 to 7: leaves in `candidates` the tokens to draw from.
    fn truncate(
        &mut self,
        logits: &[f32],
        banned: &[u32],
        allowed: Option<&TokenMask>,
    ) -> Result<(), EngineError> {
        let Self { params, history, adjusted, candidates, whole_row, .. } = self;
        let row = adjust(params, history, logits, banned, allowed, adjusted);
        whole_row.fill_best(row, params.top_k, candidates);
        if candidates.is_empty() {
            return Err(EngineError::NoCandidates);
        }
        self.truncate_candidates();
        Ok(())
    }

    /// Stages 4 to 7.
    fn truncate_candidates(&mut self) {
        let Self { params, candidates, .. } = self;
        top_k::apply(params.top_k, candidates);
        typical::apply(params.typical_p, candidates);
        top_p::apply(params.top_p, candidates);
        min_p::apply(params.min_p, candidates);
    }

    /// Stage 8: draws one of `candidates`, which are not empty.
    fn draw(&mut self) -> u32 {
        let sum = temperature::weigh(self.params.temperature, &self.candidates, &mut self.weights);
        let drawn = random::pick(self.weights.iter().copied(), self.random.unit() * sum);
        self.candidates.as_slice()[drawn].id
    }
}

/// Stages 1 to 3; tokens that are banned or not allowed get negative infinity. Copies the logits
/// into `adjusted` only if there is something to change.
fn adjust<'a>(
    params: &SamplingParams,
    history: &mut History,
    logits: &'a [f32],
    banned: &[u32],
    allowed: Option<&TokenMask>,
    adjusted: &'a mut Vec<f32>,
) -> &'a [f32] {
    if !params.changes_logits() && banned.is_empty() && allowed.is_none() {
        return logits;
    }
    adjusted.clear();
    adjusted.extend_from_slice(logits);
    logit_bias::apply(&params.logit_bias, adjusted);
    history.penalize(params, adjusted);
    for &token in banned {
        if let Some(logit) = adjusted.get_mut(token as usize) {
            *logit = f32::NEG_INFINITY;
        }
    }
    if let Some(allowed) = allowed {
        mask_logits(adjusted, allowed);
    }
    adjusted
}

/// The highest logit's token; among equals the lowest id, and none if all are negative infinity.
fn argmax(logits: &[f32]) -> Option<u32> {
    const CHUNK: usize = 1024;
    let highest = softmax::max(logits, |logit| logit);
    if highest == f32::NEG_INFINITY {
        return None;
    }
    // Without an early exit the loop over a chunk is vectorized.
    let holds =
        |chunk: &[f32]| chunk.iter().fold(false, |found, &logit| found | (logit == highest));
    let first = logits.chunks(CHUNK).position(holds)? * CHUNK;
    let place = logits[first..].iter().position(|&logit| logit == highest)?;
    Some((first + place) as u32)
}

fn check_logits(logits: &[f32], vocab_size: usize) -> Result<(), EngineError> {
    if logits.len() != vocab_size {
        return Err(EngineError::LogitsLength { expected: vocab_size, found: logits.len() });
    }
    check_finite(logits)
}

/// **Errors**: [`EngineError::NonFiniteLogit`].
fn check_finite(logits: &[f32]) -> Result<(), EngineError> {
    // Without an early exit the loop over a large vocabulary is vectorized.
    if logits.iter().fold(true, |finite, logit| finite & logit.is_finite()) {
        return Ok(());
    }
    match logits.iter().position(|logit| !logit.is_finite()) {
        Some(token) => Err(EngineError::NonFiniteLogit { token, value: logits[token] }),
        None => Ok(()),
    }
}

/// Refuses ids in the request's `field` that the vocabulary does not have.
pub(crate) fn check_tokens(
    field: &'static str,
    tokens: impl IntoIterator<Item = u32>,
    vocab_size: usize,
) -> Result<(), EngineError> {
    match tokens.into_iter().find(|&token| token as usize >= vocab_size) {
        Some(token) => Err(EngineError::TokenOutOfRange { field, token, vocab_size }),
        None => Ok(()),
    }
}

/// Sets the logits of all tokens that are not allowed to negative infinity.
fn mask_logits(logits: &mut [f32], allowed: &TokenMask) {
    for (index, logits) in logits.chunks_mut(32).enumerate() {
        let word = allowed.words().get(index).copied().unwrap_or(0);
        if word == u32::MAX {
            continue;
        }
        for (bit, logit) in logits.iter_mut().enumerate() {
            if word >> bit & 1 == 0 {
                *logit = f32::NEG_INFINITY;
            }
        }
    }
}
