//! Parameters of the operations.

use std::ops::Range;

use inferno_tensor::DType;

use crate::{KvDType, KvLayer, KvValues};

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

/// The positions that a position attends to. Later positions never attend to earlier ranges.
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

/// A function of single values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Function {
    /// `factor * x`.
    Scale {
        /// The factor.
        factor: f32,
    },
    /// `cap * tanh(x / cap)`.
    SoftCap {
        /// The bound of the result.
        cap: f32,
    },
    /// `x / (1 + exp(-x))`.
    Silu,
    /// `1 / (1 + exp(-x))`.
    Sigmoid,
    /// `x * P(X <= x)` for a standard normal `X`.
    ///
    /// **Source**: Hendrycks and Gimpel, Gaussian Error Linear Units.
    Gelu,
    /// The approximation of [`Gelu`](Self::Gelu) by a hyperbolic tangent.
    GeluTanh,
    /// `max(x, 0)^2`.
    ///
    /// **Source**: So et al., Primer: Searching for Efficient Transformers for Language Modeling.
    ReluSquared,
    /// `positive * x^2 + beta * x` above zero, `negative * (exp(min(x, eps)) - 1 - x) + beta * x` below.
    ///
    /// **Source**: Huang and Schlag, Deriving Activation Functions Using Integration.
    Xielu {
        /// Factor on the square of positive inputs.
        positive: f32,
        /// Factor on the exponential of negative inputs.
        negative: f32,
        /// Slope at zero.
        beta: f32,
        /// Upper bound of the exponent.
        eps: f32,
    },
}

/// How a gated product combines its two halves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Gate {
    /// `function(gate) * up`.
    ///
    /// **Source**: Shazeer, GLU Variants Improve Transformer, equation 6.
    Product(Function),
    /// `g / (1 + exp(-alpha g)) * (u + 1)`, where `g` is the gate up to `limit` and `u` is up within
    /// `-limit..=limit`.
    ///
    /// **Source**: OpenAI, gpt-oss-120b & gpt-oss-20b Model Card, section 2.2, and its reference code.
    Clamped {
        /// Factor on the gate in the exponent.
        alpha: f32,
        /// Bound of both halves.
        limit: f32,
    },
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
    /// How router logits become probabilities.
    pub gating: Gating,
    /// Factor on the weights of the selected experts, after normalization.
    pub scale: f32,
    /// Restricts the choice to some groups of neighboring experts.
    pub groups: Option<ExpertGroups>,
}

impl ExpertParams {
    /// Softmax routing over all experts, unscaled.
    pub fn softmax(num_experts: usize, num_experts_used: usize, normalize: bool) -> Self {
        let gating = Gating::Softmax;
        Self { num_experts, num_experts_used, normalize, gating, scale: 1.0, groups: None }
    }
}

/// How router logits become probabilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gating {
    /// A softmax over all experts.
    Softmax,
    /// A sigmoid for each expert.
    Sigmoid,
}

/// The rows that a product with experts reads. A *slot* is one token's use of one expert: slot
/// `t * num_experts_used + j` is token `t`'s `j`-th expert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpertInput {
    /// All slots of token `t` read row `t`.
    PerToken,
    /// Slot `s` reads row `s`.
    PerSlot,
}

/// Groups of experts: only the experts of the best groups can be selected. The score of a group is the
/// sum of its largest probabilities (with the selection bias, if there is one).
///
/// **Source**: DeepSeek-AI, DeepSeek-V2, section 2.2.2, and DeepSeek-V3 Technical Report, section 2.1.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpertGroups {
    /// Number of groups of equal size.
    pub num_groups: usize,
    /// Number of groups that each token uses.
    pub num_groups_used: usize,
    /// Number of probabilities that the score of a group is the sum of.
    pub num_scored: usize,
}

/// The largest forward pass of a model, which determines a backend's scratch memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassShape {
    /// Maximum number of tokens in a batch.
    pub max_num_tokens: usize,
    /// The heads of each layer's attention; equal ones may be listed once.
    pub attention: Vec<QkvLayout>,
    /// The format of the KV cache.
    pub kv_dtype: KvDType,
    /// All products with weights.
    pub products: Vec<ProductShape>,
    /// Maximum number of rows of logits in a batch.
    pub max_num_logit_rows: usize,
    /// Number of logits per row.
    pub vocab_size: usize,
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
