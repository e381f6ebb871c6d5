//! Parameters of the operations: in this file, those of heads, norms, rotary embedding and columns.

mod attention;
mod experts;
mod functions;

pub use attention::{
    AttentionMask, AttentionParams, AttentionWindow, DistanceBias, distance_column,
};
pub use experts::{
    ExpertGroups, ExpertInput, ExpertParams, Gating, MIN_PROBABILITY_SUM, SPARSE_MIXER_TOLERANCE,
};
pub use functions::{Function, Gate};

use crate::{KvLayer, KvValues};

/// The layout of queries, keys and values in one row of the stacked QKV projection.
///
/// A row is `num_heads` query heads, then `num_kv_heads` key heads, both `head_dim` wide, then
/// `num_kv_heads` value heads, unless the values are components of the keys. Rows of layers that read the cache of
/// another layer are query heads alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct QkvLayout {
    /// Number of query heads.
    pub num_heads: usize,
    /// Number of key heads, which is also the number of value heads.
    pub num_kv_heads: usize,
    /// Number of values per query or key head.
    pub head_dim: usize,
    /// The components of value heads.
    pub values: KvValues,
    /// Whether rows have keys and values.
    pub has_kv: bool,
}

impl QkvLayout {
    /// Heads that are all `head_dim` wide.
    pub const fn new(num_heads: usize, num_kv_heads: usize, head_dim: usize) -> Self {
        let values = KvValues::Separate { dim: head_dim };
        Self { num_heads, num_kv_heads, head_dim, values, has_kv: true }
    }

    /// Number of components of a value head.
    pub const fn value_dim(&self) -> usize {
        self.values.dim(self.head_dim)
    }

    /// Number of values of the query heads, of the key heads and of the value heads in a row.
    pub fn part_lens(&self) -> [usize; 3] {
        let num_kv_heads = if self.has_kv { self.num_kv_heads } else { 0 };
        [
            self.num_heads * self.head_dim,
            num_kv_heads * self.head_dim,
            num_kv_heads * self.values.separate_dim(),
        ]
    }

    /// Number of values in a row.
    pub fn row_len(&self) -> usize {
        self.part_lens().into_iter().sum()
    }

    /// Number of values in a row of the attention's output.
    pub fn out_len(&self) -> usize {
        self.num_heads * self.value_dim()
    }

    /// The keys and values of a layer with these heads, without a window.
    pub fn kv_layer(&self) -> KvLayer {
        KvLayer { values: self.values, ..KvLayer::new(self.num_kv_heads, self.head_dim) }
    }
}

/// The input rows of a matrix product. `&buffer` converts to [`LinearInput::Plain`].
#[derive(Debug)]
pub enum LinearInput<'a, Buffer> {
    /// The rows of a buffer, unchanged.
    Plain(&'a Buffer),
    /// The rows after [`norm`](crate::Pass::norm), bit-identical to it but without a buffer for its
    /// result.
    Normed {
        /// The rows before normalization.
        x: &'a Buffer,
        /// The norm.
        norm: Norm<'a, Buffer>,
    },
}

impl<'a, Buffer> From<&'a Buffer> for LinearInput<'a, Buffer> {
    fn from(x: &'a Buffer) -> Self {
        Self::Plain(x)
    }
}

impl<Buffer> Clone for LinearInput<'_, Buffer> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Buffer> Copy for LinearInput<'_, Buffer> {}

/// What a norm does to a row before it multiplies it by the weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NormKind {
    /// Divides by the root of the mean of the squares.
    ///
    /// **Source**: Zhang and Sennrich, Root Mean Square Layer Normalization, equation 4.
    Rms,
    /// Subtracts the mean, then divides by the standard deviation.
    ///
    /// **Source**: Ba et al., Layer Normalization, equation 4.
    Layer,
}

/// A norm of rows.
#[derive(Debug)]
pub struct Norm<'a, Buffer> {
    /// The kind.
    pub kind: NormKind,
    /// Factor on each value.
    pub weight: &'a Buffer,
    /// Added to each value at the end.
    pub bias: Option<&'a Buffer>,
    /// Added to the mean of the squares.
    pub eps: f32,
}

impl<'a, Buffer> Norm<'a, Buffer> {
    /// An RMS norm without a bias.
    pub fn rms(weight: &'a Buffer, eps: f32) -> Self {
        Self { kind: NormKind::Rms, weight, bias: None, eps }
    }
}

impl<Buffer> Clone for Norm<'_, Buffer> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Buffer> Copy for Norm<'_, Buffer> {}

/// Norms of the query, key and value heads, next to rotary embedding.
///
/// The extent of a norm follows from the size of its weight unless it is `whole`: one head's values
/// (shared by all heads), or those of all heads (each head is normalized with its own part).
#[derive(Debug)]
pub struct QkNorm<'a, Buffer> {
    /// The weight of the query heads' norm.
    pub q: &'a Buffer,
    /// The weight of the key heads' norm, if they are normalized.
    pub k: Option<&'a Buffer>,
    /// The weight of the value heads' norm, if they are normalized: always each by itself.
    pub v: Option<&'a Buffer>,
    /// The kind.
    pub kind: NormKind,
    /// Added to the mean of the squares.
    pub eps: f32,
    /// Whether all query heads are normalized as one row, and all key heads as another.
    pub whole: bool,
    /// Whether heads are rotated before they are normalized.
    pub after_rotation: bool,
}

impl<'a, Buffer> QkNorm<'a, Buffer> {
    /// RMS norms of each head before rotation.
    pub fn per_head(q: &'a Buffer, k: &'a Buffer, eps: f32) -> Self {
        Self {
            q,
            k: Some(k),
            v: None,
            kind: NormKind::Rms,
            eps,
            whole: false,
            after_rotation: false,
        }
    }
}

/// The rotary embedding of a step.
#[derive(Debug)]
pub struct Rotation<'a, Buffer> {
    /// The components that are rotated together.
    pub pairing: RopePairing,
    /// One row per token: `n` cosines, then `n` sines, where `2 n` is the number of rotated components. `None` if
    /// heads are not rotated.
    pub angles: Option<&'a Buffer>,
    /// One factor per token on its query heads after rotation.
    pub query_factors: Option<&'a Buffer>,
}

/// Norms of heads, and their rotation.
pub type Rope<'a, Buffer> = (Option<QkNorm<'a, Buffer>>, Option<Rotation<'a, Buffer>>);

/// Which two components of a head rotary embedding rotates together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RopePairing {
    /// Components `2i` and `2i + 1` (Llama; converters permute the weights for it).
    Interleaved,
    /// Components `i` and `i + rotary_dim / 2` (Qwen and GPT-NeoX).
    Halves,
}

/// What selects a token's row of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmbeddingIndex {
    /// Its token ID.
    Token,
    /// Its position.
    Position,
    /// Its token type.
    TokenType,
}

/// The location of equally wide blocks of columns in the rows of a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnBlocks {
    /// Number of values from row to row. Together, rows may be divided differently than those of the buffer.
    pub row_len: usize,
    /// First column of the first block.
    pub start: usize,
    /// Number of columns from block to block.
    pub step: usize,
}

/// The size of [`Pass::copy_columns`](crate::Pass::copy_columns).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopySize {
    /// Number of rows.
    pub rows: usize,
    /// Number of blocks per row.
    pub blocks: usize,
    /// Number of columns of a block.
    pub width: usize,
}
