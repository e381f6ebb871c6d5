//! Queries, keys and values of one sequence, and attention over them.

use inferno_backend::{
    AttentionMask, AttentionParams, Backend, BatchBuilder, BlockId, DistanceBias, KvDType, KvLayer,
    KvLayout, KvValues, LogitRows, Pass, QkvLayout, SequenceChunk,
};

use crate::cases::{Random, matrix, read, run};

/// Heads and positions of one test.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Number of query heads.
    pub num_heads: usize,
    /// Number of key and value heads.
    pub num_kv_heads: usize,
    /// Number of values per query or key head.
    pub head_dim: usize,
    /// Values, if they are not rows as wide as keys.
    pub values: Option<KvValues>,
    /// Positions of a block of the cache.
    pub block_tokens: usize,
    /// Positions of the sequence.
    pub tokens: usize,
    /// See [`AttentionParams::mask`].
    pub mask: AttentionMask,
    /// What distances add to scores.
    pub distances: Distances,
    /// See [`AttentionParams::softcap`].
    pub softcap: Option<f32>,
    /// One sink for all heads.
    pub sinks: Option<f32>,
    /// The format of the cache.
    pub dtype: KvDType,
}

/// What distances add to scores; see [`AttentionParams::distance_bias`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distances {
    /// Nothing.
    None,
    /// A slope for each head.
    Slopes,
    /// A table for each head, up to this distance.
    Table(usize),
}

/// Two heads per key head and a cache in half precision.
pub const SHAPE: Shape = Shape {
    num_heads: 4,
    num_kv_heads: 2,
    head_dim: 32,
    values: None,
    block_tokens: 16,
    tokens: 70,
    mask: AttentionMask::Causal(None),
    distances: Distances::None,
    softcap: None,
    sinks: None,
    dtype: KvDType::F16,
};

impl Shape {
    /// The rows of queries, keys and values.
    pub fn qkv(&self) -> QkvLayout {
        let Self { num_heads, num_kv_heads, head_dim, values, .. } = *self;
        let values = values.unwrap_or(KvValues::Separate { dim: head_dim });
        QkvLayout { values, ..QkvLayout::new(num_heads, num_kv_heads, head_dim) }
    }

    /// A cache of two layers, of which the second is used.
    pub fn cache(&self) -> KvLayout {
        KvLayout {
            layers: vec![KvLayer::new(self.num_kv_heads, self.head_dim), self.qkv().kv_layer()],
            window: None,
            block_tokens: self.block_tokens,
            num_blocks: self.tokens.div_ceil(self.block_tokens) + 3,
            dtype: self.dtype,
        }
    }

    /// Number of values of a result row.
    pub fn out_len(&self) -> usize {
        self.qkv().out_len()
    }

    /// Blocks from the last to the first.
    pub fn blocks(&self) -> Vec<BlockId> {
        (0..self.cache().num_blocks as u32).rev().map(BlockId).collect()
    }
}

/// Attends to one sequence, fed in chunks.
pub fn attend<B: Backend>(
    backend: &B,
    shape: &Shape,
    qkv: &[f32],
    blocks: &[BlockId],
    chunks: &[usize],
) -> Vec<f32> {
    assert_eq!(chunks.iter().sum::<usize>(), shape.tokens);
    let layout = shape.qkv();
    let mut cache = backend.alloc_kv_cache(&shape.cache()).expect("memory");
    let mut batch = backend.alloc_batch();
    let sinks =
        shape.sinks.map(|sink| matrix(backend, 1, shape.num_heads, &vec![sink; shape.num_heads]));
    // Of both signs, and none the same.
    let slope = |head: usize| 0.25 / (head + 1) as f32 - 0.07;
    let slopes: Vec<f32> = (0..shape.num_heads).map(slope).collect();
    let slopes = matrix(backend, 1, shape.num_heads, &slopes);
    let reach = if let Distances::Table(reach) = shape.distances { reach } else { 0 };
    let columns = 2 * reach + 1;
    let values = Random::new(5).values(shape.num_heads * columns);
    let table = matrix(backend, shape.num_heads, columns, &values);
    let params = AttentionParams {
        mask: shape.mask,
        distance_bias: match shape.distances {
            Distances::None => None,
            Distances::Slopes => Some(DistanceBias::Slopes(&slopes)),
            Distances::Table(_) => Some(DistanceBias::Table(&table)),
        },
        softcap: shape.softcap,
        sinks: sinks.as_ref(),
        ..AttentionParams::new(1, 1.0 / (shape.head_dim as f32).sqrt())
    };
    let mut result = Vec::new();
    let mut start = 0;
    for &chunk in chunks.iter().filter(|&&chunk| chunk > 0) {
        let mut builder = BatchBuilder::new(shape.block_tokens);
        let tokens = vec![0; chunk];
        let logits = LogitRows::None;
        builder
            .push(&SequenceChunk {
                tokens: &tokens,
                start,
                block_table: blocks,
                logits,
                second_segment: None,
            })
            .expect("a chunk");
        backend.upload_batch(&builder.build(), &mut batch);
        let rows = &qkv[start * layout.row_len()..][..chunk * layout.row_len()];
        let rows = matrix(backend, chunk, layout.row_len(), rows);
        run(backend, |pass| pass.store_kv(&batch, 1, &layout, &rows, &mut cache));
        let mut out = backend.alloc(chunk, shape.out_len()).expect("memory");
        run(backend, |pass| {
            pass.paged_attention(&batch, &params, &layout, &rows, &cache, &mut out)
        })
        .expect("memory");
        result.extend(read(backend, &out, chunk * shape.out_len()));
        start += chunk;
    }
    result
}

/// Random rows of queries, keys and values.
pub fn inputs(shape: &Shape, seed: u64) -> Vec<f32> {
    let values = Random::new(seed).values(shape.tokens * shape.qkv().row_len());
    // Large enough that the softmax is far from even.
    values.into_iter().map(|x| 4.0 * x).collect()
}
