//! Small vocabularies of every tokenizer model, with llama.cpp's ids, or those of Hugging Face for WordPiece and words with capitals
//! (see `../fixtures/make_fixtures.py`, `make_overlapping.py`, `make_wordpiece.py` and `make_cased.py`).
//!
//! `INFERNO_TOKENIZER_FIXTURES` is another folder written by `make_fixtures.py`, and `INFERNO_WORDPIECE_FIXTURES` one by
//! `make_wordpiece.py`, for a longer run.

use std::path::Path;

use inferno_gguf::{Gguf, Metadata};
use inferno_tokenizer::{EncodeOptions, Tokenizer};
use serde_json::Value;

const OWN_FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");

fn metadata(folder: &Path, vocabulary: &str) -> Metadata {
    let gguf = Gguf::open(folder.join(format!("{vocabulary}.gguf"))).unwrap();
    gguf.metadata().clone()
}

fn ids(value: &Value) -> Vec<u32> {
    serde_json::from_value(value.clone()).unwrap()
}

#[test]
fn every_tokenizer_model_matches_the_reference_ids() {
    let folder = std::env::var_os("INFERNO_TOKENIZER_FIXTURES").unwrap_or(OWN_FOLDER.into());
    check(folder.as_ref(), "texts.json", "expected.jsonl");
}

#[test]
fn word_piece_matches_transformers() {
    let folder = std::env::var_os("INFERNO_WORDPIECE_FIXTURES").unwrap_or(OWN_FOLDER.into());
    check(folder.as_ref(), "wordpiece_texts.json", "wordpiece_expected.jsonl");
}

#[test]
fn words_with_capitals_match_the_patterns_of_their_models() {
    check(OWN_FOLDER.as_ref(), "cased_texts.json", "cased_expected.jsonl");
}

#[test]
fn overlapping_special_tokens_match_the_reference() {
    let folder = OWN_FOLDER.as_ref();
    check(folder, "overlapping_texts.json", "overlapping_expected.jsonl");
}

fn check(folder: &Path, texts: &str, cases: &str) {
    let read = |name| std::fs::read_to_string(folder.join(name)).unwrap();
    let texts: Vec<String> = serde_json::from_str(&read(texts)).unwrap();
    let mut wrong = Vec::new();
    for line in read(cases).lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let options = EncodeOptions {
            add_special: case["add_special"].as_bool().unwrap(),
            parse_special: case["parse_special"].as_bool().unwrap(),
        };
        for changes in case["metadata"].as_array().unwrap() {
            let mut metadata = metadata(folder, case["vocabulary"].as_str().unwrap());
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
            if let Some(expected) = case.get("end_of_generation") {
                let all = 0..tokenizer.vocab_size() as u32;
                let ends = all.filter(|&id| tokenizer.is_end_of_generation(id));
                assert_eq!(ends.collect::<Vec<_>>(), ids(expected), "{label}");
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong[..wrong.len().min(12)].join("\n"));
}
