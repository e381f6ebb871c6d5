//! Attention over the KV cache.

#[cfg(test)]
mod tests;

use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use inferno_backend::{
    AttentionMask, AttentionParams, AttentionWindow, BackendError, Batch, KvDType, KvValues,
    PassShape, QkvLayout,
};

use super::kv_kernels::{
    CACHE_READ, CACHE_READ_PARTS, CacheKernels, KV_LAYOUT, KernelLayer, part_bindings,
};
use crate::backend::GpuBackend;
use crate::kernel::{Variant, kernel, snippet};
use crate::memory::allocation::Binding;
use crate::memory::batch::{GpuBatch, TILE_ROWS};
use crate::memory::buffer::GpuBuffer;
use crate::memory::kv_cache::{GpuKvCache, chunk_values};
use crate::pass::{GpuPass, fold};

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
const PART: usize = 128;

/// Parts of a row that one workgroup computes one after the other: in workgroups of their own, they would have to be
/// merged.
const MAX_SERIAL_PARTS: usize = 3;

/// With fewer workgroups than this, parts are left to others. The same number of rows or more is never divided.
const MIN_WORKGROUPS: usize = if cfg!(test) { 16 } else { 512 };

/// With fewer workgroups than this, the device has idle processors.
const BUSY_WORKGROUPS: usize = if cfg!(test) { 16 } else { 256 };

/// Maximum size of the results of parts, in bytes, which are merged in rounds if there are more.
pub(crate) const MAX_PARTIAL_BYTES: usize = if cfg!(test) { 1 << 10 } else { 64 << 20 };

/// Queries that a workgroup computes, all with the same key head.
#[derive(Debug, Clone, Copy)]
struct Tile {
    /// Rows of one sequence.
    rows: usize,
    heads: usize,
    /// How several rows or many heads are computed; `None` for the kernel of single rows.
    blocking: Option<Blocking>,
}

