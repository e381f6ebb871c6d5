//! Numbers with a noun.

/// Returns a number and its noun, in the plural unless the number is 1.
pub(crate) fn count(number: usize, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{ending}")
}
