//! Rerankers made of Qwen 3. `compare/rerankers.py` writes the checkpoints; llama.cpp's converter wrote `qwen3-judge.gguf`.

use std::fs;
use std::path::{Path, PathBuf};

use inferno_convert::{Conversion, ConvertError, ConvertOptions};
use inferno_gguf::{Gguf, StringArray};
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

use crate::checkpoint::{floats, write_tensors};

const TEMPLATE: &str = "tokenizer.chat_template.rerank";

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures")).join(name)
}

fn convert(folder: &Path) -> Result<Gguf, ConvertError> {
    Conversion::open(folder, &ConvertOptions::default())?.into_gguf()
}

/// A copy of a fixture in a folder with this name, without its README, and with another configuration.
fn copy(fixture_name: &str, name: &str, change: impl Fn(&mut Value)) -> (TempDir, PathBuf) {
    let parent = tempdir().expect("a folder");
    let folder = parent.path().join(name);
    fs::create_dir(&folder).expect("it is new");
    for file in ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"] {
        fs::copy(fixture(fixture_name).join(file), folder.join(file)).expect("the fixture exists");
    }
    let config = fs::read(folder.join("config.json")).expect("it exists");
    let mut config = serde_json::from_slice(&config).expect("it is JSON");
    change(&mut config);
    fs::write(folder.join("config.json"), config.to_string()).expect("it is written");
    (parent, folder)
}

fn bytes(gguf: &Gguf, name: &str) -> Vec<u8> {
    gguf.data(gguf.tensor(name).expect("the tensor exists")).to_vec()
}

#[test]
fn a_decoder_that_answers_is_converted_as_by_llama_cpp() {
    let theirs = "../inferno-model/tests/fixtures/encoders/qwen3-judge.gguf";
    let expected = Path::new(env!("CARGO_MANIFEST_DIR")).join(theirs);
    let expected = Gguf::open(expected).expect("the fixture exists");
    // The name of the pre-tokenizer was given to llama.cpp's converter as well.
    let options =
        ConvertOptions { pre_tokenizer: Some("qwen2".to_owned()), ..ConvertOptions::default() };
    let found = Conversion::open(&fixture("qwen3-judge"), &options).expect("it is converted");
    let found = found.into_gguf().expect("a valid file");
    let keys = |gguf: &Gguf| {
        let keys = gguf.metadata().iter().filter(|(key, _)| !key.starts_with("general."));
        let mut keys: Vec<_> = keys.map(|(key, value)| format!("{key}: {value:?}")).collect();
        keys.sort();
        keys
    };
    assert_eq!(keys(&found), keys(&expected));
    let names = |gguf: &Gguf| {
        let mut names: Vec<_> = gguf
            .tensors()
            .iter()
            .map(|info| format!("{} {:?}", info.name(), info.dims()))
            .collect();
        names.sort();
        names
    };
    assert_eq!(names(&found), names(&expected));
    for info in expected.tensors() {
        assert!(bytes(&found, info.name()) == bytes(&expected, info.name()), "{}", info.name());
    }
}

#[test]
fn embeddings_that_are_the_head_have_the_rows_of_answers() {
    let (_parent, folder) = copy("qwen3-judge", "my-Qwen3-Reranker-0.6B", |config| {
        config["tie_word_embeddings"] = json!(true)
    });
    let gguf = convert(&folder).expect("it is converted");
    let tokens: &StringArray = gguf.metadata().required("tokenizer.ggml.tokens").expect("tokens");
    let row = |text: &str| {
        let id = tokens.iter().position(|token| token == text).expect("a token");
        let (row_len, table) = (32 * size_of::<u16>(), bytes(&gguf, "token_embd.weight"));
        table[id * row_len..][..row_len].to_vec()
    };
    assert_eq!(bytes(&gguf, "cls.output.weight"), [row("yes"), row("no")].concat());
}

#[test]
fn rerankers_are_recognized_by_their_name() {
    let is_reranker = |name: &str, change: &dyn Fn(&mut Value)| {
        let (_parent, folder) = copy("qwen3-judge", name, change);
        let gguf = convert(&folder).expect("it is converted");
        let has_classifier = gguf.tensor("cls.output.weight").is_some();
        assert_eq!(gguf.metadata().contains(TEMPLATE), has_classifier);
        assert_eq!(gguf.tensor("output.weight").is_none(), has_classifier);
        has_classifier
    };
    assert!(!is_reranker("Qwen3-0.6B", &|_| ()));
    assert!(is_reranker("qwen3-reranker-4B", &|_| ()));
    assert!(
        is_reranker("model", &|config| config["_name_or_path"] = json!("Qwen/Qwen3-Reranker-8B"))
    );
}

#[test]
fn a_reranker_without_the_answers_is_an_error() {
    let (_parent, folder) = copy("qwen3-judge", "qwen3-reranker", |_| ());
    let path = folder.join("tokenizer.json");
    let tokenizer = fs::read_to_string(&path).expect("it exists");
    fs::write(&path, tokenizer.replace("\"yes\":", "\"yea\":")).expect("it is written");
    let message = convert(&folder).expect_err("no token").to_string();
    assert!(message.contains("no token \"yes\""), "{message}");
}

#[test]
fn a_classifier_has_one_output() {
    let gguf = convert(&fixture("qwen3-classifier")).expect("it is converted");
    assert_eq!(gguf.tensor("cls.output.weight").expect("a classifier").dims(), [32, 1]);
    assert_eq!(gguf.metadata().required::<u32>("qwen3.pooling_type").expect("it is set"), 4);
    assert!(gguf.metadata().contains(TEMPLATE));

    let (_parent, folder) = copy("qwen3-classifier", "sentiment", |_| ());
    assert!(!convert(&folder).expect("it is converted").metadata().contains(TEMPLATE));
    let scores = [("score.weight".to_owned(), floats(&[3, 32], |_| 0.0))];
    write_tensors(&folder.join("model.safetensors"), &scores.into_iter().collect());
    let message = convert(&folder).expect_err("three outputs").to_string();
    assert!(message.contains("found 3 outputs"), "{message}");
}
