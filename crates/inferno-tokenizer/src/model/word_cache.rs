//! Words repeat: the ids of a word that was seen before in the same text are copied instead of
//! computed.

use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::RandomState;

/// No more words than this are remembered, so that memory stays bounded.
const MAX_WORDS: usize = 1 << 16;

/// Remembers, for each word of a text, where in the output its ids stand.
#[derive(Default)]
pub(super) struct WordCache<'t> {
    ranges: HashMap<&'t str, Range<usize>, RandomState>,
}

impl<'t> WordCache<'t> {
    /// Appends the ids of `word`, by `encode` if it is new.
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
