//! How queries are divided among workgroups, and the kernels that compute them.

use inferno_backend::{KvDType, KvValues};

use crate::kernel::{Variant, kernel, snippet};
use crate::memory::batch::TILE_ROWS;
use crate::memory::kv_cache::chunk_values;
use crate::ops::kv_kernels::{CACHE_READ, CACHE_READ_PARTS, CacheKernels, KV_LAYOUT, KernelLayer};

kernel!(
    ATTENTION,
    "attention",
    [KV_LAYOUT, CACHE_READ, ATTENTION_PARTS, ATTENTION_INPUTS],
    [Read, Read, ReadWrite, Read, Read, Read, Read]
);
kernel!(
    ATTENTION_IN_PARTS,
    "attention",
    [KV_LAYOUT, CACHE_READ_PARTS, ATTENTION_PARTS, ATTENTION_INPUTS],
    [Read, Read, ReadWrite, Read, Read, Read, Read, Read, Read, Read]
);
kernel!(
    ROW_ATTENTION,
    "attention_row",
    [KV_LAYOUT, CACHE_READ, ATTENTION_PARTS, ATTENTION_INPUTS],
    [Read, Read, ReadWrite, Read, Read, Read, Read]
);
kernel!(
    ROW_ATTENTION_IN_PARTS,
    "attention_row",
    [KV_LAYOUT, CACHE_READ_PARTS, ATTENTION_PARTS, ATTENTION_INPUTS],
    [Read, Read, ReadWrite, Read, Read, Read, Read, Read, Read, Read]
);
kernel!(MERGE_ATTENTION, "merge_attention", [ATTENTION_PARTS], [Read, ReadWrite, ReadWrite, Read]);

snippet!(ATTENTION_PARTS, "attention_parts");
snippet!(ATTENTION_INPUTS, "attention_inputs");
snippet!(F32, "kv_f32");
snippet!(F16, "kv_f16");
snippet!(I16, "kv_i16");
snippet!(Q8_0, "kv_q8_0");

const TILE_KERNELS: CacheKernels = [&ATTENTION, &ATTENTION_IN_PARTS];
const ROW_KERNELS: CacheKernels = [&ROW_ATTENTION, &ROW_ATTENTION_IN_PARTS];

/// Positions of a part, and threads of a workgroup: `PART` of the shaders.
pub(super) const PART: usize = 128;

/// With fewer workgroups than this, the device has idle processors.
pub(super) const BUSY_WORKGROUPS: usize = if cfg!(test) { 16 } else { 256 };

/// Queries that a workgroup computes, all with the same key head.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tile {
    /// Rows of one sequence.
    pub(super) rows: usize,
    pub(super) heads: usize,
    /// How several rows or many heads are computed; `None` for the kernel of single rows.
    pub(super) blocking: Option<Blocking>,
}

/// What the workgroups of tiles keep in their memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Blocking {
    /// Queries, of which the last may be unused.
    pub(super) queries: usize,
    /// Components of keys and queries.
    dims: usize,
    /// Quarters of the number of values.
    value_quads: usize,
}

impl Blocking {
    /// Threads with the same queries: each has four.
    fn columns(self) -> usize {
        PART / (self.queries / 4)
    }
}

/// The components of queries and values, and which heads share keys.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heads {
    pub(super) layer: KernelLayer,
    pub(super) num_heads: usize,
    pub(super) value_dim: usize,
}

impl Heads {
    pub(super) fn new(layer: KernelLayer, num_heads: usize) -> Self {
        Self { layer, num_heads, value_dim: layer.values.dim(layer.key_dim) }
    }

    /// Query heads with the same key head.
    fn group(&self) -> usize {
        self.num_heads / self.layer.num_kv_heads
    }

    /// Chunks of a key.
    fn key_chunks(&self) -> usize {
        self.layer.key_dim.div_ceil(chunk_values(self.layer.dtype))
    }

    /// Chunks with components of a value.
    fn value_chunks(&self) -> usize {
        let chunk = chunk_values(self.layer.dtype);
        let skipped = match self.layer.values {
            KvValues::Separate { .. } => 0,
            KvValues::InKeys { start } => start % chunk,
        };
        (skipped + self.value_dim).div_ceil(chunk)
    }

