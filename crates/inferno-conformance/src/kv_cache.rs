//! Saved blocks of the KV cache, and numbers that its formats cannot represent.

use inferno_backend::{
    Backend, BatchBuilder, BlockId, KvBlockPart, KvValues, LogitRows, Pass, SequenceChunk,
};

use crate::cases::{matrix, run};
use crate::heads::{SHAPE, Shape};

/// Blocks 0 and 1 of a cache, in the canonical order, after the tokens of a shape, which fill at least one of them.
pub fn saved<B: Backend>(backend: &B, shape: &Shape, qkv: &[f32]) -> Vec<u8> {
    let layout = shape.qkv();
    let mut cache = backend.alloc_kv_cache(&shape.cache()).expect("memory");
    let mut batch = backend.alloc_batch();
    let mut builder = BatchBuilder::new(shape.block_tokens);
    let block_table = &[BlockId(1), BlockId(0)];
    let chunk = SequenceChunk {
        tokens: &vec![0; shape.tokens],
        start: 0,
        block_table,
        logits: LogitRows::None,
        second_segment: None,
    };
    builder.push(&chunk).expect("a chunk");
    backend.upload_batch(&builder.build(), &mut batch);
    let rows = matrix(backend, shape.tokens, layout.row_len(), qkv);
    run(backend, |pass| pass.store_kv(&batch, 1, &layout, &rows, &mut cache));
    let mut bytes = Vec::new();
    for block in [0, 1] {
        backend
            .read_kv_block(&cache, BlockId(block), KvBlockPart::All, &mut bytes)
            .expect("memory can be read");
    }
    bytes
}

/// Numbers that some format cannot represent.
pub const BAD: [f32; 4] = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e30];

/// Heads of two blocks of Q8_0.
pub const BAD_SHAPE: Shape = Shape { head_dim: 64, tokens: 20, ..SHAPE };

/// The last 32 components of a head of [`BAD_SHAPE`].
pub const VALUES_IN_KEYS: Option<KvValues> = Some(KvValues::InKeys { start: 32 });

/// The index of component 3 of the first head's key or value in row 10.
pub fn bad_places(shape: &Shape) -> [usize; 2] {
    let layout = shape.qkv();
    let row = 10 * layout.row_len();
    let head = |head: usize| row + head * layout.head_dim + 3;
    let key = head(layout.num_heads);
    match layout.values {
        KvValues::Separate { .. } => [key, head(layout.num_heads + layout.num_kv_heads)],
        KvValues::InKeys { start } => [key, key + start],
    }
}

/// Whether both are NaN, the same infinity, or equal within `error`.
pub fn agree(found: f32, expected: f32, error: f32) -> bool {
    let near = (found - expected).abs() <= error;
    found.is_nan() && expected.is_nan() || found == expected || near
}
