//! Tokenizers in other files than those of the fixtures.

use std::fs;
use std::path::Path;

use inferno_convert::{Conversion, ConvertOptions};
use inferno_gguf::{Metadata, MetadataArray, MetadataValue};
use inferno_tokenizer::{EncodeOptions, Tokenizer};
use serde_json::{Value, json};
use tempfile::tempdir;

use crate::checkpoint::{floats, llama, write};

fn convert(folder: &Path) -> Metadata {
    let conversion = Conversion::open(folder, &ConvertOptions::default()).expect("it is converted");
    conversion.into_gguf().expect("a valid file").metadata().clone()
}

/// Writes the Llama model of the tests with `vocab_size` tokens, but without a tokenizer.
fn write_without_tokenizer(folder: &Path, vocab_size: usize) {
    let (mut config, mut tensors) = llama();
    config["vocab_size"] = json!(vocab_size);
    let name = "model.embed_tokens.weight".to_owned();
    tensors.insert(name, floats(&[vocab_size, 8], |index| index as f32));
    write(folder, &config, &tensors);
    fs::remove_file(folder.join("tokenizer.json")).expect("it exists");
}

fn texts(metadata: &Metadata, key: &str) -> Vec<String> {
    match metadata.get(key) {
        Some(MetadataValue::Array(MetadataArray::String(texts))) => {
            texts.iter().map(str::to_owned).collect()
        }
        other => panic!("{key}: {other:?}"),
    }
}

fn encode(metadata: &Metadata, text: &str) -> Vec<u32> {
    let tokenizer = Tokenizer::from_metadata(metadata).expect("a valid tokenizer");
    tokenizer.encode(text, EncodeOptions { add_special: true, parse_special: true })
}

/// A `tekken.json` with all bytes and two further tokens, and four special ones.
fn tekken(further: [&str; 2]) -> Value {
    use base64::Engine;
    let encode = |bytes: &[u8]| base64::engine::general_purpose::STANDARD.encode(bytes);
    let bytes = (0..=255_u8).map(|byte| vec![byte]);
    let tokens = bytes.chain(further.map(|token| token.as_bytes().to_vec())).enumerate();
    let vocab: Vec<Value> =
        tokens.map(|(rank, bytes)| json!({"rank": rank, "token_bytes": encode(&bytes)})).collect();
    let special = ["<unk>", "<s>", "</s>"].into_iter().enumerate();
    let special: Vec<Value> = special
        .map(|(rank, text)| json!({"rank": rank, "token_str": text, "is_control": true}))
        .collect();
    json!({
        "config": {"pattern": "", "default_vocab_size": 262, "default_num_special_tokens": 4},
        "vocab": vocab,
        "special_tokens": special,
    })
}

#[test]
fn tekken_ranks_become_merges() {
    let folder = tempdir().expect("a folder");
    write_without_tokenizer(folder.path(), 262);
    fs::write(folder.path().join("tekken.json"), tekken(["ab", "abc"]).to_string())
        .expect("it is written");
    let metadata = convert(folder.path());
    let tokens = texts(&metadata, "tokenizer.ggml.tokens");
    assert_eq!(tokens[..4], ["<unk>", "<s>", "</s>", "<SPECIAL_3>"]);
    assert_eq!(tokens[4 + usize::from(b' ')], "Ġ");
    assert_eq!(texts(&metadata, "tokenizer.ggml.merges"), ["a b", "ab c"]);
    // BOS, a space, abc, b
    let [space, b] = [4 + u32::from(b' '), 4 + u32::from(b'b')];
    assert_eq!(encode(&metadata, " abcb"), [1, space, 4 + 257, b]);
}

#[test]
fn a_part_of_a_tekken_token_may_have_a_higher_rank() {
    let folder = tempdir().expect("a folder");
    write_without_tokenizer(folder.path(), 262);
    fs::write(folder.path().join("tekken.json"), tekken(["abc", "bc"]).to_string())
        .expect("it is written");
    let metadata = convert(folder.path());
    assert_eq!(texts(&metadata, "tokenizer.ggml.merges"), ["a bc", "b c"]);
    // Like tiktoken, which joins the pair with the lowest rank first: b and c, then a and bc.
    assert_eq!(encode(&metadata, "abc"), [1, 4 + 256]);
}

/// A change of a file.
type Change = fn(&mut Value);

#[test]
fn an_invalid_tekken_file_is_an_error() {
    let changes: [(Change, &str); 4] = [
        (|it| it["config"]["default_vocab_size"] = json!(1000), "found 258"),
        (|it| it["vocab"][256]["token_bytes"] = json!("?"), "vocab[256]"),
        (|it| it["vocab"][257]["token_bytes"] = json!("eHl6"), "vocab[257]: no two tokens"),
        (|it| it["special_tokens"][0]["rank"] = json!(4), "expected a rank below 4"),
    ];
    for (change, part) in changes {
        let folder = tempdir().expect("a folder");
        write_without_tokenizer(folder.path(), 262);
        let mut file = tekken(["ab", "abc"]);
        change(&mut file);
        fs::write(folder.path().join("tekken.json"), file.to_string()).expect("it is written");
        let error = Conversion::open(folder.path(), &ConvertOptions::default())
            .expect_err("an invalid file")
            .to_string();
        assert!(error.contains("tekken.json") && error.contains(part), "{error}");
    }
}

#[test]
fn a_vocab_txt_is_a_word_piece_vocabulary() {
    let folder = tempdir().expect("a folder");
    write_without_tokenizer(folder.path(), 8);
    let lines = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nplay\n##ing\n##s\nthe\n";
    fs::write(folder.path().join("vocab.txt"), lines).expect("it is written");
    let metadata = convert(folder.path());
    // By BertTokenizer of transformers: tokenize("The plays playing?")
    assert_eq!(encode(&metadata, "The plays playing?"), [2, 7, 4, 6, 4, 5, 1, 3]);
}

#[test]
fn a_unigram_model_keeps_scores_and_spaces() {
    let folder = tempdir().expect("a folder");
    write_without_tokenizer(folder.path(), 8);
    let vocab = json!([
        ["<pad>", 0.0],
        ["</s>", 0.0],
        ["<unk>", 0.0],
        ["▁a", -1.0],
        ["b", -2.0],
        ["▁ab", -4.0],
        ["▁", -3.0]
    ]);
    let added = |id: usize, text: &str| json!({"id": id, "content": text, "special": true});
    let tokenizer = json!({
        "added_tokens": [added(0, "<pad>"), added(1, "</s>"), added(2, "<unk>")],
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},
        "model": {"type": "Unigram", "unk_id": 2, "vocab": vocab},
    });
    fs::write(folder.path().join("tokenizer.json"), tokenizer.to_string()).expect("it is written");
    let metadata = convert(folder.path());
    assert_eq!(metadata.optional::<&str>("tokenizer.ggml.model").expect("a text"), Some("t5"));
    let types: Vec<i32> = metadata.required("tokenizer.ggml.token_type").expect("numbers");
    assert_eq!(types, [3, 3, 2, 1, 1, 1, 1, 5]);
    // The pieces ▁a and b are more probable than ▁ab.
    assert_eq!(encode(&metadata, "ab a"), [3, 4, 3, 1]);
}
