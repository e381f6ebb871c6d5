//! `tekken.json`, the tokenizer of Mistral's own files: byte-level BPE, whose merges follow from the ranks of its tokens.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use inferno_gguf::{Metadata, StringArray};
use inferno_tokenizer::byte_level_text;
use serde_json::{Map, Value};

use super::files::{MAX_TOKENS, TEKKEN, TokenizerFiles};
use super::ranks::{MAX_TOKEN_BYTES, Ranks};
use super::special::SpecialTokens;
use super::{TokenType, Tokens};
use crate::ConvertError;

/// The special tokens of files without a list of them (Mistral Nemo).
const DEFAULT_SPECIAL: [&str; 20] = [
    "<unk>",
    "<s>",
    "</s>",
    "[INST]",
    "[/INST]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "[TOOL_CALLS]",
    "[IMG]",
    "<pad>",
    "[IMG_BREAK]",
    "[IMG_END]",
    "[PREFIX]",
    "[MIDDLE]",
    "[SUFFIX]",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[TOOL_CONTENT]",
];

/// The tokenizer of `tekken.json`.
pub(super) struct Tekken {
    pub(super) tokens: Tokens,
    merges: Vec<String>,
    num_special: usize,
}

impl Tekken {
    /// Parses the file.
    pub(super) fn new(
        files: &TokenizerFiles,
        tekken: &Map<String, Value>,
    ) -> Result<Self, ConvertError> {
        let invalid = |reason: String| ConvertError::invalid(files.folder.join(TEKKEN), reason);
        let config = tekken.get("config").unwrap_or(&Value::Null);
        let count = |key: &str| {
            let found = config[key].as_u64().filter(|count| *count < MAX_TOKENS);
            found.map(|count| count as usize).ok_or_else(|| {
                invalid(format!("config.{key}: expected a number, found {}", config[key]))
            })
        };
        let (size, num_special) =
            (count("default_vocab_size")?, count("default_num_special_tokens")?);
        let Some(vocabulary) = tekken.get("vocab").and_then(Value::as_array) else {
            return Err(invalid("expected a list \"vocab\"".to_owned()));
        };
        let num_text =
            size.checked_sub(num_special).filter(|len| (256..=vocabulary.len()).contains(len));
        let Some(num_text) = num_text else {
            return Err(invalid(format!(
                "expected at least 256 tokens and as many as config states ({size} with {num_special} special ones), \
                 found {}",
                vocabulary.len()
            )));
        };
        let mut texts = special_texts(tekken, num_special).map_err(invalid)?;
        let mut bytes = Vec::with_capacity(num_text);
        for (rank, token) in vocabulary[..num_text].iter().enumerate() {
            let decoded = token["token_bytes"].as_str().and_then(|text| STANDARD.decode(text).ok());
            match decoded {
                Some(decoded)
                    if token["rank"].as_u64() == Some(rank as u64)
                        && (1..=MAX_TOKEN_BYTES).contains(&decoded.len())
                        && (decoded.len() == 1 || rank >= 256) =>
                {
                    bytes.push(decoded);
                }
                _ => {
                    return Err(invalid(format!(
                        "vocab[{rank}]: expected rank {rank} and token_bytes in base64 (one byte below rank 256, at \
                         most {MAX_TOKEN_BYTES} above), found {token}"
                    )));
                }
            }
        }
        texts.extend(bytes.iter().map(|token| byte_level_text(token)));
        let types = (0..size).map(|id| match id < num_special {
            true => TokenType::Control,
            false => TokenType::Normal,
        });
        let tokens = Tokens { types: types.collect(), texts, scores: Some(vec![0.0; size]) };
        let ranks = Ranks::new(&bytes);
        if let Some(rank) = ranks.first_unjoined() {
            return Err(invalid(format!("vocab[{rank}]: no two tokens join to this one")));
        }
        let merges = ranks.merges().map_err(invalid)?;
        Ok(Self { tokens, merges, num_special })
    }

    /// Writes the merges.
    pub(super) fn write(&self, metadata: &mut Metadata) {
        let merges: StringArray = self.merges.iter().collect();
        metadata.insert("tokenizer.ggml.merges", merges);
    }

    /// The tokens with a role.
    pub(super) fn special(&self) -> SpecialTokens {
        let mut special = SpecialTokens::default();
        let find = |text: &str| {
            self.tokens.texts[..self.num_special].iter().position(|token| token == text)
        };
        let roles = [("bos", "<s>"), ("eos", "</s>"), ("unk", "<unk>"), ("pad", "<pad>")];
        for (role, text) in roles {
            // Without padding, any token serves.
            let id = find(text).or_else(|| find("</s>").filter(|_| role == "pad"));
            if let Some(id) = id {
                special.set(role, id);
            }
        }
        special.set_added("bos", true);
        special.set_added("eos", false);
        special
    }
}

/// The texts of the special tokens, of which there are `len`.
fn special_texts(tekken: &Map<String, Value>, len: usize) -> Result<Vec<String>, String> {
    let mut texts: Vec<String> = (0..len).map(|id| format!("<SPECIAL_{id}>")).collect();
    let Some(listed) = tekken.get("special_tokens").and_then(Value::as_array) else {
        let known = texts.iter_mut().zip(DEFAULT_SPECIAL);
        known.for_each(|(text, default)| *text = default.to_owned());
        return Ok(texts);
    };
    for token in listed {
        let id = token["rank"].as_u64().map(|id| id as usize);
        match (id.and_then(|id| texts.get_mut(id)), token["token_str"].as_str()) {
            (Some(text), Some(own)) => *text = own.to_owned(),
            _ => {
                return Err(format!(
                    "special_tokens: expected a rank below {len} and a token_str, found {token}"
                ));
            }
        }
    }
    Ok(texts)
}
