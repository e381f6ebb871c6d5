//! Number of parallel steps (thread synchronizations) per decoded token.

use std::sync::Arc;

use crate::support::{fixtures, limits};
use inferno_backend::{BatchBuilder, BlockId, KvDType, LogitRows, SequenceChunk};
use inferno_cpu::{CpuBackend, CpuOptions};
use inferno_gguf::{GgmlType, Gguf, GgufWriter};
use inferno_model::{Model, ModelCache};

/// Width, feed-forward width, query heads, key/value heads and their width: those of Qwen3-0.6B.
const SHAPE: [usize; 5] = [1024, 3072, 16, 8, 128];

/// A checkpoint of zero weights with the shape of Qwen3-0.6B and `num_layers` layers.
fn checkpoint(num_layers: usize) -> Gguf {
    let [hidden, feed_forward, heads, kv_heads, head_dim] = SHAPE;
    let source = Gguf::open(fixtures().join("qwen3.gguf")).expect("the fixture");
    let mut metadata = source.metadata().clone();
    for (key, value) in [
        ("block_count", num_layers),
        ("embedding_length", hidden),
        ("feed_forward_length", feed_forward),
        ("attention.head_count", heads),
        ("attention.head_count_kv", kv_heads),
        ("attention.key_length", head_dim),
        ("attention.value_length", head_dim),
        ("rope.dimension_count", head_dim),
        ("context_length", 1024),
    ] {
        metadata.insert(format!("qwen3.{key}"), value as u32);
    }
    let embedding = source.tensor("token_embd.weight").expect("an embedding");
    let vocab_size = embedding.dims()[1];
    let mut tensors = vec![
        ("token_embd.weight".to_owned(), vec![hidden, vocab_size]),
        ("output_norm.weight".to_owned(), vec![hidden]),
    ];
    for layer in 0..num_layers {
        for (name, dims) in [
            ("attn_norm", vec![hidden]),
            ("attn_q", vec![hidden, heads * head_dim]),
            ("attn_k", vec![hidden, kv_heads * head_dim]),
            ("attn_v", vec![hidden, kv_heads * head_dim]),
            ("attn_q_norm", vec![head_dim]),
            ("attn_k_norm", vec![head_dim]),
            ("attn_output", vec![heads * head_dim, hidden]),
            ("ffn_norm", vec![hidden]),
            ("ffn_gate", vec![hidden, feed_forward]),
            ("ffn_up", vec![hidden, feed_forward]),
            ("ffn_down", vec![feed_forward, hidden]),
        ] {
            tensors.push((format!("blk.{layer}.{name}.weight"), dims));
        }
    }
    let mut writer = GgufWriter::new(&metadata).expect("valid metadata");
    for (name, dims) in &tensors {
        let ggml_type = if dims.len() == 1 { GgmlType::F32 } else { GgmlType::Q8_0 };
        writer.add_tensor(name, dims, ggml_type).expect("a tensor");
    }
    let mut payloads = writer.in_memory();
    for (name, dims) in &tensors {
        let values: usize = dims.iter().product();
        let bytes = if dims.len() == 1 { 4 * values } else { values / 32 * 34 };
        payloads.write_tensor(name, &vec![0; bytes]).expect("a payload");
    }
    Gguf::from_bytes(payloads.finish().expect("all payloads")).expect("a valid file")
}

/// Number of parallel steps to decode one token after `depth` others.
fn steps(num_layers: usize, depth: usize) -> usize {
    let options = CpuOptions { threads: Some(2), ..CpuOptions::default() };
    let backend = Arc::new(CpuBackend::new(options).expect("every machine has one"));
    let checkpoint = checkpoint(num_layers);
    let model = Model::load(&checkpoint, backend, None, &mut |_| ()).expect("a model");
    let layout = model.spec().kv_layout(depth + 1, KvDType::I16);
    let table: Vec<BlockId> = (0..layout.num_blocks as u32).map(BlockId).collect();
    let mut cache = ModelCache::new(&**model.backend(), &layout, None).expect("memory");
    let mut workspace = model.workspace(limits(depth.max(1))).expect("memory");
    let mut forward = |tokens: &[u32], start| {
        let logits = LogitRows::Last;
        let mut builder = BatchBuilder::new(layout.block_tokens);
        let chunk =
            SequenceChunk { tokens, start, block_table: &table, logits, second_segment: None };
        builder.push(&chunk).expect("the table covers it");
        let before = model.backend().num_parallel_steps();
        model.forward(&builder.build(), &mut cache, &mut workspace).expect("a valid batch");
        model.backend().num_parallel_steps() - before
    };
    forward(&vec![1; depth], 0);
    forward(&[1], depth)
}

#[test]
fn a_layer_runs_at_most_five_parallel_steps_per_decoded_token() {
    for depth in [16, 600] {
        let a_layer = steps(2, depth) - steps(1, depth);
        assert!((1..=5).contains(&a_layer), "{a_layer} after {depth} tokens");
    }
}
