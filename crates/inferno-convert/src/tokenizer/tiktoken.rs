//! Vocabularies of tiktoken: on each line, a token in base64 and its rank.
//!
//! Special tokens and the pre-tokenizer are in the Python code of a repository. That of Kimi and Moonlight
//! (`tokenization_kimi.py`, `tokenization_moonshot.py`) and that of Hunyuan-A13B (`tokenization_hy.py`) are known.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use inferno_tokenizer::byte_level_text;
use serde_json::{Map, Value, json};

use super::files::MAX_TOKENS;
use super::ranks::{MAX_TOKEN_BYTES, Ranks};
use crate::ConvertError;
use crate::json::read_text;

/// A tokenizer whose code is known.
struct Known {
    file: &'static str,
    /// `tokenizer_class` in `tokenizer_config.json`.
    class: &'static str,
    pre_tokenizer: &'static str,
    /// The text of BOS, whatever `tokenizer_config.json` states.
    bos: Option<&'static str>,
    /// The texts of the special tokens, by `tokenizer_config.json` and the number of the first one.
    special: fn(&Map<String, Value>, usize) -> Vec<String>,
}

const KNOWN: [Known; 2] = [
    Known {
        file: "tiktoken.model",
        class: "TikTokenTokenizer",
        pre_tokenizer: "kimi-k2",
        bos: None,
        special: kimi_special,
    },
    Known {
        file: "hy.tiktoken",
        class: "HYTokenizer",
        pre_tokenizer: "hunyuan",
        bos: Some("<|bos|>"),
        special: hunyuan_special,
    },
];

/// What the files of a tokenizer mean.
pub(super) struct Tiktoken {
    /// The contents that `tokenizer.json` would have.
    pub(super) tokenizer: Map<String, Value>,
    pub(super) pre_tokenizer: &'static str,
}

/// Reads the vocabulary of a known tokenizer, if the folder has one. `size` is that of the model's vocabulary. Changes
/// `config`, which is `tokenizer_config.json`, accordingly.
pub(super) fn read(
    folder: &Path,
    config: &mut Option<Map<String, Value>>,
    size: Option<usize>,
) -> Result<Option<Tiktoken>, ConvertError> {
    let Some(config) = config else { return Ok(None) };
    let class = config.get("tokenizer_class").and_then(Value::as_str);
    let Some(known) = KNOWN.iter().find(|known| class == Some(known.class)) else {
        return Ok(None);
    };
    let path = folder.join(known.file);
    let Some(lines) = read_text(&path)? else { return Ok(None) };
    let invalid = |reason: String| ConvertError::invalid(&path, reason);
    let tokens = tokens(&lines).map_err(invalid)?;

    let (first, texts) = (tokens.len(), (known.special)(config, tokens.len()));
    let fits = |id: &usize| size.is_none_or(|size| *id < size);
    let special = (first..).take_while(fits).zip(texts);
    let added: Vec<Value> =
        special.map(|(id, text)| json!({"id": id, "content": text, "special": true})).collect();
    config.remove("added_tokens_decoder");
    if let Some(bos) = known.bos {
        config.insert("bos_token".to_owned(), json!(bos));
    }
    let vocabulary: Map<String, Value> =
        tokens.iter().enumerate().map(|(id, token)| (byte_level_text(token), json!(id))).collect();
    let merges = Ranks::new(&tokens).merges().map_err(invalid)?;
    let tokenizer = Map::from_iter([
        ("model".to_owned(), json!({"type": "BPE", "vocab": vocabulary, "merges": merges})),
        ("added_tokens".to_owned(), Value::from(added)),
    ]);
    Ok(Some(Tiktoken { tokenizer, pre_tokenizer: known.pre_tokenizer }))
}

/// The tokens in the order of their ranks.
fn tokens(lines: &str) -> Result<Vec<Vec<u8>>, String> {
    let (mut tokens, mut known) = (Vec::new(), HashSet::new());
    for line in lines.lines().filter(|line| !line.trim().is_empty()) {
        let rank = tokens.len();
        let parts = line.split_once(' ').filter(|(_, found)| found.trim().parse() == Ok(rank));
        let token = parts.and_then(|(text, _)| STANDARD.decode(text).ok());
        match token.filter(|token| (1..=MAX_TOKEN_BYTES).contains(&token.len())) {
            Some(token) if (rank as u64) < MAX_TOKENS && known.insert(token.clone()) => {
                tokens.push(token);
            }
            _ => {
                let line: String = line.chars().take(80).collect();
                return Err(format!(
                    "expected a new token of at most {MAX_TOKEN_BYTES} bytes in base64 and its rank {rank}, found {line:?}"
                ));
            }
        }
    }
    Ok(tokens)
}

/// 256 and two more tokens, of which `tokenizer_config.json` names some.
fn kimi_special(config: &Map<String, Value>, first: usize) -> Vec<String> {
    let named = |id: usize| {
        config.get("added_tokens_decoder")?.get(id.to_string())?.get("content")?.as_str()
    };
    let text = |id| named(id).map_or_else(|| format!("<|reserved_token_{id}|>"), str::to_owned);
    (first..first + 258).map(text).collect()
}

/// The list in the code of the tokenizer.
fn hunyuan_special(_: &Map<String, Value>, _: usize) -> Vec<String> {
    let names = ["endoftext", "startoftext", "bos", "eos", "pad"].map(str::to_owned);
    let extra = (0..205).map(|number| format!("extra_{number}"));
    names.into_iter().chain(extra).map(|name| format!("<|{name}|>")).collect()
}

/// The name of a vocabulary in the folder.
pub(super) fn file_name(folder: &Path) -> Option<String> {
    let names = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.file_name());
    let names = names.filter_map(|name| name.into_string().ok());
    names.filter(|name| name == KNOWN[0].file || name.ends_with(".tiktoken")).min()
}

/// Why the vocabulary in the file `name` is not read.
pub(super) fn unsupported(name: &str) -> String {
    let known = KNOWN.map(|known| format!("{} with {}", known.file, known.class)).join(", ");
    format!(
        "{name} is a vocabulary of tiktoken, whose tokenizer is Python code; supported are these files with this \
         tokenizer_class in tokenizer_config.json: {known}"
    )
}
