//! The rows of logits in the second half of each window, computed from an empty context.

use inferno_backend::LogitRows;

use crate::forward::ForwardOutput;
use crate::sampler::check_tokens;
use crate::{EngineError, Runner, Sequence, SequenceRunner};

/// The shortest window with a token to score.
const MIN_WINDOW: usize = 3;

/// Checks that windows of `tokens` can be scored.
///
/// **Errors**: [`EngineError::Window`], [`EngineError::TextTooShort`], [`EngineError::TokenOutOfRange`].
pub(crate) fn check_windows(
    runner: &dyn Runner,
    tokens: &[u32],
    window: usize,
    stride: usize,
) -> Result<(), EngineError> {
    let context_length = runner.context_length();
    if window < MIN_WINDOW || window > context_length || stride == 0 {
        return Err(EngineError::Window { window, stride, context_length });
    }
    if tokens.len() < window {
        return Err(EngineError::TextTooShort { found: tokens.len(), window });
    }
    check_tokens("the text", tokens.iter().copied(), runner.vocab_size())
}

/// Returns a window whose first token is replaced by `bos`, if there is one.
pub(crate) fn beginning_with(bos: Option<u32>, window: &[u32]) -> Vec<u32> {
    let mut window = window.to_vec();
    if let (Some(bos), Some(first)) = (bos, window.first_mut()) {
        *first = bos;
    }
    window
}

/// Returns the tokens of a window that are scored: each is predicted by one row.
pub(crate) fn scored(window: &[u32]) -> &[u32] {
    &window[window.len() / 2 + 1..]
}

/// Computes one window after another.
pub(crate) struct WindowRunner<'r> {
    forward: SequenceRunner<'r>,
    sequence: [Sequence; 1],
    max_num_tokens: usize,
    max_num_rows: usize,
}

impl<'r> WindowRunner<'r> {
    /// Uses the whole cache of a runner.
    pub(crate) fn new(runner: &'r mut dyn Runner) -> Self {
        let limits = runner.limits();
        let mut forward = SequenceRunner::new(runner);
        Self {
            sequence: [forward.sequence()],
            forward,
            max_num_tokens: limits.max_num_tokens,
            max_num_rows: limits.max_num_tokens.min(limits.max_num_logit_rows),
        }
    }

    /// Discards the previous window and computes the first half of the next one.
    ///
    /// **Errors**: a runner that fails.
    pub(crate) fn begin(&mut self, window: &[u32]) -> Result<(), EngineError> {
        self.forward.truncate(&mut self.sequence[0], 0);
        // The last token has no successor to be scored by, and need not be computed.
        let (half, end) = (window.len() / 2, window.len() - 1);
        self.sequence[0].extend(&window[..half]);
        let max_num_tokens = self.max_num_tokens;
        while self.forward.run_next(&mut self.sequence, max_num_tokens, LogitRows::None)?.is_some()
        {
        }
        self.sequence[0].extend(&window[half..end]);
        Ok(())
    }

    /// Computes the next rows, which predict the [`scored`] tokens in order; `None` after the last one.
    ///
    /// **Errors**: a runner that fails.
    pub(crate) fn next_rows(&mut self) -> Result<Option<ForwardOutput<'_>>, EngineError> {
        self.forward.run_next(&mut self.sequence, self.max_num_rows, LogitRows::All)
    }
}
