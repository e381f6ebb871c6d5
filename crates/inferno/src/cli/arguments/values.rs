//! Parsers for the values of options.

use std::ops::RangeInclusive;
use std::str::FromStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// Returns a parser that accepts these names in any case, and lists them in help and completions.
pub(crate) fn one_of<T>(
    names: impl IntoIterator<Item = impl Into<PossibleValue>>,
) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err: std::error::Error + Send + Sync> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(names.into_iter().map(Into::into)).try_map(|name| name.parse())
}

/// Parses a number of at least 1.
pub(crate) fn positive(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err("expected a number of at least 1".to_owned()),
    }
}

/// The value of an option for which -1 means the default, as in llama.cpp and Ollama.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OrDefault<T>(pub(crate) Option<T>);

impl<T> OrDefault<T> {
    /// Returns the value of an option, or `None` if the default applies.
    pub(crate) fn value_of(option: Option<Self>) -> Option<T> {
        option.and_then(|Self(value)| value)
    }
}

/// Returns a parser that accepts -1 for the default, and otherwise parses with `parse`.
pub(crate) fn or_default<T>(
    parse: impl Fn(&str) -> Result<T, String> + Clone,
) -> impl Fn(&str) -> Result<OrDefault<T>, String> + Clone {
    move |text| match text {
        "-1" => Ok(OrDefault(None)),
        text => match parse(text) {
            Ok(value) => Ok(OrDefault(Some(value))),
            Err(error) => Err(format!("{error}, or -1 for the default")),
        },
    }
}

/// Parses a whole number that is not negative.
pub(crate) fn whole<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| "expected a number of at least 0".to_owned())
}

/// Parses a whole number that is not negative; -1 is 0, which other programs write as -1.
pub(crate) fn whole_or_off(text: &str) -> Result<usize, String> {
    match text {
        "-1" => Ok(0),
        text => whole(text).map_err(|error| format!("{error}, or -1 to disable it")),
    }
}

/// Parses a number that is finite.
pub(crate) fn finite(text: &str) -> Result<f32, String> {
    let number = text.parse().ok().filter(|number: &f32| number.is_finite());
    number.ok_or_else(|| "expected a finite number such as 0.8".to_owned())
}

/// Replaces escape sequences. Unknown ones are unchanged.
pub(crate) fn unescape(text: &str) -> String {
    let mut unescaped = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let replaced = match (c, chars.clone().next()) {
            ('\\', Some('n')) => '\n',
            ('\\', Some('t')) => '\t',
            ('\\', Some('r')) => '\r',
            ('\\', Some(quoted @ ('\\' | '\'' | '"'))) => quoted,
            _ => {
                unescaped.push(c);
                continue;
            }
        };
        chars.next();
        unescaped.push(replaced);
    }
    unescaped
}

/// Token ids, written as `1,2,3` or as the JSON array that `inferno tokenize` prints.
#[derive(Debug, Clone)]
pub(crate) struct TokenIds(pub(crate) Vec<u32>);

impl FromStr for TokenIds {
    type Err = serde_json::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_array = !text.trim_start().starts_with(|first: char| first.is_ascii_digit());
        let array = if is_array { text } else { &format!("[{text}]") };
        serde_json::from_str(array).map(Self)
    }
}

/// Parses token ids.
pub(crate) fn token_ids(text: &str) -> Result<TokenIds, String> {
    text.parse().map_err(|_| "expected token ids such as 1,2,3 or [1, 2, 3]".to_owned())
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
    fn token_ids_are_separated_by_commas_or_a_json_array() {
        for text in ["1,2", "1, 2 ", "[1,2]", " [1, 2]\n"] {
            assert_eq!(token_ids(text).map(|TokenIds(ids)| ids), Ok(vec![1, 2]), "{text}");
        }
        for text in ["", "a", "1 2", "1,,2", "1,", "-1", "1.5", "4294967296", "[1", "{}"] {
            assert!(token_ids(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_out_of_range_number_is_rejected_with_the_range() {
        let read = number_in(1..=12);
        assert_eq!((read("1"), read("12")), (Ok(1), Ok(12)));
        for text in ["0", "13", "-1", "99999999999999999999999", "a few", ""] {
            assert_eq!(read(text), Err("expected a number from 1 to 12".to_owned()), "{text}");
        }
    }
}
