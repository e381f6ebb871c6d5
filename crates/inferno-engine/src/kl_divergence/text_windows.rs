//! A text in windows.

use crate::perplexity::windows::beginning_with;

/// A text in adjacent windows. Tokens that do not fill a window are not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextWindows {
    tokens: Vec<u32>,
    window: usize,
    bos: Option<u32>,
}

impl TextWindows {
    /// Cuts `tokens` into windows of `window` tokens. The first token of each is replaced by `bos`, if there is one, when it
    /// is computed.
    pub fn new(tokens: Vec<u32>, window: usize, bos: Option<u32>) -> Self {
        Self { tokens, window, bos }
    }

    /// Returns all tokens, without replacement.
    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// Returns the number of tokens in a window.
    pub fn window(&self) -> usize {
        self.window
    }

    /// Returns the number of windows.
    pub fn num_windows(&self) -> usize {
        self.tokens.len().checked_div(self.window).unwrap_or(0)
    }

    /// Returns the tokens of the windows, without replacement.
    pub(super) fn used_tokens(&self) -> &[u32] {
        &self.tokens[..self.num_windows() * self.window]
    }

    /// Returns the windows as they are computed.
    pub(super) fn windows(&self) -> impl Iterator<Item = Vec<u32>> {
        let windows = self.tokens.chunks_exact(self.window.max(1));
        windows.map(|window| beginning_with(self.bos, window))
    }
}
