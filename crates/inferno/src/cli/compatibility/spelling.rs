//! Recognizes misspelled names.

/// Returns the number of characters that two names share at their start and at their end.
pub(crate) fn similarity(name: &str, known: &str) -> usize {
    let pairs = name.chars().rev().zip(known.chars().rev());
    let suffix = pairs.take_while(|(a, b)| a == b).count();
    let prefix = name.chars().zip(known.chars()).take_while(|(a, b)| a == b).count();
    prefix + suffix
}

/// Returns the known name that shares the longest start and end with `name`, if `name` may be a misspelling of it.
pub(crate) fn closest<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let best = known.into_iter().max_by_key(|known| similarity(name, known))?;
    is_misspelling(name, best).then_some(best)
}

/// Returns whether `name` may be a misspelling of `known`: apart from a shared start and end, they differ in at most two
/// characters, and by at most two in length.
pub(crate) fn is_misspelling(name: &str, known: &str) -> bool {
    let [len, known_len] = [name, known].map(|name| name.chars().count());
    similarity(name, known) + 2 >= len.max(known_len) && len.abs_diff(known_len) <= 2
}
