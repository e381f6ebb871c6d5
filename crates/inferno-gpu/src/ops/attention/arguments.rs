//! The arguments of the kernels of attention, and the positions that rows attend to.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use inferno_backend::{AttentionMask, AttentionWindow, Batch};

use super::tile::{Heads, PART};
use crate::memory::batch::GpuBatch;

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct AttentionArguments {
    pub(super) positions: u32,
    pub(super) sequences: u32,
    pub(super) first_rows: u32,
    pub(super) first_blocks: u32,
    pub(super) blocks: u32,
    pub(super) tiles: u32,
    pub(super) num_tiles: u32,
    pub(super) row_len: u32,
    pub(super) scale: f32,
    pub(super) softcap: f32,
    pub(super) mask_kind: u32,
    pub(super) mask_len: u32,
    pub(super) part_blocks: u32,
    pub(super) first_part: u32,
    pub(super) num_parts: u32,
    pub(super) max_parts: u32,
    pub(super) end: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct MergeArguments {
    pub(super) positions: u32,
    pub(super) sequences: u32,
    pub(super) first_rows: u32,
    pub(super) mask_kind: u32,
    pub(super) mask_len: u32,
    pub(super) num_rows: u32,
    pub(super) num_heads: u32,
    pub(super) first_part: u32,
    pub(super) num_parts: u32,
}

/// The kind of a mask in shaders, and its length or largest distance.
pub(super) fn mask_arguments(mask: AttentionMask) -> [u32; 2] {
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
pub(super) fn max_parts(batch: &GpuBatch, mask: AttentionMask) -> usize {
    let ranges = ranges(&batch.batch, mask);
    ranges.map(|range| range.end.div_ceil(PART) - range.start / PART).max().unwrap_or(0)
}

/// `end` of the shader's parameters for tiles of `rows` rows: the smallest number such that tile `n` attends only to positions
/// below `end + n * rows`.
pub(super) fn end_of_tiles(batch: &Batch, mask: AttentionMask, rows: usize) -> usize {
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
pub(super) fn multiplications(batch: &GpuBatch, mask: AttentionMask, heads: &Heads) -> f64 {
    let positions = ranges(&batch.batch, mask).map(|range| range.len());
    let components = heads.num_heads * (heads.layer.key_dim + heads.value_dim);
    positions.sum::<usize>() as f64 * components as f64
}

/// Bytes of the result of a part: a sum of values, a maximum and the sum of the weights.
pub(super) fn partial_bytes(value_dim: usize) -> usize {
    (value_dim + 2) * size_of::<f32>()
}
