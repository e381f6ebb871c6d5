//! Merging adjacent symbols, best pair first, in O(n log n).
//!
//! Byte-level BPE and SentencePiece differ only in their [`MergeRules`]. Of pairs with equal priority,
//! the leftmost is merged first, as in the reference implementations.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The merges of a vocabulary.
pub(super) trait MergeRules {
    /// The result of merging `left` and `right`, whose combined text is `text`, if they can be merged.
    fn merge(&self, left: Symbol, right: Symbol, text: &[u8]) -> Option<MergeResult>;
}

/// The result of a merge. Merges with lower `priority` are applied first.
#[derive(Clone, Copy)]
pub(super) struct MergeResult {
    pub priority: u32,
    pub symbol: Symbol,
}

/// A token id, or a number above the vocabulary for text that is not a token.
pub(super) type Symbol = u32;

/// A part of the text that is one symbol.
#[derive(Clone, Copy)]
pub(super) struct SymbolSpan {
    pub symbol: Symbol,
    pub start: usize,
    /// 0 after it has been merged into the span before it.
    pub len: usize,
    previous: usize,
    next: usize,
}

const NO_SPAN: usize = usize::MAX;

/// A pair that can be merged, valid as long as its spans have this total length.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct MergeCandidate {
    priority: u32,
    left: usize,
    right: usize,
    len: usize,
    symbol: Symbol,
}

/// Merges the symbols of a word; its buffers are reused for the next word.
#[derive(Default)]
pub(super) struct Merger {
    spans: Vec<SymbolSpan>,
    queue: BinaryHeap<Reverse<MergeCandidate>>,
}

impl Merger {
    /// Removes all symbols.
    pub fn clear(&mut self) {
        self.spans.clear();
        self.queue.clear();
    }

    /// Appends a symbol that covers the next `len` bytes of the text.
    pub fn push(&mut self, symbol: Symbol, len: usize) {
        let index = self.spans.len();
        let (previous, start) = match self.spans.last_mut() {
            Some(last) => {
                last.next = index;
                (index - 1, last.start + last.len)
            }
            None => (NO_SPAN, 0),
        };
        self.spans.push(SymbolSpan { symbol, start, len, previous, next: NO_SPAN });
    }

    /// Merges until no pair can be merged, and returns the remaining spans in order.
    pub fn run(
        &mut self,
        text: &[u8],
        merges: &impl MergeRules,
    ) -> impl Iterator<Item = SymbolSpan> + '_ {
        for left in 0..self.spans.len().saturating_sub(1) {
            self.consider(left, left + 1, text, merges);
        }
        while let Some(Reverse(candidate)) = self.queue.pop() {
            let (left, right) = (self.spans[candidate.left], self.spans[candidate.right]);
            if left.len == 0 || right.len == 0 || left.len + right.len != candidate.len {
                continue;
            }
            self.spans[candidate.left] = SymbolSpan {
                symbol: candidate.symbol,
                len: candidate.len,
                next: right.next,
                ..left
            };
            self.spans[candidate.right].len = 0;
            if right.next != NO_SPAN {
                self.spans[right.next].previous = candidate.left;
                self.consider(candidate.left, right.next, text, merges);
            }
            if left.previous != NO_SPAN {
                self.consider(left.previous, candidate.left, text, merges);
            }
        }
        self.spans.iter().copied().filter(|span| span.len > 0)
    }

    fn consider(&mut self, left: usize, right: usize, text: &[u8], merges: &impl MergeRules) {
        let (first, second) = (self.spans[left], self.spans[right]);
        let len = first.len + second.len;
        let text = &text[first.start..first.start + len];
        if let Some(MergeResult { priority, symbol }) =
            merges.merge(first.symbol, second.symbol, text)
        {
            self.queue.push(Reverse(MergeCandidate { priority, left, right, len, symbol }));
        }
    }
}
