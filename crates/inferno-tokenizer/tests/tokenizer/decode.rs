//! Decoding ids, at once and incrementally.

use crate::vocabularies::{byte_level, metadata};
use inferno_gguf::{Metadata, StringArray};
use inferno_tokenizer::{EncodeOptions, Tokenizer, TokenizerError};

fn sentencepiece() -> Tokenizer {
    Tokenizer::from_metadata(&metadata("sentencepiece")).unwrap()
}

/// The id of the token of a single byte.
fn byte(tokenizer: &Tokenizer, byte: u8) -> u32 {
    tokenizer.token_id(&format!("<0x{byte:02X}>")).unwrap()
}

#[test]
fn a_character_is_returned_with_its_last_byte() {
    let tokenizer = sentencepiece();
    let mut detokenizer = tokenizer.detokenizer(true);
    let pieces: Vec<String> = "🚀a"
        .bytes()
        .map(|value| detokenizer.push(byte(&tokenizer, value)).unwrap().to_owned())
        .collect();
    assert_eq!(pieces, ["", "", "", "🚀", "a"]);
    assert_eq!(detokenizer.finish(), "");
}

#[test]
fn invalid_bytes_become_replacement_characters() {
    let tokenizer = sentencepiece();
    let mut detokenizer = tokenizer.detokenizer(true);
    let mut push = |value| detokenizer.push(byte(&tokenizer, value)).unwrap().to_owned();
    assert_eq!(push(0xF0), "");
    assert_eq!(push(0x9F), "");
    assert_eq!(push(b'a'), "\u{FFFD}a");
    assert_eq!(push(0xFF), "\u{FFFD}");
    assert_eq!(push(0xE2), "");
    assert_eq!(detokenizer.finish(), "\u{FFFD}");
}

#[test]
fn the_space_before_a_text_is_removed_once() {
    let tokenizer = sentencepiece();
    let ids =
        tokenizer.encode(" the the", EncodeOptions { add_special: true, parse_special: false });
    assert_eq!(tokenizer.decode(&ids, true).unwrap(), " the the");
    let the = tokenizer.token_id("▁the").unwrap();
    assert_eq!(tokenizer.decode(&[1, the, the], true).unwrap(), "the the");
    let mut detokenizer = tokenizer.detokenizer(true);
    assert_eq!(detokenizer.push(the).unwrap(), "the");
    assert_eq!(detokenizer.push(the).unwrap(), " the");
}

#[test]
fn tags_between_the_parts_of_an_answer_are_always_text() {
    for kind in [3, 4] {
        let mut metadata = Metadata::new();
        metadata.insert("tokenizer.ggml.model", "gpt2");
        metadata.insert("tokenizer.ggml.pre", "qwen2");
        let tokens = ["a", "<think>", "</think>", "<tool_call>", "</tool_call>", "<|im_end|>"];
        metadata.insert("tokenizer.ggml.tokens", tokens.into_iter().collect::<StringArray>());
        metadata.insert("tokenizer.ggml.token_type", vec![1, kind, kind, kind, kind, 3]);
        metadata.insert("tokenizer.ggml.merges", StringArray::default());
        let tokenizer = Tokenizer::from_metadata(&metadata).unwrap();
        let ids = [1, 0, 2, 3, 0, 4, 5];
        let text = "<think>a</think><tool_call>a</tool_call>";
        assert_eq!(tokenizer.decode(&ids, true).unwrap(), text, "kind {kind}");
        assert_eq!(tokenizer.decode(&ids, false).unwrap(), format!("{text}<|im_end|>"));
    }
}

/// A byte-level vocabulary of all ASCII characters and `others`, of which all are control tokens except `normal`.
fn with_control_tokens(others: &[&str], normal: &[&str]) -> Tokenizer {
    let mut metadata = Metadata::new();
    let mut tokens: Vec<String> = ('!'..='~').map(String::from).collect();
    tokens.extend(others.iter().map(|&text| text.to_owned()));
    let is_control = |text: &String| text.len() > 1 && !normal.contains(&text.as_str());
    let kinds: Vec<i32> = tokens.iter().map(|text| if is_control(text) { 3 } else { 1 }).collect();
    metadata.insert("tokenizer.ggml.model", "gpt2");
    metadata.insert("tokenizer.ggml.pre", "gpt-2");
    metadata.insert("tokenizer.ggml.tokens", tokens.into_iter().collect::<StringArray>());
    metadata.insert("tokenizer.ggml.token_type", kinds);
    metadata.insert("tokenizer.ggml.merges", StringArray::default());
    Tokenizer::from_metadata(&metadata).unwrap()
}

