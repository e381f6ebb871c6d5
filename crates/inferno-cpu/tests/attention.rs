//! The KV cache and attention over it.

mod cases;

use cases::{Random, all, bits, matrix, read, relative_error, simplest};
use inferno_backend::{
    AttentionParams, Backend, BackendError, BatchBuilder, BlockId, KvDType, KvLayout, LogitRows,
    QkvLayout, ReferenceBackend, SequenceChunk,
};

/// Heads and positions of one test.
#[derive(Debug, Clone, Copy)]
struct Shape {
    num_heads: usize,
    num_kv_heads: usize,
    head_dim: usize,
    block_tokens: usize,
    tokens: usize,
    window: Option<usize>,
    dtype: KvDType,
}

const SHAPE: Shape = Shape {
    num_heads: 4,
    num_kv_heads: 2,
    head_dim: 32,
    block_tokens: 16,
    tokens: 70,
    window: None,
    dtype: KvDType::F16,
};

impl Shape {
    fn qkv(&self) -> QkvLayout {
        let Self {
            num_heads,
            num_kv_heads,
            head_dim,
            ..
        } = *self;
        QkvLayout {
            num_heads,
            num_kv_heads,
            head_dim,
        }
    }

    fn cache(&self) -> KvLayout {
        KvLayout {
            num_layers: 2,
            num_kv_heads: self.num_kv_heads,
            head_dim: self.head_dim,
            block_tokens: self.block_tokens,
            num_blocks: self.tokens.div_ceil(self.block_tokens) + 3,
            dtype: self.dtype,
        }
    }

    fn out_len(&self) -> usize {
        self.num_heads * self.head_dim
    }

    /// Blocks from the last to the first.
    fn blocks(&self) -> Vec<BlockId> {
        (0..self.cache().num_blocks as u32)
            .rev()
            .map(BlockId)
            .collect()
    }
}

/// Attends to one sequence, fed in chunks.
fn attend<B: Backend>(
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
    let params = AttentionParams {
        layer: 1,
        scale: 1.0 / (shape.head_dim as f32).sqrt(),
        window: shape.window,
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
            })
            .expect("a chunk");
        backend.upload_batch(&builder.build(), &mut batch);
        let rows = &qkv[start * layout.row_len()..][..chunk * layout.row_len()];
        let rows = matrix(backend, chunk, layout.row_len(), rows);
        backend.store_kv(&batch, 1, &layout, &rows, &mut cache);
        let mut out = backend.alloc(chunk, shape.out_len()).expect("memory");
        backend.paged_attention(&batch, &params, &layout, &rows, &cache, &mut out);
        result.extend(read(backend, &out, chunk * shape.out_len()));
        start += chunk;
    }
    result
}

fn inputs(shape: &Shape, seed: u64) -> Vec<f32> {
    let values = Random::new(seed).values(shape.tokens * shape.qkv().row_len());
    // Large enough that the softmax is far from even.
    values.into_iter().map(|x| 4.0 * x).collect()
}

fn shapes() -> Vec<Shape> {
    let mut shapes = Vec::new();
    for dtype in KvDType::ALL {
        shapes.extend([
            Shape { dtype, ..SHAPE },
            Shape {
                dtype,
                tokens: 600,
                num_heads: 3,
                num_kv_heads: 1,
                ..SHAPE
            },
            Shape {
                dtype,
                num_heads: 7,
                num_kv_heads: 1,
                head_dim: 64,
                tokens: 33,
                ..SHAPE
            },
            Shape {
                dtype,
                num_heads: 1,
                num_kv_heads: 1,
                block_tokens: 5,
                tokens: 40,
                ..SHAPE
            },
            Shape {
                dtype,
                block_tokens: 40,
                tokens: 90,
                window: Some(17),
                ..SHAPE
            },
            Shape {
                dtype,
                tokens: 520,
                num_heads: 20,
                num_kv_heads: 1,
                window: Some(300),
                ..SHAPE
            },
            Shape {
                dtype,
                tokens: 1,
                ..SHAPE
            },
        ]);
        if dtype != KvDType::Q8_0 {
            shapes.push(Shape {
                dtype,
                head_dim: 8,
                tokens: 20,
                block_tokens: 3,
                ..SHAPE
            });
            shapes.push(Shape {
                dtype,
                head_dim: 50,
                tokens: 20,
                block_tokens: 1,
                ..SHAPE
            });
        }
    }
    shapes
}

