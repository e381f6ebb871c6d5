//! Parsers for the values of options.

use std::ops::RangeInclusive;

use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};

/// Returns a parser that accepts these names in any case, and lists them in help and completions.
pub(crate) fn one_of<T>(
    names: impl IntoIterator<Item = &'static str>,
) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err: std::error::Error + Send + Sync> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(names).try_map(|name| name.parse())
}

/// Parses a number of at least 1.
pub(crate) fn positive(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("expected a number of at least 1".to_owned()),
        Ok(number) => Ok(number),
        Err(error) => Err(format!("expected a number of at least 1: {error}")),
    }
}

/// Returns a parser for numbers in this range.
pub(crate) fn number_in(
    range: RangeInclusive<usize>,
) -> impl Fn(&str) -> Result<usize, String> + Clone {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| format!("expected a number from {} to {}", range.start(), range.end()))
    }
}

/// The largest number of threads. No machine runs more at once.
pub(crate) const MAX_THREADS: usize = 1024;

/// The longest timeout, one year in seconds. Adding much more to the current time overflows some clocks.
pub(crate) const MAX_SECONDS: usize = 365 * 24 * 60 * 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_out_of_range_number_is_rejected_with_the_range() {
        let read = number_in(1..=12);
        assert_eq!((read("1"), read("12")), (Ok(1), Ok(12)));
        for text in ["0", "13", "-1", "99999999999999999999999", "a few", ""] {
            assert_eq!(read(text), Err("expected a number from 1 to 12".to_owned()), "{text}");
        }
    }
}
