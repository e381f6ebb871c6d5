//! The parameters of attention: scores and masks.

use std::ops::Range;

/// Parameters of one layer's attention.
#[derive(Debug)]
pub struct AttentionParams<'a, Buffer> {
    /// Index of the layer in the KV cache.
    pub layer: usize,
    /// Factor on every score, usually `1 / sqrt(head_dim)`.
    pub scale: f32,
    /// The positions that a position attends to.
    pub mask: AttentionMask,
    /// Replaces each score `s` by `cap * tanh(s / cap)`.
    pub softcap: Option<f32>,
    /// One slope for each query head: `slope * distance` is subtracted from the score of a position at a distance, after
    /// `softcap`.
    ///
    /// **Source**: Press et al., Train Short, Test Long: Attention with Linear Biases Enables Input Length Extrapolation.
    pub distance_slopes: Option<&'a Buffer>,
    /// One more score for each query head, of a position without a value.
    pub sinks: Option<&'a Buffer>,
}

impl<Buffer> AttentionParams<'_, Buffer> {
    /// Causal attention of `layer` over all positions, with scores that are only scaled.
    pub fn new(layer: usize, scale: f32) -> Self {
        let mask = AttentionMask::Causal(None);
        Self { layer, scale, mask, softcap: None, distance_slopes: None, sinks: None }
    }
}

/// The positions that a position attends to: a range, of which neither the start nor the end lies before that of an earlier
/// position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttentionMask {
    /// Itself and those before it, or those of a window.
    Causal(Option<AttentionWindow>),
    /// Those before and after it that the cache has, at most `reach` positions away if it is limited.
    Bidirectional {
        /// The largest distance.
        reach: Option<usize>,
    },
}

impl AttentionMask {
    /// The positions that `position` attends to in a sequence of which the cache has `context_len` positions.
    pub fn range(self, position: usize, context_len: usize) -> Range<usize> {
        match self {
            Self::Causal(window) => window.map_or(0, |window| window.first(position))..position + 1,
            Self::Bidirectional { reach: None } => 0..context_len,
            Self::Bidirectional { reach: Some(reach) } => {
                let end = position.saturating_add(reach).saturating_add(1);
                position.saturating_sub(reach)..end.min(context_len)
            }
        }
    }

    /// The window of a causal mask.
    pub fn window(self) -> Option<AttentionWindow> {
        match self {
            Self::Causal(window) => window,
            Self::Bidirectional { .. } => None,
        }
    }

    /// The largest number of positions that a position attends to; `None` if it is not limited.
    pub fn max_len(self) -> Option<usize> {
        match self {
            Self::Causal(window) => window.map(AttentionWindow::max_len),
            Self::Bidirectional { reach } => {
                reach.map(|reach| reach.saturating_mul(2).saturating_add(1))
            }
        }
    }
}

/// The positions that a position attends to, which end with itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttentionWindow {
    /// The last positions, this many. Not zero.
    Sliding(usize),
    /// Those of its chunk: positions are divided into chunks of this length. Not zero.
    Chunked(usize),
}

impl AttentionWindow {
    /// The first position that `position` attends to.
    pub fn first(self, position: usize) -> usize {
        match self {
            Self::Sliding(len) => (position + 1).saturating_sub(len),
            Self::Chunked(len) => position - position % len,
        }
    }

    /// The largest number of positions that a position attends to.
    pub fn max_len(self) -> usize {
        match self {
            Self::Sliding(len) | Self::Chunked(len) => len,
        }
    }
}
