//! The shape of the paged KV cache: its blocks and their sizes.

use std::fmt;
use std::str::FromStr;

use crate::BackendError;

/// Index of a block of the KV cache: `block_tokens` consecutive positions of one sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(pub u32);

/// The storage format of keys and values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KvDType {
    /// 4 bytes per value, exact.
    F32,
    /// 2 bytes per value (16-bit integers) and 4 bytes per row for their scale. More accurate than F16
    /// unless the values of a row differ widely in magnitude, and allows attention with exact integer
    /// sums.
    #[default]
    I16,
    /// 2 bytes per value; the default of most engines.
    F16,
    /// 34 bytes per 32 values; requires `head_dim` to be a multiple of 32.
    Q8_0,
}

impl KvDType {
    /// All formats, from the largest to the smallest.
    pub const ALL: [Self; 4] = [Self::F32, Self::I16, Self::F16, Self::Q8_0];

    /// The format's name on the command line.
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
/// has a key row and a value row of `num_kv_heads * head_dim` values in every slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KvLayout {
    /// Number of decoder layers, each with its own keys and values.
    pub num_layers: usize,
    /// Number of key/value heads per layer.
    pub num_kv_heads: usize,
    /// Number of values per head.
    pub head_dim: usize,
    /// Number of positions per block.
    pub block_tokens: usize,
    /// Number of blocks.
    pub num_blocks: usize,
    /// Storage format.
    pub dtype: KvDType,
}

impl KvLayout {
    /// Default number of positions per block.
    pub const DEFAULT_BLOCK_TOKENS: usize = 16;

    /// Size of one head's key (or value) row, in bytes.
    ///
    /// **Errors**: [`BackendError::KvHeadDim`] if `head_dim` is not a multiple of the format's block
    /// length, [`BackendError::KvHeadTooWide`] if a sum over a head could overflow the format's
    /// integers.
    pub fn row_bytes(&self) -> Result<usize, BackendError> {
        self.dtype.row_bytes(self.head_dim)
    }

    /// Size of one block over all layers, keys and values together, in bytes; saturates at
    /// `usize::MAX`.
    ///
    /// **Errors**: as [`row_bytes`](Self::row_bytes).
    pub fn block_bytes(&self) -> Result<usize, BackendError> {
        let counts = [self.num_layers, self.num_kv_heads, self.block_tokens, self.row_bytes()?];
        Ok(counts.into_iter().fold(2, usize::saturating_mul))
    }

    /// Size of the whole cache, in bytes; saturates at `usize::MAX`.
    ///
    /// **Errors**: as [`row_bytes`](Self::row_bytes).
    pub fn total_bytes(&self) -> Result<usize, BackendError> {
        Ok(self.block_bytes()?.saturating_mul(self.num_blocks))
    }

    /// Number of blocks that hold `num_tokens` positions.
    pub fn blocks_for(&self, num_tokens: usize) -> usize {
        num_tokens.div_ceil(self.block_tokens)
    }
}
