//! Small vocabularies of every kind, and the ids that llama.cpp gives with them (see `../fixtures/make_fixtures.py`).
//!
//! `INFERNO_TOKENIZER_FIXTURES` names another folder that the same script has written, for a longer run.

use std::path::PathBuf;

use inferno_gguf::{Gguf, Metadata};
use inferno_tokenizer::{EncodeOptions, Tokenizer};
use serde_json::Value;

fn folder() -> PathBuf {
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");
    std::env::var_os("INFERNO_TOKENIZER_FIXTURES")
        .unwrap_or(own.into())
        .into()
}

fn read(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).unwrap()
}

fn metadata(vocabulary: &str) -> Metadata {
    let gguf = Gguf::open(folder().join(format!("{vocabulary}.gguf"))).unwrap();
    gguf.metadata().clone()
}

fn ids(value: &Value) -> Vec<u32> {
    serde_json::from_value(value.clone()).unwrap()
}

#[test]
fn every_kind_of_vocabulary_gives_the_ids_of_the_reference() {
    let texts: Vec<String> = serde_json::from_str(&read("texts.json")).unwrap();
    let mut wrong = Vec::new();
    for line in read("expected.jsonl").lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let options = EncodeOptions {
            add_special: case["add_special"].as_bool().unwrap(),
            parse_special: case["parse_special"].as_bool().unwrap(),
        };
        for changes in case["metadata"].as_array().unwrap() {
            let mut metadata = metadata(case["vocabulary"].as_str().unwrap());
            for (key, value) in changes.as_object().unwrap() {
                match value {
                    Value::Bool(flag) => metadata.insert(key.as_str(), *flag),
                    Value::String(text) => metadata.insert(key.as_str(), text.as_str()),
                    other => panic!("{key} is {other}"),
                };
            }
            let tokenizer = Tokenizer::from_metadata(&metadata).unwrap();
            let label = format!("{} with {changes}, {options:?}", case["vocabulary"]);
            for (text, expected) in texts.iter().zip(case["ids"].as_array().unwrap()) {
                let (found, expected) = (tokenizer.encode(text, options), ids(expected));
                if found != expected {
                    wrong.push(format!(
                        "{label}: {text:?}\n  found    {found:?}\n  expected {expected:?}"
                    ));
                }
            }
            let ends: Vec<u32> = (0..tokenizer.vocab_size() as u32)
                .filter(|&id| tokenizer.is_end_of_generation(id))
                .collect();
            assert_eq!(ends, ids(&case["end_of_generation"]), "{label}");
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong\n{}",
        wrong.len(),
        wrong[..wrong.len().min(12)].join("\n")
    );
}
