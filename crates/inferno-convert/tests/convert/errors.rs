//! What is wrong with a checkpoint is an error that names it.

use std::fs;
use std::path::Path;

use inferno_convert::{Conversion, ConvertOptions, WeightType};
use serde_json::{Value, json};
use tempfile::tempdir;

use crate::checkpoint::{self, Tensors, floats, llama, llama_as, tokenizer, write};

/// The error of the checkpoint in a folder.
pub(crate) fn message_in(folder: &Path) -> String {
    Conversion::open(folder, &ConvertOptions::default())
        .expect_err("an invalid checkpoint")
        .to_string()
}

#[track_caller]
fn check(change: impl Fn(&mut Value, &mut Tensors), parts: &[&str]) {
    let (mut config, mut tensors) = llama();
    change(&mut config, &mut tensors);
    let folder = tempdir().expect("a folder");
    write(folder.path(), &config, &tensors);
    let message = message_in(folder.path());
    for part in parts {
        assert!(message.contains(part), "{message:?} does not contain {part:?}");
    }
}

#[test]
fn the_checkpoint_of_these_tests_is_valid() {
    let (config, tensors) = llama();
    let folder = tempdir().expect("a folder");
    write(folder.path(), &config, &tensors);
    Conversion::open(folder.path(), &ConvertOptions::default()).expect("it is converted");
}

#[test]
fn an_unknown_architecture_is_named_with_where_the_supported_ones_are_listed() {
    let parts = ["architecture NewForCausalLM is not supported", "`inferno convert --list`"];
    check(|config, _| config["architectures"] = json!(["NewForCausalLM"]), &parts);
}

#[test]
fn the_text_model_of_an_unknown_model_is_converted() {
    let (text, mut tensors) = llama();
    tensors.insert("vision_model.patch_embed.weight".to_owned(), floats(&[2, 2], |_| 0.0));
    let config = json!({"architectures": ["NewVisionModel"], "text_config": text});
    let folder = tempdir().expect("a folder");
    write(folder.path(), &config, &tensors);
    let conversion =
        Conversion::open(folder.path(), &ConvertOptions::default()).expect("it is converted");
    assert!(
        conversion.notes()[0].contains("1 tensor of encoders for images or audio is not"),
        "{:?}",
        conversion.notes()
    );
}

/// Values of keys that change what a model computes and that files have no key for.
#[test]
fn values_that_an_architecture_does_not_have_are_rejected() {
    let latent = json!({
        "kv_lora_rank": 4,
        "qk_nope_head_dim": 4,
        "qk_rope_head_dim": 4,
        "v_head_dim": 4,
    });
    let llama4 = json!({"interleave_moe_layer_step": 1, "intermediate_size_mlp": 8});
    let nemotron_h = json!({
        "conv_kernel": 4,
        "head_dim": 4,
        "layers_block_type": ["attention"],
        "mamba_head_dim": 4,
        "mamba_num_heads": 2,
        "n_groups": 1,
        "ssm_state_size": 4,
    });
    let gemma = json!({"head_dim": 4, "hidden_act": "gelu_pytorch_tanh"});
    let experts = json!({"num_experts": 2, "num_experts_per_tok": 1});
    for (class, base, key, value, usual) in [
        ("DeepseekV3ForCausalLM", &latent, "rope_interleave", json!(false), json!(true)),
        ("Llama4ForCausalLM", &llama4, "floor_scale", json!(4096), json!(8192.0)),
        ("Llama4ForCausalLM", &llama4, "attn_scale", json!(0.2), json!(0.1)),
        ("Llama4ForCausalLM", &llama4, "attn_temperature_tuning", json!(false), json!(4)),
        ("Llama4ForCausalLM", &llama4, "use_qk_norm", json!(false), json!(true)),
        ("OlmoeForCausalLM", &experts, "clip_qkv", json!(8.0), json!(null)),
        ("NemotronHForCausalLM", &nemotron_h, "mlp_hidden_act", json!("silu"), json!("relu2")),
        ("NemotronHForCausalLM", &nemotron_h, "mamba_hidden_act", json!("gelu"), json!("silu")),
        (
            "GptOssForCausalLM",
            &json!({"sliding_window": 8}),
            "swiglu_alpha",
            json!(2),
            json!(1.702),
        ),
        ("NomicBertModel", &json!({}), "hidden_act", json!("gelu"), json!("silu")),
        (
            "ModernBertForSequenceClassification",
            &json!({}),
            "classifier_activation",
            json!("relu"),
            json!("gelu"),
        ),
        ("GemmaForCausalLM", &gemma, "use_bidirectional_attention", json!(true), json!(null)),
        ("Gemma3ForCausalLM", &gemma, "use_bidirectional_attention", json!(true), json!(false)),
    ] {
        let open = |value: Value| {
            let mut keys = base.clone();
            keys[key] = value;
            let (config, mut tensors) = llama_as(class, &keys);
            tensors.retain(|name, _| name.contains("embed_tokens"));
            if class.contains("Bert") {
                tensors.clear();
                let name = if class.starts_with("Nomic") { "word" } else { "tok" };
                let name = format!("embeddings.{name}_embeddings.weight");
                tensors.insert(name, floats(&[4, 8], |_| 1.0));
            }
            checkpoint::convert(&(config, tensors), WeightType::Auto)
        };
        let message = open(value).expect_err("another value").to_string();
        assert!(message.contains(&format!("\"{key}\": expected")), "{class}: {message}");
        if let Err(error) = open(usual) {
            panic!("{class}: {error}");
        }
    }
}

