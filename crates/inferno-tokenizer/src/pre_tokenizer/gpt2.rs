//! The splitter of GPT-2, which many vocabularies have adopted.

use crate::unicode::{CharClass, Peeked, peek, run_end};

use super::blank::{Blank, leave_one};

const WORDY: CharClass = CharClass::SPACE.union(CharClass::LETTER).union(CharClass::NUMBER);

/// The end of the piece that starts at byte `at`; there is one at every position.
///
/// In order: a lower-case contraction; letters, digits or punctuation, each with an optional space
/// before it; white space.
pub(super) fn piece_end(text: &str, at: usize) -> Option<usize> {
    let first = peek(text, at)?;
    if let Some(end) = contraction_end(text, at) {
        return Some(end);
    }
    let start = if first.char == ' ' { at + 1 } else { at };
    if let Some(head) = peek(text, start) {
        let same = |class: CharClass| move |c: Peeked| c.class.any(class);
        if head.class.any(CharClass::LETTER) {
            return Some(run_end(text, start, same(CharClass::LETTER)));
        }
        if head.class.any(CharClass::NUMBER) {
            return Some(run_end(text, start, same(CharClass::NUMBER)));
        }
        if !head.class.any(WORDY) {
            return Some(run_end(text, start, |c| !c.class.any(WORDY)));
        }
    }
    Some(leave_one(text, at, first.len, &Blank::measure(text, at)))
}

fn contraction_end(text: &str, at: usize) -> Option<usize> {
    let rest = &text.as_bytes()[at..];
    match rest {
        [b'\'', b's' | b't' | b'm' | b'd', ..] => Some(at + 2),
        [b'\'', b'r', b'e', ..] | [b'\'', b'v', b'e', ..] | [b'\'', b'l', b'l', ..] => Some(at + 3),
        _ => None,
    }
}
