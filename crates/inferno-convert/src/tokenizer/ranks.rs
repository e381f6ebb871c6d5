//! Byte-level BPE whose merges follow from the ranks of its tokens, as in tiktoken.

use std::collections::HashMap;

use inferno_tokenizer::byte_level_text;

/// Maximum length of a token, which is divided in every place.
pub(super) const MAX_TOKEN_BYTES: usize = 4096;

/// Maximum size of all merges, many times that of published vocabularies.
const MAX_MERGE_BYTES: usize = 256 << 20;

/// The tokens in the order of their ranks.
pub(super) struct Ranks<'a> {
    tokens: &'a [Vec<u8>],
    ranks: HashMap<&'a [u8], usize>,
}

impl<'a> Ranks<'a> {
    pub(super) fn new(tokens: &'a [Vec<u8>]) -> Self {
        let ranks = tokens.iter().enumerate().map(|(rank, token)| (&token[..], rank)).collect();
        Self { tokens, ranks }
    }

    /// The pairs of tokens that join to the token of a rank.
    fn pairs(&self, rank: usize) -> impl Iterator<Item = (usize, usize)> {
        let token = &self.tokens[rank];
        let splits = (1..token.len()).map(|middle| token.split_at(middle));
        splits.filter_map(|(left, right)| Some((*self.ranks.get(left)?, *self.ranks.get(right)?)))
    }

    /// The first token of several bytes to which no two tokens join.
    pub(super) fn first_unjoined(&self) -> Option<usize> {
        let mut ranks = 0..self.tokens.len();
        ranks.find(|&rank| self.tokens[rank].len() > 1 && self.pairs(rank).next().is_none())
    }

    /// The merges, in the order of the tokens that they create.
    ///
    /// **Errors**: merges larger than those of any known vocabulary.
    pub(super) fn merges(&self) -> Result<Vec<String>, String> {
        let (mut merges, mut num_bytes) = (Vec::new(), 0);
        for rank in 0..self.tokens.len() {
            let mut pairs: Vec<_> = self.pairs(rank).collect();
            pairs.sort_unstable();
            num_bytes += pairs.len() * self.tokens[rank].len();
            if num_bytes > MAX_MERGE_BYTES {
                return Err(format!(
                    "the merges of the first {rank} tokens are larger than any known"
                ));
            }
            let text = |rank: usize| byte_level_text(&self.tokens[rank]);
            let joined = pairs.iter().map(|&(a, b)| format!("{} {}", text(a), text(b)));
            merges.extend(joined);
        }
        Ok(merges)
    }
}
