//! Models of any architecture with random weights.

use inferno_gguf::{GgmlType, Gguf, GgufWriter, Metadata};
use inferno_model::{ModelError, ModelSpec};

/// Sizes in which no two dimensions are equal.
const SIZES: [(&str, u32); 9] = [
    ("context_length", 128),
    ("embedding_length", 32),
    ("block_count", 3),
    ("feed_forward_length", 48),
    ("attention.head_count", 4),
    ("attention.head_count_kv", 2),
    ("attention.key_length", 16),
    ("attention.value_length", 16),
    ("attention.sliding_window", 5),
];
const VOCAB_SIZE: usize = 40;

/// Numbers between -0.5 and 0.5, except near zero, so that no weight is without effect.
fn values(seed: usize, len: usize) -> Vec<u8> {
    let number = |i: usize| {
        let hash = (seed * 7919 + i).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let value = hash as f32 / (1 << 24) as f32 - 0.5;
        if value.abs() < 0.01 { 0.01 } else { value }
    };
    (0..len).flat_map(|i| number(i).to_le_bytes()).collect()
}

fn metadata(architecture: &str) -> Metadata {
    let mut metadata = Metadata::new();
    metadata.insert("general.architecture", architecture);
    for (key, value) in SIZES {
        metadata.insert(format!("{architecture}.{key}"), value);
    }
    let has_experts =
        ["moe", "gpt-oss", "dots1", "minimax", "mixtral", "gemma4", "deepseek2", "mistral4"];
    if has_experts.iter().any(|name| architecture.contains(name)) {
        for (key, value) in [
            ("expert_count", 6_u32),
            ("expert_used_count", 2),
            ("expert_feed_forward_length", 24),
            ("leading_dense_block_count", 1),
        ] {
            metadata.insert(format!("{architecture}.{key}"), value);
        }
    }
    for (key, value) in [("alpha_p", 0.4_f32), ("alpha_n", -0.3), ("beta", 0.5), ("eps", -1e-6)] {
        metadata.insert(format!("xielu.{key}"), vec![value; 3]);
    }
    for (key, value) in [
        ("ssm.conv_kernel", 4_u32),
        ("ssm.state_size", 10),
        ("ssm.inner_size", 36),
        ("ssm.time_step_rank", 6),
        ("ssm.group_count", 2),
        ("shortconv.l_cache", 3),
        ("full_attention_interval", 2),
    ] {
        metadata.insert(format!("{architecture}.{key}"), value);
    }
    if ["lfm2", "lfm2moe", "granitehybrid", "nemotron_h", "nemotron_h_moe"].contains(&architecture)
    {
        metadata.insert(format!("{architecture}.attention.head_count_kv"), vec![0_u32, 0, 2]);
    }
    if ["nemotron_h", "nemotron_h_moe", "mamba2"].contains(&architecture) {
        let middle = if architecture == "mamba2" { 0_u32 } else { 48 };
        metadata.insert(format!("{architecture}.feed_forward_length"), vec![0, middle, 0]);
    }
    let pattern = "attention.sliding_window_pattern";
    if ["olmo2", "gemma4"].contains(&architecture) {
        metadata.insert(format!("{architecture}.{pattern}"), vec![true, false, true]);
    }
    let own_keys: &[(&str, u32)] = match architecture {
        "gemma4" => &[
            ("attention.key_length_swa", 8),
            ("attention.value_length_swa", 8),
            ("attention.shared_kv_layers", 1),
            ("embedding_length_per_layer_input", 12),
        ],
        "deepseek2" | "mistral4" => &[
            ("attention.q_lora_rank", 20),
            ("attention.kv_lora_rank", 24),
            ("attention.key_length_mla", 18),
            ("attention.value_length_mla", 14),
            ("rope.dimension_count", 8),
        ],
        _ => &[],
    };
    for &(key, value) in own_keys {
        metadata.insert(format!("{architecture}.{key}"), value);
    }
    metadata
}

fn file(metadata: &Metadata, tensors: &[(String, Vec<usize>)]) -> Vec<u8> {
    let mut writer = GgufWriter::new(metadata).expect("valid metadata");
    for (name, dims) in tensors {
        let dims: Vec<usize> = dims.iter().rev().copied().collect();
        writer.add_tensor(name, &dims, GgmlType::F32).expect("a valid tensor");
    }
    let mut payloads = writer.in_memory();
    for (seed, (name, dims)) in tensors.iter().enumerate() {
        let len = dims.iter().product();
        let mut values = values(seed + 1, len);
        if name.ends_with("ssm_a") {
            // Rates of decay are negative.
            values.iter_mut().skip(3).step_by(4).for_each(|byte| *byte |= 0x80);
        }
        payloads.write_tensor(name, &values).expect("the size of the tensor");
    }
    payloads.finish().expect("all payloads")
}

/// A file of `architecture` with every required tensor: each is added when it is reported missing.
pub fn synthetic(architecture: &str) -> Vec<u8> {
    let metadata = metadata(architecture);
    let mut tensors = vec![("token_embd.weight".to_owned(), vec![VOCAB_SIZE, 32])];
    loop {
        let bytes = file(&metadata, &tensors);
        let checkpoint = Gguf::from_bytes(bytes.clone()).expect("a valid file");
        match ModelSpec::from_checkpoint(&checkpoint) {
            Ok(_) => return bytes,
            Err(ModelError::MissingTensor { name, expected }) => tensors.push((name, expected)),
            Err(error) => panic!("{architecture}: {error}"),
        }
    }
}
