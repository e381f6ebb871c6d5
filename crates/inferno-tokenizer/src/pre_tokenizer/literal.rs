//! The literal pieces of the Chameleon vocabulary.

/// The end of `<sentinel:` digits `>`.
pub(super) fn sentinel_end(text: &str, at: usize) -> Option<usize> {
    let rest = text[at..].strip_prefix("<sentinel:")?;
    let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    (after.len() < rest.len() && after.starts_with('>')).then(|| text.len() - after.len() + 1)
}

/// The end of `IMGIMG`, one to four letters from A to I, `Z`.
pub(super) fn image_token_end(text: &str, at: usize) -> Option<usize> {
    let rest = text[at..].strip_prefix("IMGIMG")?.as_bytes();
    let letters = rest.iter().take_while(|byte| (b'A'..=b'I').contains(byte)).take(5).count();
    ((1..=4).contains(&letters) && rest.get(letters) == Some(&b'Z'))
        .then(|| at + "IMGIMG".len() + letters + 1)
}

/// The end of a tab, a newline, four spaces or two.
pub(super) fn indent_end(text: &str, at: usize) -> Option<usize> {
    ["\t", "\n", "    ", "  "]
        .iter()
        .find(|indent| text.as_bytes()[at..].starts_with(indent.as_bytes()))
        .map(|indent| at + indent.len())
}