/// Models with 128 experts have no normalized heads, unlike others.
#[test]
fn normalized_heads_of_llama_4_follow_from_the_number_of_experts() {
    for (experts, is_normalized) in [(128, false), (16, true)] {
        for stated in [false, true] {
            let keys = json!({
                "interleave_moe_layer_step": 1,
                "intermediate_size_mlp": 8,
                "num_local_experts": experts,
                "use_qk_norm": stated,
            });
            let found =
                checkpoint::convert(&llama_as("Llama4ForCausalLM", &keys), WeightType::Auto);
            assert_eq!(found.is_ok(), stated == is_normalized, "{experts} experts");
        }
    }
}

#[test]
fn keys_are_named() {
    check(
        |config, _| _ = config.as_object_mut().expect("an object").remove("vocab_size"),
        &["\"vocab_size\" is missing"],
    );
    check(
        |config, _| config["vocab_size"] = json!(4_000_000_000_u32),
        &["\"vocab_size\": expected at most 16777216", "found 4000000000"],
    );
    check(
        |config, _| config["num_attention_heads"] = json!("two"),
        &["num_attention_heads", "found \"two\""],
    );
    check(
        |config, _| config["rope_scaling"] = json!({"rope_type": "new"}),
        &["rope_type", "found new"],
    );
}

#[test]
fn sizes_that_lists_follow_from_are_limited() {
    check(
        |config, _| config["num_hidden_layers"] = json!(4_000_000_000_u32),
        &["\"num_hidden_layers\": expected at most 65536, found 4000000000"],
    );
    check(
        |config, _| config["head_dim"] = json!(4_000_000_000_u32),
        &["\"head_dim\": expected at most 65536, found 4000000000"],
    );
    check(
        |config, _| config["hidden_size"] = json!(4_000_000_000_u32),
        &["\"head_dim\": expected at most 65536, found 2000000000"],
    );
}

#[test]
fn numbers_that_json_does_not_have_are_errors_only_for_keys_that_are_read() {
    let (mut config, tensors) = llama();
    let folder = tempdir().expect("a folder");
    config["time_step_limit"] = json!([0.0, "number"]);
    write(folder.path(), &config, &tensors);
    let path = folder.path().join("config.json");
    let replace = |number: &str| {
        let text = config.to_string().replace("\"number\"", number);
        fs::write(&path, text).expect("it is written");
    };
    for number in ["Infinity", "-Infinity", "NaN"] {
        replace(number);
        Conversion::open(folder.path(), &ConvertOptions::default()).expect("it is converted");
    }
    config["rms_norm_eps"] = json!("number");
    let text = config.to_string().replace("\"number\"", "NaN");
    fs::write(&path, text).expect("it is written");
    let message = message_in(folder.path());
    assert!(message.contains("\"rms_norm_eps\": expected a number, found \"NaN\""), "{message}");
}

#[test]
fn activations_that_the_architecture_does_not_have_are_reported() {
    check(|config, _| config["hidden_act"] = json!("relu"), &["\"hidden_act\"", "silu", "relu"]);
    let (mut config, tensors) = llama();
    config["hidden_act"] = json!("silu");
    let folder = tempdir().expect("a folder");
    write(folder.path(), &config, &tensors);
    Conversion::open(folder.path(), &ConvertOptions::default()).expect("it is converted");
}

#[test]
fn windows_of_qwen_are_reported() {
    let change = |last: usize| {
        move |config: &mut Value, _: &mut Tensors| {
            config["architectures"] = json!(["Qwen2ForCausalLM"]);
            config["use_sliding_window"] = json!(true);
            config["sliding_window"] = json!(4);
            config["max_window_layers"] = json!(last);
        }
    };
    check(change(0), &["\"use_sliding_window\": expected false, found true"]);
    let (mut config, mut tensors) = llama();
    change(1)(&mut config, &mut tensors);
    let folder = tempdir().expect("a folder");
    write(folder.path(), &config, &tensors);
    Conversion::open(folder.path(), &ConvertOptions::default()).expect("no layer has a window");
}

