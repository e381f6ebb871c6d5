//! Parsers for the values of options.

use std::ops::RangeInclusive;

use clap::builder::{PossibleValue, PossibleValuesParser};

/// Accepts the given names in upper or lower case, and lists them in help and completions.
pub(crate) fn names(
    names: impl IntoIterator<Item = impl Into<PossibleValue>>,
) -> PossibleValuesParser {
    PossibleValuesParser::new(names)
}

/// Reads a number of at least 1.
pub(crate) fn positive(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("expected a number of at least 1".to_owned()),
        Ok(number) => Ok(number),
        Err(error) => Err(format!("expected a number of at least 1: {error}")),
    }
}

/// Reads a number in this range, and names the range where it is not.
pub(crate) fn number_in(
    range: RangeInclusive<usize>,
) -> impl Fn(&str) -> Result<usize, String> + Clone {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| format!("expected a number from {} to {}", range.start(), range.end()))
    }
}

/// The most threads: more than any machine runs at once would only exhaust it.
pub(crate) const MAX_THREADS: usize = 1024;

/// The most seconds, which are a year: clocks do not count as far as numbers do.
pub(crate) const MAX_SECONDS: usize = 365 * 24 * 60 * 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_out_of_their_range_are_told_the_range() {
        let read = number_in(1..=12);
        assert_eq!((read("1"), read("12")), (Ok(1), Ok(12)));
        for text in ["0", "13", "-1", "99999999999999999999999", "a few", ""] {
            assert_eq!(read(text), Err("expected a number from 1 to 12".to_owned()), "{text}");
        }
    }
}
