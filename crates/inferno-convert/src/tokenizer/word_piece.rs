//! WordPiece: `bert` in GGUF files, which mark the beginning of words instead of their continuation.

use inferno_gguf::Metadata;
use serde_json::{Map, Value, json};

use super::files::TokenizerFiles;
use super::{TokenType, Tokens, vocabulary};
use crate::ConvertError;

/// The tokens, of which there are `size`.
pub(super) fn tokens(files: &TokenizerFiles, size: Option<usize>) -> Result<Tokens, ConvertError> {
    let model = files.model().unwrap_or(&Value::Null);
    let prefix = model["continuing_subword_prefix"].as_str().unwrap_or("##");
    if prefix != "##" {
        return Err(files.invalid(format!(
            "continuing_subword_prefix: expected ## (the only one that GGUF files can have), found {prefix:?}"
        )));
    }
    let mut tokens = vocabulary::tokens(files, size)?;
    for (text, kind) in tokens.texts.iter_mut().zip(&tokens.types) {
        if *kind == TokenType::Control {
            continue;
        }
        *text = match text.strip_prefix(prefix) {
            Some(continuation) => continuation.to_owned(),
            None => format!("▁{text}"),
        };
    }
    Ok(tokens)
}

/// Writes how texts are normalized, which the stages of any normalizer can state. Returns notes on what GGUF files cannot
/// state.
pub(super) fn normalization(files: &TokenizerFiles, metadata: &mut Metadata) -> Vec<String> {
    let mut notes = Vec::new();
    for stage in files.stages("normalizer") {
        let mut set = |key: &str, value: Option<bool>| {
            if let Some(value) = value {
                metadata.insert(format!("tokenizer.ggml.normalizer.{key}"), value);
            }
        };
        match stage["type"].as_str() {
            Some("Lowercase") => set("lowercase", Some(true)),
            Some("StripAccents") => set("strip_accents", Some(true)),
            Some("BertNormalizer") => {
                set("lowercase", stage["lowercase"].as_bool());
                set("strip_accents", stage["strip_accents"].as_bool());
                let unset = ["clean_text", "handle_chinese_chars"];
                let unset = unset.into_iter().filter(|key| stage[*key] == false);
                notes.extend(unset.map(|key| {
                    format!("{key} is false in the tokenizer's files, but always true for GGUF files: some texts have other tokens")
                }));
            }
            _ => {}
        }
    }
    notes
}

/// The special tokens of BERT by their roles.
const SPECIAL: [(&str, &str); 5] = [
    ("pad_token", "[PAD]"),
    ("unk_token", "[UNK]"),
    ("cls_token", "[CLS]"),
    ("sep_token", "[SEP]"),
    ("mask_token", "[MASK]"),
];

/// The classes of tokenizers that split words as BERT does, without the ending `Fast`.
const BERT_CLASSES: [&str; 7] = [
    "BertTokenizer",
    "DistilBertTokenizer",
    "ElectraTokenizer",
    "MobileBertTokenizer",
    "ConvBertTokenizer",
    "SqueezeBertTokenizer",
    "LayoutLMTokenizer",
];

/// The contents that `tokenizer.json` would have for a `vocab.txt` of BERT, which has one token per line; `None` for
/// other files of that name. Adds the special tokens to `config`, which is `tokenizer_config.json`.
///
/// **Errors**: a class of tokenizers that may split words in another way, as that for Japanese.
pub(super) fn from_lines(
    lines: &str,
    config: &mut Option<Map<String, Value>>,
) -> Result<Option<Map<String, Value>>, ConvertError> {
    let vocab: Map<String, Value> =
        lines.lines().enumerate().map(|(id, token)| (token.to_owned(), json!(id))).collect();
    if !["[CLS]", "[SEP]"].iter().all(|text| vocab.contains_key(*text)) {
        return Ok(None);
    }
    let config = config.get_or_insert_default();
    if let Some(class) = config.get("tokenizer_class").and_then(Value::as_str)
        && !BERT_CLASSES.contains(&class.trim_end_matches("Fast"))
    {
        return Err(ConvertError::tokenizer(format!(
            "vocab.txt of a {class} is not supported, since it may split words in another way than BertTokenizer; save the \
             tokenizer as tokenizer.json"
        )));
    }
    for (role, text) in SPECIAL {
        config.entry(role).or_insert_with(|| json!(text));
    }
    let added = SPECIAL.iter().filter_map(|(_, text)| {
        Some(json!({"id": vocab.get(*text)?, "content": text, "special": true}))
    });
    let added: Vec<Value> = added.collect();
    let option = |key: &str| config.get(key).and_then(Value::as_bool);
    let normalizer = json!({
        "type": "BertNormalizer",
        "lowercase": option("do_lower_case").unwrap_or(true),
        "strip_accents": option("strip_accents"),
        "handle_chinese_chars": option("tokenize_chinese_chars"),
    });
    let token = |text: &str| json!({"SpecialToken": {"id": text, "type_id": 0}});
    let text = json!({"Sequence": {"id": "A", "type_id": 0}});
    let template = json!({
        "type": "TemplateProcessing",
        "single": [token("[CLS]"), text, token("[SEP]")],
    });
    Ok(Some(Map::from_iter([
        ("model".to_owned(), json!({"type": "WordPiece", "vocab": vocab})),
        ("added_tokens".to_owned(), Value::from(added)),
        ("normalizer".to_owned(), normalizer),
        ("post_processor".to_owned(), template),
    ])))
}
