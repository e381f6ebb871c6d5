//! The KV cache and attention by their definitions.

use std::ops::Range;

use inferno_tensor::Tensor;

use super::arithmetic::{dot, soft_cap, softmax, zeros};
use crate::{
    AttentionParams, BackendError, Batch, BlockId, DistanceBias, KvBlockPart, KvLayer, KvLayout,
    KvValues, KvWindowMap, QkvLayout, distance_column,
};

/// The encoded rows of each layer, by block, [`KEYS`] or [`VALUES`], head and position: the order of
/// [`Backend::read_kv_block`](crate::Backend::read_kv_block).
#[derive(Debug)]
pub struct ReferenceKvCache {
    layout: KvLayout,
    /// For each layer, blocks x bytes; of windowed layers, as many blocks as have memory.
    layers: Vec<Tensor<u8>>,
    pub(super) windows: Option<KvWindowMap>,
}

/// Indices of a layer's keys and values.
const KEYS: usize = 0;
const VALUES: usize = 1;

impl ReferenceKvCache {
    pub(super) fn new(layout: &KvLayout) -> Result<Self, BackendError> {
        let &KvLayout { num_blocks, block_tokens, dtype, .. } = layout;
        let layers = layout.layers.iter().map(|layer| {
            let num_blocks = match layout.window {
                Some(window) if layer.is_windowed => window.num_blocks,
                _ => num_blocks,
            };
            let block_bytes = layer.position_bytes(dtype)?.saturating_mul(block_tokens);
            zeros(&[num_blocks, block_bytes], "the KV cache")
        });
        let windows =
            layout.window.map(|window| KvWindowMap::new(window, num_blocks, block_tokens));
        Ok(Self { layout: layout.clone(), layers: layers.collect::<Result<_, _>>()?, windows })
    }

    /// The index of a block in the memory of a layer.
    ///
    /// **Panics** if it has none.
    fn place(&self, layer: usize, block: usize) -> usize {
        match &self.windows {
            Some(windows) if self.layout.layers[layer].is_windowed => {
                windows.part(BlockId(block as u32)).expect("a block within the window has memory")
            }
            _ => block,
        }
    }

    /// The layers that belong to a part of a block, those without a window first.
    fn layers_of(&self, part: KvBlockPart) -> Vec<usize> {
        let has_window = |&layer: &usize| self.layout.has_window(&self.layout.layers[layer]);
        let (windowed, mut layers): (Vec<_>, Vec<_>) =
            (0..self.layout.layers.len()).partition(has_window);
        if part == KvBlockPart::All {
            layers.extend(windowed);
        }
        layers
    }

    pub(super) fn read(&self, block: BlockId, part: KvBlockPart, bytes: &mut Vec<u8>) {
        for layer in self.layers_of(part) {
            bytes.extend_from_slice(&self.layers[layer][[self.place(layer, block.0 as usize)]]);
        }
    }

    pub(super) fn write(
        &mut self,
        block: BlockId,
        part: KvBlockPart,
        mut bytes: &[u8],
    ) -> Result<(), BackendError> {
        let (expected, found) = (part.num_bytes(&self.layout)?, bytes.len());
        if found != expected {
            return Err(BackendError::KvBlockSize { expected, found });
        }
        if let (Some(windows), KvBlockPart::All) = (&mut self.windows, part) {
            windows.assign(block)?;
        }
        for layer in self.layers_of(part) {
            let place = self.place(layer, block.0 as usize);
            let target = &mut self.layers[layer][[place]];
            let (source, rest) = bytes.split_at(target.len());
            target.copy_from_slice(source);
            bytes = rest;
        }
        Ok(())
    }

    /// The location of a row in its layer's part of a block.
    fn row_at(&self, layer: usize, plane: usize, head: usize, offset: usize) -> Range<usize> {
        let KvLayout { layers, block_tokens, dtype, .. } = &self.layout;
        let KvLayer { num_heads, key_dim, values, .. } = layers[layer];
        let [key_bytes, value_bytes] = [key_dim, values.separate_dim()]
            .map(|dim| dtype.row_bytes(dim).expect("the cache was allocated"));
        let (start, row_bytes) = match plane {
            KEYS => (0, key_bytes),
            _ => (num_heads * block_tokens * key_bytes, value_bytes),
        };
        let at = start + (head * block_tokens + offset) * row_bytes;
        at..at + row_bytes
    }

