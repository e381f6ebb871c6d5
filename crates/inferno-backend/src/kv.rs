//! The shape of the paged KV cache: its blocks and their sizes.

use std::fmt;
use std::str::FromStr;

use crate::{BackendError, KvWindow, QkvLayout};

/// Index of a block of the KV cache: `block_tokens` consecutive positions of one sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(pub u32);

/// The storage format of keys and values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KvDType {
    /// 4 bytes per value, exact.
    F32,
    /// 2 bytes per value (16-bit integers) and 4 bytes per row of up to 1024 values for their scale. More accurate than
    /// F16 unless the values of a row differ widely in magnitude, and allows attention with exact integer
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

/// Where the components of a value head are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KvValues {
    /// In rows of their own.
    Separate {
        /// Number of components.
        dim: usize,
    },
    /// In the rows of the key head: its last components.
    ///
    /// **Source**: DeepSeek-AI, DeepSeek-V2, section 2.1: the latent vector is the value of all heads and, next to
    /// the rotated components, their key.
    InKeys {
        /// The first of these components.
        start: usize,
    },
}

impl KvValues {
    /// Number of components, if key heads have `key_dim`.
    pub const fn dim(self, key_dim: usize) -> usize {
        match self {
            Self::Separate { dim } => dim,
            Self::InKeys { start } => key_dim.saturating_sub(start),
        }
    }

    /// Number of components in rows of their own.
    pub const fn separate_dim(self) -> usize {
        match self {
            Self::Separate { dim } => dim,
            Self::InKeys { .. } => 0,
        }
    }
}

/// The keys and values of one layer in every position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KvLayer {
    /// Number of key heads, which is also the number of value heads.
    pub num_heads: usize,
    /// Number of components per key head.
    pub key_dim: usize,
    /// The components of value heads.
    pub values: KvValues,
    /// Whether it attends to [`KvLayout::window`] alone.
    pub is_windowed: bool,
}

impl KvLayer {
    /// Keys and values of the same width, without a window.
    pub const fn new(num_heads: usize, head_dim: usize) -> Self {
        let values = KvValues::Separate { dim: head_dim };
        Self { num_heads, key_dim: head_dim, values, is_windowed: false }
    }

    /// Whether the keys and values of rows with this layout fit.
    pub fn fits(&self, layout: &QkvLayout) -> bool {
        let QkvLayout { num_kv_heads, head_dim, values, .. } = *layout;
        (self.num_heads, self.key_dim, self.values) == (num_kv_heads, head_dim, values)
    }

    /// Size of all rows of a position in a format, in bytes; saturates at `usize::MAX`.
    ///
    /// **Errors**: as [`KvLayout::block_bytes`].
    pub fn position_bytes(&self, dtype: KvDType) -> Result<usize, BackendError> {
        let key_bytes = dtype.row_bytes(self.key_dim)?;
        let value_bytes = match self.values {
            KvValues::Separate { dim } => dtype.row_bytes(dim)?,
            KvValues::InKeys { .. } => 0,
        };
        Ok(key_bytes.saturating_add(value_bytes).saturating_mul(self.num_heads))
    }
}

/// Dimensions of a paged KV cache.
///
/// A *slot* is one position of one block: `slot = block * block_tokens + offset`. In every slot, each
/// layer has a key row for each of its heads, and a value row unless values are [in keys](KvValues::InKeys).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KvLayout {
    /// The layers with keys and values of their own.
    pub layers: Vec<KvLayer>,
    /// The memory of windowed layers; `None` if each block has memory for all layers.
    pub window: Option<KvWindow>,
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

    /// Size of one block over all layers, keys and values together, in bytes; saturates at
    /// `usize::MAX`.
    ///
    /// **Errors**: [`BackendError::KvHeadDim`] if the size of a head is not a multiple of the format's block
    /// length, [`BackendError::KvHeadTooWide`] if a sum over a head could overflow the format's
    /// integers.
    pub fn block_bytes(&self) -> Result<usize, BackendError> {
        self.bytes_of(|_| true)
    }

    /// Size of the layers of a block that always have memory, in bytes; saturates at `usize::MAX`.
    ///
    /// **Errors**: as [`block_bytes`](Self::block_bytes).
    pub fn unwindowed_bytes(&self) -> Result<usize, BackendError> {
        self.bytes_of(|layer| !self.has_window(layer))
    }

    /// Whether a layer has memory only in the blocks within the window.
    pub fn has_window(&self, layer: &KvLayer) -> bool {
        layer.is_windowed && self.window.is_some()
    }

    fn bytes_of(&self, includes: impl Fn(&KvLayer) -> bool) -> Result<usize, BackendError> {
        self.layers.iter().filter(|layer| includes(layer)).try_fold(0, |bytes: usize, layer| {
            let layer_bytes = layer.position_bytes(self.dtype)?.saturating_mul(self.block_tokens);
            Ok(bytes.saturating_add(layer_bytes))
        })
    }

    /// Size of the whole cache, in bytes; saturates at `usize::MAX`.
    ///
    /// **Errors**: as [`block_bytes`](Self::block_bytes).
    pub fn total_bytes(&self) -> Result<usize, BackendError> {
        let (all, unwindowed) = (self.block_bytes()?, self.unwindowed_bytes()?);
        let num_windowed = self.window.map_or(0, |window| window.num_blocks);
        let windowed = all.saturating_sub(unwindowed).saturating_mul(num_windowed);
        Ok(unwindowed.saturating_mul(self.num_blocks).saturating_add(windowed))
    }

    /// The part of a sequence's block `index` that is needed to continue after `num_tokens` positions.
    pub fn part_of_block(&self, index: usize, num_tokens: usize) -> KvBlockPart {
        let needed = |window: KvWindow| window.blocks(num_tokens, num_tokens, self.block_tokens);
        match self.window.is_some_and(|window| !needed(window).contains(&index)) {
            true => KvBlockPart::Unwindowed,
            false => KvBlockPart::All,
        }
    }

    /// Size of the parts of a sequence's blocks that are needed to continue after `num_tokens` positions, in
    /// bytes; saturates at `usize::MAX`.
    ///
    /// **Errors**: as [`block_bytes`](Self::block_bytes).
    pub fn saved_bytes(&self, num_tokens: usize) -> Result<usize, BackendError> {
        let num_blocks = self.blocks_for(num_tokens);
        let num_whole = match self.window {
            Some(window) => window.blocks(num_tokens, num_tokens, self.block_tokens).len(),
            None => num_blocks,
        };
        let whole = self.block_bytes()?.saturating_mul(num_whole);
        let others = self.unwindowed_bytes()?.saturating_mul(num_blocks - num_whole);
        Ok(whole.saturating_add(others))
    }

    /// Number of blocks that hold `num_tokens` positions.
    pub fn blocks_for(&self, num_tokens: usize) -> usize {
        num_tokens.div_ceil(self.block_tokens)
    }
}

/// The layers of a block that are read or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KvBlockPart {
    /// All layers.
    All,
    /// The layers that always have memory.
    Unwindowed,
}

impl KvBlockPart {
    /// Size of the part, in bytes.
    ///
    /// **Errors**: as [`KvLayout::block_bytes`].
    pub fn num_bytes(self, layout: &KvLayout) -> Result<usize, BackendError> {
        match self {
            Self::All => layout.block_bytes(),
            Self::Unwindowed => layout.unwindowed_bytes(),
        }
    }
}
