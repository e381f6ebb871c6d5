//! What is wrong with a checkpoint is an error that names it.

use std::fs;
use std::path::Path;

use inferno_convert::{Conversion, ConvertOptions};
use serde_json::{Value, json};
use tempfile::tempdir;

use crate::checkpoint::{Tensors, floats, llama, tokenizer, write, write_tensors};

fn message_in(folder: &Path) -> String {
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
fn missing_files_are_named() {
    let (config, tensors) = llama();
    let folder = tempdir().expect("a folder");
    let message = message_in(folder.path());
    assert!(message.contains("config.json not found; expected a GGUF file"), "{message}");
    fs::write(folder.path().join("a.gguf"), b"").expect("it is written");
    let message = message_in(folder.path());
    assert!(message.ends_with("pass the GGUF file in the folder instead: a.gguf"), "{message}");
    fs::write(folder.path().join("b.gguf"), b"").expect("it is written");
    let message = message_in(folder.path());
    assert!(message.ends_with("instead: a.gguf, b.gguf"), "{message}");
    write(folder.path(), &config, &tensors);
    fs::remove_file(folder.path().join("model.safetensors")).expect("it exists");
    assert!(message_in(folder.path()).contains("model.safetensors not found"));
    fs::write(folder.path().join("pytorch_model.bin"), b"").expect("it is written");
    assert!(message_in(folder.path()).contains("pickles"), "{}", message_in(folder.path()));
}

#[test]
fn damaged_files_are_errors() {
    let (config, tensors) = llama();
    let folder = tempdir().expect("a folder");
    write(folder.path(), &config, &tensors);
    let path = folder.path().join("model.safetensors");
    let bytes = fs::read(&path).expect("it exists");
    for len in [0, 4, 100, bytes.len() - 1] {
        fs::write(&path, &bytes[..len]).expect("it is written");
        assert!(message_in(folder.path()).contains("model.safetensors"), "{len}");
    }
    for position in 0..bytes.len().min(600) {
        let mut changed = bytes.clone();
        changed[position] ^= 0x15;
        fs::write(&path, &changed).expect("it is written");
        // Whatever the change means, it does not panic.
        let _ = Conversion::open(folder.path(), &ConvertOptions::default());
    }
}

#[test]
fn shards_match_their_index() {
    let (config, tensors) = llama();
    let folder = tempdir().expect("a folder");
    write(folder.path(), &config, &tensors);
    fs::remove_file(folder.path().join("model.safetensors")).expect("it exists");
    let names = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];
    let half = |second: bool| -> Tensors {
        let belongs = |name: &str| name.contains("mlp") == second;
        tensors
            .iter()
            .filter(|(name, _)| belongs(name))
            .map(|(name, it)| (name.clone(), it.clone()))
            .collect()
    };
    for (index, name) in names.iter().enumerate() {
        write_tensors(&folder.path().join(name), &half(index == 1));
    }
    let map: serde_json::Map<String, Value> = tensors
        .keys()
        .map(|tensor| (tensor.clone(), json!(names[usize::from(tensor.contains("mlp"))])))
        .collect();
    let write_index = |map: &serde_json::Map<String, Value>| {
        let index = json!({ "weight_map": map }).to_string();
        fs::write(folder.path().join("model.safetensors.index.json"), index)
            .expect("it is written");
    };
    write_index(&map);
    Conversion::open(folder.path(), &ConvertOptions::default()).expect("it is converted");

    let mut further = map.clone();
    further.insert("model.new.weight".to_owned(), json!(names[0]));
    write_index(&further);
    assert!(message_in(folder.path()).contains("model.new.weight is listed"));
    further.insert("model.new.weight".to_owned(), json!("../secret.safetensors"));
    write_index(&further);
    assert!(message_in(folder.path()).contains("not the name of a file"));
    write_index(&map);
    fs::remove_file(folder.path().join(names[1])).expect("it exists");
    assert!(message_in(folder.path()).contains("missing; the index lists it for 3 tensors"));
}

#[test]
fn a_missing_shard_is_named_without_an_index() {
    let (config, tensors) = llama();
    let folder = tempdir().expect("a folder");
    write(folder.path(), &config, &tensors);
    let whole = folder.path().join("model.safetensors");
    fs::rename(whole, folder.path().join("model-00001-of-00003.safetensors")).expect("it exists");
    let message = message_in(folder.path());
    assert!(message.contains("model-00002-of-00003.safetensors: missing"), "{message}");
    assert!(message.contains("all 3 files"), "{message}");
}

#[test]
fn invalid_configurations_are_errors() {
    let (config, tensors) = llama();
    let folder = tempdir().expect("a folder");
    write(folder.path(), &config, &tensors);
    for (text, part) in [
        ("{\"architectures\": [", "invalid JSON"),
        ("[]", "expected a JSON object"),
        ("{}", "architectures"),
        ("{\"architectures\": \"LlamaForCausalLM\"}", "architectures"),
    ] {
        fs::write(folder.path().join("config.json"), text).expect("it is written");
        let message = message_in(folder.path());
        assert!(message.contains("config.json") && message.contains(part), "{text}: {message}");
    }
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
fn what_is_not_a_folder_is_named() {
    let folder = tempdir().expect("a folder");
    let path = folder.path().join("q.gguf");
    assert!(message_in(&path).contains("there is no such folder"), "{}", message_in(&path));
    fs::write(&path, "GGUF and more").expect("it is written");
    assert!(message_in(&path).contains("this is a GGUF file"), "{}", message_in(&path));
    assert!(message_in(&path).contains("inferno quantize"), "{}", message_in(&path));
    fs::write(&path, "text").expect("it is written");
    assert!(message_in(&path).contains("this is not a folder"), "{}", message_in(&path));
    let reference = message_in("hf:OWNER/REPO".as_ref());
    assert!(reference.contains("download it first: hf download"), "{reference}");
}

#[test]
fn adapters_and_pointers_are_named() {
    let folder = tempdir().expect("a folder");
    fs::write(folder.path().join("adapter_config.json"), "{}").expect("it is written");
    assert!(message_in(folder.path()).contains("this is a LoRA adapter"));
    let (config, tensors) = llama();
    write(folder.path(), &config, &tensors);
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1000\n";
    fs::write(folder.path().join("model.safetensors"), pointer).expect("it is written");
    let message = message_in(folder.path());
    assert!(message.contains("Git LFS pointer") && message.contains("git lfs pull"), "{message}");
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
