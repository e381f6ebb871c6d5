//! BERT's greedy longest-match segmentation (`tokenizer.ggml.model` = "bert").
//!
//! In GGUF files, tokens that start a word have the prefix `▁`, those that continue a word have none.
//!
//! **Source**: Devlin et al. 2019, "BERT"; the normalization is that of its `BasicTokenizer`, as
//! implemented by llama.cpp (only the first character of a decomposition is used).

use unicode_normalization::UnicodeNormalization;

use super::trie::Trie;
use crate::TokenizerError;
use crate::unicode::{CharClass, simple_lowercase};
use crate::vocabulary::{ESCAPED_SPACE, Vocabulary};

/// Normalization of text.
#[derive(Clone, Copy)]
pub(crate) struct WordPieceOptions {
    pub lowercase: bool,
    pub strip_accents: bool,
}

/// The pieces of a vocabulary.
pub(crate) struct WordPiece {
    options: WordPieceOptions,
    pieces: Trie,
    unknown: u32,
}

impl WordPiece {
    pub fn new(vocabulary: &Vocabulary, options: WordPieceOptions) -> Result<Self, TokenizerError> {
        let unknown =
            vocabulary.special.unknown.ok_or(TokenizerError::MissingFallback { model: "bert" })?;
        let mut pieces = Trie::default();
        for id in vocabulary.ids().filter(|&id| !vocabulary.text(id).is_empty()) {
            pieces.insert(vocabulary.text(id).as_bytes(), id);
        }
        Ok(Self { options, pieces, unknown })
    }

    /// Appends the ids of `text`; a word with a part that is not a token becomes one unknown token.
    pub fn encode(&self, text: &str, ids: &mut Vec<u32>) {
        let mut word = String::from(ESCAPED_SPACE);
        for c in text.chars() {
            let c = if self.options.strip_accents { c.nfd().next().unwrap_or(c) } else { c };
            let class = CharClass::of(c);
            if class.any(CharClass::SPACE) {
                self.end_word(&mut word, ids);
                continue;
            }
            let unwanted = matches!(c, '\0' | char::REPLACEMENT_CHARACTER)
                || class.any(CharClass::CONTROL)
                || self.options.strip_accents && class.any(CharClass::MARK);
            if unwanted {
                continue;
            }
            let is_separate_word = class.any(CharClass::PUNCTUATION)
                || c < '\x7F' && class.any(CharClass::SYMBOL)
                || is_chinese(c);
            if is_separate_word {
                self.end_word(&mut word, ids);
            }
            word.push(if self.options.lowercase { simple_lowercase(c) } else { c });
            if is_separate_word {
                self.end_word(&mut word, ids);
            }
        }
        self.end_word(&mut word, ids);
    }

    /// Appends the ids of `word`, which starts with `▁`, and clears it.
    fn end_word(&self, word: &mut String, ids: &mut Vec<u32>) {
        if word.len() == ESCAPED_SPACE.len() {
            return;
        }
        let first = ids.len();
        let mut rest = word.as_bytes();
        while !rest.is_empty() {
            let Some((len, id)) = self.pieces.prefixes(rest).last() else {
                ids.truncate(first);
                ids.push(self.unknown);
                break;
            };
            ids.push(id);
            rest = &rest[len..];
        }
        word.truncate(ESCAPED_SPACE.len());
    }
}

/// The Chinese characters that BERT treats as separate words.
fn is_chinese(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}'
        | '\u{20000}'..='\u{2A6DF}' | '\u{2A700}'..='\u{2B81F}' | '\u{2B920}'..='\u{2CEAF}'
        | '\u{2F800}'..='\u{2FA1F}')
}
