//! SentencePiece's BPE by scores, with byte fallback (`tokenizer.ggml.model` = "llama").
//!
//! **Source**: Kudo and Richardson 2018, "SentencePiece: A simple and language independent subword
//! tokenizer".

use super::merge::{MergeResult, MergeRules, Merger, Symbol};
use super::word_cache::WordCache;
use crate::TokenizerError;
use crate::vocabulary::{ESCAPED_SPACE, Vocabulary};
use std::collections::HashMap;

use foldhash::fast::RandomState;

/// The symbol of a character that is not a token.
const UNKNOWN: Symbol = Symbol::MAX;

/// The scored pieces of a vocabulary.
pub(crate) struct SentencePiece {
    pieces: HashMap<Box<[u8]>, MergeResult, RandomState>,
    max_piece_len: usize,
    fallback: Fallback,
    add_space_prefix: bool,
    /// Whether no piece spans a word boundary, so that words can be merged separately.
    words_are_separate: bool,
}

/// The tokens of characters that are not tokens themselves.
enum Fallback {
    Bytes(Box<[u32; 256]>),
    Unknown(u32),
}

impl MergeRules for SentencePiece {
    fn merge(&self, _left: Symbol, _right: Symbol, text: &[u8]) -> Option<MergeResult> {
        if text.len() > self.max_piece_len {
            return None;
        }
        self.pieces.get(text).copied()
    }
}

impl SentencePiece {
    pub fn new(vocabulary: &Vocabulary, add_space_prefix: bool) -> Result<Self, TokenizerError> {
        let bytes: Option<Vec<u32>> = (0..=255).map(|byte| vocabulary.byte_id(byte)).collect();
        let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
        let fallback = match (bytes, vocabulary.special.unknown) {
            (Some(bytes), _) => Fallback::Bytes(Box::new(bytes)),
            (None, Some(id)) => Fallback::Unknown(id),
            (None, None) => return Err(TokenizerError::MissingFallback { model: "llama" }),
        };
        let texts =
            || vocabulary.ids().map(|id| vocabulary.text(id)).filter(|text| !text.is_empty());
        let pieces = vocabulary
            .ids()
            .filter(|&id| !vocabulary.text(id).is_empty())
            .map(|id| {
                let priority = descending(vocabulary.score(id));
                (vocabulary.text(id).as_bytes().into(), MergeResult { priority, symbol: id })
            })
            .collect();
        Ok(Self {
            pieces,
            max_piece_len: texts().map(str::len).max().unwrap_or(0),
            fallback,
            add_space_prefix,
            words_are_separate: !texts().any(spans_a_word_boundary),
        })
    }

    pub fn adds_space_prefix(&self) -> bool {
        self.add_space_prefix
    }

    /// Appends the ids of `text`, with a space before it at the start and after special tokens.
    pub fn encode(&self, text: &str, after_special: bool, ids: &mut Vec<u32>) {
        let mut escaped = String::with_capacity(text.len() + text.len() / 2);
        if self.add_space_prefix && after_special {
            escaped.push_str(ESCAPED_SPACE);
        }
        for (index, word) in text.split(' ').enumerate() {
            if index > 0 {
                escaped.push_str(ESCAPED_SPACE);
            }
            escaped.push_str(word);
        }
        let mut merger = Merger::default();
        if !self.words_are_separate {
            return self.encode_word(&escaped, &mut merger, ids);
        }
        let mut cache = WordCache::default();
        for word in words(&escaped) {
            cache.encode(word, ids, |ids| self.encode_word(word, &mut merger, ids));
        }
    }

    fn encode_word(&self, word: &str, merger: &mut Merger, ids: &mut Vec<u32>) {
        merger.clear();
        for (start, c) in word.char_indices() {
            let bytes = &word.as_bytes()[start..start + c.len_utf8()];
            let symbol = self.pieces.get(bytes).map_or(UNKNOWN, |piece| piece.symbol);
            merger.push(symbol, bytes.len());
        }
        for span in merger.run(word.as_bytes(), self) {
            match (&self.fallback, span.symbol) {
                (Fallback::Bytes(tokens), UNKNOWN) => {
                    let bytes = &word.as_bytes()[span.start..span.start + span.len];
                    ids.extend(bytes.iter().map(|&byte| tokens[byte as usize]));
                }
                (Fallback::Unknown(id), UNKNOWN) => ids.push(*id),
                (_, id) => ids.push(id),
            }
        }
    }
}

/// Maps scores to integers in descending order; -0 and 0 are equal.
fn descending(score: f32) -> u32 {
    let bits = (score + 0.0).to_bits();
    let ascending = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
    !ascending
}

/// Whether `text` contains a space after another character.
fn spans_a_word_boundary(text: &str) -> bool {
    text.trim_start_matches(ESCAPED_SPACE).contains(ESCAPED_SPACE)
}

/// Splits a text before each run of escaped spaces.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let letters = rest.trim_start_matches(ESCAPED_SPACE);
        let spaces = rest.len() - letters.len();
        let len = spaces + letters.find(ESCAPED_SPACE).unwrap_or(letters.len());
        let (word, after) = rest.split_at(len);
        rest = after;
        (len > 0).then_some(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_higher_score_comes_first() {
        let order = [f32::INFINITY, 2.0, 1.5, 0.0, -0.5, -7.0, f32::NEG_INFINITY];
        assert!(order.windows(2).all(|pair| descending(pair[0]) < descending(pair[1])));
        assert_eq!(descending(0.0), descending(-0.0));
    }

    #[test]
    fn words_start_with_their_spaces() {
        let text = "ab▁▁cd▁e▁";
        assert_eq!(words(text).collect::<Vec<_>>(), ["ab", "▁▁cd", "▁e", "▁"]);
    }
}
