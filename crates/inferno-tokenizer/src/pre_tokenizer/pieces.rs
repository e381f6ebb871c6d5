//! Splitting off the pieces that a rule matches.

use crate::unicode::{CharClass, Peeked, peek};

/// Emits each piece that `piece_end` matches at a position and its first character, and the text
/// between two of them as one piece.
pub(super) fn isolate<'t>(
    text: &'t str,
    emit: &mut dyn FnMut(&'t str),
    mut piece_end: impl FnMut(usize, Peeked) -> Option<usize>,
) {
    let mut unmatched = 0;
    let mut at = 0;
    while let Some(first) = peek(text, at) {
        match piece_end(at, first) {
            Some(end) => {
                if unmatched < at {
                    emit(&text[unmatched..at]);
                }
                emit(&text[at..end]);
                at = end;
                unmatched = end;
            }
            None => at += first.len,
        }
    }
    if unmatched < at {
        emit(&text[unmatched..]);
    }
}

/// The end of a run of at most `max` digits.
pub(super) fn digits_end(text: &str, at: usize, max: usize) -> usize {
    let mut end = at;
    for _ in 0..max {
        match peek(text, end).filter(|c| c.class.any(CharClass::NUMBER)) {
            Some(digit) => end += digit.len,
            None => break,
        }
    }
    end
}
