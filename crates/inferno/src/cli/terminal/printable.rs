//! Texts from files and from the hub, for terminals.
//!
//! Invariant: whatever a file says, it cannot steer a terminal. Control characters are shown, not sent.

/// `text` on one line, with control characters spelled out.
pub(crate) fn printable(text: &str) -> String {
    escaped(text, |_| false)
}

/// `text` with its line breaks and tabs, and all other control characters spelled out.
pub(crate) fn printable_lines(text: &str) -> String {
    escaped(text, |c| matches!(c, '\n' | '\t'))
}

fn escaped(text: &str, is_kept: impl Fn(char) -> bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_control() && !is_kept(c) {
            true => escaped.extend(c.escape_debug()),
            false => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_spelled_out() {
        let text = "é\x1b[2J\u{9b}\r\n\t\u{1F999}";
        assert_eq!(printable(text), "é\\u{1b}[2J\\u{9b}\\r\\n\\t\u{1F999}");
        assert_eq!(printable_lines(text), "é\\u{1b}[2J\\u{9b}\\r\n\t\u{1F999}");
    }
}
