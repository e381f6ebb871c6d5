//! Truncated forms of long strings and arrays, for display.

use std::fmt;

/// Strings up to this length are printed in full.
///
/// **Units**: characters.
const SHOWN_CHARS: usize = 60;

/// Number of elements that are printed.
const SHOWN_ELEMENTS: usize = 4;

/// Prints a text in quotes, truncated if it is long.
pub(super) fn show_text(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => write!(f, "{:?}… ({} bytes)", &text[..end], text.len()),
        None => write!(f, "{text:?}"),
    }
}

/// Prints the first elements and, if there are more, their total number.
pub(super) fn show_elements<T>(
    elements: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
    f: &mut fmt::Formatter<'_>,
    show_element: impl Fn(T, &mut fmt::Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    let elements = elements.into_iter();
    let len = elements.len();
    f.write_str("[")?;
    for (i, element) in elements.take(SHOWN_ELEMENTS).enumerate() {
        if i > 0 {
            f.write_str(", ")?;
        }
        show_element(element, f)?;
    }
    if len > SHOWN_ELEMENTS {
        write!(f, ", … ({len} in all)")?;
    }
    f.write_str("]")
}