#[test]
fn delimiters_of_harmony_are_visible_but_not_in_texts() {
    let delimiters = ["<|start|>", "<|channel|>", "<|message|>", "<|constrain|>", "<|end|>"];
    let tokenizer =
        with_control_tokens(&[&delimiters[..], &["<|return|>", "<|call|>"]].concat(), &[]);
    for text in delimiters {
        let id = tokenizer.token_id(text).unwrap();
        assert_eq!(tokenizer.decode(&[id], true).unwrap(), text);
        assert!(!tokenizer.is_end_of_generation(id), "{text}");
        assert!(!tokenizer.encode(text, EncodeOptions::default()).contains(&id), "{text}");
        let parsed = EncodeOptions { parse_special: true, ..EncodeOptions::default() };
        assert_eq!(tokenizer.encode(text, parsed), [id]);
    }
    let end = tokenizer.token_id("<|return|>").unwrap();
    assert_eq!(tokenizer.decode(&[end], true).unwrap(), "");
}

#[test]
fn a_tag_of_html_does_not_end_generation() {
    let tokens = ["<s>", "</s>", "<h1>", "</h1>", "<end_of_turn>"];
    let tokenizer = with_control_tokens(&tokens, &tokens[..4]);
    let ends = |text: &str| tokenizer.is_end_of_generation(tokenizer.token_id(text).unwrap());
    assert!(ends("<end_of_turn>") && !ends("</s>"));
    assert!(!tokenizer.is_special(tokenizer.token_id("</s>").unwrap()));
    let without_others = with_control_tokens(&["</s>", "<end_of_turn>"], &["</s>"]);
    assert!(without_others.is_end_of_generation(without_others.token_id("</s>").unwrap()));
}

#[test]
fn control_tokens_are_included_or_skipped() {
    let tokenizer = byte_level("qwen2").unwrap();
    let end = tokenizer.token_id("<|im_end|>").unwrap();
    let mut ids = tokenizer.encode("hi", EncodeOptions::default());
    ids.push(end);
    assert_eq!(tokenizer.decode(&ids, false).unwrap(), "hi<|im_end|>");
    assert_eq!(tokenizer.decode(&ids, true).unwrap(), "hi");
    assert!(tokenizer.is_special(end) && tokenizer.is_end_of_generation(end));
    let plain = tokenizer.token_id("<|plain|>").unwrap();
    assert!(!tokenizer.is_special(plain) && !tokenizer.is_end_of_generation(plain));
    assert_eq!(tokenizer.decode(&[plain], true).unwrap(), "<|plain|>");
}

#[test]
fn special_tokens_in_a_text_are_text_unless_parsing_is_enabled() {
    let tokenizer = byte_level("qwen2").unwrap();
    let end = tokenizer.token_id("<|im_end|>").unwrap();
    let text = "<|im_end|>";
    assert!(!tokenizer.encode(text, EncodeOptions::default()).contains(&end));
    let parsed = EncodeOptions { parse_special: true, ..EncodeOptions::default() };
    assert_eq!(tokenizer.encode(text, parsed), [end]);
}

#[test]
fn an_id_out_of_range_is_rejected() {
    let tokenizer = sentencepiece();
    let size = tokenizer.vocab_size();
    let error = tokenizer.decode(&[1, size as u32], true).unwrap_err();
    assert!(matches!(error, TokenizerError::UnknownToken { vocab_size, .. } if vocab_size == size));
    assert!(tokenizer.detokenizer(true).push(u32::MAX).is_err());
    assert_eq!(tokenizer.token_bytes(u32::MAX), None);
    assert!(!tokenizer.is_special(u32::MAX) && !tokenizer.is_end_of_generation(u32::MAX));
}

#[test]
fn token_bytes_are_the_decoded_bytes() {
    let tokenizer = byte_level("qwen2").unwrap();
    let space = tokenizer.token_id("Ġ").unwrap();
    assert_eq!(tokenizer.token_bytes(space).unwrap().as_ref(), b" ");
    let tokenizer = sentencepiece();
    assert_eq!(tokenizer.token_bytes(byte(&tokenizer, 0xF0)).unwrap().as_ref(), [0xF0]);
    assert_eq!(tokenizer.token_bytes(tokenizer.bos().unwrap()).unwrap().as_ref(), b"<s>");
    assert_eq!(tokenizer.eos(), Some(2));
}
