//! Writing keys and values into the cache.

// Writes to parts of the shared cache.
#![allow(unsafe_code)]

use inferno_backend::{Batch, KvDType, QkvLayout, largest_i16};

use crate::buffer::CpuBuffer;
use crate::disjoint::Disjoint;
use crate::executor::Executor;
use crate::kv_cache::{CpuKvCache, MAX_I16_ROW_BYTES, Plane, RowLayout};
use crate::lanes::{Kernel, LANES, Lanes};
use crate::ops::int16::quantize_row;

/// Writes each row's keys and values into its slot of `layer`.
pub(crate) fn store_kv(
    executor: Executor<'_>,
    batch: &Batch,
    layer: usize,
    layout: &QkvLayout,
    qkv: &CpuBuffer,
    cache: &mut CpuKvCache,
) {
    assert_eq!(qkv.cols(), layout.row_len(), "a row holds queries, keys and values");
    assert!(layout.has_kv, "a row holds keys and values");
    assert!(cache.layout.layers[layer].fits(layout), "the cache was made for these heads");
    let qkv = qkv.rows(batch.num_tokens());
    let block_tokens = cache.layout.block_tokens;
    let rows =
        [Plane::Keys, Plane::Values].map(|plane| RowLayout::new(&cache.layout, layer, plane));
    let (bytes, regions) = cache.regions_mut(layer);
    let bytes = Disjoint::new(bytes);
    let store = |task: usize| {
        let [q_len, k_len, _] = layout.part_lens();
        let (plane, head) = regions.plane_and_head(task);
        let (first, dim) = match plane {
            Plane::Keys => (q_len, layout.head_dim),
            Plane::Values => (q_len + k_len, layout.value_dim()),
        };
        let (rows, column) = (&rows[plane as usize], first + head * dim);
        let mut memory = [0; MAX_ENCODED_WORDS];
        for (row, &slot) in batch.slot_mapping().iter().enumerate() {
            let (block, offset) = (slot / block_tokens, slot % block_tokens);
            // SAFETY: tasks differ in the plane or the head, and thereby in the regions; this part is dropped
            // before the task creates another one.
            let region = unsafe { bytes.part(regions.at(block, task)) };
            let at = row * layout.row_len() + column;
            let values = &qkv[at..][..dim];
            let ahead = qkv.get(at + layout.row_len()..).unwrap_or_default();
            let ahead = &ahead[..dim.min(ahead.len())];
            let memory = &mut memory;
            let encode = EncodeRow { rows, plane, region, offset, values, ahead, memory };
            executor.level.run(encode);
        }
    };
    let values = batch.num_tokens() * layout.num_kv_heads * layout.head_dim;
    executor.pool.run_if_large(regions.len(), values, &store);
}

/// The largest number of words that are encoded together: 32 values of F32, or a row of I16 of the widest head.
const MAX_ENCODED_WORDS: usize = MAX_I16_ROW_BYTES / 4;

/// Encodes the values of one row and stores them in its region.
struct EncodeRow<'a> {
    rows: &'a RowLayout,
    plane: Plane,
    region: &'a mut [u8],
    offset: usize,
    values: &'a [f32],
    /// The values that are encoded next, to prefetch.
    ahead: &'a [f32],
    /// A buffer for encoded values.
    memory: &'a mut [u32; MAX_ENCODED_WORDS],
}

impl Kernel for EncodeRow<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let Self { rows, plane, region, offset, values, ahead, memory } = self;
        // Rows are too far apart for the hardware prefetcher.
        for line in ahead.chunks(LANES) {
            lanes.prefetch(bytemuck::cast_slice(line), 0);
        }
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(memory);
        for (piece, values) in values.chunks(rows.piece).enumerate() {
            let bytes = &mut bytes[..rows.header + values.len() * rows.element];
            match rows.dtype {
                KvDType::I16 => {
                    let (header, integers) = bytes.split_at_mut(rows.header);
                    let (largest, integers) =
                        (largest_i16(rows.head_dim), bytemuck::cast_slice_mut(integers));
                    let scale = quantize_row(lanes, values, largest, integers);
                    header.copy_from_slice(&scale.to_le_bytes());
                }
                KvDType::F16 if values.len() % LANES == 0 => {
                    for (values, bytes) in values.chunks(LANES).zip(bytes.chunks_mut(2 * LANES)) {
                        let bytes = bytes.first_chunk_mut().expect("2 bytes a value");
                        lanes.store_f16(lanes.load_part(values), bytes);
                    }
                }
                dtype => dtype.encode_row(values, bytes),
            }
            rows.put_piece(plane, region, offset, piece, bytes);
        }
    }
}
