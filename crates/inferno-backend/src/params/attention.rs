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
    /// What the distance of a position adds to its score, after `softcap`.
    pub distance_bias: Option<DistanceBias<'a, Buffer>>,
    /// One more score for each query head, of a position without a value.
    pub sinks: Option<&'a Buffer>,
}

impl<Buffer> AttentionParams<'_, Buffer> {
    /// Causal attention of `layer` over all positions, with scores that are only scaled.
    pub fn new(layer: usize, scale: f32) -> Self {
        let mask = AttentionMask::Causal(None);
        Self { layer, scale, mask, softcap: None, distance_bias: None, sinks: None }
    }
}

/// What the distance between two positions adds to a score.
#[derive(Debug)]
pub enum DistanceBias<'a, Buffer> {
    /// A row with one slope for each query head: `slope * distance` is subtracted.
    ///
    /// **Source**: Press et al., Train Short, Test Long: Attention with Linear Biases Enables Input Length Extrapolation.
    Slopes(&'a Buffer),
    /// A row for each query head, with an odd number of values that are added: that of the position itself in the middle, those
    /// of earlier positions before it. Positions beyond the ends of the row have its first or last value.
    ///
    /// **Source**: Shaw et al., Self-Attention with Relative Position Representations, section 3.2; Raffel et al., Exploring
    /// the Limits of Transfer Learning with a Unified Text-to-Text Transformer, section 2.1.
    Table(&'a Buffer),
}

impl<'a, Buffer> DistanceBias<'a, Buffer> {
    /// The slopes or the table.
    pub fn buffer(&self) -> &'a Buffer {
        match self {
            Self::Slopes(buffer) | Self::Table(buffer) => buffer,
        }
    }
}

/// The column of `position` in a row of a [`DistanceBias::Table`] with `num_columns` values, for a query at position `own`.
pub fn distance_column(num_columns: usize, own: usize, position: usize) -> usize {
    let reach = num_columns / 2;
    (position + reach).saturating_sub(own).min(2 * reach)
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