#[test]
fn mixtures_whose_weights_are_normalized_otherwise_are_reported() {
    for (class, found) in
        [("Qwen3MoeForCausalLM", false), ("Qwen2MoeForCausalLM", true), ("OlmoeForCausalLM", true)]
    {
        let expected = format!("\"norm_topk_prob\": expected {}, found {found}", !found);
        check(
            |config, _| {
                config["architectures"] = json!([class]);
                config["norm_topk_prob"] = json!(found);
            },
            &[&expected],
        );
    }
}

#[test]
fn limits_of_time_steps_are_reported() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/mamba2");
    let folder = tempdir().expect("a folder");
    for file in fs::read_dir(&fixture).expect("the fixture") {
        let file = file.expect("a file");
        fs::copy(file.path(), folder.path().join(file.file_name())).expect("it is copied");
    }
    let path = folder.path().join("config.json");
    let mut config: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let mut set = |limits: Value, infinity: &str| {
        config["time_step_limit"] = limits;
        fs::write(&path, config.to_string().replace("\"infinity\"", infinity)).unwrap();
    };
    let unlimited = [json!([0.0, "infinity"]), json!([0, "Infinity"]), Value::Null];
    for limits in unlimited.into_iter().chain([json!([0.0, {"__float__": "Infinity"}])]) {
        set(limits, "Infinity");
        Conversion::open(folder.path(), &ConvertOptions::default()).expect("it is converted");
    }
    for limits in [json!([0.001, "infinity"]), json!([0.0, 0.1]), json!("none")] {
        set(limits, "Infinity");
        let message = message_in(folder.path());
        assert!(message.contains("\"time_step_limit\": expected [0, Infinity]"), "{message}");
    }
}

#[test]
fn tensors_without_a_role_are_named() {
    check(
        |_, tensors| {
            _ = tensors.insert("model.layers.0.new.weight".to_owned(), floats(&[2], |_| 0.0))
        },
        &["model.layers.0.new.weight has no role in architecture llama"],
    );
}

#[test]
fn shapes_are_checked() {
    check(
        |config, _| config["num_attention_heads"] = json!(3),
        &["self_attn.q_proj.weight", "shape [8, 8]"],
    );
}

#[test]
fn tensors_without_dimensions_are_errors_where_rows_are_needed() {
    check(
        |_, tensors| {
            let name = "model.layers.0.self_attn.q_proj.weight";
            _ = tensors.insert(name.to_owned(), floats(&[], |_| 0.0));
        },
        &["self_attn.q_proj.weight", "shape []"],
    );
}

#[test]
fn missing_experts_are_counted() {
    check(
        |_, tensors| {
            let name = "model.layers.0.block_sparse_moe.experts.2.w1.weight";
            tensors.insert(name.to_owned(), floats(&[8, 8], |_| 0.0));
        },
        &["blk.0.ffn_gate_exps.weight", "expected 3 experts, found 1"],
    );
}

#[test]
fn an_unknown_pre_tokenizer_is_an_error_unless_it_is_named() {
    let (config, tensors) = llama();
    let folder = tempdir().expect("a folder");
    write(folder.path(), &config, &tensors);
    let mut changed = tokenizer();
    changed["pre_tokenizer"] = json!({"type": "Split", "pattern": {"Regex": "o"}, "behavior": "Isolated", "invert": false});
    fs::write(folder.path().join("tokenizer.json"), changed.to_string()).expect("it is written");
    assert!(message_in(folder.path()).contains("--pre NAME"));
    let options =
        ConvertOptions { pre_tokenizer: Some("gpt-2".to_owned()), ..ConvertOptions::default() };
    Conversion::open(folder.path(), &options).expect("it is converted");
}

#[test]
fn tensors_of_further_layers_are_named() {
    check(
        |_, tensors| {
            let further = tensors.iter().filter_map(|(name, tensor)| {
                Some((
                    name.replace("layers.0.", "layers.1."),
                    name.contains("layers.0.").then_some(tensor)?.clone(),
                ))
            });
            let further: Vec<_> = further.collect();
            tensors.extend(further);
        },
        &["is of layer 1, counted from 0, but config.json has 1 layers"],
    );
}

#[test]
fn unknown_names_of_pre_tokenizers_are_rejected() {
    let (config, tensors) = llama();
    let folder = tempdir().expect("a folder");
    write(folder.path(), &config, &tensors);
    let open = |name: &str| {
        let pre_tokenizer = Some(name.to_owned());
        Conversion::open(folder.path(), &ConvertOptions { pre_tokenizer, ..Default::default() })
    };
    open("llama-bpe").expect("it is known");
    let message = open("foo").expect_err("an unknown name").to_string();
    assert!(message.contains("there is no pre-tokenizer \"foo\""), "{message}");
}
