//! The shape of the paged KV cache: which blocks there are and how many bytes each takes.

use std::fmt;
use std::str::FromStr;

use crate::BackendError;

/// Names one block of the KV cache: `block_tokens` consecutive positions of one sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(pub u32);

/// The format that keys and values are stored in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KvDType {
    /// 4 bytes a value, exact.
    F32,
    /// 2 bytes a value, 16-bit integers, and 4 bytes a row for their scale. Closer than F16 wherever
    /// a row's values are not far apart, and fit for attention by exact sums of integers.
    #[default]
    I16,
    /// 2 bytes a value; what most engines use.
    F16,
    /// 34 bytes for 32 values; needs `head_dim` to be a multiple of 32.
    Q8_0,
}

impl KvDType {
    /// All formats, in the order of falling size.
    pub const ALL: [Self; 4] = [Self::F32, Self::I16, Self::F16, Self::Q8_0];

    /// The name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::I16 => "i16",
            Self::F16 => "f16",
            Self::Q8_0 => "q8_0",
        }
    }
}

impl fmt::Display for KvDType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for KvDType {
    type Err = BackendError;

    fn from_str(text: &str) -> Result<Self, BackendError> {
        Self::ALL.into_iter().find(|dtype| dtype.name().eq_ignore_ascii_case(text)).ok_or_else(
            || BackendError::UnknownKvDType {
                found: text.to_owned(),
                known: Self::ALL.map(Self::name),
            },
        )
    }
}

/// Dimensions of a paged KV cache.
///
/// A *slot* is one position of one block: `slot = block * block_tokens + offset`. Every layer
/// keeps a key row and a value row of `num_kv_heads * head_dim` values in every slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KvLayout {
    /// Decoder layers, each with its own keys and values.
    pub num_layers: usize,
    /// Key/value heads of a layer.
    pub num_kv_heads: usize,
    /// Values in one head.
    pub head_dim: usize,
    /// Positions in one block.
    pub block_tokens: usize,
    /// Blocks in the cache.
    pub num_blocks: usize,
    /// Storage format.
    pub dtype: KvDType,
}

impl KvLayout {
    /// Positions in a block unless told otherwise.
    pub const DEFAULT_BLOCK_TOKENS: usize = 16;

    /// Bytes of one head's key (or value) row.
    ///
    /// **Errors**: [`BackendError::KvHeadDim`] when the format's blocks do not divide `head_dim`,
    /// [`BackendError::KvHeadTooWide`] when a sum over a head could leave the format's integers.
    pub fn row_bytes(&self) -> Result<usize, BackendError> {
        self.dtype.row_bytes(self.head_dim)
    }

    /// Bytes of one block over all layers, keys and values together; `usize::MAX` where that many
    /// cannot be counted.
    ///
    /// **Errors**: as [`row_bytes`](Self::row_bytes).
    pub fn block_bytes(&self) -> Result<usize, BackendError> {
        let counts = [self.num_layers, self.num_kv_heads, self.block_tokens, self.row_bytes()?];
        Ok(counts.into_iter().fold(2, usize::saturating_mul))
    }

    /// Bytes of the whole cache; `usize::MAX` where that many cannot be counted.
    ///
    /// **Errors**: as [`row_bytes`](Self::row_bytes).
    pub fn total_bytes(&self) -> Result<usize, BackendError> {
        Ok(self.block_bytes()?.saturating_mul(self.num_blocks))
    }

    /// Blocks needed to hold `num_tokens` positions.
    pub fn blocks_for(&self, num_tokens: usize) -> usize {
        num_tokens.div_ceil(self.block_tokens)
    }
}
