//! One pass of a pre-tokenizer, which splits a text into pieces.

use crate::unicode::{CharClass, Peeked, peek, run_end};

use super::pieces::{digits_end, isolate};
use super::word_rules::WordRules;
use super::{gpt2, literal};

/// One pass of a pre-tokenizer. Each pass splits the pieces of the one before it further.
#[derive(Clone, Copy)]
pub(super) enum SplitStage {
    /// GPT-2's pattern.
    Gpt2,
    /// Words, numbers, punctuation and white space by rules.
    Words(WordRules),
    /// Runs of one kind of character, and the text between them.
    Runs(CharacterRun),
    /// Runs of several kinds of characters; the first matching kind applies.
    AnyRun(&'static [CharacterRun]),
    /// Runs of at most this many digits.
    Digits(usize),
    /// Three ASCII digits at a time; a remainder of one or two belongs to the text after it.
    DigitTriples,
    /// White space at the very end.
    TrailingSpace,
    /// Groups of three digits counted from the right; the first group of a number belongs to the text
    /// before it.
    TriplesFromTheRight,
    /// Like `TriplesFromTheRight` for ASCII digits, but a number of whole groups is separated from the
    /// text before it.
    AsciiTriplesFromTheRight,
    /// `<sentinel:12>`
    Sentinel,
    /// `IMGIMG`, one to four letters from A to I, `Z`
    ImageToken,
    /// A tab, a newline, four spaces or two.
    Indent,
}

/// A run of characters with an optional prefix.
#[derive(Clone, Copy)]
pub(super) struct CharacterRun {
    /// The optional character before the run.
    pub prefix: Prefix,
    /// The characters of the run.
    pub of: fn(Peeked) -> bool,
    /// Maximum number of characters of the run, without the prefix.
    pub max: usize,
}

/// The optional character before a run.
#[derive(Clone, Copy)]
pub(super) enum Prefix {
    Nothing,
    Space,
    AnyWhiteSpace,
}

impl CharacterRun {
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

impl SplitStage {
    /// Passes the pieces of `text`, in order and without gaps, to `emit`.
    pub fn split<'t>(&self, text: &'t str, emit: &mut dyn FnMut(&'t str)) {
        match self {
            Self::Gpt2 => isolate(text, emit, |at, _| gpt2::piece_end(text, at)),
            Self::Words(rules) => rules.split(text, emit),
            Self::Runs(run) => isolate(text, emit, |at, _| run.end(text, at)),
            Self::AnyRun(runs) => {
                isolate(text, emit, |at, _| runs.iter().find_map(|run| run.end(text, at)));
            }
            Self::Digits(max) => isolate(text, emit, |at, _| {
                Some(digits_end(text, at, *max)).filter(|&end| end > at)
            }),
            Self::DigitTriples => isolate(text, emit, |at, _| {
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
            Self::Sentinel => isolate(text, emit, |at, _| literal::sentinel_end(text, at)),
            Self::ImageToken => isolate(text, emit, |at, _| literal::image_token_end(text, at)),
            Self::Indent => isolate(text, emit, |at, _| literal::indent_end(text, at)),
        }
    }
}

/// Splits after every group of three digits from the right and after the remainder before them; with
/// `cut_before`, also between a text and a number of whole groups.
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
