//! The KV cache and attention by their definitions.

use std::ops::Range;

use inferno_tensor::{Tensor, TensorView};

use super::arithmetic::{dot, soft_cap, softmax, zeros};
use crate::{AttentionParams, BackendError, Batch, BlockId, KvLayout, QkvLayout};

/// Encoded rows by block, layer, [`KEYS`] or [`VALUES`], head and position, the order of
/// [`Backend::read_kv_block`](crate::Backend::read_kv_block).
#[derive(Debug)]
pub struct ReferenceKvCache {
    layout: KvLayout,
    rows: Tensor<u8>,
}

/// Indices of a layer's keys and values.
const KEYS: usize = 0;
const VALUES: usize = 1;

impl ReferenceKvCache {
    pub(super) fn new(layout: &KvLayout) -> Result<Self, BackendError> {
        let KvLayout { num_blocks, num_layers, num_kv_heads, block_tokens, .. } = *layout;
        let dims = [num_blocks, num_layers, 2, num_kv_heads, block_tokens, layout.row_bytes()?];
        Ok(Self { layout: *layout, rows: zeros(&dims, "the KV cache")? })
    }

    pub(super) fn block(&self, block: BlockId) -> &[u8] {
        &self.rows[[block.0 as usize]]
    }

    pub(super) fn block_mut(&mut self, block: BlockId) -> &mut [u8] {
        &mut self.rows[[block.0 as usize]]
    }

    pub(super) fn store(
        &mut self,
        batch: &Batch,
        layer: usize,
        layout: &QkvLayout,
        qkv: &Tensor<f32>,
    ) {
        let [_, keys, values] = split_heads(qkv, layout);
        let KvLayout { block_tokens, dtype, .. } = self.layout;
        for (row, &slot) in batch.slot_mapping().iter().enumerate() {
            let (block, offset) = (slot / block_tokens, slot % block_tokens);
            for (plane, source) in [(KEYS, keys), (VALUES, values)] {
                for head in 0..layout.num_kv_heads {
                    let target = &mut self.rows[[block, layer, plane, head, offset]];
                    dtype.encode_row(&source[[row, head]], target);
                }
            }
        }
    }

    /// Decodes one head's keys or values at `positions`: positions x components.
    fn load(
        &self,
        table: &[BlockId],
        layer: usize,
        plane: usize,
        head: usize,
        positions: Range<usize>,
    ) -> Tensor<f32> {
        let KvLayout { block_tokens, head_dim, dtype, .. } = self.layout;
        let mut decoded =
            zeros(&[positions.len(), head_dim], "cached rows").expect("fewer rows than the cache");
        for (row, position) in positions.enumerate() {
            let block = table[position / block_tokens].0 as usize;
            let offset = position % block_tokens;
            let encoded = &self.rows[[block, layer, plane, head, offset]];
            dtype.decode_row(encoded, &mut decoded[[row]]).expect("rows of the cache's format");
        }
        decoded
    }
}

/// Splits stacked rows into query, key and value heads: rows x heads x components each.
fn split_heads<'a>(qkv: &'a Tensor<f32>, layout: &QkvLayout) -> [TensorView<'a, f32>; 3] {
    let QkvLayout { num_heads, num_kv_heads, head_dim } = *layout;
    let rows = qkv.shape().dims()[0];
    let heads = qkv
        .view()
        .reshape(&[rows, layout.heads_per_row(), head_dim])
        .expect("the buffer is as wide as its layout");
    let keys = num_heads..num_heads + num_kv_heads;
    [0..num_heads, keys.clone(), keys.end..layout.heads_per_row()]
        .map(|range| heads.slice(1, range).expect("the layout counts its heads"))
}

pub(super) fn attend(
    batch: &Batch,
    params: &AttentionParams<'_, Tensor<f32>>,
    layout: &QkvLayout,
    qkv: &Tensor<f32>,
    cache: &ReferenceKvCache,
    out: &mut Tensor<f32>,
) {
    let [queries, ..] = split_heads(qkv, layout);
    let group = layout.num_heads / layout.num_kv_heads;
    for sequence in 0..batch.num_sequences() {
        let table = batch.block_table(sequence);
        for row in batch.rows(sequence) {
            let end = batch.positions()[row] as usize + 1;
            let positions = params.window.map_or(0, |window| end.saturating_sub(window))..end;
            let heads = out[[row]].chunks_exact_mut(layout.head_dim);
            for (head, out) in heads.take(layout.num_heads).enumerate() {
                let [keys, values] = [KEYS, VALUES].map(|plane| {
                    cache.load(table, params.layer, plane, head / group, positions.clone())
                });
                let scores = (0..positions.len())
                    .map(|i| dot(&queries[[row, head]], &keys[[i]]) * f64::from(params.scale))
                    .map(|score| params.softcap.map_or(score, |cap| soft_cap(score, cap.into())));
                // A sink takes a part of the probability, but has no value.
                let sink = params.sinks.map(|sinks| f64::from(sinks[[0]][head]));
                let probabilities = softmax(&scores.chain(sink).collect::<Vec<_>>());
                for (component, out) in out.iter_mut().enumerate() {
                    let column = values.view().select(1, component).expect("a component");
                    let terms = probabilities.iter().zip(column).map(|(p, &v)| p * f64::from(v));
                    *out = terms.fold(0.0, |sum, term| sum + term) as f32;
                }
            }
        }
    }
}
