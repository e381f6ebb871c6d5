//! The character properties that tokenizers use, as a set of flags.
//!
//! Invariant: every character has at least one flag, including unassigned ones, so "none of these
//! flags" is well defined.

use std::ops::BitOr;

use unicode_general_category::{GeneralCategory, get_general_category};

/// A set of character properties: the general category's first letter, and White_Space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CharClass(u8);

impl CharClass {
    /// `\p{L}`
    pub const LETTER: Self = Self(1);
    /// `\p{M}`
    pub const MARK: Self = Self(1 << 1);
    /// `\p{N}`
    pub const NUMBER: Self = Self(1 << 2);
    /// `\p{P}`
    pub const PUNCTUATION: Self = Self(1 << 3);
    /// `\p{S}`
    pub const SYMBOL: Self = Self(1 << 4);
    /// `\s`
    pub const SPACE: Self = Self(1 << 5);
    /// `\p{C}` without the unassigned characters
    pub const CONTROL: Self = Self(1 << 6);
    /// Unassigned characters, and separators that are not white space.
    pub const OTHER: Self = Self(1 << 7);

    /// Whether the sets have a common flag.
    pub const fn any(self, of: Self) -> bool {
        self.0 & of.0 != 0
    }

    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub fn of(c: char) -> Self {
        if c.is_ascii() { ASCII[c as usize] } else { of_non_ascii(c) }
    }
}

impl BitOr for CharClass {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        self.union(other)
    }
}

static ASCII: [CharClass; 128] = {
    let mut table = [CharClass::CONTROL; 128];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = match byte as u8 {
            b'\t'..=b'\r' => CharClass::CONTROL.union(CharClass::SPACE),
            b' ' => CharClass::SPACE.union(CharClass::OTHER),
            b'0'..=b'9' => CharClass::NUMBER,
            b'A'..=b'Z' | b'a'..=b'z' => CharClass::LETTER,
            b'$' | b'+' | b'<'..=b'>' | b'^' | b'`' | b'|' | b'~' => CharClass::SYMBOL,
            b'!'..=b'/' | b':' | b';' | b'?' | b'@' | b'['..=b'_' | b'{' | b'}' => {
                CharClass::PUNCTUATION
            }
            _ => CharClass::CONTROL,
        };
        byte += 1;
    }
    table
};

fn of_non_ascii(c: char) -> CharClass {
    use GeneralCategory::*;
    let category = match get_general_category(c) {
        UppercaseLetter | LowercaseLetter | TitlecaseLetter | ModifierLetter | OtherLetter => {
            CharClass::LETTER
        }
        NonspacingMark | SpacingMark | EnclosingMark => CharClass::MARK,
        DecimalNumber | LetterNumber | OtherNumber => CharClass::NUMBER,
        ConnectorPunctuation | DashPunctuation | OpenPunctuation | ClosePunctuation
        | InitialPunctuation | FinalPunctuation | OtherPunctuation => CharClass::PUNCTUATION,
        MathSymbol | CurrencySymbol | ModifierSymbol | OtherSymbol => CharClass::SYMBOL,
        Control | Format | PrivateUse | Surrogate => CharClass::CONTROL,
        _ => CharClass::OTHER,
    };
    if c.is_whitespace() { category | CharClass::SPACE } else { category }
}

/// The character that starts at byte `at`, with its class and its length in bytes.
#[derive(Clone, Copy)]
pub(crate) struct Peeked {
    pub char: char,
    pub class: CharClass,
    pub len: usize,
}

/// The case of a letter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Case {
    /// `\p{Lu}` and `\p{Lt}`
    Capital,
    /// `\p{Ll}`
    Lower,
}

impl Peeked {
    /// The case of the character; `None` if it has none.
    #[inline]
    pub(crate) fn case(self) -> Option<Case> {
        match self.char {
            'a'..='z' => Some(Case::Lower),
            'A'..='Z' => Some(Case::Capital),
            c if c.is_ascii() => None,
            c => match get_general_category(c) {
                GeneralCategory::LowercaseLetter => Some(Case::Lower),
                GeneralCategory::UppercaseLetter | GeneralCategory::TitlecaseLetter => {
                    Some(Case::Capital)
                }
                _ => None,
            },
        }
    }
}

/// Reads the character at byte `at` of `text`; `None` at its end.
#[inline]
pub(crate) fn peek(text: &str, at: usize) -> Option<Peeked> {
    let &byte = text.as_bytes().get(at)?;
    if byte.is_ascii() {
        return Some(Peeked { char: byte as char, class: ASCII[byte as usize], len: 1 });
    }
    let char = text[at..].chars().next()?;
    Some(Peeked { char, class: CharClass::of(char), len: char.len_utf8() })
}

/// The end of the longest run of characters from byte `at` for which `belongs` holds.
#[inline]
pub(crate) fn run_end(text: &str, mut at: usize, belongs: impl Fn(Peeked) -> bool) -> usize {
    while let Some(peeked) = peek(text, at) {
        if !belongs(peeked) {
            break;
        }
        at += peeked.len;
    }
    at
}

/// Whether a character is a mark without a width (`\p{Mn}`).
pub(crate) fn is_nonspacing_mark(c: char) -> bool {
    !c.is_ascii() && get_general_category(c) == GeneralCategory::NonspacingMark
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ascii_classes_match_the_category_tables() {
        for byte in 0..128u8 {
            let c = byte as char;
            assert_eq!(CharClass::of(c), of_non_ascii(c), "{c:?}");
        }
    }

    #[test]
    fn every_character_has_a_class() {
        assert!((0..=0x10FFFF).filter_map(char::from_u32).all(|c| CharClass::of(c).0 != 0));
    }
}
