//! Arrays of strings in two allocations, as vocabularies have hundreds of thousands of entries.

use std::fmt;

/// An array of strings, stored as one text and the end of each string in it.
///
/// Invariant: `ends` never decreases, and each end is at most `text.len()` and on a character
/// boundary.
///
/// ```
/// let array: inferno_gguf::StringArray = ["Once", " upon", " a"].into_iter().collect();
/// assert_eq!(array.get(1), Some(" upon"));
/// assert_eq!(array.iter().map(str::len).sum::<usize>(), 11);
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct StringArray {
    text: String,
    ends: Vec<usize>,
}

impl StringArray {
    /// Creates an array of the strings in `text` that end at `ends`; fails with the index of the first
    /// string that is not valid UTF-8.
    ///
    /// `ends` must not decrease, and the last one must be the text's length.
    pub(super) fn from_parts(text: Vec<u8>, ends: Vec<usize>) -> Result<Self, usize> {
        // Validating the whole text is much faster than validating each string. If it is valid and
        // each end is on a character boundary, each string is valid.
        match String::from_utf8(text) {
            Ok(text) => match ends.iter().position(|&end| !text.is_char_boundary(end)) {
                Some(index) => Err(index),
                None => Ok(Self { text, ends }),
            },
            Err(error) => {
                let valid_up_to = error.utf8_error().valid_up_to();
                let by_bytes = ends.partition_point(|&end| end <= valid_up_to);
                let text = &error.as_bytes()[..valid_up_to];
                // An earlier string may end inside a character that the next one completes.
                let by_border = std::str::from_utf8(text)
                    .ok()
                    .and_then(|text| {
                        ends[..by_bytes].iter().position(|&end| !text.is_char_boundary(end))
                    })
                    .unwrap_or(by_bytes);
                Err(by_border)
            }
        }
    }

    /// Number of strings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no strings.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The string at `index`, if it is in range.
    pub fn get(&self, index: usize) -> Option<&str> {
        let end = *self.ends.get(index)?;
        let start = index.checked_sub(1).map_or(0, |previous| self.ends[previous]);
        Some(&self.text[start..end])
    }

    /// Iterates over the strings.
    pub fn iter(&self) -> Iter<'_> {
        Iter { array: self, next: 0 }
    }

    /// Appends a string.
    pub fn push(&mut self, string: &str) {
        self.text.push_str(string);
        self.ends.push(self.text.len());
    }
}

impl<S: AsRef<str>> FromIterator<S> for StringArray {
    fn from_iter<I: IntoIterator<Item = S>>(strings: I) -> Self {
        let mut array = Self::default();
        for string in strings {
            array.push(string.as_ref());
        }
        array
    }
}

impl fmt::Debug for StringArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

impl<'a> IntoIterator for &'a StringArray {
    type Item = &'a str;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// Iterator over the strings of a [`StringArray`].
#[derive(Debug, Clone)]
pub struct Iter<'a> {
    array: &'a StringArray,
    next: usize,
}

impl<'a> Iterator for Iter<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let string = self.array.get(self.next)?;
        self.next += 1;
        Some(string)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.array.len() - self.next;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Iter<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_round_trip() {
        let strings = ["", "Ġthe", "", "é", "日本"];
        let array: StringArray = strings.into_iter().collect();
        assert_eq!(array.iter().collect::<Vec<_>>(), strings);
        assert_eq!((array.len(), array.iter().len()), (5, 5));
        assert_eq!((array.get(4), array.get(5)), (Some("日本"), None));
    }

    #[test]
    fn a_character_that_spans_two_strings_is_an_error_in_the_first() {
        let text = "aéb".as_bytes().to_vec();
        assert_eq!(StringArray::from_parts(text, vec![1, 2, 4]), Err(1));
    }

    #[test]
    fn invalid_bytes_are_an_error_in_the_string_that_contains_them() {
        assert_eq!(StringArray::from_parts(b"ab\xffcd".to_vec(), vec![1, 2, 4, 5]), Err(2));
        // The invalid byte is the third, but the first string already ends inside a character.
        assert_eq!(StringArray::from_parts(b"\xc3\xa9\xff".to_vec(), vec![1, 2, 3]), Err(0));
        // A character that is truncated by the end of the text.
        assert_eq!(StringArray::from_parts(b"a\xc3".to_vec(), vec![1, 2]), Err(1));
    }
}
