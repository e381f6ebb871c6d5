//! Format specifications: `[[fill]align][sign][#][0][width][grouping][.precision][type]`.

use std::iter::Peekable;
use std::str::Chars;

use crate::budget::TextBuilder;
use crate::error::{Error, Result};

/// A format specification without its type.
#[derive(Default)]
pub(crate) struct Spec {
    pub(crate) fill: char,
    /// `<`, `>`, `^`, or `=` for padding after the sign.
    pub(crate) alignment: Option<char>,
    pub(crate) sign: Option<char>,
    /// Whether to write the prefix of a radix, or trailing zeros.
    pub(crate) is_alternate: bool,
    pub(crate) is_zero_padded: bool,
    /// The least number of characters.
    pub(crate) width: usize,
    /// What separates groups of digits.
    pub(crate) grouping: Option<char>,
    pub(crate) precision: Option<usize>,
}

/// A number to be written in a field, in ASCII.
pub(super) struct Digits<'a> {
    pub(super) is_negative: bool,
    /// The prefix of a radix.
    pub(super) prefix: &'a str,
    /// The digits of the whole part; empty for infinity and NaN.
    pub(super) whole: &'a str,
    /// Number of digits per group.
    pub(super) group: usize,
    /// What follows the whole part.
    pub(super) rest: &'a str,
}

impl Spec {
    /// Parses a specification, with its type.
    ///
    /// **Errors**: a malformed specification.
    pub(super) fn parse(spec: &str) -> Result<(Self, Option<char>), Error> {
        let mut parsed = Self { fill: ' ', ..Self::default() };
        let mut rest = spec.chars().peekable();
        let mut characters = spec.chars();
        let first = characters.next();
        let is_alignment = |c: Option<char>| c.is_some_and(|c| "<>=^".contains(c));
        let has_fill = is_alignment(characters.next());
        if has_fill {
            parsed.fill = rest.next().unwrap_or(' ');
            parsed.alignment = rest.next();
        } else if is_alignment(first) {
            parsed.alignment = rest.next();
        }
        parsed.sign = rest.next_if(|c| "+- ".contains(*c));
        parsed.is_alternate = rest.next_if_eq(&'#').is_some();
        if rest.next_if_eq(&'0').is_some() {
            parsed.is_zero_padded = true;
            if !has_fill {
                parsed.fill = '0';
            }
        }
        parsed.width = digits(&mut rest).unwrap_or(0);
        parsed.grouping = rest.next_if(|c| ",_".contains(*c));
        if rest.next_if_eq(&'.').is_some() {
            let precision = digits(&mut rest);
            let missing = || Error::failed("Format specifier missing precision");
            parsed.precision = Some(precision.ok_or_else(missing)?);
        }
        let kind = rest.next();
        if let (Some(separator), Some(kind)) = (parsed.grouping, kind) {
            let is_allowed =
                "deEfFgG%".contains(kind) || (separator == '_' && "boxX".contains(kind));
            if !is_allowed {
                return Err(Error::failed(format!("Cannot specify '{separator}' with '{kind}'.")));
            }
        }
        match rest.next() {
            None => Ok((parsed, kind)),
            Some(_) => Err(Error::failed(format!("Invalid format specifier '{spec}'"))),
        }
    }

    /// Writes a text in its field.
    pub(crate) fn write_text(&self, value: &str, text: &mut TextBuilder) -> Result<()> {
        let cut = match self.precision {
            Some(most) => value.char_indices().nth(most).map_or(value.len(), |(at, _)| at),
            None => value.len(),
        };
        let value = &value[..cut];
        let missing = self.width.saturating_sub(value.chars().count());
        let (before, after) = match self.alignment.unwrap_or('<') {
            '>' => (missing, 0),
            '^' => (missing / 2, missing - missing / 2),
            '=' => {
                let message = "'=' alignment not allowed in string format specifier";
                return Err(Error::failed(message));
            }
            _ => (0, missing),
        };
        text.fill(self.fill, before)?;
        text.push(value)?;
        text.fill(self.fill, after)
    }

    /// Writes a number in its field.
    pub(super) fn write_digits(&self, number: Digits<'_>, text: &mut TextBuilder) -> Result<()> {
        let Digits { is_negative, prefix, whole, group, rest } = number;
        let sign = match (is_negative, self.sign) {
            (true, _) => "-",
            (false, Some('+')) => "+",
            (false, Some(' ')) => " ",
            _ => "",
        };
        let default = if self.is_zero_padded { '=' } else { '>' };
        let alignment = self.alignment.unwrap_or(default);
        let width = self.width.saturating_sub(sign.len() + prefix.len() + rest.len());
        let (num_digits, num_separators) = match self.grouping {
            Some(_) if !whole.is_empty() => {
                // Zeros that fill the field are grouped too.
                let is_filled = alignment == '=' && self.fill == '0';
                let least = if is_filled { digits_of_width(width, group) } else { 0 };
                let num_digits = whole.len().max(least);
                (num_digits, (num_digits - 1) / group)
            }
            _ => (whole.len(), 0),
        };
        let missing = width.saturating_sub(num_digits).saturating_sub(num_separators);
        let (before, inside, after) = match alignment {
            '<' => (0, 0, missing),
            '^' => (missing / 2, 0, missing - missing / 2),
            '=' => (0, missing, 0),
            _ => (missing, 0, 0),
        };
        text.fill(self.fill, before)?;
        text.push(sign)?;
        text.push(prefix)?;
        text.fill(self.fill, inside)?;
        text.reserve(num_digits.saturating_add(num_separators))?;
        let zeros = std::iter::repeat_n('0', num_digits - whole.len());
        for (at, digit) in zeros.chain(whole.chars()).enumerate() {
            if let Some(separator) = self.grouping
                && at > 0
                && (num_digits - at).is_multiple_of(group)
            {
                text.fill(separator, 1)?;
            }
            text.fill(digit, 1)?;
        }
        text.push(rest)?;
        text.fill(self.fill, after)
    }
}

/// The least number of digits that have at least `width` characters with a separator between groups.
fn digits_of_width(width: usize, group: usize) -> usize {
    let num_groups = width / (group + 1);
    width - num_groups + usize::from(width.is_multiple_of(group + 1))
}

/// The number that the next digits write, if there are any.
fn digits(rest: &mut Peekable<Chars<'_>>) -> Option<usize> {
    let mut number: Option<usize> = None;
    while let Some(digit) = rest.next_if(char::is_ascii_digit) {
        let digit = digit.to_digit(10).unwrap_or(0) as usize;
        number = Some(number.unwrap_or(0).saturating_mul(10).saturating_add(digit));
    }
    number
}
