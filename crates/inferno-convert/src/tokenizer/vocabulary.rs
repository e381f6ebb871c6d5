//! The tokens of vocabularies without scores: byte-level BPE and WordPiece.

use super::files::{TokenizerFiles, looks_special};
use super::{TokenType, Tokens, padding_text};
use crate::ConvertError;

/// The tokens of `tokenizer.json`, of which there are `size`, or as many as the file has.
pub(super) fn tokens(files: &TokenizerFiles, size: Option<usize>) -> Result<Tokens, ConvertError> {
    let vocabulary = files.vocabulary()?;
    let added = files.added_tokens()?;
    let special = files.special_texts();
    let last = vocabulary.keys().chain(added.keys()).max().map_or(0, |last| last + 1);
    let size = size.unwrap_or(last);
    if last > size {
        return Err(ConvertError::tokenizer(format!(
            "the last token has number {}, but config.json has a vocab_size of {size}",
            last - 1
        )));
    }
    let mut tokens = Tokens { texts: Vec::new(), types: Vec::new(), scores: None };
    for id in 0..size {
        let (text, kind) = match (added.get(&id), vocabulary.get(&id)) {
            (Some(token), _) => {
                let is_control = token.is_special
                    || special.contains(&token.text.as_str())
                    || looks_special(&token.text);
                match is_control {
                    true => (token.text.clone(), TokenType::Control),
                    // Tokens of text are matched before spaces are escaped.
                    false => (token.text.replace('▁', " "), TokenType::UserDefined),
                }
            }
            (None, Some(text)) => ((*text).to_owned(), TokenType::Normal),
            (None, None) => (padding_text(id), TokenType::Unused),
        };
        tokens.texts.push(text);
        tokens.types.push(kind);
    }
    Ok(tokens)
}
