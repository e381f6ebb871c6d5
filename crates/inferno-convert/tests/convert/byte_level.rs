//! Byte-level vocabularies: what GGUF files cannot have, and the tokens with a role.

use std::fs;
use std::path::Path;

use inferno_convert::{Conversion, ConvertError, ConvertOptions};
use inferno_gguf::Metadata;
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

use crate::checkpoint::{llama, tokenizer, write};

/// Writes the Llama model of the tests with a change of its tokenizer.
fn written(change: impl FnOnce(&mut Value)) -> TempDir {
    let (config, tensors) = llama();
    let folder = tempdir().expect("a folder");
    write(folder.path(), &config, &tensors);
    let mut file = tokenizer();
    change(&mut file);
    write_json(folder.path(), "tokenizer.json", &file);
    folder
}

fn write_json(folder: &Path, name: &str, value: &Value) {
    fs::write(folder.join(name), value.to_string()).expect("the file is written");
}

fn open(folder: &Path, pre_tokenizer: Option<&str>) -> Result<Conversion, ConvertError> {
    let pre_tokenizer = pre_tokenizer.map(str::to_owned);
    Conversion::open(folder, &ConvertOptions { pre_tokenizer, ..ConvertOptions::default() })
}

fn notes(folder: &Path) -> String {
    open(folder, None).expect("it is converted").notes().join(" ")
}

fn split(pattern: &str) -> Value {
    json!({"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false},
        {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false},
    ]})
}

/// The expression of Qwen 2.
const QWEN2: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

#[test]
fn rare_words_that_the_pre_tokenizer_splits_otherwise_are_named() {
    let folder = written(|file| file["pre_tokenizer"] = split(QWEN2));
    assert_eq!(notes(folder.path()), "");
    // Numbers of ASCII alone, which the common text has as well.
    let other = QWEN2.replace(r"|\p{N}|", "|[0-9]|");
    let folder = written(|file| file["pre_tokenizer"] = split(&other));
    let notes = notes(folder.path());
    assert!(
        notes.contains("qwen2 splits rare text differently from tokenizer.json, for example"),
        "{notes}"
    );
    assert!(notes.contains("\"١٢٣٤\""), "{notes}");
}

#[test]
fn a_space_before_texts_is_an_error_unless_the_pre_tokenizer_is_named() {
    let folder = written(|file| file["pre_tokenizer"]["add_prefix_space"] = json!(true));
    let message = open(folder.path(), None).expect_err("unsupported").to_string();
    assert!(message.contains("add_prefix_space") && message.contains("--pre NAME"), "{message}");
    let conversion = open(folder.path(), Some("gpt-2")).expect("it is converted");
    let note = &conversion.notes()[0];
    assert!(note.contains("add_prefix_space") && note.contains("tokens will differ"), "{note}");
}

#[test]
fn affixes_of_words_are_an_error() {
    for key in ["end_of_word_suffix", "continuing_subword_prefix"] {
        let folder = written(|file| file["model"][key] = json!(""));
        open(folder.path(), None).expect("it is converted");
        let folder = written(|file| file["model"][key] = json!("</w>"));
        let message = open(folder.path(), Some("gpt-2")).expect_err("unsupported").to_string();
        assert!(message.contains(key), "{message}");
    }
}

/// The ids of the tokens that end texts and turns.
fn ends(folder: &Path) -> (Option<u32>, Option<u32>) {
    let metadata = metadata(folder);
    let id = |role: &str| metadata.optional(&format!("tokenizer.ggml.{role}_token_id")).unwrap();
    (id("eos"), id("eot"))
}

fn metadata(folder: &Path) -> Metadata {
    let conversion = open(folder, None).expect("it is converted");
    conversion.into_gguf().expect("a valid file").metadata().clone()
}

#[test]
fn the_first_of_several_ends_in_a_configuration_ends_texts() {
    let with = |in_model: Value, in_generation: Value, in_tokenizer: Value| {
        let folder = written(|_| {});
        let (mut config, _) = llama();
        config["eos_token_id"] = in_model;
        write_json(folder.path(), "config.json", &config);
        let generation = json!({"eos_token_id": in_generation});
        write_json(folder.path(), "generation_config.json", &generation);
        write_json(folder.path(), "tokenizer_config.json", &json!({"eos_token": in_tokenizer}));
        ends(folder.path())
    };
    let none = || Value::Null;
    assert_eq!(with(none(), none(), none()), (None, None));
    assert_eq!(with(json!([2, 1, 0]), none(), none()), (Some(2), Some(1)));
    assert_eq!(with(json!([2]), json!([2, 0]), none()), (Some(2), Some(0)));
    assert_eq!(with(none(), json!([1, 2]), none()), (Some(1), Some(2)));
    assert_eq!(with(none(), json!(1), none()), (Some(1), None));
    // Numbers that the vocabulary does not have, and a tokenizer that names its token.
    assert_eq!(with(json!([9, 1]), none(), none()), (Some(1), None));
    assert_eq!(with(json!([1, 2]), none(), json!("<|end|>")), (Some(3), None));
    assert_eq!(with(json!(2), json!([0, 1]), none()), (Some(2), None));
}

/// Gemma 4's `generation_config.json` has such a list, which llama.cpp's converter writes as 32-bit integers.
#[test]
fn tokens_that_must_not_be_generated_are_stated() {
    let folder = written(|_| {});
    let key = "tokenizer.ggml.suppress_tokens";
    assert_eq!(metadata(folder.path()).get(key), None);
    let generation = json!({"suppress_tokens": [3, 1, 258883]});
    write_json(folder.path(), "generation_config.json", &generation);
    assert_eq!(metadata(folder.path()).get(key), Some(&vec![3_i32, 1].into()));
}
