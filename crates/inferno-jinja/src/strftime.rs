//! Python's `strftime` of a time without a zone, as the GNU C library writes it in the C locale.

use jiff::Zoned;
use jiff::fmt::strtime;

use crate::budget::TextBuilder;
use crate::error::{Error, Result};

/// The directives that have an alternative form, which is the same in this locale.
const WITH_MODIFIER_E: &str = "CPRTXYZcnprstuxyz%";
const WITH_MODIFIER_O: &str = "BCGHIMPRSTUVWZbdeghjklmnprstuwyz%";

/// Writes a time in a format. Unknown directives and a trailing `%` are written unchanged.
///
/// **Errors**: a text that exceeds the budget.
pub(crate) fn write_time(format: &str, time: &Zoned, text: &mut TextBuilder) -> Result<()> {
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        text.push(&rest[..at])?;
        let (directive, after) = Directive::parse(&rest[at..]);
        directive.write(time, text)?;
        rest = after;
    }
    text.push(rest)
}

/// `%flags width modifier kind`
#[derive(Default)]
struct Directive<'f> {
    source: &'f str,
    /// `-` for none, `_` for spaces, `0`.
    padding: Option<char>,
    is_upper: bool,
    swaps_case: bool,
    width: usize,
    /// `None` for an unknown directive.
    kind: Option<char>,
}

impl<'f> Directive<'f> {
    /// Parses the directive that a format begins with, and returns it with the rest of the format.
    fn parse(format: &'f str) -> (Self, &'f str) {
        let mut directive = Self::default();
        let mut rest = &format[1..];
        while let Some(flag) = rest.chars().next().filter(|flag| "_-0^#".contains(*flag)) {
            match flag {
                '^' => directive.is_upper = true,
                '#' => directive.swaps_case = true,
                padding => directive.padding = Some(padding),
            }
            rest = &rest[1..];
        }
        let digits = rest;
        rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        if rest.len() < digits.len() {
            let width = digits[..digits.len() - rest.len()].parse();
            directive.width = width.unwrap_or(usize::MAX);
        }
        let known = match rest.chars().next() {
            Some('E') => Some(WITH_MODIFIER_E),
            Some('O') => Some(WITH_MODIFIER_O),
            _ => None,
        };
        rest = &rest[known.map_or(0, |_| 1)..];
        let kind = rest.chars().next();
        rest = &rest[kind.map_or(0, char::len_utf8)..];
        directive.source = &format[..format.len() - rest.len()];
        directive.kind = kind.filter(|kind| known.is_none_or(|known| known.contains(*kind)));
        (directive, rest)
    }

    fn write(&self, time: &Zoned, text: &mut TextBuilder) -> Result<()> {
        let formatted = |format: &str| {
            strtime::format(format, time).map_err(|error| Error::failed(error.to_string()))
        };
        let (num_digits, fill) = match self.kind {
            Some('C' | 'G' | 'Y' | 's' | 'u' | 'w') => (1, '0'),
            Some('H' | 'I' | 'M' | 'S' | 'U' | 'V' | 'W' | 'd' | 'g' | 'm' | 'y') => (2, '0'),
            Some('e' | 'k' | 'l') => (2, ' '),
            Some('j') => (3, '0'),
            _ => (0, ' '),
        };
        let item = match self.kind {
            Some(kind) if num_digits > 0 => formatted(&format!("%-{kind}"))?,
            Some(kind @ ('A' | 'B' | 'P' | 'a' | 'b' | 'h' | 'n' | 'p' | 't' | '%')) => {
                formatted(&format!("%{kind}"))?
            }
            Some('c') => formatted("%a %b %e %H:%M:%S %Y")?,
            Some('D' | 'x') => formatted("%m/%d/%y")?,
            Some('F') => formatted("%Y-%m-%d")?,
            Some('R') => formatted("%H:%M")?,
            Some('T' | 'X') => formatted("%H:%M:%S")?,
            Some('r') => formatted("%I:%M:%S %p")?,
            // Python itself replaces this one, which has no options.
            Some('f') if self.source == "%f" => {
                return text.push(&format!("{:06}", time.subsec_nanosecond() / 1000));
            }
            Some('Z') => String::new(),
            Some('z') => return Ok(()),
            _ => self.source.to_owned(),
        };
        let item = match self.kind {
            Some('P') => item,
            Some('p') if self.swaps_case => item.to_lowercase(),
            Some('A' | 'B' | 'a' | 'b' | 'h') if self.swaps_case => item.to_uppercase(),
            _ if self.is_upper => item.to_ascii_uppercase(),
            _ => item,
        };
        let (fill, width) = match self.padding {
            None => (fill, self.width.max(num_digits)),
            Some('-') => (' ', self.width),
            Some('_') => (' ', self.width.max(num_digits)),
            Some(_) => ('0', self.width.max(num_digits)),
        };
        text.fill(fill, width.saturating_sub(item.len()))?;
        text.push(&item)
    }
}

#[cfg(test)]
mod tests;
