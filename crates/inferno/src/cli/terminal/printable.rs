//! Escapes text from files and from the hub for output to a terminal.
//!
//! Invariant: no file can send control sequences to a terminal.

/// Returns `text` with all control characters escaped, including those that change the direction of text.
pub(crate) fn printable(text: &str) -> String {
    escaped(text, |_| false)
}

/// Returns `text` with all control characters escaped except line breaks and tabs.
pub(crate) fn printable_lines(text: &str) -> String {
    escaped(text, |c| matches!(c, '\n' | '\t'))
}

fn escaped(text: &str, is_kept: impl Fn(char) -> bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match (c.is_control() || is_direction(c)) && !is_kept(c) {
            true => escaped.extend(c.escape_debug()),
            false => escaped.push(c),
        }
    }
    escaped
}

/// Returns whether a character embeds, overrides or isolates a direction, so that text is shown in another order than it
/// is stored.
fn is_direction(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        let text = "é\x1b[2J\u{9b}\r\n\t\u{1F999}";
        assert_eq!(printable(text), "é\\u{1b}[2J\\u{9b}\\r\\n\\t\u{1F999}");
        assert_eq!(printable_lines(text), "é\\u{1b}[2J\\u{9b}\\r\n\t\u{1F999}");
        assert_eq!(printable_lines("a\u{202e}b\u{2069}"), "a\\u{202e}b\\u{2069}");
        assert_eq!(printable("\u{5e9}\u{200f}"), "\u{5e9}\u{200f}");
    }
}
