//! The splitter of modern byte-level vocabularies: words, numbers, punctuation and white space.
//!
//! The differences between families are data, [`WordRules`]. At each position, the first matching
//! alternative applies: contraction, word, digits, punctuation, newlines, spaces. No alternative looks
//! back, and a rejected one never scans more text than the accepted one consumes, so splitting takes
//! linear time.

use crate::unicode::{Case, CharClass, Peeked, peek, run_end};

use super::blank::{Blank, leave_one, power_of_two};
use super::pieces::{digits_end, isolate};
use super::sets::is_han;
use super::word_rules::{AfterPunctuation, LM, Newlines, Punctuation, Spaces, Word, WordRules};

impl WordRules {
    /// Passes the pieces of `text` to `emit`; text that no alternative matches is one piece.
    pub fn split<'t>(&self, text: &'t str, emit: &mut dyn FnMut(&'t str)) {
        let mut blank = Blank::default();
        isolate(text, emit, |at, first| self.piece_end(text, at, first, &mut blank));
    }

    /// The end of the piece that starts at `at` with `first`.
    #[inline]
    fn piece_end(&self, text: &str, at: usize, first: Peeked, blank: &mut Blank) -> Option<usize> {
        if self.contractions
            && let Some(end) = contraction_end(text, at)
        {
            return Some(end);
        }
        if self.punctuated_words && first.char.is_ascii_punctuation() {
            let end = run_end(text, at + 1, |c| c.char.is_ascii_alphabetic());
            if end > at + 1 {
                return Some(end);
            }
        }
        if let Word::HanApart = self.word
            && is_han(first.char)
        {
            return Some(run_end(text, at, |c| is_han(c.char)));
        }
        if let Some(end) = self.word_end(text, at, first) {
            let suffix = if self.contraction_suffix { contraction_end(text, end) } else { None };
            return Some(suffix.unwrap_or(end));
        }
        if first.class.any(CharClass::NUMBER)
            && let Some(max) = self.max_digits
        {
            return Some(digits_end(text, at, max));
        }
        if let Some(end) = self.punctuation_end(text, at, first) {
            return Some(end);
        }
        if first.class.any(CharClass::SPACE) {
            return Some(self.blank_end(text, at, first, blank));
        }
        None
    }

    #[inline]
    fn word_end(&self, text: &str, at: usize, first: Peeked) -> Option<usize> {
        let may_lead = !matches!(first.char, '\r' | '\n') && !first.class.any(self.no_prefix);
        if let Word::Cased = self.word {
            let prefixed = may_lead.then_some(at + first.len);
            return capitals_lead(text, prefixed, at).or_else(|| only_capitals(text, prefixed, at));
        }
        let after_prefix = may_lead.then(|| self.plain_word_end(text, at + first.len)).flatten();
        after_prefix.or_else(|| self.plain_word_end(text, at))
    }

    #[inline]
    fn plain_word_end(&self, text: &str, at: usize) -> Option<usize> {
        let end = match self.word {
            Word::Run(class) => run_end(text, at, |c| c.class.any(class)),
            Word::Cased => run_end(text, at, |c| c.class.any(LM)),
            Word::HanApart => {
                run_end(text, at, |c| c.class.any(CharClass::LETTER) && !is_han(c.char))
            }
            Word::Phrase => phrase_end(text, at),
        };
        (end > at).then_some(end)
    }

    #[inline]
    fn punctuation_end(&self, text: &str, at: usize, first: Peeked) -> Option<usize> {
        let start = if first.char == ' ' { at + 1 } else { at };
        let end = match self.punctuation {
            Punctuation::AllBut(class) => run_end(text, start, |c| !c.class.any(class)),
            Punctuation::Only(class) => run_end(text, start, |c| c.class.any(class)),
        };
        if end == start {
            return None;
        }
        Some(match self.after_punctuation {
            AfterPunctuation::Nothing => end,
            AfterPunctuation::LineBreaks => run_end(text, end, |c| matches!(c.char, '\r' | '\n')),
            AfterPunctuation::LineBreaksAndSlashes => {
                run_end(text, end, |c| matches!(c.char, '\r' | '\n' | '/'))
            }
            AfterPunctuation::OneLineBreakOrSlash => match peek(text, end) {
                Some(Peeked { char: '\r' | '\n' | '/', .. }) => end + 1,
                _ => end,
            },
        })
    }

