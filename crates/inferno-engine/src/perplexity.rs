//! Perplexity: how well a model predicts a text.
//!
//! The text is cut into windows, each computed from an empty context, and the second half of each is
//! scored, so that every scored token has at least half a window before it.
//!
//! With adjacent windows this is the rule of llama.cpp's `perplexity` tool, which replaces the first token of each window
//! by BOS if the vocabulary adds one.

pub(crate) mod windows;

use crate::sampler::Softmax;
use crate::{EngineError, Runner};
use windows::{WindowRunner, beginning_with, check_windows, scored};

/// Configures [`perplexity`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PerplexityOptions {
    /// Tokens in a window.
    pub window: usize,
    /// Tokens from the start of one window to the start of the next; `None` for adjacent windows.
    pub stride: Option<usize>,
    /// Token that replaces the first one of each window: BOS, for vocabularies that add it to texts.
    pub bos: Option<u32>,
}

impl Default for PerplexityOptions {
    fn default() -> Self {
        Self { window: 512, stride: None, bos: None }
    }
}

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

    /// The result before the first of `total_windows`.
    pub(crate) fn of_windows(total_windows: usize) -> Self {
        Self { num_windows: 0, total_windows, num_scored: 0, sum: 0.0, sum_of_squares: 0.0 }
    }

    pub(crate) fn add(&mut self, negative_log_likelihood: f64) {
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
/// stride of 0, [`EngineError::TextTooShort`] when not one window is full, [`EngineError::TokenOutOfRange`],
/// [`EngineError::NonFiniteLogit`], and a runner that fails.
///
/// **Source**: Jelinek et al., Perplexity: a measure of the difficulty of speech recognition tasks.
pub fn perplexity(
    runner: &mut dyn Runner,
    tokens: &[u32],
    options: PerplexityOptions,
    on_window: &mut dyn FnMut(&Perplexity),
) -> Result<Perplexity, EngineError> {
    let PerplexityOptions { window, stride, bos } = options;
    let stride = stride.unwrap_or(window);
    check_windows(runner, tokens, window, stride)?;
    let mut result = Perplexity::of_windows((tokens.len() - window) / stride + 1);
    let mut forward = WindowRunner::new(runner);
    for window in tokens.windows(window).step_by(stride) {
        let window = beginning_with(bos, window);
        forward.begin(&window)?;
        let mut successors = scored(&window).iter();
        while let Some(output) = forward.next_rows()? {
            for (row, &next) in output.rows().zip(&mut successors) {
                let row = row.values()?;
                let softmax = Softmax::of_finite(&row)?;
                result.add(-softmax.log_probability(row[next as usize]));
            }
        }
        result.num_windows += 1;
        on_window(&result);
    }
    Ok(result)
}
