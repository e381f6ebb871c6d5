//! Parameters of the operations.

use inferno_tensor::DType;

use crate::KvDType;

/// The layout of queries, keys and values in one row of the stacked QKV projection.
///
/// A row is `num_heads` query heads, then `num_kv_heads` key heads, then as many value heads,
/// each `head_dim` wide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QkvLayout {
    /// Number of query heads.
    pub num_heads: usize,
    /// Number of key heads, which is also the number of value heads.
    pub num_kv_heads: usize,
    /// Number of values per head.
    pub head_dim: usize,
}

impl QkvLayout {
    /// Number of heads in a row, of all three kinds.
    pub fn heads_per_row(&self) -> usize {
        self.num_heads + 2 * self.num_kv_heads
    }

    /// Number of values in a row.
    pub fn row_len(&self) -> usize {
        self.heads_per_row() * self.head_dim
    }
}

/// The input rows of a matrix product. `&buffer` converts to [`LinearInput::Plain`].
#[derive(Debug)]
pub enum LinearInput<'a, Buffer> {
    /// The rows of a buffer, unchanged.
    Plain(&'a Buffer),
    /// The rows after [`rms_norm`](crate::Backend::rms_norm), bit-identical to it but without a buffer
    /// for its result.
    Normed {
        /// The rows before normalization.
        x: &'a Buffer,
        /// The norm's weight.
        weight: &'a Buffer,
        /// Added to the mean of the squares.
        eps: f32,
    },
}

impl<'a, Buffer> From<&'a Buffer> for LinearInput<'a, Buffer> {
    fn from(x: &'a Buffer) -> Self {
        Self::Plain(x)
    }
}

/// RMS norms of the query and key heads before rotary embedding, applied to each head separately.
#[derive(Debug)]
pub struct QkNorm<'a, Buffer> {
    /// The weight of the query heads' norm, `head_dim` values.
    pub q: &'a Buffer,
    /// The weight of the key heads' norm, `head_dim` values.
    pub k: &'a Buffer,
    /// Added to the mean of the squares.
    pub eps: f32,
}

/// Which two components of a head rotary embedding rotates together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RopePairing {
    /// Components `2i` and `2i + 1` (Llama; converters permute the weights for it).
    Interleaved,
    /// Components `i` and `i + rotary_dim / 2` (Qwen and GPT-NeoX).
    Halves,
}

/// Parameters of one layer's attention.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AttentionParams {
    /// Index of the layer in the KV cache.
    pub layer: usize,
    /// Factor on every score, usually `1 / sqrt(head_dim)`.
    pub scale: f32,
    /// Sliding window: with a window of `w`, position `p` attends to `p - w + 1 ..= p`; without one, to
    /// `0 ..= p`.
    pub window: Option<usize>,
}

/// Number of experts and their routing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExpertParams {
    /// Number of experts in a layer.
    pub num_experts: usize,
    /// Number of experts that each token uses.
    pub num_experts_used: usize,
    /// Whether the probabilities of the selected experts are scaled to sum to one.
    pub normalize: bool,
}

/// The largest forward pass of a model, which determines a backend's scratch memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassShape {
    /// Maximum number of tokens in a batch.
    pub max_num_tokens: usize,
    /// The heads of attention.
    pub qkv: QkvLayout,
    /// The format of the KV cache.
    pub kv_dtype: KvDType,
    /// All products with weights.
    pub products: Vec<ProductShape>,
}

/// The weight and the number of rows of one product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProductShape {
    /// Format of the weight.
    pub dtype: DType,
    /// Input features.
    pub cols: usize,
    /// Maximum number of rows, over all experts.
    pub max_num_rows: usize,
    /// Number of experts; 1 for a plain weight.
    pub num_experts: usize,
}