    fn blank_end(&self, text: &str, at: usize, first: Peeked, blank: &mut Blank) -> usize {
        if matches!(self.newlines, Newlines::Single) && matches!(first.char, '\r' | '\n') {
            return at + 1;
        }
        if blank.end <= at {
            *blank = Blank::measure(text, at);
        }
        if matches!(self.newlines, Newlines::WithSpaces) && blank.last_break_end > at {
            return blank.last_break_end;
        }
        match self.spaces {
            Spaces::LeaveOne => leave_one(text, at, first.len, blank),
            Spaces::PowersOfTwo => power_of_two(text, at, blank),
        }
    }
}

/// The end of `'s`, `'t`, `'re`, `'ve`, `'m`, `'ll` or `'d` in any case.
#[inline]
fn contraction_end(text: &str, at: usize) -> Option<usize> {
    let rest = &text.as_bytes()[at..];
    if rest.first() != Some(&b'\'') {
        return None;
    }
    let letter = |i: usize| rest.get(i).map(u8::to_ascii_lowercase);
    match (letter(1)?, letter(2)) {
        (b's' | b't' | b'm' | b'd', _) => Some(at + 2),
        (b'r', Some(b'e')) | (b'v', Some(b'e')) | (b'l', Some(b'l')) => Some(at + 3),
        _ => None,
    }
}

/// `X*Y+`, where X is letters and marks without lower-case letters, and Y is these without capitals.
fn capitals_lead(text: &str, prefixed: Option<usize>, at: usize) -> Option<usize> {
    let from = |start: usize| {
        let leading = run_end(text, start, is_not_lower_case);
        let end = run_end(text, leading, is_not_capital);
        if end > leading {
            return Some(end);
        }
        // Only capitals can follow the last caseless letter of the lead.
        let (mut at, mut end) = (start, None);
        while let Some(c) = peek(&text[..leading], at) {
            at += c.len;
            if is_not_capital(c) {
                end = Some(at);
            }
        }
        end
    };
    prefixed.and_then(from).or_else(|| from(at))
}

/// `X+Y*`, tried after [`capitals_lead`] has failed, so that Y* is empty.
fn only_capitals(text: &str, prefixed: Option<usize>, at: usize) -> Option<usize> {
    let from = |start: usize| {
        let end = run_end(text, start, is_not_lower_case);
        (end > start).then_some(end)
    };
    prefixed.and_then(from).or_else(|| from(at))
}

/// Whether a character is a letter or mark, but no lower-case letter.
fn is_not_lower_case(c: Peeked) -> bool {
    c.class.any(LM) && c.case() != Some(Case::Lower)
}

/// Whether a character is a letter or mark, but no capital.
fn is_not_capital(c: Peeked) -> bool {
    c.class.any(LM) && c.case() != Some(Case::Capital)
}

/// Letters with their marks, and single spaces that are followed by a letter.
fn phrase_end(text: &str, at: usize) -> usize {
    let letter_at = |at| peek(text, at).filter(|c| c.class.any(CharClass::LETTER));
    let Some(first) = letter_at(at) else {
        return at;
    };
    let mut end = at + first.len;
    while let Some(next) = peek(text, end) {
        if next.class.any(LM) {
            end += next.len;
        } else if next.char == ' '
            && let Some(letter) = letter_at(end + 1)
        {
            end += 1 + letter.len;
        } else {
            break;
        }
    }
    end
}
