//! What holds for any text, with every pre-tokenizer and every kind of vocabulary.

use crate::vocabularies::{all_tokenizers, metadata};
use inferno_tokenizer::{EncodeOptions, Tokenizer};
use proptest::prelude::*;

thread_local! {
    static ALL: Vec<(&'static str, Tokenizer)> = all_tokenizers();
    static SENTENCEPIECE: Tokenizer = Tokenizer::from_metadata(&metadata("sentencepiece")).unwrap();
}

/// Letters, digits, white space and marks of many scripts, and anything else.
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

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn byte_level_ids_decode_to_the_text_they_were_made_of(text in text()) {
        ALL.with(|all| {
            for (name, tokenizer) in all {
                let ids = tokenizer.encode(&text, EncodeOptions::default());
                let decoded = tokenizer.decode(&ids, true).unwrap();
                // Of the others, only those that know every byte and change no text decode to it.
                if tokenizer.token_id("Ġ").is_some() {
                    assert_eq!(decoded, text, "{name}");
                }
            }
        });
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
    fn what_the_detokenizer_returns_is_the_decoded_text(ids in prop::collection::vec(0u32..900, 0..60)) {
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