    /// Four components each.
    fn value_pieces(&self) -> usize {
        self.value_chunks() * chunk_values(self.layer.dtype) / 4
    }

    /// Groups of threads of the kernel of single rows, which compute the sums of a span each.
    fn groups(&self) -> usize {
        match self.value_pieces() {
            0..=32 => 4,
            33..=64 => 2,
            _ => 1,
        }
    }

    /// Whether the kernel of single rows can compute `heads` heads with `memory` bytes for a workgroup.
    pub(super) fn fits(&self, heads: usize, memory: usize) -> bool {
        const MAX_PIECES: usize = 8;
        let groups = self.groups();
        let sums = if groups == 1 { 0 } else { groups * heads * self.value_pieces() * 4 };
        let queries = heads * self.key_chunks() * chunk_values(self.layer.dtype);
        // Weights; eight maxima, that of all, and four sums; locations.
        let shared = queries + heads * (PART + 13) + PART + sums;
        let pieces = heads * self.value_pieces().div_ceil(PART);
        shared * size_of::<f32>() <= memory && pieces <= MAX_PIECES
    }

    /// Heads of about the same number in each tile, at most `max`.
    fn heads_of_tile(&self, max: usize) -> usize {
        self.group().div_ceil(self.group().div_ceil(max))
    }

    /// The tile of single rows with the most heads that fit the `memory` of a workgroup. With fewer than
    /// [`BUSY_WORKGROUPS`], of `units` rows and parts, it has fewer heads.
    fn single(&self, units: usize, memory: usize) -> Tile {
        let max = [8, 4, 2].into_iter().find(|&heads| self.fits(heads, memory)).unwrap_or(1);
        let mut tile = Tile { rows: 1, heads: self.heads_of_tile(max), blocking: None };
        while tile.heads > 1 && units * self.head_tiles(tile) < BUSY_WORKGROUPS {
            tile.heads = tile.heads.div_ceil(2);
        }
        tile
    }

    /// The tile of up to `queries` queries of several rows, if there is one.
    fn blocked(&self, queries: usize, memory: usize) -> Option<Tile> {
        let heads = self.heads_of_tile(queries);
        let rows = TILE_ROWS.into_iter().rev().find(|&rows| rows * heads <= queries).unwrap_or(1);
        let sizes = [(16, 4), (16, 2), (16, 1), (8, 2), (8, 1), (4, 2), (4, 1)].into_iter();
        let mut blockings =
            sizes.map(|(dims, value_quads)| Blocking { queries, dims, value_quads });
        let blocking = blockings.find(|&blocking| self.fits_blocking(blocking, memory))?;
        Some(Tile { rows, heads, blocking: Some(blocking) })
    }

    /// Whether workgroups with `memory` bytes have room for a blocking, and their threads for its sums.
    fn fits_blocking(&self, blocking: Blocking, memory: usize) -> bool {
        const MAX_VALUES: usize = 2048;
        let Blocking { queries, dims, value_quads } = blocking;
        let max_vectors = if queries == 32 { 2 } else { 4 };
        let values = 16 * value_quads * self.value_pieces();
        let tiles = dims * (queries + 4 + PART) + values;
        // Weights; four maxima, four sums, softmax and factors; locations.
        let shared = tiles + queries * (PART + 4 + 12) + PART;
        let has_registers = self.value_pieces().div_ceil(blocking.columns()) <= max_vectors;
        let is_small = value_quads == 1 || values <= MAX_VALUES;
        shared * size_of::<f32>() <= memory && has_registers && is_small
    }

    /// The tile for sequences of up to `longest` rows, `units` rows and parts in all.
    pub(super) fn tile(&self, longest: usize, units: usize, memory: usize) -> Tile {
        let used = |tile: Tile| tile.rows.min(longest) * tile.heads;
        let is_used = |queries: usize| {
            // Single rows take less time alone, and more if they are many.
            let head_tiles = self.layer.num_kv_heads * self.group().div_ceil(queries);
            let is_busy = units * head_tiles >= BUSY_WORKGROUPS;
            let min = if longest > 1 || is_busy { queries / 2 + 1 } else { usize::MAX };
            self.blocked(queries, memory).filter(|&tile| used(tile) >= min)
        };
        is_used(32).or_else(|| is_used(16)).unwrap_or_else(|| self.single(units, memory))
    }

