//! Drafts by prompt lookup: the tokens that followed the last occurrence of the text's end.
//!
//! Invariant: `earlier` has an entry for each position of the tokens indexed so far, and every entry points to
//! an earlier position. The index of n-grams grows by one entry per token, so that a lookup never scans the
//! text.
//!
//! **Source**: Saxena, Prompt Lookup Decoding, 2023.

use std::collections::HashMap;

/// Number of tokens that must match before anything is drafted. With two, common pairs of words mislead; with
/// four, each return of an edited text to the original costs one more pass. Measured: on edits and quotes both
/// took more passes, and on text that repeats little two was hardly better.
const NGRAM: usize = 3;

/// Maximum number of earlier occurrences that are compared, the latest first.
const MAX_NUM_PLACES: usize = 8;

/// The n-grams of a text that grows.
#[derive(Debug, Default)]
pub(super) struct PromptLookup {
    /// The last position at which each n-gram ended.
    ends: HashMap<[u32; NGRAM], usize>,
    /// For each position, the previous one at which the same n-gram ended; 0 for none.
    earlier: Vec<usize>,
}

impl PromptLookup {
    /// Indexes the tokens beyond those that were indexed before.
    pub(super) fn extend(&mut self, tokens: &[u32]) {
        for end in self.earlier.len()..=tokens.len() {
            let ngram = tokens[..end].last_chunk::<NGRAM>();
            let before = ngram.and_then(|ngram| self.ends.insert(*ngram, end));
            self.earlier.push(before.unwrap_or(0));
        }
    }

    /// Appends to `drafts` at most `max_num_drafts` tokens that may follow `tokens`, all of which are indexed:
    /// those after the longest match, the latest of equal ones. There are as many as tokens match, so that a
    /// longer match yields more drafts.
    pub(super) fn draft(&self, tokens: &[u32], max_num_drafts: usize, drafts: &mut Vec<u32>) {
        let (mut best, mut longest) = (0, 0);
        let mut place = self.earlier[tokens.len()];
        for _ in 0..MAX_NUM_PLACES {
            if place == 0 || longest >= max_num_drafts {
                break;
            }
            let agreeing = agreeing(&tokens[..place], tokens, max_num_drafts);
            if agreeing > longest {
                (best, longest) = (place, agreeing);
            }
            place = self.earlier[place];
        }
        let start = drafts.len();
        for at in best..best + longest {
            // If the text repeats itself with a short period, so does the draft.
            let draft =
                tokens.get(at).copied().unwrap_or_else(|| drafts[start + at - tokens.len()]);
            drafts.push(draft);
        }
    }
}

/// Returns the length of the longest common suffix, at most `limit`.
fn agreeing(one: &[u32], other: &[u32], limit: usize) -> usize {
    let pairs = one.iter().rev().zip(other.iter().rev());
    pairs.take(limit).take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn drafts(tokens: &[u32], max_num_drafts: usize) -> Vec<u32> {
        let (mut lookup, mut drafts) = (PromptLookup::default(), Vec::new());
        lookup.extend(tokens);
        lookup.draft(tokens, max_num_drafts, &mut drafts);
        drafts
    }

    #[test]
    fn nothing_is_drafted_before_three_tokens_agree() {
        assert!(drafts(&[], 8).is_empty());
        assert!(drafts(&[1, 2, 3, 9, 4, 2, 3], 8).is_empty());
        assert_eq!(drafts(&[1, 2, 3, 9, 8, 7, 6, 1, 2, 3], 8), [9, 8, 7]);
    }

    #[test]
    fn more_tokens_that_agree_are_trusted_further_up_to_the_limit() {
        let tokens = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4];
        assert_eq!(drafts(&tokens, 8), [5, 6, 7, 8, 9]);
        assert_eq!(drafts(&tokens, 4), [5, 6, 7, 8]);
    }

    #[test]
    fn the_place_that_agrees_longest_wins_then_the_latest() {
        assert_eq!(drafts(&[5, 1, 2, 3, 7, 6, 1, 2, 3, 8, 9, 5, 1, 2, 3], 8), [7, 6, 1, 2]);
        assert_eq!(drafts(&[1, 2, 3, 7, 1, 2, 3, 8, 9, 1, 2, 3], 8), [8, 9, 1]);
    }

    #[test]
    fn a_short_period_is_continued_beyond_the_end() {
        assert_eq!(drafts(&[4, 5, 4, 5, 4, 5, 4, 5], 6), [4, 5, 4, 5, 4, 5]);
        assert_eq!(drafts(&[7; 9], 8), [7; 8]);
    }

    proptest! {
        #[test]
        fn it_does_not_matter_how_the_text_came(
            tokens in prop::collection::vec(0u32..3, 0..60),
            cut in 0usize..60,
            max_num_drafts in 0usize..12,
        ) {
            let (mut lookup, mut found) = (PromptLookup::default(), Vec::new());
            lookup.extend(&tokens[..cut.min(tokens.len())]);
            lookup.extend(&tokens);
            lookup.draft(&tokens, max_num_drafts, &mut found);
            prop_assert!(found.len() <= max_num_drafts);
            prop_assert_eq!(&found, &drafts(&tokens, max_num_drafts));
            // The whole text with the draft holds the last n-gram and what follows it twice.
            if !found.is_empty() {
                let whole = [&tokens[..], &found].concat();
                let needle = &whole[tokens.len() - NGRAM..];
                let places = whole.windows(needle.len()).filter(|window| *window == needle);
                prop_assert!(places.count() >= 2);
            }
        }
    }
}
