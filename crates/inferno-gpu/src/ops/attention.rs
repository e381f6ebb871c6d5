//! Attention over the KV cache.

mod arguments;
#[cfg(test)]
mod tests;
mod tile;

use inferno_backend::{AttentionParams, BackendError, DistanceBias, KvDType, PassShape, QkvLayout};

use super::kv_kernels::{KernelLayer, part_bindings};
use crate::backend::GpuBackend;
use crate::memory::allocation::Binding;
use crate::memory::batch::GpuBatch;
use crate::memory::buffer::GpuBuffer;
use crate::memory::kv_cache::GpuKvCache;
use crate::pass::{GpuPass, fold};
use arguments::{
    AttentionArguments, MergeArguments, end_of_tiles, mask_arguments, max_parts, multiplications,
    partial_bytes,
};
#[cfg(test)]
pub(crate) use tile::variants;
use tile::{BUSY_WORKGROUPS, Heads, Tile, merge_variant};

/// Parts of a row that one workgroup computes one after the other: in workgroups of their own, they would have to be
/// merged.
const MAX_SERIAL_PARTS: usize = 3;

/// From this number of rows on, contexts are not divided among workgroups: the rows alone occupy the device.
const MIN_UNDIVIDED_ROWS: usize = if cfg!(test) { 16 } else { 512 };

/// Maximum size of the results of parts, in bytes, which are merged in rounds if there are more.
pub(crate) const MAX_PARTIAL_BYTES: usize = if cfg!(test) { 1 << 10 } else { 64 << 20 };

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
        let bias = pass.optional(params.distance_bias.as_ref().map(DistanceBias::buffer));
        let bias_cols = match params.distance_bias {
            None => 0,
            Some(DistanceBias::Slopes(_)) => 1,
            Some(DistanceBias::Table(table)) => table.cols(),
        };
        let variant = heads.variant(tile, (params.sinks.is_some(), bias_cols), is_split);
        let tiles = arguments.num_tiles as usize * heads.head_tiles(tile);
        let workgroups = fold(tiles * arguments.num_parts as usize);
        let head = [batch.binding(pass), (*qkv).into(), out, sinks, places, bias];
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
    let rows = pass.max_num_tokens.min(MIN_UNDIVIDED_ROWS);
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
    let may_split = max_parts > MAX_SERIAL_PARTS && num_rows < MIN_UNDIVIDED_ROWS;
    let parts = if may_split { max_parts } else { 1 };
    let tile = heads.tile(longest, num_rows * parts, memory);
    let (_, num_tiles) = batch.tiles(tile.rows);
    // Parts are merged from the first one of each row on, which limited ranges of several rows do not share.
    let has_common_start = tile.rows == 1 || params.mask.max_len().is_none();
    let num_workgroups = num_tiles as usize * heads.head_tiles(tile);
    if may_split && has_common_start && num_workgroups < BUSY_WORKGROUPS {
        return inputs.attend_in_parts(pass, (tile, max_parts), out);
    }
    // Limited ranges of several rows can begin in different parts.
    let max_parts = max_parts + usize::from(tile.rows > 1 && params.mask.max_len().is_some());
    let arguments =
        AttentionArguments { max_parts: max_parts as u32, ..inputs.arguments(tile.rows) };
    inputs.dispatch(pass, (tile, false), &arguments, (&*out).into());
    Ok(())
}
