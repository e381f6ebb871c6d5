//! Encoders and models of embeddings.

use std::fs;
use std::path::Path;

use inferno_convert::{Conversion, ConvertError, ConvertOptions};
use inferno_gguf::Metadata;
use serde_json::{Value, json};
use tempfile::tempdir;

use crate::checkpoint::{Tensors, floats, llama, write};

fn convert(folder: &Path) -> Result<Metadata, ConvertError> {
    let conversion = Conversion::open(folder, &ConvertOptions::default())?;
    Ok(conversion.into_gguf()?.metadata().clone())
}

/// Converts the Llama model of these tests as an encoder (EuroBERT) whose pooling has this configuration.
fn with_pooling(pooling: &Value) -> Result<Metadata, ConvertError> {
    class_with_pooling("EuroBertModel", pooling)
}

/// Converts the Llama model of these tests as one of class `class` whose pooling has this configuration.
fn class_with_pooling(class: &str, pooling: &Value) -> Result<Metadata, ConvertError> {
    let (mut config, tensors) = llama();
    config["architectures"] = json!([class]);
    let folder = tempdir().expect("a folder");
    write(folder.path(), &config, &tensors);
    let modules = json!([{"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]);
    fs::create_dir(folder.path().join("1_Pooling")).expect("a folder");
    for (name, value) in [("modules.json", &modules), ("1_Pooling/config.json", pooling)] {
        fs::write(folder.path().join(name), value.to_string()).expect("the file is written");
    }
    convert(folder.path())
}

#[test]
fn pooling_is_that_of_sentence_transformers() {
    let cases = [
        (json!({"pooling_mode_cls_token": false, "pooling_mode_mean_tokens": true}), 1),
        (json!({"pooling_mode_cls_token": true, "pooling_mode_max_tokens": false}), 2),
        (json!({"pooling_mode_lasttoken": true}), 3),
        (json!({"embedding_dimension": 8, "pooling_mode": "cls"}), 2),
        (json!({"pooling_mode": ["lasttoken"]}), 3),
        // The newer key decides if a file has both, and the mean is the default.
        (json!({"pooling_mode": "cls", "pooling_mode_mean_tokens": true}), 2),
        (json!({"word_embedding_dimension": 8}), 1),
    ];
    for (pooling, expected) in cases {
        let metadata = with_pooling(&pooling).expect("it is converted");
        let found: u32 = metadata.required("eurobert.pooling_type").expect("a number");
        assert_eq!(found, expected, "{pooling}");
    }
}

#[test]
fn decoders_have_the_pooling_of_their_folder_too() {
    for (class, key) in
        [("LlamaModel", "llama.pooling_type"), ("LlamaForCausalLM", "llama.pooling_type")]
    {
        let metadata = class_with_pooling(class, &json!({"pooling_mode": "mean"}));
        let found: u32 = metadata.expect("it is converted").required(key).expect("a number");
        assert_eq!(found, 1, "{class}");
    }
}

/// **Source**: transformers' `create_causal_mask` (`is_causal` of any configuration), `Gemma3TextConfig`
/// (`use_bidirectional_attention`, false by default).
#[test]
fn the_direction_of_attention_is_that_of_the_configuration() {
    let causal = |class: &str, key: &str, value: Value| {
        let (mut config, tensors) = llama();
        config["architectures"] = json!([class]);
        config["sliding_window"] = json!(16);
        config[key] = value;
        let folder = tempdir().expect("a folder");
        write(folder.path(), &config, &tensors);
        let metadata = convert(folder.path()).expect("it is converted");
        let found = metadata.iter().find(|(key, _)| key.ends_with("attention.causal"));
        found.map(|(_, value)| value == &true.into())
    };
    assert_eq!(causal("LlamaModel", "is_causal", json!(true)), None);
    assert_eq!(causal("LlamaModel", "is_causal", json!(false)), Some(false));
    assert_eq!(causal("Gemma3TextModel", "other", Value::Null), Some(true));
    let key = "use_bidirectional_attention";
    assert_eq!(causal("Gemma3TextModel", key, json!(false)), Some(true));
    assert_eq!(causal("Gemma3TextModel", key, json!(true)), None);
}

#[test]
fn pooling_that_files_cannot_have_is_an_error() {
    let cases = [
        (json!({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": true}), "cls and mean"),
        (
            json!({"pooling_mode_mean_tokens": true, "pooling_mode_max_tokens": true}),
            "max and mean",
        ),
        (json!({"pooling_mode_weightedmean_tokens": true}), "weightedmean"),
        (json!({"pooling_mode_mean_sqrt_len_tokens": true}), "mean_sqrt_len_tokens"),
        (json!({"pooling_mode": ["cls", "mean"]}), "cls and mean"),
        (json!({"pooling_mode": "max"}), "max"),
    ];
    for (pooling, found) in cases {
        let message = with_pooling(&pooling).expect_err("an unsupported kind").to_string();
        let expected = format!("expected mean, cls or lasttoken, found {found}");
        assert!(message.contains("1_Pooling") && message.ends_with(&expected), "{message}");
    }
}

/// A ModernBERT of one layer.
fn modern_bert() -> (Value, Tensors) {
    let config = json!({
        "architectures": ["ModernBertModel"],
        "model_type": "modernbert",
        "hidden_size": 8,
        "intermediate_size": 8,
        "num_attention_heads": 2,
        "num_hidden_layers": 1,
        "global_attn_every_n_layers": 3,
        "global_rope_theta": 80000.0,
        "vocab_size": 4,
    });
    let shapes: [(&str, &[usize]); 8] = [
        ("embeddings.tok_embeddings", &[4, 8]),
        ("embeddings.norm", &[8]),
        ("layers.0.attn.Wqkv", &[24, 8]),
        ("layers.0.attn.Wo", &[8, 8]),
        ("layers.0.mlp_norm", &[8]),
        ("layers.0.mlp.Wi", &[16, 8]),
        ("layers.0.mlp.Wo", &[8, 8]),
        ("final_norm", &[8]),
    ];
    let tensors = shapes.map(|(name, shape)| (format!("{name}.weight"), floats(shape, |_| 1.0)));
    (config, tensors.into_iter().collect())
}

#[test]
fn layers_of_modern_bert_with_a_window_have_their_own_base_unless_it_is_null() {
    // As `ModernBertAttention` of transformers 4 reads `local_rope_theta`, and the default of its configuration.
    for (local, expected) in
        [(None, 10_000.0), (Some(json!(500.0)), 500.0), (Some(Value::Null), 80_000.0)]
    {
        let (mut config, tensors) = modern_bert();
        if let Some(local) = &local {
            config["local_rope_theta"] = local.clone();
        }
        let folder = tempdir().expect("a folder");
        write(folder.path(), &config, &tensors);
        let metadata = convert(folder.path()).expect("it is converted");
        let base = |key: &str| metadata.required::<f32>(key).expect("a number");
        assert_eq!(base("modern-bert.rope.freq_base"), 80_000.0, "{local:?}");
        assert_eq!(base("modern-bert.rope.freq_base_swa"), expected, "{local:?}");
    }
}