    pub(super) fn store(
        &mut self,
        batch: &Batch,
        layer: usize,
        layout: &QkvLayout,
        qkv: &Tensor<f32>,
    ) {
        let KvLayout { block_tokens, dtype, .. } = self.layout;
        let [q_len, k_len, _] = layout.part_lens();
        for (row, &slot) in batch.slot_mapping().iter().enumerate() {
            let (block, offset) = (slot / block_tokens, slot % block_tokens);
            let (keys, values) = qkv[[row]][q_len..].split_at(k_len);
            for (plane, heads, dim) in
                [(KEYS, keys, layout.head_dim), (VALUES, values, layout.value_dim())]
            {
                for (head, values) in heads.chunks_exact(dim).enumerate() {
                    let at = self.row_at(layer, plane, head, offset);
                    let place = self.place(layer, block);
                    dtype.encode_row(values, &mut self.layers[layer][[place]][at]);
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
        let KvLayout { block_tokens, dtype, .. } = self.layout;
        let KvLayer { key_dim, values, .. } = self.layout.layers[layer];
        let dim = if plane == KEYS { key_dim } else { values.separate_dim() };
        let mut decoded =
            zeros(&[positions.len(), dim], "cached rows").expect("fewer rows than the cache");
        for (row, position) in positions.enumerate() {
            let block = table[position / block_tokens].0 as usize;
            let at = self.row_at(layer, plane, head, position % block_tokens);
            let encoded = &self.layers[layer][[self.place(layer, block)]][at];
            dtype.decode_row(encoded, &mut decoded[[row]]).expect("rows of the cache's format");
        }
        decoded
    }
}

pub(super) fn attend(
    batch: &Batch,
    params: &AttentionParams<'_, Tensor<f32>>,
    layout: &QkvLayout,
    qkv: &Tensor<f32>,
    cache: &ReferenceKvCache,
    out: &mut Tensor<f32>,
) {
    let group = layout.num_heads / layout.num_kv_heads;
    for sequence in 0..batch.num_sequences() {
        let table = batch.block_table(sequence);
        for row in batch.rows(sequence) {
            let own = batch.positions()[row] as usize;
            let positions = params.mask.range(own, batch.context_lens()[sequence]);
            let queries: Vec<_> = qkv[[row]].chunks_exact(layout.head_dim).collect();
            let heads = out[[row]].chunks_exact_mut(layout.value_dim());
            for (head, out) in heads.take(layout.num_heads).enumerate() {
                let load =
                    |plane| cache.load(table, params.layer, plane, head / group, positions.clone());
                let keys = load(KEYS);
                let separate;
                let (values, first) = match layout.values {
                    KvValues::Separate { .. } => {
                        separate = load(VALUES);
                        (&separate, 0)
                    }
                    KvValues::InKeys { start } => (&keys, start),
                };
                let distance_bias = |position: usize| match params.distance_bias {
                    None => 0.0,
                    Some(DistanceBias::Slopes(slopes)) => {
                        -f64::from(slopes[[0]][head]) * position.abs_diff(own) as f64
                    }
                    Some(DistanceBias::Table(table)) => {
                        let row = &table[[head]];
                        f64::from(row[distance_column(row.len(), own, position)])
                    }
                };
                let scores = (0..positions.len())
                    .map(|i| dot(queries[head], &keys[[i]]) * f64::from(params.scale))
                    .map(|score| params.softcap.map_or(score, |cap| soft_cap(score, cap.into())))
                    .zip(positions.clone())
                    .map(|(score, position)| score + distance_bias(position));
                // A sink takes a part of the probability, but has no value.
                let sink = params.sinks.map(|sinks| f64::from(sinks[[0]][head]));
                let probabilities = softmax(&scores.chain(sink).collect::<Vec<_>>());
                for (component, out) in out.iter_mut().enumerate() {
                    let column = values.view().select(1, first + component).expect("a component");
                    let terms = probabilities.iter().zip(column).map(|(p, &v)| p * f64::from(v));
                    *out = terms.fold(0.0, |sum, term| sum + term) as f32;
                }
            }
        }
    }
}
