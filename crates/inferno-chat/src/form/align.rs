//! Comparing texts that a template has written, without cutting tags and words.

/// Longest tag, in bytes.
const MAX_TAG_LEN: usize = 64;

/// The text without whitespace.
pub(crate) fn compact(text: &str) -> String {
    text.split_whitespace().collect()
}

/// The tag that a text begins with, such as `<tool_call>`, `[TOOL_CALLS]` or the `<function=` before a name.
pub(crate) fn leading_tag(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let end = match text.chars().next()? {
        '<' => text.find('>').map_or(text.len(), |at| at + 1),
        '[' => text.find(']').filter(|&end| is_bracket_tag(&text[..=end]))? + 1,
        _ => return None,
    };
    let tag = &text[..end];
    (tag.len() > 1 && tag.len() <= MAX_TAG_LEN).then_some(tag)
}

/// The text on the first line of a form before anything that varies, such as `Action:`; `None` if it is hardly distinctive.
pub(crate) fn leading_word(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let end = text
        .find(|character: char| matches!(character, '\n' | '{' | '"' | '\u{e000}'..='\u{e0ff}'));
    let word = text[..end.unwrap_or(text.len())].trim_end();
    (word.len() > 2 && word.len() <= MAX_TAG_LEN).then_some(word)
}

/// The start of the tag that a text ends with, except for whitespace.
pub(super) fn start_of_last_tag(text: &str) -> Option<usize> {
    let text = text.trim_end();
    let start = match text.chars().next_back()? {
        '>' => text.rfind('<')?,
        ']' => text.rfind('[').filter(|&start| is_bracket_tag(&text[start..]))?,
        _ => return None,
    };
    let is_tag = text.len() - start <= MAX_TAG_LEN && !text[start..].contains('\n');
    is_tag.then_some(start)
}

/// Whether this is a tag such as `[TOOL_CALLS]`, `[/INST]` or `[BEGIN FINAL RESPONSE]`.
fn is_bracket_tag(text: &str) -> bool {
    let name = text.trim_start_matches('[').trim_start_matches('/').trim_end_matches(']');
    name.starts_with(|first: char| first.is_ascii_uppercase() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_uppercase() || matches!(byte, b'_' | b' '))
}

/// Whether a text may be cut here: neither inside a tag nor inside a word.
pub(super) fn is_boundary(text: &str, at: usize) -> bool {
    if !text.is_char_boundary(at) {
        return false;
    }
    let (before, after) = text.split_at(at);
    let (Some(last), Some(next)) = (before.chars().next_back(), after.chars().next()) else {
        return true;
    };
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let tag = before.rfind('<').filter(|&start| at - start <= MAX_TAG_LEN);
    let in_tag = tag.is_some_and(|start| !before[start..].contains(['>', '\n']));
    let in_brackets = before.rfind('[').is_some_and(|start| {
        let end = after.find(']').map(|end| at + end + 1);
        end.is_some_and(|end| is_bracket_tag(&text[start..end]))
    });
    let in_word = is_word(last) && is_word(next);
    !(in_tag || in_brackets || in_word)
}

/// Length of the longest common prefix.
pub(super) fn common_prefix(a: &str, b: &str) -> usize {
    let pairs = a.char_indices().zip(b.chars());
    pairs.take_while(|((_, a), b)| a == b).last().map_or(0, |((at, a), _)| at + a.len_utf8())
}

/// Length of the longest common suffix.
pub(super) fn common_suffix(a: &str, b: &str) -> usize {
    let pairs = a.chars().rev().zip(b.chars().rev());
    pairs.take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
}

/// Splits the text between two items of a list into the end of the first, the separator, and the beginning of the second.
///
/// `first` is the text before the first item and `last` that after the last one.
pub(super) fn split_between<'a>(
    first: &str,
    between: &'a str,
    last: &str,
) -> (&'a str, &'a str, &'a str) {
    let len = between.len();
    let (prefix, suffix) = (common_prefix(between, last), common_suffix(first, between));
    if prefix + suffix > len {
        // Each place between the two divides the same texts. A tag belongs to the text that it begins.
        let places: Vec<_> =
            (len - suffix..=prefix).filter(|&at| is_boundary(between, at)).collect();
        let begins_tag = |at: &&usize| between[**at..].starts_with(['<', '[', '{']);
        // Tags of some families begin with a closing bracket.
        let follows_end = |at: &&usize| {
            let is_end = |character: char| character.is_whitespace() || character == '>';
            between[..**at].ends_with(is_end) && between[**at..].starts_with(['<', '[', '{', ']'])
        };
        let best = places.iter().find(follows_end).or_else(|| places.iter().find(begins_tag));
        let best = best.or(places.last()).copied();
        if let Some(at) = best {
            return (&between[..at], "", &between[at..]);
        }
    }
    let is_end = |at: &usize| is_boundary(between, *at) && is_boundary(last, *at);
    let end = (0..=prefix).rev().find(is_end).unwrap_or(0);
    let is_start = |at: &usize| is_boundary(between, *at);
    let start = ((len - suffix).max(end)..=len).find(is_start).unwrap_or(len);
    (&between[..end], &between[end..start], &between[start..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_divided_between_tags() {
        let cases = [
            ("<a>\n<b=", "</b>\n<b=", "</b>\n</a>", ("</b>\n", "", "<b=")),
            ("[TOOL_CALLS]", "[TOOL_CALLS]", "", ("", "", "[TOOL_CALLS]")),
            ("[C][{\"name\": \"", "}, {\"name\": \"", "}]", ("}", ", ", "{\"name\": \"")),
            (
                "<|all|><|one|>",
                "<|one_end|><|one|>",
                "<|one_end|><|all_end|>",
                ("<|one_end|>", "", "<|one|>"),
            ),
            (">\n<p=", "\n</p>\n<p=", "\n</p>\n</f>", ("\n</p>\n", "", "<p=")),
            ("{", "<|\"|>,", "<|\"|>}", ("<|\"|>", ",", "")),
        ];
        for (first, between, last, expected) in cases {
            assert_eq!(split_between(first, between, last), expected, "{between}");
        }
    }

    #[test]
    fn tags_are_found_at_both_ends() {
        assert_eq!(leading_tag("<tool_call>\n{"), Some("<tool_call>"));
        assert_eq!(leading_tag("<function="), Some("<function="));
        assert_eq!(leading_tag("[TOOL_CALLS][{"), Some("[TOOL_CALLS]"));
        assert_eq!(leading_tag("[{\"name\""), None);
        assert_eq!(start_of_last_tag("a<|end|>\n"), Some(1));
        assert_eq!(start_of_last_tag("a [/INST]"), Some(2));
        assert_eq!(start_of_last_tag("[1, 2]"), None);
    }
}