#[test]
fn attention_agrees_with_the_reference() {
    for shape in shapes() {
        let qkv = inputs(&shape, 1);
        let blocks = shape.blocks();
        let whole = [shape.tokens];
        let expected = attend(&ReferenceBackend::new(), &shape, &qkv, &blocks, &whole);
        let found = attend(&simplest(), &shape, &qkv, &blocks, &whole);
        let error = relative_error(&found, &expected);
        assert!(error < 2e-6, "{shape:?}: {error}");
    }
}

#[test]
fn attention_gives_the_same_bits_on_every_instruction_set_and_number_of_threads() {
    for shape in shapes() {
        let qkv = inputs(&shape, 2);
        let blocks = shape.blocks();
        let whole = [shape.tokens];
        let expected = bits(&attend(&simplest(), &shape, &qkv, &blocks, &whole));
        for backend in all() {
            let found = bits(&attend(&backend, &shape, &qkv, &blocks, &whole));
            assert_eq!(found, expected, "{shape:?} {backend:?}");
        }
    }
}

/// Single tokens at the start and around the borders of spans, which are of 256, else chunks.
fn mostly_single(tokens: usize) -> Vec<usize> {
    let mut chunks = Vec::new();
    let mut start = 0;
    while start < tokens {
        let single = start < 40 || start % 256 > 250 || start % 256 < 5 || tokens - start < 5;
        let chunk = if single {
            1
        } else {
            usize::min(64, 251 - start % 256)
        };
        chunks.push(chunk.min(tokens - start));
        start += chunk;
    }
    chunks
}

#[test]
fn attention_gives_the_same_bits_whole_in_chunks_and_token_by_token() {
    for shape in shapes() {
        let qkv = inputs(&shape, 3);
        let blocks = shape.blocks();
        let whole = bits(&attend(&simplest(), &shape, &qkv, &blocks, &[shape.tokens]));
        for backend in all().into_iter().skip(1).step_by(2) {
            for chunks in [
                vec![shape.tokens / 3, shape.tokens - shape.tokens / 3],
                mostly_single(shape.tokens),
            ] {
                let found = attend(&backend, &shape, &qkv, &blocks, &chunks);
                assert_eq!(bits(&found), whole, "{shape:?} {chunks:?} {backend:?}");
            }
        }
    }
}

#[test]
fn attention_gives_the_same_bits_whatever_the_blocks() {
    for dtype in KvDType::ALL {
        let shape = Shape {
            dtype,
            tokens: 300,
            ..SHAPE
        };
        let qkv = inputs(&shape, 4);
        for backend in all() {
            let whole = [shape.tokens];
            let expected = bits(&attend(&backend, &shape, &qkv, &shape.blocks(), &whole));
            for block_tokens in [1, 7, 16, 64, 1000] {
                let shape = Shape {
                    block_tokens,
                    ..shape
                };
                let mut blocks = shape.blocks();
                let count = blocks.len();
                blocks.rotate_left(1 % count);
                let found = bits(&attend(&backend, &shape, &qkv, &blocks, &whole));
                assert_eq!(
                    found, expected,
                    "{dtype} blocks of {block_tokens}, {backend:?}"
                );
            }
        }
    }
}

#[test]
fn sequences_of_one_batch_do_not_touch_each_other() {
    let shape = Shape {
        tokens: 40,
        ..SHAPE
    };
    let layout = shape.qkv();
    let (first, second) = (inputs(&shape, 5), inputs(&shape, 6));
    // 25 tokens of one sequence beside 40 of another, in interleaved blocks.
    let cache_layout = KvLayout {
        num_blocks: 6,
        ..shape.cache()
    };
    let tables = [[0, 2, 4].map(BlockId), [1, 3, 5].map(BlockId)];
    let tokens = [0; 40];
    for backend in all() {
        let alone = [
            attend(&backend, &shape, &first, &shape.blocks(), &[40]),
            attend(&backend, &shape, &second, &shape.blocks(), &[40]),
        ];
        let mut builder = BatchBuilder::new(16);
        for (table, count) in tables.iter().zip([25, 40]) {
            let (tokens, block_table) = (&tokens[..count], &table[..]);
            let chunk = SequenceChunk {
                tokens,
                start: 0,
                block_table,
                logits: LogitRows::None,
            };
            builder.push(&chunk).expect("a chunk");
        }
        let mut batch = backend.alloc_batch();
        backend.upload_batch(&builder.build(), &mut batch);
        let mut cache = backend.alloc_kv_cache(&cache_layout).expect("memory");
        let rows = [&first[..25 * layout.row_len()], &second].concat();
        let rows = matrix(&backend, 65, layout.row_len(), &rows);
        backend.store_kv(&batch, 1, &layout, &rows, &mut cache);
        let mut out = backend.alloc(65, shape.out_len()).expect("memory");
        let params = AttentionParams {
            layer: 1,
            scale: 1.0 / 32f32.sqrt(),
            window: None,
        };
        backend.paged_attention(&batch, &params, &layout, &rows, &cache, &mut out);
        let found = read(&backend, &out, 65 * shape.out_len());
        let expected = [&alone[0][..25 * shape.out_len()], &alone[1]].concat();
        assert_eq!(bits(&found), bits(&expected), "{backend:?}");
    }
}

