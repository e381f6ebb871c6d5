//! Number and string literals.

use crate::text::escape;

/// A literal number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Number {
    /// An integer; `None` beyond 128 bits.
    Int(Option<i128>),
    Float(f64),
}

/// The number that `source` begins with, and its length in bytes.
///
/// After a dot only integers are read, so that `a.0.1` is two subscripts.
pub(crate) fn number(source: &str, can_be_float: bool) -> (usize, Number) {
    let bytes = source.as_bytes();
    let without_underscores = |end: usize| source[..end].replace('_', "");
    let whole = digits_end(bytes, 0, u8::is_ascii_digit);
    let end = float_end(bytes, whole);
    if can_be_float && end > whole {
        return (end, Number::Float(without_underscores(end).parse().unwrap_or(f64::INFINITY)));
    }
    let radix = match bytes.get(1) {
        _ if bytes[0] != b'0' => None,
        Some(b'x' | b'X') => Some((16, u8::is_ascii_hexdigit as fn(&u8) -> bool)),
        Some(b'o' | b'O') => Some((8, (|byte| matches!(byte, b'0'..=b'7')) as fn(&u8) -> bool)),
        Some(b'b' | b'B') => Some((2, (|byte| matches!(byte, b'0' | b'1')) as fn(&u8) -> bool)),
        _ => None,
    };
    if let Some((radix, is_digit)) = radix {
        let end = digits_end(bytes, 2, is_digit);
        let digits = &without_underscores(end)[2..];
        if !digits.is_empty() {
            return (end, Number::Int(i128::from_str_radix(digits, radix).ok()));
        }
    }
    // Only zeros may have leading zeros.
    let end = if bytes[0] == b'0' { digits_end(bytes, 0, |byte| *byte == b'0') } else { whole };
    (end, Number::Int(without_underscores(end).parse().ok()))
}

/// The end of a run of digits; single underscores may separate them.
fn digits_end(bytes: &[u8], start: usize, is_digit: fn(&u8) -> bool) -> usize {
    let mut at = start;
    while bytes.get(at).is_some_and(is_digit)
        || (bytes.get(at) == Some(&b'_') && bytes.get(at + 1).is_some_and(is_digit))
    {
        at += 1;
    }
    at
}

/// The end of the fraction and the exponent after the whole part.
fn float_end(bytes: &[u8], whole: usize) -> usize {
    let is_digit_at = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut end = whole;
    if bytes.get(end) == Some(&b'.') && is_digit_at(end + 1) {
        end = digits_end(bytes, end + 1, u8::is_ascii_digit);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if is_digit_at(end + 1 + sign) {
            end = digits_end(bytes, end + 1 + sign, u8::is_ascii_digit);
        }
    }
    end
}

/// The length in bytes of the string literal that `source` begins with, including its quotes; `None`
/// if it is not closed.
pub(crate) fn string_length(source: &str, quote: char) -> Option<usize> {
    let mut characters = source.char_indices().skip(1);
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => {
                characters.next();
            }
            other if other == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// Resolves Python's escape sequences.
///
/// **Errors**: a malformed escape sequence.
pub(crate) fn unescape(literal: &str) -> Result<String, &'static str> {
    let mut text = String::with_capacity(literal.len());
    let mut rest = literal.chars();
    while let Some(character) = rest.next() {
        if character != '\\' {
            text.push(character);
            continue;
        }
        let from_escape = rest.clone();
        match rest.next() {
            Some('\n') => {}
            Some(mark @ ('\\' | '\'' | '"')) => text.push(mark),
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('r') => text.push('\r'),
            Some('b') => text.push('\u{8}'),
            Some('f') => text.push('\u{c}'),
            Some('v') => text.push('\u{b}'),
            Some('a') => text.push('\u{7}'),
            Some('x') => text.push(numbered(&mut rest, 2, "truncated \\xXX escape")?),
            Some('u') => text.push(numbered(&mut rest, 4, "truncated \\uXXXX escape")?),
            Some('U') => text.push(numbered(&mut rest, 8, "truncated \\UXXXXXXXX escape")?),
            Some('N') => return Err("\\N escapes of characters by name are not supported"),
            Some('0'..='7') => {
                rest = from_escape;
                let mut number = 0;
                for digit in rest.clone().take(3).map_while(|c| c.to_digit(8)) {
                    number = number * 8 + digit;
                    rest.next();
                }
                text.push(char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            // Python leaves unknown escapes unchanged.
            Some(other) if other.is_ascii() => text.extend(['\\', other]),
            // Jinja2 escapes what is not ASCII before it resolves escapes.
            Some(other) => text.push_str(&escape(other)),
            None => return Err("\\ at end of string"),
        }
    }
    Ok(text)
}

/// The character with the number that the next `count` hexadecimal digits write.
///
/// **Errors**: `truncated` if there are fewer, a number without a character.
fn numbered(
    rest: &mut std::str::Chars<'_>,
    count: usize,
    truncated: &'static str,
) -> Result<char, &'static str> {
    let mut number = 0_u32;
    for _ in 0..count {
        let digit = rest.next().and_then(|c| c.to_digit(16)).ok_or(truncated)?;
        number = number << 4 | digit;
    }
    char::from_u32(number).ok_or(match number {
        0xd800..0xe000 => "surrogates are not supported, use a \\UXXXXXXXX escape",
        _ => "illegal Unicode character",
    })
}
