//! A cache for repeated words: their ids are copied instead of computed again.

use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::RandomState;

/// Maximum number of cached words.
const MAX_WORDS: usize = 1 << 16;

/// The range of each word's ids in the output.
#[derive(Default)]
pub(super) struct WordCache<'t> {
    ranges: HashMap<&'t str, Range<usize>, RandomState>,
}

impl<'t> WordCache<'t> {
    /// Appends the ids of `word`, calling `encode` if it is not cached.
    pub fn encode(
        &mut self,
        word: &'t str,
        ids: &mut Vec<u32>,
        encode: impl FnOnce(&mut Vec<u32>),
    ) {
        if let Some(range) = self.ranges.get(word) {
            return ids.extend_from_within(range.clone());
        }
        let start = ids.len();
        encode(ids);
        if self.ranges.len() < MAX_WORDS {
            self.ranges.insert(word, start..ids.len());
        }
    }
}