/// Blocks 0 and 1 of a cache after 20 tokens, in the canonical order.
fn saved<B: Backend>(backend: &B, shape: &Shape, qkv: &[f32]) -> Vec<u8> {
    let layout = shape.qkv();
    let mut cache = backend.alloc_kv_cache(&shape.cache()).expect("memory");
    let mut batch = backend.alloc_batch();
    let mut builder = BatchBuilder::new(shape.block_tokens);
    let block_table = &[BlockId(1), BlockId(0)];
    let chunk = SequenceChunk {
        tokens: &[0; 20],
        start: 0,
        block_table,
        logits: LogitRows::None,
    };
    builder.push(&chunk).expect("a chunk");
    backend.upload_batch(&builder.build(), &mut batch);
    let rows = matrix(backend, 20, layout.row_len(), qkv);
    backend.store_kv(&batch, 1, &layout, &rows, &mut cache);
    let mut bytes = Vec::new();
    for block in [0, 1] {
        backend
            .read_kv_block(&cache, BlockId(block), &mut bytes)
            .expect("memory can be read");
    }
    bytes
}

#[test]
fn saved_blocks_are_those_of_the_reference_and_come_back_the_same() {
    for dtype in KvDType::ALL {
        let shape = Shape {
            dtype,
            tokens: 20,
            ..SHAPE
        };
        let qkv = inputs(&shape, 7);
        let expected = saved(&ReferenceBackend::new(), &shape, &qkv);
        for backend in all() {
            let bytes = saved(&backend, &shape, &qkv);
            assert!(bytes == expected, "{dtype} {backend:?}");
            let mut cache = backend.alloc_kv_cache(&shape.cache()).expect("memory");
            let (first, _) = bytes.split_at(bytes.len() / 2);
            backend
                .write_kv_block(&mut cache, BlockId(2), first)
                .expect("the right size");
            let mut again = Vec::new();
            backend
                .read_kv_block(&cache, BlockId(2), &mut again)
                .expect("memory can be read");
            assert!(again == first, "{dtype} {backend:?}");
            let refused = backend.write_kv_block(&mut cache, BlockId(2), &first[1..]);
            assert!(matches!(refused, Err(BackendError::KvBlockSize { .. })));
        }
    }
}

#[test]
fn a_cache_that_cannot_be_had_is_refused() {
    let backend = simplest();
    let huge = KvLayout {
        num_blocks: 1 << 50,
        ..SHAPE.cache()
    };
    assert!(matches!(
        backend.alloc_kv_cache(&huge),
        Err(BackendError::OutOfMemory { .. })
    ));
    let odd = KvLayout {
        head_dim: 40,
        dtype: KvDType::Q8_0,
        ..SHAPE.cache()
    };
    assert!(matches!(
        backend.alloc_kv_cache(&odd),
        Err(BackendError::KvHeadDim { .. })
    ));
    assert!(matches!(
        backend.alloc(1 << 40, 1 << 20),
        Err(BackendError::OutOfMemory { .. })
    ));
}

#[test]
fn what_a_row_does_not_see_cannot_reach_it() {
    // Keys and values of later tokens of the same chunk are not numbers.
    for dtype in KvDType::ALL {
        let shape = Shape {
            dtype,
            tokens: 24,
            ..SHAPE
        };
        let mut qkv = inputs(&shape, 8);
        let clean = attend(&simplest(), &shape, &qkv, &shape.blocks(), &[24]);
        let row_len = shape.qkv().row_len();
        qkv[13 * row_len..].fill(f32::NAN);
        for backend in all() {
            let found = attend(&backend, &shape, &qkv, &shape.blocks(), &[24]);
            let seen = 13 * shape.out_len();
            assert_eq!(
                bits(&found[..seen]),
                bits(&clean[..seen]),
                "{dtype} {backend:?}"
            );
            assert!(
                found[seen..].iter().all(|x| x.is_nan()),
                "{dtype} {backend:?}"
            );
        }
    }
}