    pub(super) fn head_tiles(&self, tile: Tile) -> usize {
        self.layer.num_kv_heads * self.group().div_ceil(tile.heads)
    }

    pub(super) fn variant(
        &self,
        tile: Tile,
        (has_sinks, bias_cols): (bool, usize),
        is_split: bool,
    ) -> Variant {
        let format = match self.layer.dtype {
            KvDType::F32 => &F32,
            KvDType::F16 => &F16,
            KvDType::I16 => &I16,
            KvDType::Q8_0 => &Q8_0,
        };
        let value_start = match self.layer.values {
            KvValues::Separate { .. } => 0,
            KvValues::InKeys { start } => start,
        };
        let constants = [
            ("VALUE_DIM", self.value_dim),
            ("VALUE_START", value_start),
            ("PIECES", chunk_values(self.layer.dtype) / 4),
            ("GROUP", self.group()),
            ("HEADS", tile.heads),
            ("ROWS", tile.rows),
            ("HAS_SINKS", usize::from(has_sinks)),
            // 1 stands for slopes, 0 for no bias.
            ("BIAS_COLS", bias_cols),
            ("IS_SPLIT", usize::from(is_split)),
        ];
        let own = match tile.blocking {
            Some(blocking) => {
                let Blocking { queries, dims, value_quads } = blocking;
                let values = 4 * value_quads * self.value_chunks();
                vec![
                    ("QUERIES", queries),
                    ("DIMS", dims),
                    ("POS_VECS", PART / 4 / blocking.columns()),
                    ("VALUE_VECS", self.value_pieces().div_ceil(blocking.columns())),
                    ("VALUE_QUADS", value_quads),
                    ("VALUE_LOADS", values.div_ceil(PART)),
                ]
            }
            None => {
                let (groups, chunks) = (self.groups(), self.key_chunks());
                let batch = (1..=16).rev().find(|batch| chunks % batch == 0).unwrap_or(1);
                vec![
                    ("GROUPS", groups),
                    ("VALUES", self.value_pieces().div_ceil(PART / groups)),
                    ("RESULTS_PER_THREAD", (tile.heads * self.value_pieces()).div_ceil(PART)),
                    ("KEY_BATCH", batch),
                    ("KEY_BATCHES", chunks / batch),
                ]
            }
        };
        let kernels = if tile.blocking.is_some() { TILE_KERNELS } else { ROW_KERNELS };
        let kernel = self.layer.variant(kernels).with_snippet(format);
        let constants = constants.into_iter().chain(own);
        constants.fold(kernel, |kernel, (name, value)| kernel.with(name, value as u32))
    }
}

/// The kernel that merges parts of values of `value_dim` components.
pub(super) fn merge_variant(value_dim: usize, has_sinks: bool) -> Variant {
    let values = value_dim.div_ceil(PART);
    let constants = [
        ("VALUE_DIM", value_dim),
        ("HAS_SINKS", usize::from(has_sinks)),
        ("VALUES", values),
        // Parts of which a thread loads values at once.
        ("LOADED", if values <= 4 { 8 } else { 2 }),
    ];
    let kernel = Variant::from(&MERGE_ATTENTION);
    constants.into_iter().fold(kernel, |kernel, (name, value)| kernel.with(name, value as u32))
}

#[cfg(test)]
pub(crate) fn variants() -> Vec<Variant> {
    let mut variants = vec![merge_variant(128, true), merge_variant(512, false)];
    for layer in crate::ops::kv_kernels::layers() {
        let heads = Heads::new(layer, 6);
        for memory in [16 << 10, 48 << 10] {
            let (one, few) = (heads.single(1 << 10, memory), heads.single(1, memory));
            variants.push(heads.variant(one, (false, 1), true));
            variants.push(heads.variant(few, (true, 0), false));
            for queries in [16, 32] {
                let Some(tile) = heads.blocked(queries, memory) else { continue };
                variants.push(heads.variant(
                    tile,
                    (true, if queries == 16 { 257 } else { 0 }),
                    queries == 16,
                ));
            }
        }
    }
    variants
}