/// What the workgroups of tiles keep in their memory.
#[derive(Debug, Clone, Copy)]
struct Blocking {
    /// Queries, of which the last may be unused.
    queries: usize,
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
struct Heads {
    layer: KernelLayer,
    num_heads: usize,
    value_dim: usize,
}

impl Heads {
    fn new(layer: KernelLayer, num_heads: usize) -> Self {
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
    fn fits(&self, heads: usize, memory: usize) -> bool {
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
    fn tile(&self, longest: usize, units: usize, memory: usize) -> Tile {
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

    fn head_tiles(&self, tile: Tile) -> usize {
        self.layer.num_kv_heads * self.group().div_ceil(tile.heads)
    }

    fn variant(&self, tile: Tile, [has_sinks, has_slopes]: [bool; 2], is_split: bool) -> Variant {
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
            ("HAS_SLOPES", usize::from(has_slopes)),
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

fn merge_variant(value_dim: usize, has_sinks: bool) -> Variant {
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
    for layer in super::kv_kernels::layers() {
        let heads = Heads::new(layer, 6);
        for memory in [16 << 10, 48 << 10] {
            let (one, few) = (heads.single(1 << 10, memory), heads.single(1, memory));
            variants.push(heads.variant(one, [false, true], true));
            variants.push(heads.variant(few, [true, false], false));
            for queries in [16, 32] {
                let Some(tile) = heads.blocked(queries, memory) else { continue };
                variants.push(heads.variant(tile, [true, queries == 16], queries == 16));
            }
        }
    }
    variants
}

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct AttentionArguments {
    positions: u32,
    sequences: u32,
    first_rows: u32,
    first_blocks: u32,
    blocks: u32,
    tiles: u32,
    num_tiles: u32,
    row_len: u32,
    scale: f32,
    softcap: f32,
    mask_kind: u32,
    mask_len: u32,
    part_blocks: u32,
    first_part: u32,
    num_parts: u32,
    max_parts: u32,
    end: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct MergeArguments {
    positions: u32,
    sequences: u32,
    first_rows: u32,
    mask_kind: u32,
    mask_len: u32,
    num_rows: u32,
    num_heads: u32,
    first_part: u32,
    num_parts: u32,
}

/// The kind of a mask in shaders, and its length or largest distance.
fn mask_arguments(mask: AttentionMask) -> [u32; 2] {
    let len = |len: usize| u32::try_from(len).unwrap_or(u32::MAX);
    match mask {
        AttentionMask::Causal(None) => [0, 0],
        AttentionMask::Causal(Some(AttentionWindow::Sliding(positions))) => [1, len(positions)],
        AttentionMask::Causal(Some(AttentionWindow::Chunked(positions))) => [2, len(positions)],
        AttentionMask::Bidirectional { reach } => [3, reach.map_or(u32::MAX, len)],
    }
}

/// The positions that each row of a batch attends to.
fn ranges(batch: &Batch, mask: AttentionMask) -> impl Iterator<Item = Range<usize>> {
    let sequences = (0..batch.num_sequences()).zip(batch.context_lens());
    sequences.flat_map(move |(sequence, &context_len)| {
        let positions = batch.positions()[batch.rows(sequence)].iter();
        positions.map(move |&position| mask.range(position as usize, context_len))
    })
}

/// The largest number of parts that a row attends to.
fn max_parts(batch: &GpuBatch, mask: AttentionMask) -> usize {
    let ranges = ranges(&batch.batch, mask);
    ranges.map(|range| range.end.div_ceil(PART) - range.start / PART).max().unwrap_or(0)
}

/// `end` of the shader's parameters for tiles of `rows` rows: the smallest number such that tile `n` attends only to positions
/// below `end + n * rows`.
fn end_of_tiles(batch: &Batch, mask: AttentionMask, rows: usize) -> usize {
    let sequences = (0..batch.num_sequences()).zip(batch.context_lens());
    let ends = sequences.flat_map(|(sequence, &context_len)| {
        let tiles = batch.positions()[batch.rows(sequence)].chunks(rows);
        tiles.map(move |positions| {
            let last = *positions.last().expect("a chunk is not empty");
            mask.range(last as usize, context_len).end
        })
    });
    ends.enumerate().map(|(tile, end)| end.saturating_sub(tile * rows)).max().unwrap_or(0)
}

/// Multiplications of all rows with the keys and values that they attend to.
fn multiplications(batch: &GpuBatch, mask: AttentionMask, heads: &Heads) -> f64 {
    let positions = ranges(&batch.batch, mask).map(|range| range.len());
    let components = heads.num_heads * (heads.layer.key_dim + heads.value_dim);
    positions.sum::<usize>() as f64 * components as f64
}

/// Bytes of the result of a part: a sum of values, a maximum and the sum of the weights.
fn partial_bytes(value_dim: usize) -> usize {
    (value_dim + 2) * size_of::<f32>()
}

/// What attention reads.
struct Inputs<'a> {
    heads: Heads,
    batch: &'a GpuBatch,
    params: &'a AttentionParams<'a, GpuBuffer>,
    qkv: &'a GpuBuffer,
    cache: &'a GpuKvCache,
}

impl Inputs<'_> {
    fn num_rows(&self) -> usize {
        self.batch.batch.num_tokens()
    }

    /// The arguments of tiles of `rows` rows, each of which has a single part.
    fn arguments(&self, rows: usize) -> AttentionArguments {
        let Self { batch, params, .. } = self;
        let arrays = &batch.arrays;
        let [mask_kind, mask_len] = mask_arguments(params.mask);
        let (tiles, num_tiles) = batch.tiles(rows);
        AttentionArguments {
            positions: arrays.positions,
            sequences: arrays.sequences,
            first_rows: arrays.first_rows,
            first_blocks: arrays.first_blocks,
            blocks: arrays.blocks,
            tiles,
            num_tiles,
            row_len: self.qkv.cols() as u32,
            scale: params.scale,
            softcap: params.softcap.unwrap_or(0.0),
            mask_kind,
            mask_len,
            part_blocks: self.cache.part_blocks(params.layer) as u32,
            first_part: 0,
            num_parts: 1,
            max_parts: 1,
            end: end_of_tiles(&batch.batch, params.mask, rows) as u32,
        }
    }

    fn dispatch(
        &self,
        pass: &mut GpuPass<'_>,
        (tile, is_split): (Tile, bool),
        arguments: &AttentionArguments,
        out: Binding<'_>,
    ) {
        let Self { heads, batch, params, qkv, cache, .. } = self;
        let sinks = pass.optional(params.sinks);
        let places = cache.places(params.layer).unwrap_or(pass.placeholder());
        let slopes = pass.optional(params.distance_slopes);
        let per_head = [params.sinks, params.distance_slopes].map(|values| values.is_some());
        let variant = heads.variant(tile, per_head, is_split);
        let tiles = arguments.num_tiles as usize * heads.head_tiles(tile);
        let workgroups = fold(tiles * arguments.num_parts as usize);
        let head = [batch.binding(pass), (*qkv).into(), out, sinks, places, slopes];
        let parts = part_bindings(cache, params.layer);
        let bindings = head.into_iter().chain(parts);
        let num_bindings = variant.kernel.access.len();
        let bindings: Vec<_> = bindings.take(num_bindings).collect();
        pass.dispatch(variant, bindings, arguments, workgroups);
    }

    /// Computes each part in a workgroup of its own, then merges the parts.
    fn attend_in_parts(
        &self,
        pass: &mut GpuPass<'_>,
        (tile, max_parts): (Tile, usize),
        out: &mut GpuBuffer,
    ) -> Result<(), BackendError> {
        let Self { heads, batch, params, .. } = self;
        let results = self.num_rows() * heads.num_heads * partial_bytes(heads.value_dim);
        // Each row and head has a place for the result of all parts as well.
        let num_parts = (MAX_PARTIAL_BYTES / results).saturating_sub(1).clamp(1, max_parts);
        let bytes = (num_parts + 1) * results;
        let partials = pass.scratch("parts of attention", 0, bytes.next_power_of_two())?;
        let [mask_kind, mask_len] = mask_arguments(params.mask);
        for first_part in (0..max_parts).step_by(num_parts) {
            let (first_part, num_parts) = (first_part as u32, num_parts as u32);
            let arguments =
                AttentionArguments { first_part, num_parts, ..self.arguments(tile.rows) };
            self.dispatch(pass, (tile, true), &arguments, (&*partials).into());
            let arguments = MergeArguments {
                positions: batch.arrays.positions,
                sequences: batch.arrays.sequences,
                first_rows: batch.arrays.first_rows,
                mask_kind,
                mask_len,
                num_rows: self.num_rows() as u32,
                num_heads: heads.num_heads as u32,
                first_part,
                num_parts,
            };
            let bindings = [
                batch.binding(pass),
                (&*partials).into(),
                (&*out).into(),
                pass.optional(params.sinks),
            ];
            let variant = merge_variant(heads.value_dim, params.sinks.is_some());
            let workgroups = fold(self.num_rows() * heads.num_heads);
            pass.dispatch(variant, bindings, &arguments, workgroups);
        }
        Ok(())
    }
}

/// Scratch memory of attention of up to `pass` over contexts of any length, in bytes.
pub(crate) fn scratch_bytes(pass: &PassShape) -> usize {
    // With more rows, no context is divided.
    let rows = pass.max_num_tokens.min(MIN_WORKGROUPS);
    let results = pass.attention.iter().map(|layout| {
        let heads = layout.num_heads.saturating_mul(partial_bytes(layout.value_dim()));
        rows.saturating_mul(heads)
    });
    match results.max() {
        None | Some(0) => 0,
        Some(results) => MAX_PARTIAL_BYTES.max(results.saturating_mul(2)).next_power_of_two(),
    }
}

/// See [`Backend::unsupported`](inferno_backend::Backend::unsupported).
pub(crate) fn unsupported(
    backend: &GpuBackend,
    layout: &QkvLayout,
    dtype: KvDType,
) -> Option<String> {
    let memory = backend.limits.max_compute_workgroup_storage_size as usize;
    let layer = KernelLayer {
        dtype,
        block_tokens: 1,
        num_kv_heads: layout.num_kv_heads,
        key_dim: layout.head_dim,
        values: layout.values,
        has_windows: false,
        is_in_parts: false,
    };
    let reason = || {
        let (key_dim, value_dim) = (layout.head_dim, layout.value_dim());
        format!(
            "heads with keys of {key_dim} and values of {value_dim} components exceed the {memory} bytes of workgroup memory"
        )
    };
    (!Heads::new(layer, layout.num_heads).fits(1, memory)).then(reason)
}

/// See [`Pass::paged_attention`](inferno_backend::Pass::paged_attention).
pub(crate) fn paged_attention(
    pass: &mut GpuPass<'_>,
    batch: &GpuBatch,
    params: &AttentionParams<'_, GpuBuffer>,
    layout: &QkvLayout,
    qkv: &GpuBuffer,
    cache: &GpuKvCache,
    out: &mut GpuBuffer,
) -> Result<(), BackendError> {
    let layer = KernelLayer::new(cache, params.layer, layout);
    let heads = Heads::new(layer, layout.num_heads);
    assert_eq!(qkv.cols(), layout.row_len(), "rows of queries, keys and values");
    assert_eq!(out.cols(), layout.out_len(), "rows of outputs");
    let memory = pass.backend.limits.max_compute_workgroup_storage_size as usize;
    pass.reserve(multiplications(batch, params.mask, &heads))?;
    let inputs = Inputs { heads, batch, params, qkv, cache };
    let max_parts = max_parts(batch, params.mask);
    let longest = batch.longest_chunk();
    let num_rows = inputs.num_rows();
    let may_split = max_parts > MAX_SERIAL_PARTS && num_rows < MIN_WORKGROUPS;
    let parts = if may_split { max_parts } else { 1 };
    let tile = heads.tile(longest, num_rows * parts, memory);
    let (_, num_tiles) = batch.tiles(tile.rows);
    if may_split && num_tiles as usize * heads.head_tiles(tile) < BUSY_WORKGROUPS {
        return inputs.attend_in_parts(pass, (tile, max_parts), out);
    }
    // Limited ranges of several rows can begin in different parts.
    let max_parts = max_parts + usize::from(tile.rows > 1 && params.mask.max_len().is_some());
    let arguments =
        AttentionArguments { max_parts: max_parts as u32, ..inputs.arguments(tile.rows) };
    inputs.dispatch(pass, (tile, false), &arguments, (&*out).into());
    Ok(())
}
