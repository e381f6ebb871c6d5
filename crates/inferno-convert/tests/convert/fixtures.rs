//! Conversions are those of llama.cpp's converter. `compare/compare.py --fixtures` writes the expected results.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use inferno_convert::{Conversion, ConvertOptions};
use inferno_gguf::{Gguf, MetadataArray, MetadataValue};
use inferno_tokenizer::{EncodeOptions, Tokenizer};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

fn folder(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures")).join(name)
}

fn open(name: &str) -> (Gguf, Value) {
    let folder = folder(name);
    let conversion =
        Conversion::open(&folder, &ConvertOptions::default()).expect("it is converted");
    let expected = fs::read(folder.join("expected.json")).expect("the fixture exists");
    let gguf = conversion.into_gguf().expect("a valid file");
    (gguf, serde_json::from_slice(&expected).expect("valid JSON"))
}

fn to_json(value: &MetadataValue) -> Value {
    match value {
        MetadataValue::U32(number) => json!(number),
        MetadataValue::I32(number) => json!(number),
        MetadataValue::F32(number) => json!(number),
        MetadataValue::Bool(flag) => json!(flag),
        MetadataValue::String(text) => json!(text),
        MetadataValue::Array(MetadataArray::I32(numbers)) => json!(numbers),
        MetadataValue::Array(MetadataArray::F32(numbers)) => json!(numbers),
        MetadataValue::Array(MetadataArray::Bool(flags)) => json!(flags),
        MetadataValue::Array(MetadataArray::String(texts)) => {
            json!(texts.iter().collect::<Vec<_>>())
        }
        other => panic!("unexpected type {}", other.value_type()),
    }
}

fn is_equal(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::Array(found), Value::Array(expected)) => {
            found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| is_equal(a, b))
        }
        (Value::Number(found), Value::Number(expected)) => {
            found.as_f64().map(|x| x as f32) == expected.as_f64().map(|x| x as f32)
        }
        (found, expected) => found == expected,
    }
}

#[track_caller]
fn check(name: &str) {
    let (gguf, expected) = open(name);
    let keys = expected["keys"].as_object().expect("an object");
    let found: BTreeSet<&str> = gguf.metadata().iter().map(|(key, _)| key).collect();
    assert_eq!(found, keys.keys().map(String::as_str).collect::<BTreeSet<_>>(), "{name}");
    for (key, value) in gguf.metadata().iter() {
        // The expected name is that of the same pre-tokenizer.
        let found = to_json(value);
        assert!(is_equal(&found, &keys[key]), "{name}: {key} is {found}, expected {}", keys[key]);
    }
    let tensors = expected["tensors"].as_object().expect("an object");
    assert_eq!(gguf.tensors().len(), tensors.len(), "{name}");
    for info in gguf.tensors() {
        let expected = &tensors[info.name()];
        assert_eq!(json!(info.dims()), expected[0], "{name}: {info}");
        assert_eq!(json!(info.ggml_type().name()), expected[1], "{name}: {info}");
        // The last bit of an exponential function differs between libraries.
        if !info.name().ends_with("ssm_a") && info.name() != "rope_freqs.weight" {
            let digest = Sha256::digest(gguf.data(info));
            let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(json!(digest), expected[2], "{name}: {info}");
        }
    }
}

#[test]
fn llama_with_a_sentencepiece_tokenizer() {
    check("llama-pieces");
}

#[test]
fn a_mixture_of_experts() {
    check("qwen3moe");
}

#[test]
fn mamba() {
    check("mamba2");
}

#[test]
fn bert_with_a_word_piece_tokenizer() {
    check("bert");
}

#[test]
fn xlm_roberta_with_a_unigram_tokenizer() {
    check("xlm-roberta-pieces");
}

#[test]
fn word_pieces_are_those_of_the_original() {
    // By tokenizers: Tokenizer.from_file("tokenizer.json").encode(text).ids
    let path = folder("bert").join("reference.json");
    let reference: Value =
        serde_json::from_slice(&fs::read(path).expect("the fixture exists")).expect("valid JSON");
    let (gguf, _) = open("bert");
    let tokenizer = Tokenizer::from_metadata(gguf.metadata()).expect("a valid tokenizer");
    let options = EncodeOptions { add_special: true, parse_special: true };
    let text = reference["text"].as_str().expect("a text");
    assert_eq!(json!(tokenizer.encode(text, options)), reference["ids"]);
}

#[test]
fn parts_of_payloads_are_those_of_the_whole() {
    let (gguf, _) = open("llama-pieces");
    for info in gguf.tensors() {
        let (whole, size) = (gguf.data(info), info.ggml_type().block_bytes());
        for step in [size, 3 * size, 1000 * size] {
            let starts = (0..info.num_bytes()).step_by(step);
            let parts = starts.flat_map(|start| {
                let part = start..info.num_bytes().min(start + step);
                let bytes = gguf.part(info, part.clone());
                gguf.release_part(info, part);
                bytes
            });
            assert!(parts.eq(whole.iter().copied()), "{info} in parts of {step}");
        }
    }
}

#[test]
fn the_tokenizer_encodes_as_the_original() {
    // By transformers: AutoTokenizer.from_pretrained("qwen3moe")("the thin 12 <think>a").input_ids
    let (gguf, _) = open("qwen3moe");
    let tokenizer = Tokenizer::from_metadata(gguf.metadata()).expect("a valid tokenizer");
    let options = EncodeOptions { add_special: true, parse_special: true };
    let ids = tokenizer.encode("the thin 12 <think>a", options);
    assert_eq!(ids, [116, 257, 256, 104, 259, 32, 49, 50, 32, 266, 97]);
}
