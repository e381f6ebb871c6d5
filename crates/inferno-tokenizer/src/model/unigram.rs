//! The most probable segmentation under a unigram language model (`tokenizer.ggml.model` = "t5").
//!
//! **Source**: Kudo 2018, "Subword Regularization".

use super::charsmap::Charsmap;
use super::trie::Trie;
use crate::TokenizerError;
use crate::vocabulary::{ESCAPED_SPACE, TokenType, Vocabulary};

/// Score of a character without a token, relative to that of the least probable token.
const UNKNOWN_PENALTY: f32 = 10.0;

/// Normalization of text before segmentation.
pub(crate) struct UnigramOptions {
    pub charsmap: Charsmap,
    pub add_space_prefix: bool,
    pub remove_extra_spaces: bool,
}

/// The scored pieces of a vocabulary.
pub(crate) struct Unigram {
    options: UnigramOptions,
    pieces: Trie,
    /// The score of each token, zero for user-defined ones.
    scores: Vec<f64>,
    unknown: u32,
    unknown_score: f64,
}

/// The best segmentation up to a byte: its last token, the start of that, and the total score.
#[derive(Clone, Copy)]
struct Best {
    id: u32,
    start: usize,
    score: f64,
}

impl Unigram {
    pub fn new(vocabulary: &Vocabulary, options: UnigramOptions) -> Result<Self, TokenizerError> {
        let unknown =
            vocabulary.special.unknown.ok_or(TokenizerError::MissingFallback { model: "t5" })?;
        let mut pieces = Trie::default();
        let mut lowest = f32::MAX;
        for id in vocabulary.ids().filter(|&id| !vocabulary.text(id).is_empty()) {
            let kind = vocabulary.kind(id);
            if kind == TokenType::Normal {
                lowest = lowest.min(vocabulary.score(id));
            }
            if matches!(kind, TokenType::Normal | TokenType::UserDefined | TokenType::Unused) {
                pieces.insert(vocabulary.text(id).as_bytes(), id);
            }
        }
        let score = |id| match vocabulary.kind(id) {
            TokenType::UserDefined => 0.0,
            _ => f64::from(vocabulary.score(id)),
        };
        Ok(Self {
            options,
            pieces,
            scores: vocabulary.ids().map(score).collect(),
            unknown,
            unknown_score: f64::from(lowest - UNKNOWN_PENALTY),
        })
    }

    pub fn adds_space_prefix(&self) -> bool {
        self.options.add_space_prefix
    }

    /// Appends the ids of `text`; a run of unknown characters becomes one unknown token.
    pub fn encode(&self, text: &str, ids: &mut Vec<u32>) {
        let normalized = self.normalize(text);
        if normalized.is_empty() {
            return;
        }
        let best = self.segment(&normalized);
        let first = ids.len();
        let mut end = normalized.len();
        while end > 0 {
            let Best { id, start, .. } = best[end];
            let repeats_unknown =
                id == self.unknown && ids.len() > first && ids.last() == Some(&id);
            if !repeats_unknown {
                ids.push(id);
            }
            end = start;
        }
        ids[first..].reverse();
    }

    /// Viterbi: the best way to reach each byte at which a token can end.
    fn segment(&self, text: &[u8]) -> Vec<Best> {
        let unreached = Best { id: self.unknown, start: 0, score: f64::MIN };
        let mut best = vec![unreached; text.len() + 1];
        best[0].score = 0.0;
        let mut start = 0;
        while start < text.len() {
            let char_len = char_len(text[start]).min(text.len() - start);
            let score = best[start].score;
            let mut char_is_token = false;
            let mut offer = |len: usize, id: u32, score: f64| {
                if score > best[start + len].score {
                    best[start + len] = Best { id, start, score };
                }
            };
            for (len, id) in self.pieces.prefixes(&text[start..]) {
                char_is_token |= len == char_len;
                offer(len, id, score + self.scores[id as usize]);
            }
            if !char_is_token {
                offer(char_len, self.unknown, score + self.unknown_score);
            }
            start += char_len;
        }
        best
    }

    /// Applies the character map, escapes spaces as `▁`, and collapses and adds them as the file's
    /// options require.
    fn normalize(&self, text: &str) -> Vec<u8> {
        let UnigramOptions { charsmap, add_space_prefix, remove_extra_spaces } = &self.options;
        let mut normalized = Vec::with_capacity(text.len() + text.len() / 2);
        let mut in_word = false;
        let mut prefixed = false;
        let mut push = |byte: u8| {
            if byte == b' ' {
                in_word = false;
                if !remove_extra_spaces {
                    normalized.extend_from_slice(ESCAPED_SPACE.as_bytes());
                }
                return;
            }
            if !in_word && (*add_space_prefix && !prefixed || *remove_extra_spaces) {
                normalized.extend_from_slice(ESCAPED_SPACE.as_bytes());
                prefixed = true;
            }
            in_word = true;
            normalized.push(byte);
        };
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            match charsmap.longest_match(rest.as_bytes()) {
                Some((len, replacement)) if rest.is_char_boundary(len) => {
                    replacement.iter().copied().for_each(&mut push);
                    rest = &rest[len..];
                }
                _ => {
                    let (char, after) = rest.split_at(c.len_utf8());
                    char.bytes().for_each(&mut push);
                    rest = after;
                }
            }
        }
        normalized
    }
}

/// The length of the UTF-8 character that starts with `byte`.
fn char_len(byte: u8) -> usize {
    match byte {
        0xF0.. => 4,
        0xE0.. => 3,
        0xC0.. => 2,
        _ => 1,
    }
}
