//! Pairs of texts: the tokens of transformers.

use inferno_gguf::Gguf;
use inferno_tokenizer::{PairLimits, Tokenizer};
use serde_json::Value;

#[test]
fn pairs_have_the_tokens_of_transformers() {
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../inferno-model/tests/fixtures/encoders");
    for name in ["bert", "xlm-roberta-reranker"] {
        let file = Gguf::open(format!("{fixtures}/{name}.gguf")).expect("a fixture");
        let tokenizer = Tokenizer::from_metadata(file.metadata()).expect("a tokenizer");
        let text = std::fs::read_to_string(format!("{fixtures}/{name}.json")).expect("a fixture");
        let answers: Value = serde_json::from_str(&text).expect("it is JSON");
        for pair in answers["pairs"].as_array().expect("pairs") {
            let text = |key: &str| pair[key].as_str().expect("a text");
            let found =
                tokenizer.encode_pair(text("query"), text("document"), PairLimits::default());
            let tokens: Vec<u32> = serde_json::from_value(pair["tokens"].clone()).expect("ids");
            assert_eq!(found.ids, tokens, "{name}: {pair}");
            let second = pair["second_segment"].as_u64().map(|start| start as usize);
            assert_eq!(found.second_segment, second, "{name}: {pair}");
            let len = tokens.len() - 2;
            let limits = PairLimits { whole: Some(len), second: None };
            let shortened = tokenizer.encode_pair(text("query"), text("document"), limits);
            assert_eq!(shortened.ids[..len - 1], tokens[..len - 1]);
            assert_eq!(shortened.ids[len - 1..], tokens[tokens.len() - 1..]);
            let limits = PairLimits { whole: None, second: Some(2) };
            let of_two = tokenizer.encode_pair(text("query"), text("document"), limits).ids;
            let empty = tokenizer.encode_pair(text("query"), "", PairLimits::default()).ids;
            assert_eq!(of_two.len(), empty.len() + 2, "{name}: {pair}");
            assert_eq!(of_two[..of_two.len() - 1], tokens[..of_two.len() - 1]);
        }
    }
}
