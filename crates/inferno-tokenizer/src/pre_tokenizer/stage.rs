//! One pass over a text that cuts it into pieces.

use crate::unicode::{CharClass, Peeked, peek, run_end};

use super::word_rules::WordRules;
use super::words::digits_end;
use super::{gpt2, literal};

/// One pass. A pre-tokenizer is a list of them; each cuts the pieces of the one before it further.
#[derive(Clone, Copy)]
pub(super) enum Stage {
    /// GPT-2's pattern.
    Gpt2,
    /// Words, numbers, punctuation and white space by rules.
    Words(WordRules),
    /// Runs of one kind of character; what lies between them stays together.
    Runs(Run),
    /// Runs of any of several kinds, the first kind that fits winning.
    AnyRun(&'static [Run]),
    /// Up to this many digits in a piece.
    Digits(usize),
    /// Three ASCII digits at a time; a rest of one or two stays with what follows.
    DigitTriples,
    /// White space at the very end.
    TrailingSpace,
    /// Digits in threes counted from the right; the first group of a number stays with the text
    /// before it.
    TriplesFromTheRight,
    /// As `TriplesFromTheRight`, for ASCII digits, and a number of whole triples starts apart from
    /// its text.
    AsciiTriplesFromTheRight,
    /// `<sentinel:12>`
    Sentinel,
    /// `IMGIMG`, one to four letters from A to I, `Z`
    ImageToken,
    /// A tab, a newline, four spaces or two.
    Indent,
}

/// A run of characters, perhaps with one other before it.
#[derive(Clone, Copy)]
pub(super) struct Run {
    /// What may stand before the run.
    pub prefix: Prefix,
    /// Which characters make the run.
    pub of: fn(Peeked) -> bool,
    /// The most characters in one piece, the prefix aside.
    pub max: usize,
}

/// What may stand before a run and belong to it.
#[derive(Clone, Copy)]
pub(super) enum Prefix {
    Nothing,
    Space,
    AnyWhiteSpace,
}

impl Run {
    fn end(&self, text: &str, at: usize) -> Option<usize> {
        let prefix = peek(text, at).filter(|c| match self.prefix {
            Prefix::Nothing => false,
            Prefix::Space => c.char == ' ',
            Prefix::AnyWhiteSpace => c.class.any(CharClass::SPACE),
        });
        let after_prefix = prefix.and_then(|c| self.plain_end(text, at + c.len));
        after_prefix.or_else(|| self.plain_end(text, at))
    }

    fn plain_end(&self, text: &str, at: usize) -> Option<usize> {
        let mut end = at;
        for _ in 0..self.max {
            match peek(text, end).filter(|&c| (self.of)(c)) {
                Some(c) => end += c.len,
                None => break,
            }
        }
        (end > at).then_some(end)
    }
}

impl Stage {
    /// Hands the pieces of `text`, in order and without gaps, to `emit`.
    pub fn split<'t>(&self, text: &'t str, emit: &mut dyn FnMut(&'t str)) {
        match self {
            Self::Gpt2 => isolate(text, emit, gpt2::piece_end),
            Self::Words(rules) => rules.split(text, emit),
            Self::Runs(run) => isolate(text, emit, |text, at| run.end(text, at)),
            Self::AnyRun(runs) => {
                isolate(text, emit, |text, at| runs.iter().find_map(|run| run.end(text, at)));
            }
            Self::Digits(max) => isolate(text, emit, |text, at| {
                Some(digits_end(text, at, *max)).filter(|&end| end > at)
            }),
            Self::DigitTriples => isolate(text, emit, |text, at| {
                let triple = text.as_bytes().get(at..at + 3)?;
                triple.iter().all(u8::is_ascii_digit).then_some(at + 3)
            }),
            Self::TrailingSpace => {
                let (head, tail) = text.split_at(text.trim_end().len());
                for piece in [head, tail].into_iter().filter(|piece| !piece.is_empty()) {
                    emit(piece);
                }
            }
            Self::TriplesFromTheRight => {
                triples_from_the_right(text, emit, |c| c.class.any(CharClass::NUMBER), false);
            }
            Self::AsciiTriplesFromTheRight => {
                triples_from_the_right(text, emit, |c| c.char.is_ascii_digit(), true);
            }
            Self::Sentinel => isolate(text, emit, literal::sentinel_end),
            Self::ImageToken => isolate(text, emit, literal::image_token_end),
            Self::Indent => isolate(text, emit, literal::indent_end),
        }
    }
}

/// Emits each piece that `piece_end` finds, and what lies between two of them as one piece.
fn isolate<'t>(
    text: &'t str,
    emit: &mut dyn FnMut(&'t str),
    piece_end: impl Fn(&str, usize) -> Option<usize>,
) {
    let mut unmatched = 0;
    let mut at = 0;
    while let Some(first) = peek(text, at) {
        match piece_end(text, at) {
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

/// Cuts behind every group of three digits from the right and behind the rest before them; with
/// `cut_before`, also between a text and a number of whole triples.
fn triples_from_the_right<'t>(
    text: &'t str,
    emit: &mut dyn FnMut(&'t str),
    is_digit: fn(Peeked) -> bool,
    cut_before: bool,
) {
    let mut start = 0;
    let mut at = 0;
    while let Some(first) = peek(text, at) {
        if !is_digit(first) {
            at += first.len;
            continue;
        }
        let end = run_end(text, at, is_digit);
        let count = text[at..end].chars().count();
        for (index, c) in text[at..end].chars().enumerate() {
            let left = count - index;
            if left.is_multiple_of(3) && at > start && (index > 0 || cut_before) {
                emit(&text[start..at]);
                start = at;
            }
            at += c.len_utf8();
        }
        if !cut_before {
            emit(&text[start..end]);
            start = end;
        }
    }
    if start < text.len() {
        emit(&text[start..]);
    }
}
