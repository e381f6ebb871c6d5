//! BPE on text with tokens for bytes, as sentence-piece models become in `tokenizer.json`.

use std::collections::HashMap;

use super::files::TokenizerFiles;
use super::{TokenType, Tokens};
use crate::ConvertError;
use crate::family::TokenizerFacts;

/// The score of tokens that no merge creates.
const NO_MERGE: f32 = -1000.0;

/// The tokens and the merges.
///
/// Sentence-piece vocabularies merge by score. The score of a token is the rank of the first merge that creates it, so
/// that the merges have the order of `tokenizer.json`. With `merges_model`, the merges themselves are used.
pub(super) fn tokens(
    files: &TokenizerFiles,
    facts: &TokenizerFacts,
) -> Result<(Tokens, Vec<String>), ConvertError> {
    let vocabulary = files.vocabulary()?;
    let added = files.added_tokens()?;
    let special = files.special_texts();
    let merges = files.merges()?;
    let mut ranks = HashMap::new();
    for (rank, (first, second)) in merges.iter().enumerate() {
        ranks.entry(format!("{first}{second}")).or_insert(-(rank as f32));
    }
    let base = vocabulary.keys().next_back().map_or(0, |last| last + 1);
    let size = added.keys().next_back().map_or(base, |last| base.max(last + 1));
    let (mut texts, mut types, mut scores) = (Vec::new(), Vec::new(), Vec::new());
    for id in 0..size {
        let token = added.get(&id);
        let Some(text) = token.map(|token| token.text.as_str()).or(vocabulary.get(&id).copied())
        else {
            return Err(files.invalid(format!("token {id} is missing")));
        };
        let is_special = token.is_some_and(|token| token.is_special) || special.contains(&text);
        types.push(match () {
            () if facts.visible.contains(&text) => TokenType::UserDefined,
            () if is_byte(text) => TokenType::Byte,
            () if is_special => TokenType::Control,
            // The text of others is not unescaped, but runs of spaces are among these in Gemma's vocabularies.
            () if token.is_none() || id < base && text.contains('▁') => TokenType::Normal,
            () => TokenType::UserDefined,
        });
        let rank = ranks.get(text).copied().filter(|_| facts.merges_model.is_none());
        scores.push(rank.unwrap_or(NO_MERGE));
        texts.push(text.to_owned());
    }
    Ok((Tokens { texts, types, scores: Some(scores) }, files.merge_texts()?))
}

/// Whether a token stands for a byte, such as `<0x0A>`.
fn is_byte(text: &str) -> bool {
    let digits = text.strip_prefix("<0x").and_then(|rest| rest.strip_suffix('>'));
    digits.is_some_and(|digits| {
        digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}
