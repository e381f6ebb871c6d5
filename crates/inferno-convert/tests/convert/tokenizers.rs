//! Tokenizers in other files than those of the fixtures.

use std::fs;
use std::path::Path;

use inferno_convert::{Conversion, ConvertOptions};
use inferno_gguf::{Metadata, MetadataArray, MetadataValue};
use inferno_tokenizer::{EncodeOptions, Tokenizer};
use serde_json::{Value, json};
use tempfile::tempdir;

use crate::checkpoint::{floats, llama, tokenizer, write};

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

/// A file with a small vocabulary of tiktoken, or with what tiktoken computes with it.
fn tiktoken(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tiktoken");
    fs::read_to_string(folder.join(name)).expect("a fixture")
}

/// Writes a checkpoint with a vocabulary of tiktoken in `file`, and its `tokenizer_config.json`.
fn write_tiktoken(folder: &Path, vocab_size: usize, file: &str, config: &Value) {
    write_without_tokenizer(folder, vocab_size);
    fs::write(folder.join(file), tiktoken("ranks.txt")).expect("it is written");
    fs::write(folder.join("tokenizer_config.json"), config.to_string()).expect("it is written");
}

#[test]
fn vocabularies_of_tiktoken_have_its_ids() {
    let expected: Value = serde_json::from_str(&tiktoken("expected.json")).expect("valid JSON");
    let size = expected["size"].as_u64().expect("a number") as usize;
    let kimi = json!({
        "tokenizer_class": "TikTokenTokenizer",
        "bos_token": "[BOS]",
        "eos_token": "[EOS]",
        "added_tokens_decoder": expected["named"],
    });
    let hunyuan = json!({"tokenizer_class": "HYTokenizer", "eos_token": "<|eos|>"});
    for (name, file, pre_tokenizer, config, num_special, bos) in [
        ("kimi", "tiktoken.model", "kimi-k2", kimi, 256, 0),
        ("hunyuan", "hy.tiktoken", "hunyuan", hunyuan, 210, 2),
    ] {
        let folder = tempdir().expect("a folder");
        write_tiktoken(folder.path(), size + num_special, file, &config);
        let metadata = convert(folder.path());
        assert_eq!(metadata.required::<&str>("tokenizer.ggml.pre").expect("a name"), pre_tokenizer);
        let id = |role: &str| {
            let key = format!("tokenizer.ggml.{role}_token_id");
            metadata.required::<u32>(&key).expect("a number") as usize
        };
        assert_eq!((id("bos"), id("eos")), (size + bos, size + bos + 1), "{name}");
        let types: Vec<i32> = metadata.required("tokenizer.ggml.token_type").expect("numbers");
        assert_eq!(types[..size], vec![1; size]);
        assert_eq!(types[size..], vec![3; num_special]);
        let texts = expected["texts"].as_array().expect("a list").iter();
        for (text, ids) in texts.zip(expected[name].as_array().expect("a list")) {
            let text = text.as_str().expect("a text");
            let ids: Vec<u32> = serde_json::from_value(ids.clone()).expect("ids");
            assert_eq!(encode(&metadata, text), ids, "{name}: {text:?}");
        }
    }
}

#[test]
fn an_unsupported_vocabulary_of_tiktoken_is_an_error_that_names_it() {
    for (file, class) in [("tiktoken.model", "NewTokenizer"), ("qwen.tiktoken", "HYTokenizer")] {
        let folder = tempdir().expect("a folder");
        write_tiktoken(folder.path(), 512, file, &json!({"tokenizer_class": class}));
        let message = Conversion::open(folder.path(), &ConvertOptions::default())
            .expect_err("an unsupported file")
            .to_string();
        assert!(message.contains(&format!("{file} is a vocabulary of tiktoken")), "{message}");
    }
}

