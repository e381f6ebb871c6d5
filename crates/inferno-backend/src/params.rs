//! The small plain structs that say how an operation is to be done.

use std::ops::Range;

/// Where queries, keys and values stand in one row of the stacked QKV projection.
///
/// A row is `num_heads` query heads, then `num_kv_heads` key heads, then as many value heads,
/// each `head_dim` wide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QkvLayout {
    /// Query heads.
    pub num_heads: usize,
    /// Key heads, and value heads.
    pub num_kv_heads: usize,
    /// Width of a head.
    pub head_dim: usize,
}

impl QkvLayout {
    /// Heads in a row, of all three kinds.
    pub fn heads_per_row(&self) -> usize {
        self.num_heads + 2 * self.num_kv_heads
    }

    /// Width of a row.
    pub fn row_len(&self) -> usize {
        self.heads_per_row() * self.head_dim
    }

    /// The query heads.
    pub fn q(&self) -> HeadSpan {
        self.span(0..self.num_heads)
    }

    /// The key heads.
    pub fn k(&self) -> HeadSpan {
        self.span(self.num_heads..self.num_heads + self.num_kv_heads)
    }

    /// The query and key heads together: what rotary embedding turns.
    pub fn qk(&self) -> HeadSpan {
        self.span(0..self.num_heads + self.num_kv_heads)
    }

    fn span(&self, heads: Range<usize>) -> HeadSpan {
        HeadSpan { head_dim: self.head_dim, heads }
    }
}

/// A run of heads within each row of a buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadSpan {
    /// Width of a head.
    pub head_dim: usize,
    /// Which heads of a row.
    pub heads: Range<usize>,
}

/// Which two components of a head rotary embedding turns together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RopePairing {
    /// Components `2i` and `2i + 1` (Llama files, whose converter permutes the weights).
    Interleaved,
    /// Components `i` and `i + rotary_dim / 2` (Qwen, and the form of the GPT-NeoX paper).
    Halves,
}

/// How one layer attends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AttentionParams {
    /// Which layer's keys and values.
    pub layer: usize,
    /// Factor on every score, usually `1 / sqrt(head_dim)`.
    pub scale: f32,
    /// With a window of `w`, position `p` sees `p - w + 1 ..= p`; without, `0 ..= p`.
    pub window: Option<usize>,
}

/// How tokens choose their experts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExpertParams {
    /// Experts in the layer.
    pub num_experts: usize,
    /// Experts that each token uses.
    pub num_experts_used: usize,
    /// Whether the chosen probabilities are scaled to sum to one.
    pub normalize: bool,
}

/// Which input row belongs to a token's `j`-th expert slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpertInput {
    /// Every slot of token `t` reads row `t` (the up and gate projections).
    PerToken,
    /// Slot `j` of token `t` reads row `t * num_experts_used + j` (the down projection).
    PerSlot,
}
