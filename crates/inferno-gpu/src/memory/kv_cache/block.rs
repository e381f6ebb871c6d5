//! The layout of a layer's part of a block, and its conversion to and from the order in which blocks are saved.

use inferno_backend::{KvDType, KvLayer};

/// A layer's part of a block, see `shaders/snippets/kv_layout.wgsl`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KvBlockShape {
    dtype: KvDType,
    block_tokens: usize,
    num_heads: usize,
    key_dim: usize,
    /// Number of components of values with rows of their own.
    value_dim: usize,
}

/// Words of a chunk, which is what a thread reads at a time.
const CHUNK_WORDS: usize = 4;

/// Values of a block of Q8_0.
const Q8_0_VALUES: usize = 32;

/// Number of values in a chunk.
pub(crate) fn chunk_values(dtype: KvDType) -> usize {
    match dtype {
        KvDType::F32 => 4,
        KvDType::F16 | KvDType::I16 => 8,
        KvDType::Q8_0 => 16,
    }
}

/// Words with the scales of a row.
fn scale_words(dtype: KvDType, dim: usize) -> usize {
    match dtype {
        KvDType::F32 | KvDType::F16 => 0,
        KvDType::I16 => dim.min(1),
        KvDType::Q8_0 => (dim / Q8_0_VALUES).div_ceil(2),
    }
}

/// The location of one row in the words of a block.
struct Row {
    dim: usize,
    first_chunk: usize,
    /// Chunks from one of the row to its next.
    chunk_step: usize,
    /// The first word of the scales.
    scales: usize,
}

impl KvBlockShape {
    pub(crate) fn new(layer: &KvLayer, dtype: KvDType, block_tokens: usize) -> Self {
        Self {
            dtype,
            block_tokens,
            num_heads: layer.num_heads,
            key_dim: layer.key_dim,
            value_dim: layer.values.separate_dim(),
        }
    }

    /// Number of words of the rows of each head: those of keys, of values, and of the scales of both.
    fn head_words(&self) -> [usize; 4] {
        let Self { dtype, block_tokens, key_dim, value_dim, .. } = *self;
        let chunks = |dim: usize| dim.div_ceil(chunk_values(dtype)).saturating_mul(CHUNK_WORDS);
        let words = [chunks(key_dim), chunks(value_dim)];
        let scales = [key_dim, value_dim].map(|dim| scale_words(dtype, dim));
        [words[0], words[1], scales[0], scales[1]].map(|words| words.saturating_mul(block_tokens))
    }

    /// Size, in bytes; saturates at `usize::MAX`.
    pub(crate) fn num_bytes(&self) -> usize {
        let words = self.head_words().into_iter().fold(0, usize::saturating_add);
        let words = words.saturating_mul(self.num_heads);
        // Whole chunks.
        words.div_ceil(CHUNK_WORDS).saturating_mul(CHUNK_WORDS * size_of::<u32>())
    }

    /// The rows, in the order in which blocks are saved.
    fn rows(&self) -> impl Iterator<Item = Row> {
        let Self { dtype, block_tokens, num_heads, key_dim, value_dim } = *self;
        let [key_words, value_words, key_scales, value_scales] =
            self.head_words().map(|words| words * num_heads);
        let number = move |head: usize, offset: usize| head * block_tokens + offset;
        let places = move || {
            (0..num_heads).flat_map(move |head| (0..block_tokens).map(move |at| (head, at)))
        };
        let key = move |(head, offset): (usize, usize)| Row {
            dim: key_dim,
            first_chunk: head * key_dim.div_ceil(chunk_values(dtype)) * block_tokens + offset,
            chunk_step: block_tokens,
            scales: key_words + value_words + number(head, offset) * scale_words(dtype, key_dim),
        };
        let value = move |(head, offset): (usize, usize)| Row {
            dim: value_dim,
            first_chunk: key_words / CHUNK_WORDS
                + number(head, offset) * value_dim.div_ceil(chunk_values(dtype)),
            chunk_step: 1,
            scales: key_words
                + value_words
                + key_scales
                + number(head, offset) * scale_words(dtype, value_dim),
        };
        debug_assert!(value_scales == 0 || value_dim > 0);
        let values = places().map(value).filter(move |_| value_dim > 0);
        places().map(key).chain(values)
    }

    /// Appends the rows of a block of `words` to `bytes`, each in the format of the cache.
    pub(crate) fn save(&self, words: &[u32], bytes: &mut Vec<u8>) {
        for row in self.rows() {
            let codes = (0..).flat_map(|chunk| {
                let at = (row.first_chunk + chunk * row.chunk_step) * CHUNK_WORDS;
                words[at..at + CHUNK_WORDS].iter().flat_map(|word| word.to_le_bytes())
            });
            match self.dtype {
                KvDType::F32 => bytes.extend(codes.take(row.dim * 4)),
                KvDType::F16 => bytes.extend(codes.take(row.dim * 2)),
                KvDType::I16 => {
                    bytes.extend(words[row.scales].to_le_bytes());
                    bytes.extend(codes.take(row.dim * 2));
                }
                KvDType::Q8_0 => {
                    let mut codes = codes.take(row.dim);
                    for block in 0..row.dim / Q8_0_VALUES {
                        let scale = words[row.scales + block / 2] >> (16 * (block % 2));
                        bytes.extend((scale as u16).to_le_bytes());
                        bytes.extend(codes.by_ref().take(Q8_0_VALUES));
                    }
                }
            }
        }
    }

    /// Fills the zeroed `words` with the rows at the start of `bytes`, and returns the others.
    pub(crate) fn restore<'a>(&self, mut bytes: &'a [u8], words: &mut [u32]) -> &'a [u8] {
        for row in self.rows() {
            let mut put = |index: usize, byte: u8| {
                let (word, shift) = (index / 4, 8 * (index % 4));
                let chunk = row.first_chunk + word / CHUNK_WORDS * row.chunk_step;
                words[chunk * CHUNK_WORDS + word % CHUNK_WORDS] |= u32::from(byte) << shift;
            };
            let row_bytes = self.dtype.row_bytes(row.dim).expect("the cache was allocated");
            let (source, rest) = bytes.split_at(row_bytes);
            bytes = rest;
            match self.dtype {
                KvDType::F32 | KvDType::F16 => {
                    source.iter().enumerate().for_each(|(index, &byte)| put(index, byte));
                }
                KvDType::I16 => {
                    let (scale, codes) = source.split_at(4);
                    codes.iter().enumerate().for_each(|(index, &byte)| put(index, byte));
                    words[row.scales] = bytemuck::pod_read_unaligned(scale);
                }
                KvDType::Q8_0 => {
                    let blocks = || source.chunks_exact(2 + Q8_0_VALUES);
                    let codes = blocks().flat_map(|block| &block[2..]);
                    codes.enumerate().for_each(|(index, &byte)| put(index, byte));
                    for (number, block) in blocks().enumerate() {
                        let scale = u32::from(u16::from_le_bytes([block[0], block[1]]));
                        words[row.scales + number / 2] |= scale << (16 * (number % 2));
                    }
                }
            }
        }
        bytes
    }
}