#[test]
fn a_damaged_vocabulary_of_tiktoken_is_an_error() {
    let config = json!({"tokenizer_class": "HYTokenizer"});
    for lines in ["IQ== 0\nIQ== 1\n", "IQ== 1\n", "IQ==\n", "? 0\n", " 0\n"] {
        let folder = tempdir().expect("a folder");
        write_tiktoken(folder.path(), 512, "hy.tiktoken", &config);
        fs::write(folder.path().join("hy.tiktoken"), lines).expect("it is written");
        let message = Conversion::open(folder.path(), &ConvertOptions::default())
            .expect_err("an invalid file")
            .to_string();
        assert!(message.contains("hy.tiktoken: expected a new token"), "{message}");
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
    let class = r#"{"tokenizer_class": "BertJapaneseTokenizer"}"#;
    fs::write(folder.path().join("tokenizer_config.json"), class).expect("it is written");
    let message = Conversion::open(folder.path(), &ConvertOptions::default())
        .expect_err("a tokenizer that splits words in another way")
        .to_string();
    assert!(message.contains("vocab.txt of a BertJapaneseTokenizer"), "{message}");
}

#[test]
fn normalizers_of_byte_level_vocabularies_are_noted() {
    let folder = tempdir().expect("a folder");
    let (config, tensors) = llama();
    write(folder.path(), &config, &tensors);
    let open = |normalizer: Value| {
        let mut file = tokenizer();
        file["normalizer"] = normalizer;
        fs::write(folder.path().join("tokenizer.json"), file.to_string()).expect("it is written");
        let conversion = Conversion::open(folder.path(), &ConvertOptions::default());
        let conversion = conversion.expect("it is converted");
        conversion.notes().join(" ")
    };
    assert_eq!(open(Value::Null), "");
    assert_eq!(open(json!({"type": "NFC"})), "");
    let notes = open(json!({"type": "Sequence", "normalizers": [{"type": "Strip"}]}));
    assert!(notes.contains("the normalizer Strip of tokenizer.json is not applied"), "{notes}");
}

#[test]
fn options_of_word_piece_that_files_cannot_have_are_noted() {
    let folder = tempdir().expect("a folder");
    write_without_tokenizer(folder.path(), 8);
    fs::write(folder.path().join("vocab.txt"), "[PAD]\n[UNK]\n[CLS]\n[SEP]\nthe\n")
        .expect("it is written");
    let notes = |config: &str| {
        let path = folder.path().join("tokenizer_config.json");
        fs::write(path, config).expect("it is written");
        let conversion = Conversion::open(folder.path(), &ConvertOptions::default());
        conversion.expect("it is converted").notes().to_vec()
    };
    assert_eq!(notes(r#"{"tokenize_chinese_chars": true}"#), [""; 0]);
    let found = notes(r#"{"tokenize_chinese_chars": false}"#);
    assert!(found[0].contains("handle_chinese_chars is false"), "{found:?}");
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

#[test]
fn chat_templates_in_files_have_priority_as_in_transformers() {
    let template = |metadata: &Metadata, key: &str| {
        metadata.optional::<&str>(key).expect("a text").map(str::to_owned)
    };
    let default = "tokenizer.chat_template";
    let folder = tempdir().expect("a folder");
    let (config, tensors) = llama();
    write(folder.path(), &config, &tensors);
    let write = |name: &str, text: &str| {
        fs::write(folder.path().join(name), text).expect("it is written");
    };
    write("chat_template.json", r#"{"chat_template": "of a processor"}"#);
    assert_eq!(template(&convert(folder.path()), default).as_deref(), Some("of a processor"));
    write("tokenizer_config.json", r#"{"chat_template": "of the configuration"}"#);
    assert_eq!(template(&convert(folder.path()), default).as_deref(), Some("of the configuration"));
    write("chat_template.jinja", "of the file");
    assert_eq!(template(&convert(folder.path()), default).as_deref(), Some("of the file"));
    fs::create_dir(folder.path().join("additional_chat_templates")).expect("a folder");
    write("additional_chat_templates/tool_use.jinja", "for tools");
    let metadata = convert(folder.path());
    assert_eq!(template(&metadata, default).as_deref(), Some("of the file"));
    assert_eq!(
        template(&metadata, "tokenizer.chat_template.tool_use").as_deref(),
        Some("for tools")
    );
    // Other files replace the template of the configuration, too.
    fs::remove_file(folder.path().join("chat_template.jinja")).expect("it exists");
    assert_eq!(template(&convert(folder.path()), default), None);
}
