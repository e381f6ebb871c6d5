//! Keys, values and softmax, as the definition has them.

use super::{Matrix, dot, zeroed};
use crate::{AttentionParams, BackendError, Batch, BlockId, KvLayout, QkvLayout};

/// Blocks of encoded rows in the order that `Backend::read_kv_block` states.
#[derive(Debug)]
pub struct ReferenceKvCache {
    layout: KvLayout,
    row_bytes: usize,
    block_bytes: usize,
    bytes: Vec<u8>,
}

/// Keys come before values in a layer's share of a block.
#[derive(Clone, Copy)]
enum Plane {
    Keys,
    Values,
}

impl ReferenceKvCache {
    pub(super) fn new(layout: &KvLayout) -> Result<Self, BackendError> {
        Ok(Self {
            layout: *layout,
            row_bytes: layout.row_bytes()?,
            block_bytes: layout.block_bytes()?,
            bytes: zeroed(layout.total_bytes()?, "the KV cache")?,
        })
    }

    pub(super) fn block(&self, block: BlockId) -> &[u8] {
        let at = block.0 as usize * self.block_bytes;
        &self.bytes[at..at + self.block_bytes]
    }

    pub(super) fn block_mut(&mut self, block: BlockId) -> &mut [u8] {
        let at = block.0 as usize * self.block_bytes;
        &mut self.bytes[at..at + self.block_bytes]
    }

    pub(super) fn store(&mut self, batch: &Batch, layer: usize, layout: &QkvLayout, qkv: &Matrix) {
        for (row, &slot) in batch.slot_mapping().iter().enumerate() {
            for head in 0..layout.num_kv_heads {
                let key_head = layout.num_heads + head;
                let value_head = key_head + layout.num_kv_heads;
                for (plane, source) in [(Plane::Keys, key_head), (Plane::Values, value_head)] {
                    let at = self.row_at(layer, plane, head, slot);
                    let target = &mut self.bytes[at..at + self.row_bytes];
                    let values = qkv.head(row, source, layout.head_dim);
                    self.layout.dtype.encode_row(values, target);
                }
            }
        }
    }

    fn load(&self, layer: usize, plane: Plane, head: usize, slot: usize, out: &mut [f32]) {
        let at = self.row_at(layer, plane, head, slot);
        self.layout
            .dtype
            .decode_row(&self.bytes[at..at + self.row_bytes], out)
            .expect("the row size was checked when the cache was made");
    }

    fn row_at(&self, layer: usize, plane: Plane, head: usize, slot: usize) -> usize {
        let KvLayout { num_kv_heads, block_tokens, .. } = self.layout;
        let (block, offset) = (slot / block_tokens, slot % block_tokens);
        let plane = 2 * layer + plane as usize;
        let row = (plane * num_kv_heads + head) * block_tokens + offset;
        block * self.block_bytes + row * self.row_bytes
    }
}

pub(super) fn attend(
    batch: &Batch,
    params: &AttentionParams,
    layout: &QkvLayout,
    qkv: &Matrix,
    cache: &ReferenceKvCache,
    out: &mut Matrix,
) {
    let block_tokens = cache.layout.block_tokens;
    let group = layout.num_heads / layout.num_kv_heads;
    let mut cached = vec![0.0; layout.head_dim];
    for sequence in 0..batch.num_sequences() {
        let table = batch.block_table(sequence);
        let slot = |position: usize| {
            table[position / block_tokens].0 as usize * block_tokens + position % block_tokens
        };
        for row in batch.rows(sequence) {
            let end = batch.positions()[row] as usize + 1;
            let start = params.window.map_or(0, |window| end.saturating_sub(window));
            for head in 0..layout.num_heads {
                let kv_head = head / group;
                let query = qkv.head(row, head, layout.head_dim);
                let scores: Vec<f64> = (start..end)
                    .map(|position| {
                        cache.load(params.layer, Plane::Keys, kv_head, slot(position), &mut cached);
                        dot(query, &cached) * f64::from(params.scale)
                    })
                    .collect();
                let mut mixed = vec![0.0f64; layout.head_dim];
                for (position, probability) in (start..end).zip(softmax(&scores)) {
                    cache.load(params.layer, Plane::Values, kv_head, slot(position), &mut cached);
                    for (mixed, &value) in mixed.iter_mut().zip(&cached) {
                        *mixed += probability * f64::from(value);
                    }
                }
                let target = out.head_mut(row, head, layout.head_dim);
                target.iter_mut().zip(mixed).for_each(|(out, mixed)| *out = mixed as f32);
            }
        }
    }
}

/// Probabilities of `scores`, which must not be empty.
pub(super) fn softmax(scores: &[f64]) -> Vec<f64> {
    let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let exps: Vec<f64> = scores.iter().map(|score| (score - max).exp()).collect();
    let sum: f64 = exps.iter().sum();
    exps.into_iter().map(|exp| exp / sum).collect()
}
