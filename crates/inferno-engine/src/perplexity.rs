//! Perplexity: how well a model predicts a text.
//!
//! The text is cut into windows, each computed from an empty context, and the second half of each is
//! scored, so that every scored token has at least half a window before it.
//!
//! With adjacent windows this is the rule of llama.cpp's `perplexity` tool for models without a BOS. For
//! models with one, that tool writes it over the first token of each window. Here every window is computed
//! unchanged, so that figures of all models, and of overlapping windows, are comparable; for such models
//! they differ slightly from that tool's.

use inferno_backend::LogitRows;

use crate::{EngineError, Runner, SequenceRunner};

/// Configures [`perplexity`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PerplexityOptions {
    /// Tokens in a window.
    pub window: usize,
    /// Tokens from the start of one window to the start of the next; `None` for adjacent windows.
    pub stride: Option<usize>,
}

impl Default for PerplexityOptions {
    fn default() -> Self {
        Self { window: 512, stride: None }
    }
}

/// The shortest window with a token to score.
const MIN_WINDOW: usize = 3;

/// The result, so far or final.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Perplexity {
    /// Number of windows computed.
    pub num_windows: usize,
    /// Total number of windows.
    pub total_windows: usize,
    /// Number of scored tokens.
    pub num_scored: usize,
    /// Sum of the scored tokens' negative log-probabilities, in nats.
    sum: f64,
    sum_of_squares: f64,
}

impl Perplexity {
    /// Returns the mean negative log-probability of a token, in nats.
    pub fn mean_negative_log_likelihood(&self) -> f64 {
        self.sum / self.num_scored as f64
    }

    /// Returns the perplexity, the exponential of the mean.
    pub fn value(&self) -> f64 {
        libm::exp(self.mean_negative_log_likelihood())
    }

    /// Returns the standard error of [`value`](Self::value), assuming independent tokens; `None` if fewer than
    /// two were scored.
    pub fn standard_error(&self) -> Option<f64> {
        if self.num_scored < 2 {
            return None;
        }
        let count = self.num_scored as f64;
        let mean = self.mean_negative_log_likelihood();
        let variance = (self.sum_of_squares / count - mean * mean).max(0.0);
        Some(self.value() * (variance / (count - 1.0)).sqrt())
    }

    fn add(&mut self, negative_log_likelihood: f64) {
        self.num_scored += 1;
        self.sum += negative_log_likelihood;
        self.sum_of_squares += negative_log_likelihood * negative_log_likelihood;
    }
}

/// Scores `tokens`, and calls `on_window` with the result so far after each window.
///
/// A remainder that does not fill a window is ignored.
///
/// **Errors**: [`EngineError::Window`] for a window below 3 tokens, longer than the context or a
/// stride of 0, [`EngineError::TextTooShort`] when not one window is full,
/// [`EngineError::NonFiniteLogit`], and a runner that fails.
///
/// **Source**: Jelinek et al., Perplexity: a measure of the difficulty of speech recognition tasks.
pub fn perplexity(
    runner: &mut dyn Runner,
    tokens: &[u32],
    options: PerplexityOptions,
    on_window: &mut dyn FnMut(&Perplexity),
) -> Result<Perplexity, EngineError> {
    let PerplexityOptions { window, stride } = options;
    let stride = stride.unwrap_or(window);
    let context_length = runner.context_length();
    if window < MIN_WINDOW || window > context_length || stride == 0 {
        return Err(EngineError::Window { window, stride, context_length });
    }
    if tokens.len() < window {
        return Err(EngineError::TextTooShort { found: tokens.len(), window });
    }
    let mut result = Perplexity {
        total_windows: (tokens.len() - window) / stride + 1,
        num_windows: 0,
        num_scored: 0,
        sum: 0.0,
        sum_of_squares: 0.0,
    };
    let limits = runner.limits();
    let max_num_scored = limits.max_num_tokens.min(limits.max_num_logit_rows);
    let mut forward = SequenceRunner::new(runner);
    let mut sequence = [forward.sequence()];
    for window in tokens.windows(window).step_by(stride) {
        // The last token has no successor to be scored by, and need not be computed.
        let (half, end) = (window.len() / 2, window.len() - 1);
        sequence[0].extend(&window[..half]);
        while forward.run_next(&mut sequence, limits.max_num_tokens, LogitRows::None)?.is_some() {}
        sequence[0].extend(&window[half..end]);
        let mut successors = window[half + 1..].iter();
        while let Some(output) = forward.run_next(&mut sequence, max_num_scored, LogitRows::All)? {
            for (row, &next) in output.rows().zip(&mut successors) {
                result.add(negative_log_likelihood(&row.values()?, next)?);
            }
        }
        forward.truncate(&mut sequence[0], 0);
        result.num_windows += 1;
        on_window(&result);
    }
    Ok(result)
}

/// `-ln softmax(logits)[token]`, in double precision.
fn negative_log_likelihood(logits: &[f32], token: u32) -> Result<f64, EngineError> {
    if let Some(token) = logits.iter().position(|logit| !logit.is_finite()) {
        return Err(EngineError::NonFiniteLogit { token, value: logits[token] });
    }
    let Some(&logit) = logits.get(token as usize) else {
        let (field, vocab_size) = ("the text", logits.len());
        return Err(EngineError::TokenOutOfRange { field, token, vocab_size });
    };
    let max = f64::from(logits.iter().fold(f32::MIN, |max, &logit| max.max(logit)));
    let sum: f64 = logits.iter().map(|&logit| libm::exp(f64::from(logit) - max)).sum();
    Ok(max + libm::log(sum) - f64::from(logit))
}
