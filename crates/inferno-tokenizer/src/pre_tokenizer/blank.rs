//! Runs of white space and the ways to split them.

use crate::unicode::{CharClass, peek};

/// A run of white space, measured once for all of its pieces.
#[derive(Default)]
pub(super) struct Blank {
    /// The end of the run.
    pub end: usize,
    /// The end of its last line break; 0 if it has none.
    pub last_break_end: usize,
}

impl Blank {
    pub fn measure(text: &str, start: usize) -> Self {
        let mut run = Self { end: start, last_break_end: 0 };
        while let Some(c) = peek(text, run.end).filter(|c| c.class.any(CharClass::SPACE)) {
            run.end += c.len;
            if matches!(c.char, '\r' | '\n') {
                run.last_break_end = run.end;
            }
        }
        run
    }
}

/// The end of the run if the text ends there; otherwise, the start of its last character.
pub(super) fn leave_one(text: &str, at: usize, first_len: usize, blank: &Blank) -> usize {
    if blank.end == text.len() {
        return blank.end;
    }
    let last = text[at..blank.end].chars().next_back().map_or(0, char::len_utf8);
    (blank.end - last).max(at + first_len)
}

/// The end of the largest piece of 512, 256, … 4, 2, 1 characters that leaves one character of the run
/// if text follows.
pub(super) fn power_of_two(text: &str, at: usize, blank: &Blank) -> usize {
    let spare = if blank.end == text.len() { 0 } else { 1 };
    let run = &text[at..blank.end];
    let available = run.chars().take(512 + spare).count() - spare;
    let count = if available < 4 { available.clamp(1, 2) } else { 1 << available.ilog2() };
    at + run.chars().take(count).map(char::len_utf8).sum::<usize>()
}
