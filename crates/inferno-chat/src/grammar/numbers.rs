//! A bound on the digits of numbers in JSON.
//!
//! Schemas rarely bound numbers, and models that are only held to a schema write digits without end. Digits are those of a
//! number if they follow what may precede one, and if what may follow a number is allowed next, but neither a quotation mark nor
//! an escape: these are allowed in most strings, and never in or after a number.

use std::sync::Arc;

use inferno_tokenizer::TokenMask;
use toktrie::TokTrie;

/// As many digits identify every double-precision number.
const MAX_DIGITS: u32 = 17;
/// Digits of an exponent: all numbers are finite in double precision.
const MAX_EXPONENT_DIGITS: u32 = 2;

/// Tokens by the character that they begin with.
#[derive(Debug, Default)]
pub(super) struct NumberTokens {
    /// They continue a number with a digit or a point.
    continuing: Vec<u32>,
    /// They begin with a quotation mark or a backslash.
    quoting: Vec<u32>,
    /// They begin with what may follow a number: the end of its list or element, a space, or the end of the text.
    ending: Vec<u32>,
}

impl NumberTokens {
    /// Sorts the tokens of a vocabulary, in the order of their ids.
    pub(super) fn of(words: impl Iterator<Item = Vec<u8>>) -> Self {
        let mut tokens = Self::default();
        for (id, word) in (0..).zip(words) {
            match word.first().copied() {
                Some(b'0'..=b'9' | b'.') => tokens.continuing.push(id),
                Some(b'"' | b'\\') => tokens.quoting.push(id),
                Some(b',' | b'}' | b']' | b')' | b'<' | b' ' | b'\n' | b'\r' | b'\t')
                | Some(TokTrie::SPECIAL_TOKEN_MARKER) => tokens.ending.push(id),
                _ => {}
            }
        }
        tokens
    }
}

/// The length of the number at the end of a text.
#[derive(Debug, Clone)]
pub(super) struct NumberLength {
    tokens: Arc<NumberTokens>,
    /// What precedes the digits, without a minus sign; `None` at the start of the text.
    before: Option<u8>,
    /// Digits before the exponent.
    digits: u32,
    /// Digits of the exponent, once it began.
    exponent_digits: Option<u32>,
}

impl NumberLength {
    /// The empty text.
    pub(super) fn new(tokens: Arc<NumberTokens>) -> Self {
        Self { tokens, before: None, digits: 0, exponent_digits: None }
    }

    /// Adds the text of a token.
    pub(super) fn push(&mut self, text: &[u8]) {
        for byte in text {
            match (byte, &mut self.exponent_digits) {
                (b'0'..=b'9', None) => self.digits = self.digits.saturating_add(1),
                (b'0'..=b'9', Some(digits)) => *digits = digits.saturating_add(1),
                (b'.', None) if self.digits > 0 => {}
                (b'e' | b'E', None) if self.digits > 0 => self.exponent_digits = Some(0),
                (b'+' | b'-', Some(0)) => {}
                _ => {
                    (self.digits, self.exponent_digits) = (0, None);
                    if *byte != b'-' || !self.may_begin() {
                        self.before = Some(*byte);
                    }
                }
            }
        }
    }

    /// Whether a number may begin after what precedes the digits. In `9e10-4a` of a string none does.
    fn may_begin(&self) -> bool {
        let is_between = |byte: u8| byte.is_ascii_whitespace() || b"[,:(=>".contains(&byte);
        self.before.is_none_or(is_between)
    }

    /// Removes the tokens that continue a number of the maximum length, unless a schema requires more digits.
    pub(super) fn restrict(&self, allowed: &mut TokenMask) {
        let is_complete = match self.exponent_digits {
            None => self.digits >= MAX_DIGITS,
            Some(digits) => digits >= MAX_EXPONENT_DIGITS,
        };
        let allows_one = |tokens: &[u32]| tokens.iter().any(|&token| allowed.allows(token));
        let is_number = is_complete
            && self.may_begin()
            && !allows_one(&self.tokens.quoting)
            && allows_one(&self.tokens.ending);
        if !is_number {
            return;
        }
        let mut words = allowed.words().to_vec();
        for &token in &self.tokens.continuing {
            if let Some(word) = words.get_mut(token as usize / 32) {
                *word &= !(1 << (token % 32));
            }
        }
        if words.iter().any(|word| *word != 0) {
            allowed.words_mut().copy_from_slice(&words);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes that may follow a text, if a grammar allows these.
    fn allowed_after(text: &str, grammar: &[u8]) -> Vec<u8> {
        let tokens = NumberTokens::of((0..=u8::MAX).map(|byte| vec![byte]));
        let mut length = NumberLength::new(Arc::new(tokens));
        length.push(text.as_bytes());
        let mut mask = TokenMask::new(256);
        grammar.iter().for_each(|&byte| mask.allow(u32::from(byte)));
        length.restrict(&mut mask);
        (0..=u8::MAX).filter(|&byte| mask.allows(u32::from(byte))).collect()
    }

    #[test]
    fn long_numbers_end_and_others_do_not() {
        let number = b".09E]e";
        for text in [
            "[1",
            "[1234567890123456",
            "[-0.123456789012345",
            "[1e1",
            "[12345678901234567, 1",
            "[1e-1",
        ] {
            assert_eq!(allowed_after(text, b".09]e"), b".09]e", "{text}");
        }
        assert_eq!(allowed_after("[12345678901234567", number), b"E]e");
        assert_eq!(allowed_after("[0.1234567890123456", b"09]e"), b"]e");
        assert_eq!(allowed_after("[1e-12", b"09]"), b"]");
    }

    #[test]
    fn strings_and_schemas_with_more_digits_are_not_bounded() {
        let text = "[\"12345678901234567";
        assert_eq!(allowed_after(text, b"\"09ax"), b"\"09ax");
        assert_eq!(allowed_after("[12345678901234567", b"09"), b"09");
        // Strings that may not end yet: an id, a card, a text of many characters.
        assert_eq!(allowed_after("[\"9e10", b"0123456789abcdef"), b"0123456789abcdef");
        assert_eq!(allowed_after("[\"12345678901234567", b"09X"), b"09X");
        assert_eq!(allowed_after("[\"No 12345678901234567", b"09X"), b"09X");
        assert_eq!(allowed_after("[\"12345678901234567", b" ,09"), b" ,09");
        assert_eq!(allowed_after("[\"a 12345678901234567", b" ,09\\"), b" ,09\\");
    }

    #[test]
    fn negative_numbers_and_those_in_other_forms_are_bounded() {
        for (text, next, expected) in [
            ("{\"a\": -12345678901234567", b"09}", &b"}"[..]),
            ("<arg_value>12345678901234567", b"09<", b"<"),
            ("f(x=-12345678901234567", b"09)", b")"),
            ("12345678901234567", b"09\xff", b"\xff"),
        ] {
            assert_eq!(allowed_after(text, next), expected, "{text}");
        }
    }
}
