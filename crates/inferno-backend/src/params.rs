//! The small plain structs that say how an operation is to be done.

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
}

/// The rows that a product takes. Those of a buffer, given as `&buffer`, are taken as they are.
#[derive(Debug)]
pub enum LinearInput<'a, Buffer> {
    /// The rows as they are.
    Plain(&'a Buffer),
    /// What [`rms_norm`](crate::Backend::rms_norm) makes of the rows, to the bit. The caller needs no memory for it.
    Normed {
        /// The rows before normalization.
        x: &'a Buffer,
        /// The norm's weight.
        weight: &'a Buffer,
        /// What is added to the mean of the squares.
        eps: f32,
    },
}

impl<'a, Buffer> From<&'a Buffer> for LinearInput<'a, Buffer> {
    fn from(x: &'a Buffer) -> Self {
        Self::Plain(x)
    }
}

/// What query and key heads are normalized with, each head by itself, before they are turned.
#[derive(Debug)]
pub struct QkNorm<'a, Buffer> {
    /// The weight of the query heads' norm, `head_dim` values.
    pub q: &'a Buffer,
    /// The weight of the key heads' norm, `head_dim` values.
    pub k: &'a Buffer,
    /// What is added to the mean of the squares.
    pub eps: f32,
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
