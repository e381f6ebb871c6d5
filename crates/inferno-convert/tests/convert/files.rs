//! Files of a checkpoint that are missing, damaged or of another kind are errors that name them.

use std::fs;

use inferno_convert::{Conversion, ConvertOptions};
use serde_json::{Value, json};
use tempfile::tempdir;

use crate::checkpoint::{Tensors, llama, write, write_tensors};
use crate::errors::message_in;

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
