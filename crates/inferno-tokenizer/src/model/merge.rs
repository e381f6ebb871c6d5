//! Merging neighbouring symbols, best pair first, in O(n log n).
//!
//! Byte-level BPE and SentencePiece differ only in what makes a pair good; that is [`Merges`].
//! Equal priorities resolve leftmost first, as in the reference implementations.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What two neighbouring symbols may become.
pub(super) trait Merges {
    /// The symbol that `left` and `right` make, and its priority: the lowest merges first.
    ///
    /// `text` is the text of both.
    fn merge(&self, left: Symbol, right: Symbol, text: &[u8]) -> Option<Merge>;
}

/// The result of a merge.
#[derive(Clone, Copy)]
pub(super) struct Merge {
    pub priority: u32,
    pub symbol: Symbol,
}

/// A symbol: a token, or a number above the vocabulary for text that is none.
pub(super) type Symbol = u32;

/// A stretch of the text that is one symbol.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub symbol: Symbol,
    pub start: usize,
    /// 0 once it has become part of the span before it.
    pub len: usize,
    previous: usize,
    next: usize,
}

const NO_SPAN: usize = usize::MAX;

/// A pair that may merge, valid as long as its two spans still have this length together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    priority: u32,
    left: usize,
    right: usize,
    len: usize,
    symbol: Symbol,
}

/// The buffers of a merge, kept from word to word.
#[derive(Default)]
pub(super) struct Merger {
    spans: Vec<Span>,
    queue: BinaryHeap<Reverse<Candidate>>,
}

impl Merger {
    /// Starts with an empty text.
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
        self.spans.push(Span { symbol, start, len, previous, next: NO_SPAN });
    }

    /// Merges until no pair can, and returns the spans that are left, in order.
    pub fn run(&mut self, text: &[u8], merges: &impl Merges) -> impl Iterator<Item = Span> + '_ {
        for left in 0..self.spans.len().saturating_sub(1) {
            self.consider(left, left + 1, text, merges);
        }
        while let Some(Reverse(candidate)) = self.queue.pop() {
            let (left, right) = (self.spans[candidate.left], self.spans[candidate.right]);
            if left.len == 0 || right.len == 0 || left.len + right.len != candidate.len {
                continue;
            }
            self.spans[candidate.left] =
                Span { symbol: candidate.symbol, len: candidate.len, next: right.next, ..left };
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

    fn consider(&mut self, left: usize, right: usize, text: &[u8], merges: &impl Merges) {
        let (first, second) = (self.spans[left], self.spans[right]);
        let len = first.len + second.len;
        let text = &text[first.start..first.start + len];
        if let Some(Merge { priority, symbol }) = merges.merge(first.symbol, second.symbol, text) {
            self.queue.push(Reverse(Candidate { priority, left, right, len, symbol }));
        }
    }
}
