//! BERT's greedy longest-match segmentation (`tokenizer.ggml.model` = "bert").
//!
//! In GGUF files, tokens that start a word have the prefix `▁`, those that continue a word have none. Files do not
//! state whether control characters are removed, whether Chinese characters are words of their own
//! (`tokenize_chinese_chars`), and the maximum length of a word. These are the defaults of `BertTokenizer` in
//! transformers: yes, yes and 100 characters.
//!
//! **Source**: Devlin et al. 2019, "BERT"; `BertNormalizer`, `BertPreTokenizer` and `WordPiece` of Hugging Face's
//! tokenizers. llama.cpp differs: it uses only the first character of a decomposition, removes all kinds of marks, and
//! has no maximum.

use unicode_normalization::UnicodeNormalization;

use super::bert_characters::{is_accent, is_chinese, is_punctuation, is_removed};
use super::trie::Trie;
use crate::TokenizerError;
use crate::vocabulary::{ESCAPED_SPACE, Vocabulary};

/// Longer words are one unknown token.
const MAX_WORD_CHARS: usize = 100;

/// Normalization of text.
#[derive(Clone, Copy)]
pub(crate) struct WordPieceOptions {
    pub lowercase: bool,
    pub strip_accents: bool,
}

/// The pieces of a vocabulary.
pub(crate) struct WordPiece {
    options: WordPieceOptions,
    /// Pieces that start a word, without the prefix.
    starts: Trie,
    /// Pieces that continue a word.
    continuations: Trie,
    unknown: u32,
}

impl WordPiece {
    pub fn new(vocabulary: &Vocabulary, options: WordPieceOptions) -> Result<Self, TokenizerError> {
        let unknown =
            vocabulary.special.unknown.ok_or(TokenizerError::MissingFallback { model: "bert" })?;
        let (mut starts, mut continuations) = (Trie::default(), Trie::default());
        for id in vocabulary.ids().filter(|&id| !vocabulary.text(id).is_empty()) {
            let text = vocabulary.text(id);
            match text.strip_prefix(ESCAPED_SPACE).filter(|start| !start.is_empty()) {
                Some(start) => starts.insert(start.as_bytes(), id),
                None => continuations.insert(text.as_bytes(), id),
            }
        }
        Ok(Self { options, starts, continuations, unknown })
    }

    /// Appends the ids of `text`; a word with a part that is not a token becomes one unknown token.
    pub fn encode(&self, text: &str, ids: &mut Vec<u32>) {
        let cleaned = text.chars().filter(|&c| !is_removed(c)).flat_map(with_spaces);
        match self.options.strip_accents {
            true => self.encode_words(cleaned.nfd().filter(|&c| !is_accent(c)), ids),
            false => self.encode_words(cleaned, ids),
        }
    }

    /// Appends the ids of words, which are separated by white space or consist of one punctuation character.
    fn encode_words(&self, text: impl Iterator<Item = char>, ids: &mut Vec<u32>) {
        let mut word = String::new();
        for c in text {
            if c.is_whitespace() {
                self.end_word(&mut word, ids);
                continue;
            }
            let is_separate_word = is_punctuation(c);
            if is_separate_word {
                self.end_word(&mut word, ids);
            }
            match self.options.lowercase {
                true => word.extend(c.to_lowercase()),
                false => word.push(c),
            }
            if is_separate_word {
                self.end_word(&mut word, ids);
            }
        }
        self.end_word(&mut word, ids);
    }

    /// Appends the ids of `word`, and clears it.
    fn end_word(&self, word: &mut String, ids: &mut Vec<u32>) {
        if word.is_empty() {
            return;
        }
        let first = ids.len();
        if self.divide(word, ids).is_none() {
            ids.truncate(first);
            ids.push(self.unknown);
        }
        word.clear();
    }

    /// Appends the ids of the pieces of `word`, each the longest possible; `None` if a part of it has none.
    fn divide(&self, word: &str, ids: &mut Vec<u32>) -> Option<()> {
        if word.chars().nth(MAX_WORD_CHARS).is_some() {
            return None;
        }
        let (mut pieces, mut rest) = (&self.starts, word.as_bytes());
        while !rest.is_empty() {
            let (len, id) = pieces.prefixes(rest).last()?;
            ids.push(id);
            (pieces, rest) = (&self.continuations, &rest[len..]);
        }
        Some(())
    }
}

/// A character, between spaces if it is Chinese.
fn with_spaces(c: char) -> impl Iterator<Item = char> {
    let space = is_chinese(c).then_some(' ');
    space.into_iter().chain([c]).chain(space)
}
