//! Models of any architecture with random weights.

use inferno_gguf::{GgmlType, Gguf, GgufWriter, Metadata};
use inferno_model::{ModelError, ModelSpec};

use super::file::{File, Tensor};

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
    metadata.insert(format!("{architecture}.attention.layer_norm_rms_epsilon"), 1e-5_f32);
    let has_experts = [
        "moe",
        "gpt-oss",
        "dots1",
        "deepseek",
        "hy_v3",
        "smallthinker",
        "arctic",
        "mimo2",
        "step35",
        "dbrx",
        "laguna",
        "mellum",
        "minimax",
        "mixtral",
        "gemma4",
        "mistral4",
        "llama4",
        "jamba",
        "kimi",
    ];
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
    let has_list = [
        "lfm2",
        "lfm2moe",
        "granitehybrid",
        "jamba",
        "kimi-linear",
        "nemotron_h",
        "nemotron_h_moe",
    ];
    if has_list.contains(&architecture) {
        metadata.insert(format!("{architecture}.attention.head_count_kv"), vec![0_u32, 0, 2]);
    }
    if ["nemotron_h", "nemotron_h_moe", "mamba", "mamba2"].contains(&architecture) {
        let middle = if architecture.starts_with("mamba") { 0_u32 } else { 48 };
        metadata.insert(format!("{architecture}.feed_forward_length"), vec![0, middle, 0]);
    }
    let pattern = "attention.sliding_window_pattern";
    if architecture == "gemma3n" {
        let scales = vec![1.2, f32::NEG_INFINITY, 0.5];
        metadata.insert(format!("{architecture}.activation_sparsity_scale"), scales);
    }
    if ["olmo2", "gemma3n", "gemma4", "granite_swa", "mimo2", "step35"].contains(&architecture) {
        metadata.insert(format!("{architecture}.{pattern}"), vec![true, false, true]);
    }
    let own_keys: &[(&str, u32)] = match architecture {
        "gemma4" => &[
            ("attention.key_length_swa", 8),
            ("attention.value_length_swa", 8),
            ("attention.shared_kv_layers", 1),
            ("embedding_length_per_layer_input", 12),
        ],
        "gemma3n" => &[
            ("altup.num_inputs", 3),
            ("attention.shared_kv_layers", 1),
            ("embedding_length_per_layer_input", 12),
        ],
        "mimo2" => &[("attention.value_length", 12)],
        // The last layer has neither chunks nor rotary embedding.
        "llama4" => &[("block_count", 4)],
        "deepseek2" | "mistral4" => &[
            ("attention.q_lora_rank", 20),
            ("attention.kv_lora_rank", 24),
            ("attention.key_length_mla", 18),
            ("attention.value_length_mla", 14),
            ("rope.dimension_count", 8),
            // Latent attention has no window.
            ("attention.sliding_window", 0),
        ],
        "minicpm3" => &[
            ("attention.q_lora_rank", 20),
            ("attention.kv_lora_rank", 24),
            ("rope.dimension_count", 6),
            ("attention.sliding_window", 0),
        ],
        "kimi-linear" => &[
            ("kda.head_dim", 9),
            ("attention.kv_lora_rank", 24),
            ("attention.key_length_mla", 18),
            ("attention.value_length_mla", 14),
            ("rope.dimension_count", 8),
            ("attention.sliding_window", 0),
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

/// Optional tensors, and those whose shape nothing else determines.
fn optional_tensors(architecture: &str) -> Vec<(String, Vec<usize>)> {
    let tensors: &[(&str, &[usize])] = match architecture {
        "mimo2" => &[("blk.1.ffn_gate_inp.weight", &[6, 32]), ("blk.2.attn_sinks.weight", &[4])],
        "step35" => {
            &[("blk.1.ffn_gate_inp.weight", &[6, 32]), ("blk.1.attn_gate.weight", &[4, 32])]
        }
        "laguna" => &[("blk.1.attn_gate.weight", &[4, 32])],
        "hy_v3" => &[("blk.1.ffn_gate_inp.weight", &[6, 32]), ("blk.1.exp_probs_b", &[6])],
        "jamba" => &[
            ("blk.1.ffn_gate_inp.weight", &[6, 32]),
            ("blk.0.ssm_dt_norm.weight", &[6]),
            ("blk.0.ssm_dt.bias", &[36]),
        ],
        "gemma3n" => &[
            ("blk.0.laurel_l.weight", &[7, 32]),
            ("blk.1.laurel_l.weight", &[7, 32]),
            ("blk.2.laurel_l.weight", &[7, 32]),
            ("blk.1.altup_correct_scale.weight", &[32]),
        ],
        "gemma4" => &[("blk.1.ffn_down_exps.scale", &[6])],
        // Keys of 10 components that are not rotated, and values of 16, of 4 heads.
        "minicpm3" => &[
            ("blk.0.attn_kv_b.weight", &[104, 24]),
            ("blk.1.attn_kv_b.weight", &[104, 24]),
            ("blk.2.attn_kv_b.weight", &[104, 24]),
        ],
        _ => &[],
    };
    tensors.iter().map(|(name, dims)| ((*name).to_owned(), dims.to_vec())).collect()
}

/// A file of `architecture` with every required tensor.
pub fn synthetic(architecture: &str) -> Vec<u8> {
    synthetic_with(architecture, |_| ())
}

/// [`synthetic`] with other metadata.
pub fn synthetic_with(architecture: &str, change: impl FnOnce(&mut Metadata)) -> Vec<u8> {
    complete(architecture, change, |file| ModelSpec::from_checkpoint(file).map(drop))
}

/// [`synthetic_with`], with every required tensor of the prediction head.
pub fn synthetic_head(architecture: &str, change: impl FnOnce(&mut Metadata)) -> Vec<u8> {
    complete(architecture, change, |file| ModelSpec::prediction_head(file).map(drop))
}

/// Adds each tensor that `read` reports missing.
fn complete(
    architecture: &str,
    change: impl FnOnce(&mut Metadata),
    read: impl Fn(&Gguf) -> Result<(), ModelError>,
) -> Vec<u8> {
    let mut metadata = metadata(architecture);
    change(&mut metadata);
    let mut tensors = vec![("token_embd.weight".to_owned(), vec![VOCAB_SIZE, 32])];
    tensors.extend(optional_tensors(architecture));
    loop {
        let bytes = file(&metadata, &tensors);
        let checkpoint = Gguf::from_bytes(bytes.clone()).expect("a valid file");
        match read(&checkpoint) {
            Ok(()) => return bytes,
            Err(ModelError::MissingTensor { name, expected }) => tensors.push((name, expected)),
            Err(error) => panic!("{architecture}: {error}"),
        }
    }
}

/// The file `bytes` of DeepSeek 2 with the up-projections of keys and values as one tensor, as older files have them: those of one
/// head after those of another.
pub fn with_unsplit_latent_tensors(bytes: &[u8]) -> Vec<u8> {
    // Of a head: components that are not rotated, and values.
    let (num_heads, plain_dim, value_dim, latent_dim) = (4, 10, 14, 24);
    let mut file = File::of_bytes(bytes.to_vec());
    for layer in 0..3 {
        let values = |file: &mut File, name| {
            let name = format!("blk.{layer}.{name}.weight");
            let values = file.tensor(&name).values();
            file.tensors.retain(|tensor| tensor.name != name);
            values
        };
        let (keys, values) = (values(&mut file, "attn_k_b"), values(&mut file, "attn_v_b"));
        let key_len = latent_dim * plain_dim;
        let mut unsplit = Vec::new();
        for (keys, values) in keys.chunks(key_len).zip(values.chunks(value_dim * latent_dim)) {
            for row in 0..plain_dim {
                unsplit.extend(keys.iter().skip(row).step_by(plain_dim));
            }
            unsplit.extend(values);
        }
        let dims = [latent_dim, num_heads * (plain_dim + value_dim)];
        file.tensors.push(Tensor::floats(format!("blk.{layer}.attn_kv_b.weight"), &dims, &unsplit));
    }
    for (key, value) in [("key_length", 18_u32), ("value_length", 14)] {
        file.metadata.remove(&format!("deepseek2.attention.{key}_mla"));
        file.metadata.insert(format!("deepseek2.attention.{key}"), value);
    }
    file.bytes()
}

/// The file `bytes` with the projections of each delta net as one tensor, as older files of Qwen3-Next have them: queries,
/// keys, values and gates of one key head after those of another.
pub fn with_fused_delta_nets(bytes: &[u8]) -> Vec<u8> {
    const QKV: &str = "attn_qkv.weight";
    // Values of a row, key heads, and values per key head of queries, keys, values and gates.
    let (cols, num_heads, key_dim, group) = (32, 2, 10, 18);
    let checkpoint = Gguf::from_bytes(bytes.to_vec()).expect("a valid file");
    let rows_of = |name: &str| {
        let info = checkpoint.tensor(name).expect("a tensor of the file");
        let bytes = checkpoint.data(info);
        bytes.chunks_exact(4 * cols).map(<[u8]>::to_vec).collect::<Vec<_>>()
    };
    let mut tensors = Vec::new();
    for info in checkpoint.tensors() {
        let dims: Vec<usize> = info.dims().iter().rev().copied().collect();
        let Some(layer) = info.name().strip_suffix(QKV) else {
            if !info.name().ends_with("attn_gate.weight") {
                tensors.push((info.name().to_owned(), dims, checkpoint.data(info).to_vec()));
            }
            continue;
        };
        let (qkv, gates) = (rows_of(info.name()), rows_of(&format!("{layer}attn_gate.weight")));
        let mut fused = Vec::new();
        for head in 0..num_heads {
            let part = |first: usize, len: usize| first + head * len..first + (head + 1) * len;
            let keys = num_heads * key_dim;
            for rows in [part(0, key_dim), part(keys, key_dim), part(2 * keys, group)] {
                fused.extend(qkv[rows].concat());
            }
            fused.extend(gates[part(0, group)].concat());
        }
        let rows = qkv.len() + gates.len();
        tensors.push((format!("{layer}ssm_in.weight"), vec![rows, cols], fused));
    }
    let mut writer = GgufWriter::new(&metadata("qwen3next")).expect("valid metadata");
    for (name, dims, _) in &tensors {
        let dims: Vec<usize> = dims.iter().rev().copied().collect();
        writer.add_tensor(name, &dims, GgmlType::F32).expect("a valid tensor");
    }
    let mut payloads = writer.in_memory();
    for (name, _, values) in &tensors {
        payloads.write_tensor(name, values).expect("the size of the tensor");
    }
    payloads.finish().expect("all payloads")
}
