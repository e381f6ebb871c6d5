//! Operations on strings as Python defines them, which the harness uses.

/// `str.isspace` for one character, which is also what `\s` matches.
pub(super) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// `str.strip`.
pub(super) fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// `str.capitalize`: the first character in title case, all others in lower case.
pub(super) fn capitalize(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().into_iter().flat_map(title_case);
    first.chain(chars.as_str().to_lowercase().chars()).collect()
}

/// A character in title case: its upper case, of which only the first character is large if there are several. (Not so `ŉ`, and
/// Greek letters with an iota below, which are left out here.)
fn title_case(c: char) -> impl Iterator<Item = char> {
    let digraph = match c {
        'Ǆ' | 'ǅ' | 'ǆ' => Some('ǅ'),
        'Ǉ' | 'ǈ' | 'ǉ' => Some('ǈ'),
        'Ǌ' | 'ǋ' | 'ǌ' => Some('ǋ'),
        'Ǳ' | 'ǲ' | 'ǳ' => Some('ǲ'),
        // Georgian letters are not capitalized.
        '\u{10d0}'..='\u{10ff}' => Some(c),
        _ => None,
    };
    let mut upper = c.to_uppercase();
    let first = digraph.or_else(|| upper.next());
    let rest = upper.flat_map(char::to_lowercase).filter(move |_| digraph.is_none());
    first.into_iter().chain(rest)
}

/// `len(re.split(r"\s+", text))`: the number of words, with an empty one before or after spaces at an end.
pub(super) fn num_words(text: &str) -> usize {
    let mut spaces = 0;
    let mut after_space = false;
    for c in text.chars() {
        let space = is_space(c);
        spaces += usize::from(space && !after_space);
        after_space = space;
    }
    spaces + 1
}

/// `re.sub(r"\[.*?\]", "", text)`: removes brackets with what is between them, within lines.
pub(super) fn without_brackets(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('[') {
        let end = rest[open..].find([']', '\n']).map(|at| open + at);
        match end {
            Some(end) if rest[end..].starts_with(']') => {
                kept.push_str(&rest[..open]);
                rest = &rest[end + 1..];
            }
            _ => {
                kept.push_str(&rest[..=open]);
                rest = &rest[open + 1..];
            }
        }
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected values were printed by Python 3.11.
    #[test]
    fn operations_are_those_of_python() {
        for (text, expected) in
            [("", 1), ("a", 1), (" a  b\n", 4), ("a\u{1c}b", 2), ("\u{a0}", 2), ("a\u{200b}b", 1)]
        {
            assert_eq!(num_words(text), expected, "{text:?}");
        }
        assert_eq!(capitalize("hELLO World"), "Hello world");
        for (text, expected) in [("ßA", "Ssa"), ("ﬁX", "Fix"), ("ǆX", "ǅx"), ("აA", "აa"), ("", "")]
        {
            assert_eq!(capitalize(text), expected);
        }
        assert_eq!(strip("\u{1f} a \u{3000}"), "a");
        for (text, expected) in
            [("a [b] c", "a  c"), ("[[a]b]", "b]"), ("[a\nb] [c]", "[a\nb] "), ("a] [b", "a] [b")]
        {
            assert_eq!(without_brackets(text), expected, "{text:?}");
        }
    }
}
