//! Properties for any text, with every pre-tokenizer and tokenizer model.

use crate::vocabularies::{all_tokenizers, metadata};
use std::collections::HashSet;

use inferno_gguf::{Metadata, StringArray};
use inferno_tokenizer::{EncodeOptions, Tokenizer};
use proptest::prelude::*;

thread_local! {
    static ALL: Vec<(&'static str, Tokenizer)> = all_tokenizers();
    static SPANNING: Tokenizer = Tokenizer::from_metadata(&with_a_piece_of_two_words()).unwrap();
    static SENTENCEPIECE: Tokenizer = Tokenizer::from_metadata(&metadata("sentencepiece")).unwrap();
}

/// The SentencePiece vocabulary with an additional piece that spans two words but cannot be reached by
/// merges.
fn with_a_piece_of_two_words() -> Metadata {
    let mut metadata = metadata("sentencepiece");
    let key = "tokenizer.ggml.tokens";
    let mut tokens = metadata.required::<&StringArray>(key).unwrap().clone();
    tokens.push("\u{10FFFF}\u{2581}\u{10FFFE}");
    metadata.insert(key, tokens);
    let key = "tokenizer.ggml.scores";
    let mut scores: Vec<f32> = metadata.required(key).unwrap();
    scores.push(0.0);
    metadata.insert(key, scores);
    let key = "tokenizer.ggml.token_type";
    let mut kinds: Vec<i32> = metadata.required(key).unwrap();
    kinds.push(1);
    metadata.insert(key, kinds);
    metadata
}

/// Letters, digits, white space and marks of many scripts, and arbitrary characters.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-zA-Z]{1,8}",
        2 => "[ \\t\\r\\n\u{a0}\u{3000}]{1,4}",
        2 => "[0-9٣½]{1,7}",
        1 => "['/.,!?$<>|\\[\\]_-]{1,4}",
        1 => "'(s|t|re|VE|m|ll|D)",
        2 => "[àÉñßЖжあア漢字한글नि\u{301}\u{e31}🚀\u{200d}]{1,4}",
        1 => "<\\|im_(start|end)\\|>|<s>|<\\|plain\\|>|\u{2581}",
        2 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

/// Metadata of a broken or malicious file: keys of the right types with inconsistent values.
fn any_metadata() -> impl Strategy<Value = Metadata> {
    let models = ["gpt2", "gemma4", "llama", "t5", "bert"];
    let names = ["qwen2", "gpt-2", "tekken", "gemma4", "sarvam-moe", "chameleon"];
    let tokens = prop::collection::vec("(<0x[0-9A-F]{2}>|[abĠ▁é <|>]{0,4}|\\PC{0,3})", 1..40);
    let merges = prop::collection::vec("[abĠ▁é]{1,3} [abĠ▁é]{1,3}", 0..30);
    let kinds = prop::collection::vec(-1..8_i32, 40);
    let scores = prop::collection::vec(prop::num::f32::ANY.prop_filter("NaN", |s| !s.is_nan()), 40);
    let charsmap = prop::collection::vec(any::<u8>(), 0..60);
    let parts = (tokens, merges, kinds, scores, charsmap);
    let choices = (prop::sample::select(models.to_vec()), prop::sample::select(names.to_vec()));
    (parts, choices, any::<[bool; 6]>(), 0..40_u32).prop_map(
        |((mut tokens, merges, kinds, scores, charsmap), (model, name), flags, id)| {
            let mut seen = HashSet::new();
            tokens.retain(|token| seen.insert(token.clone()));
            let len = tokens.len();
            let mut metadata = Metadata::new();
            metadata.insert("tokenizer.ggml.model", model);
            metadata.insert("tokenizer.ggml.pre", name);
            metadata.insert("tokenizer.ggml.tokens", StringArray::from_iter(tokens));
            metadata.insert("tokenizer.ggml.merges", StringArray::from_iter(merges));
            metadata.insert("tokenizer.ggml.token_type", kinds[..len].to_vec());
            metadata.insert("tokenizer.ggml.scores", scores[..len].to_vec());
            metadata.insert("tokenizer.ggml.unknown_token_id", id % len as u32);
            metadata.insert("tokenizer.ggml.add_space_prefix", flags[0]);
            metadata.insert("tokenizer.ggml.remove_extra_whitespaces", flags[1]);
            if flags[2] {
                // A trie of the right length with arbitrary contents.
                let trie_len = charsmap.len() as u32 / 8 * 4;
                let map = [&trie_len.to_le_bytes()[..], &charsmap, &[0]].concat();
                metadata.insert("tokenizer.ggml.precompiled_charsmap", map);
            }
            if flags[3] {
                metadata.insert("general.name", "phi-3");
            }
            if flags[4] {
                metadata.insert("tokenizer.ggml.eos_token_id", id);
                metadata.insert("tokenizer.ggml.add_eos_token", flags[5]);
            }
            metadata
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn byte_level_ids_decode_to_the_encoded_text(text in text()) {
        ALL.with(|all| {
            for (name, tokenizer) in all {
                let ids = tokenizer.encode(&text, EncodeOptions::default());
                let decoded = tokenizer.decode(&ids, true).unwrap();
                // Other models only decode to it if they have all bytes and do not normalize text.
                if tokenizer.token_id("Ġ").is_some() {
                    assert_eq!(decoded, text, "{name}");
                }
            }
        });
    }

    #[test]
    fn tokenizers_of_arbitrary_metadata_encode_and_decode(
        metadata in any_metadata(),
        text in "[abé <|>\\x00-\\xFF]{0,30}|\\PC{0,10}",
    ) {
        if let Ok(tokenizer) = Tokenizer::from_metadata(&metadata) {
            for parse_special in [false, true] {
                let options = EncodeOptions { add_special: true, parse_special };
                let ids = tokenizer.encode(&text, options);
                tokenizer.decode(&ids, false).unwrap();
            }
        }
    }

    #[test]
    fn merging_by_word_or_as_a_whole_gives_the_same_ids(text in text()) {
        let by_word = SENTENCEPIECE.with(|one| one.encode(&text, EncodeOptions::default()));
        let whole = SPANNING.with(|other| other.encode(&text, EncodeOptions::default()));
        assert_eq!(by_word, whole);
    }

    #[test]
    fn a_sentencepiece_vocabulary_decodes_to_the_text(text in "[a-zA-Z0-9 ,.!é漢🚀\\n]{0,40}") {
        SENTENCEPIECE.with(|tokenizer| {
            for add_special in [false, true] {
                let options = EncodeOptions { add_special, parse_special: false };
                let ids = tokenizer.encode(&text, options);
                assert_eq!(tokenizer.decode(&ids, true).unwrap(), text);
            }
        });
    }

    #[test]
    fn the_detokenizer_returns_the_decoded_text(ids in prop::collection::vec(0u32..900, 0..60)) {
        ALL.with(|all| {
            for (name, tokenizer) in all {
                for skip_special in [false, true] {
                    let vocab_size = tokenizer.vocab_size() as u32;
                    let ids: Vec<u32> = ids.iter().map(|id| id % vocab_size).collect();
                    let mut detokenizer = tokenizer.detokenizer(skip_special);
                    let mut text = String::new();
                    for &id in &ids {
                        text.push_str(detokenizer.push(id).unwrap());
                    }
                    text.push_str(&detokenizer.finish());
                    assert_eq!(text, tokenizer.decode(&ids, skip_special).unwrap(), "{name}");
                }
            }
        });
    }
}
