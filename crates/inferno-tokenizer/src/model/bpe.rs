//! Byte-pair encoding by a list of merges (`tokenizer.ggml.model` = "gpt2", "gemma4").
//!
//! **Source**: Sennrich et al. 2016, "Neural Machine Translation of Rare Words with Subword Units".

use std::collections::HashMap;

use foldhash::fast::RandomState;
use inferno_gguf::StringArray;

use super::merge::{MergeResult, MergeRules, Merger, Symbol};
use super::word_cache::WordCache;
use crate::TokenizerError;
use crate::byte_alphabet;
use crate::pre_tokenizer::{Alphabet, PreTokenizer};
use crate::vocabulary::{ESCAPED_SPACE, Vocabulary};

/// The symbol of text that no token or merge covers.
const UNKNOWN: Symbol = Symbol::MAX;

/// The merges of a vocabulary.
pub(crate) struct Bpe {
    pre_tokenizer: PreTokenizer,
    /// Symbols of texts: tokens, and numbers above the vocabulary for merge results that are not
    /// tokens.
    symbols: HashMap<Box<[u8]>, Symbol, RandomState>,
    merges: HashMap<(Symbol, Symbol), MergeResult, RandomState>,
    /// The token of each single byte, for symbols that are not tokens.
    bytes: Box<[Option<u32>; 256]>,
    vocab_size: u32,
}

impl MergeRules for Bpe {
    fn merge(&self, left: Symbol, right: Symbol, _text: &[u8]) -> Option<MergeResult> {
        self.merges.get(&(left, right)).copied()
    }
}

impl Bpe {
    pub fn new(
        vocabulary: &Vocabulary,
        merges: &StringArray,
        pre_tokenizer: PreTokenizer,
    ) -> Result<Self, TokenizerError> {
        // Words never contain text outside the byte alphabet.
        let in_alphabet = |text: &str| match pre_tokenizer.alphabet {
            Alphabet::Bytes => byte_alphabet::to_bytes(text),
            Alphabet::Text { .. } => Some(text.as_bytes().to_vec()),
        };
        let mut symbols =
            HashMap::with_capacity_and_hasher(vocabulary.len(), RandomState::default());
        for id in vocabulary.ids().filter(|&id| !vocabulary.text(id).is_empty()) {
            if let Some(bytes) = in_alphabet(vocabulary.text(id)) {
                symbols.insert(bytes.into_boxed_slice(), id);
            }
        }
        let bytes = std::array::from_fn(|byte| match pre_tokenizer.alphabet {
            Alphabet::Bytes => symbols.get(&[byte as u8][..]).copied(),
            Alphabet::Text { .. } => vocabulary.byte_id(byte as u8),
        });

        let mut bpe = Self {
            pre_tokenizer,
            symbols,
            merges: HashMap::with_capacity_and_hasher(merges.len(), RandomState::default()),
            bytes: Box::new(bytes),
            vocab_size: vocabulary.len() as u32,
        };
        let mut next_free = bpe.vocab_size;
        for (index, merge) in merges.iter().enumerate() {
            let malformed = || TokenizerError::MalformedMerge { index, merge: merge.to_owned() };
            let (left, right) = halves(merge).ok_or_else(malformed)?;
            let (Some(left), Some(right)) = (in_alphabet(left), in_alphabet(right)) else {
                continue;
            };
            let mut symbol_of = |text: &[u8]| {
                let symbol = *bpe.symbols.entry(text.into()).or_insert(next_free);
                next_free += u32::from(symbol == next_free);
                symbol
            };
            let pair = (symbol_of(&left), symbol_of(&right));
            let symbol = symbol_of(&[left, right].concat());
            let priority = index as u32;
            bpe.merges.entry(pair).or_insert(MergeResult { priority, symbol });
        }
        Ok(bpe)
    }

    /// Appends the ids of `text`.
    pub fn encode(&self, text: &str, ids: &mut Vec<u32>) {
        match self.pre_tokenizer.alphabet {
            Alphabet::Bytes => self.encode_words(text, ids),
            Alphabet::Text { .. } => self.encode_words(&text.replace(' ', ESCAPED_SPACE), ids),
        }
    }

    fn encode_words(&self, text: &str, ids: &mut Vec<u32>) {
        let mut cache = WordCache::default();
        let mut merger = Merger::default();
        self.pre_tokenizer.split(text, &mut |word| {
            cache.encode(word, ids, |ids| self.encode_word(word, &mut merger, ids));
        });
    }

    fn encode_word(&self, word: &str, merger: &mut Merger, ids: &mut Vec<u32>) {
        if self.is_encoded_whole(word)
            && let Some(id) = self.token(word.as_bytes())
        {
            return ids.push(id);
        }
        merger.clear();
        match self.pre_tokenizer.alphabet {
            Alphabet::Bytes => {
                for &byte in word.as_bytes() {
                    merger.push(self.symbol(&[byte]), 1);
                }
            }
            Alphabet::Text { .. } => {
                for (start, c) in word.char_indices() {
                    let bytes = &word.as_bytes()[start..start + c.len_utf8()];
                    merger.push(self.symbol(bytes), bytes.len());
                }
            }
        }
        for span in merger.run(word.as_bytes(), self) {
            if span.symbol < self.vocab_size {
                ids.push(span.symbol);
            } else {
                let bytes = &word.as_bytes()[span.start..span.start + span.len];
                ids.extend(bytes.iter().filter_map(|&byte| self.bytes[byte as usize]));
            }
        }
    }

    /// Whether a word is encoded without merging if it is a token.
    fn is_encoded_whole(&self, word: &str) -> bool {
        let newline_runs = self.pre_tokenizer.alphabet == Alphabet::Text { newline_runs: true };
        self.pre_tokenizer.ignore_merges || newline_runs && word.bytes().all(|byte| byte == b'\n')
    }

    fn symbol(&self, text: &[u8]) -> Symbol {
        self.symbols.get(text).copied().unwrap_or(UNKNOWN)
    }

    fn token(&self, text: &[u8]) -> Option<u32> {
        self.symbols.get(text).copied().filter(|&symbol| symbol < self.vocab_size)
    }
}

/// The two sides of a merge. The first one may start with a space.
fn halves(merge: &str) -> Option<(&str, &str)> {
    let first = merge.chars().next()?.len_utf8();
    let space = first + merge[first..].find(' ')?;
    let (left, right) = (&merge[..space], &merge[space + 1..]);
    (!right.is_empty()).then_some((left, right))
}
