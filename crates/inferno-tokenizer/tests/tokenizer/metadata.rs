//! Invalid metadata is rejected with a specific error.

use crate::vocabularies::{byte_level, metadata};
use inferno_gguf::{Metadata, MetadataValue, StringArray};
use inferno_tokenizer::{EncodeOptions, Tokenizer, TokenizerError};

const WITH_SPECIAL: EncodeOptions = EncodeOptions { add_special: true, parse_special: true };

fn strings(strings: &[&str]) -> StringArray {
    strings.iter().collect()
}

fn refusal(vocabulary: &str, key: &str, value: impl Into<MetadataValue>) -> TokenizerError {
    let mut metadata = metadata(vocabulary);
    metadata.insert(key, value);
    Tokenizer::from_metadata(&metadata).unwrap_err()
}

#[test]
fn an_unsupported_pre_tokenizer_is_named_with_where_the_supported_ones_are_listed() {
    let message = byte_level("gpt-99").unwrap_err().to_string();
    assert!(message.contains(r#""gpt-99""#), "{message}");
    assert!(message.contains("`inferno convert --list`"), "{message}");
}

#[test]
fn an_unsupported_model_error_lists_the_supported_ones() {
    let message = refusal("byte_level", "tokenizer.ggml.model", "morse").to_string();
    assert_eq!(
        message,
        r#"unsupported tokenizer model "morse"; supported: bert, gemma4, gpt2, llama, t5"#
    );
}

#[test]
fn a_file_without_a_tokenizer_is_rejected_with_the_missing_key() {
    for key in ["tokenizer.ggml.model", "tokenizer.ggml.tokens", "tokenizer.ggml.merges"] {
        let mut metadata = metadata("byte_level");
        metadata.remove(key);
        let message = Tokenizer::from_metadata(&metadata).unwrap_err().to_string();
        assert!(message.contains(key), "{message}");
    }
}

#[test]
fn an_empty_vocabulary_is_rejected() {
    let mut metadata = Metadata::new();
    metadata.insert("tokenizer.ggml.model", "gpt2");
    metadata.insert("tokenizer.ggml.tokens", StringArray::default());
    metadata.insert("tokenizer.ggml.merges", StringArray::default());
    let error = Tokenizer::from_metadata(&metadata).unwrap_err();
    assert!(matches!(error, TokenizerError::EmptyVocabulary));
}

#[test]
fn arrays_of_a_different_length_than_the_tokens_are_rejected() {
    let error = refusal("sentencepiece", "tokenizer.ggml.scores", vec![0.5_f32; 3]);
    assert!(matches!(error, TokenizerError::LengthMismatch { found: 3, .. }), "{error}");
    let error = refusal("sentencepiece", "tokenizer.ggml.token_type", vec![1_i32; 100_000]);
    assert!(matches!(error, TokenizerError::LengthMismatch { found: 100_000, .. }), "{error}");
}

#[test]
fn a_nan_score_is_rejected() {
    let len = metadata("unigram").required::<&StringArray>("tokenizer.ggml.tokens").unwrap().len();
    let mut scores = vec![0.5_f32; len];
    scores[7] = f32::NAN;
    let error = refusal("unigram", "tokenizer.ggml.scores", scores);
    assert!(matches!(error, TokenizerError::ScoreNotANumber { id: 7 }), "{error}");
}

#[test]
fn ids_out_of_range_are_rejected_but_minus_one_means_none() {
    let error = refusal("byte_level", "tokenizer.ggml.eos_token_id", 1_000_000_u32);
    assert!(matches!(error, TokenizerError::IdOutOfRange { id: 1_000_000, .. }), "{error}");
    let error = refusal("byte_level", "tokenizer.ggml.bos_token_id", -2_i32);
    assert!(matches!(error, TokenizerError::IdOutOfRange { id: -2, .. }), "{error}");

    let mut metadata = metadata("byte_level");
    metadata.insert("tokenizer.ggml.padding_token_id", u32::MAX);
    metadata.insert("tokenizer.ggml.mask_token_id", -1_i32);
    // Generation does not use this one.
    metadata.insert("tokenizer.ggml.seperator_token_id", 1_000_000_u32);
    let tokenizer = Tokenizer::from_metadata(&metadata).unwrap();
    assert_eq!(tokenizer.special_tokens().padding, None);
    assert_eq!(tokenizer.special_tokens().mask, None);
    assert_eq!(tokenizer.special_tokens().separator, None);
}

#[test]
fn tokens_that_must_not_be_generated_are_read() {
    let mut metadata = metadata("byte_level");
    // Ids outside the vocabulary are ignored.
    metadata.insert("tokenizer.ggml.suppress_tokens", vec![9_i32, 1_000_000, -1, 4]);
    let tokenizer = Tokenizer::from_metadata(&metadata).unwrap();
    assert!(tokenizer.special_tokens().suppressed.iter().eq(&[4, 9]));
}

#[test]
fn a_required_but_undefined_start_token_is_rejected() {
    let mut metadata = metadata("byte_level");
    metadata.remove("tokenizer.ggml.bos_token_id");
    metadata.insert("tokenizer.ggml.add_bos_token", true);
    let error = Tokenizer::from_metadata(&metadata).unwrap_err();
    assert!(matches!(error, TokenizerError::MissingSpecialToken { token: "BOS", .. }), "{error}");
}

#[test]
fn two_tokens_with_the_same_text_are_rejected() {
    let mut metadata = Metadata::new();
    metadata.insert("tokenizer.ggml.model", "gpt2");
    metadata.insert("tokenizer.ggml.tokens", strings(&["a", "b", "a"]));
    metadata.insert("tokenizer.ggml.merges", StringArray::default());
    let error = Tokenizer::from_metadata(&metadata).unwrap_err();
    assert!(matches!(error, TokenizerError::DuplicateToken { first: 0, second: 2, .. }), "{error}");
}

#[test]
fn a_merge_without_two_sides_is_rejected_with_its_index() {
    for merge in ["", "a", "a ", " "] {
        let merges = strings(&["Ġ t", merge]);
        let error = refusal("byte_level", "tokenizer.ggml.merges", merges);
        assert!(matches!(error, TokenizerError::MalformedMerge { index: 1, .. }), "{error}");
    }
}

#[test]
fn a_merge_result_that_is_not_a_token_falls_back_to_bytes() {
    let mut metadata = Metadata::new();
    metadata.insert("tokenizer.ggml.model", "gpt2");
    metadata.insert("tokenizer.ggml.tokens", strings(&["Ġ", "a", "b"]));
    metadata.insert("tokenizer.ggml.merges", strings(&["a b", "Ġ ab"]));
    let tokenizer = Tokenizer::from_metadata(&metadata).unwrap();
    assert_eq!(tokenizer.encode("ab abc", EncodeOptions::default()), [1, 2, 0, 1, 2]);
}

#[test]
fn a_tokenizer_without_a_fallback_is_rejected() {
    let mut metadata = Metadata::new();
    metadata.insert("tokenizer.ggml.tokens", strings(&["a", "b"]));
    metadata.insert("tokenizer.ggml.unknown_token_id", u32::MAX);
    for model in ["t5", "bert"] {
        metadata.insert("tokenizer.ggml.model", model);
        let error = Tokenizer::from_metadata(&metadata).unwrap_err();
        assert!(matches!(error, TokenizerError::MissingFallback { .. }), "{error}");
    }
}

#[test]
fn malformed_character_maps_are_rejected() {
    let key = "tokenizer.ggml.precompiled_charsmap";
    let no_end = [4, 0, 0, 0, 0, 0, 0, 0, b'a'].to_vec();
    let long = [&[0; 4][..], &[b'x'; 5000], &[0]].concat();
    for bytes in [vec![1_u8], vec![9, 0, 0, 0, 0], vec![1, 0, 0, 0, 0], no_end, long] {
        let error = refusal("unigram", key, bytes);
        assert!(matches!(error, TokenizerError::MalformedCharsmap { .. }), "{error}");
    }
}

#[test]
fn a_character_map_with_invalid_transitions_replaces_nothing() {
    // The transitions of every unit are far out of range.
    let map = [&16_u32.to_le_bytes()[..], &[0xFF; 16], b"x\0"].concat();
    let mut changed = metadata("unigram");
    changed.insert("tokenizer.ggml.precompiled_charsmap", map);
    let tokenizer = Tokenizer::from_metadata(&changed).unwrap();
    assert!(!tokenizer.encode("harbour", EncodeOptions::default()).is_empty());
}

#[test]
fn start_and_end_tokens_follow_the_metadata() {
    let mut metadata = metadata("sentencepiece");
    let encode = |metadata: &Metadata| {
        let tokenizer = Tokenizer::from_metadata(metadata).unwrap();
        tokenizer.encode("", WITH_SPECIAL)
    };
    assert_eq!(encode(&metadata), [1]);
    metadata.insert("tokenizer.ggml.add_eos_token", true);
    assert_eq!(encode(&metadata), [1, 2]);
    metadata.insert("tokenizer.ggml.add_bos_token", false);
    assert_eq!(encode(&metadata), [2]);
}
