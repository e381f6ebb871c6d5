//! Upper, lower and title case.

use crate::character::is_titlecase;

/// The first character in title case, the others in lower case.
pub(crate) fn capitalized(text: &str) -> String {
    let mut capitalized = String::with_capacity(text.len());
    let lower = text.to_lowercase();
    let mut characters = lowered(text, &lower);
    if let Some((first, _)) = characters.next() {
        push_titlecase(first, &mut capitalized);
    }
    capitalized.extend(characters.map(|(_, lower)| lower));
    capitalized
}

/// `casefold`: a form for comparisons that ignore case.
pub(super) fn casefolded(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            'ı' => folded.push(character),
            // Cherokee folds to its capital letters, which are the older ones.
            'Ꭰ'..='Ᏽ' | 'ᏸ'..='ᏽ' | 'ꭰ'..='ꮿ' => {
                folded.extend(character.to_uppercase())
            }
            _ => {
                let upper = character.to_lowercase().flat_map(char::to_uppercase);
                folded.extend(upper.flat_map(char::to_lowercase));
            }
        }
    }
    folded
}

/// `swapcase`
pub(super) fn swapped(text: &str) -> String {
    let mut swapped = String::with_capacity(text.len());
    for (character, lower) in lowered(text, &text.to_lowercase()) {
        match character {
            _ if character.is_uppercase() => swapped.push_str(lower),
            _ if character.is_lowercase() => swapped.extend(character.to_uppercase()),
            _ => swapped.push(character),
        }
    }
    swapped
}

/// `title`: the first letter of each run of letters in title case, the others in lower case.
pub(super) fn titled(text: &str) -> String {
    let mut titled = String::with_capacity(text.len());
    let mut is_start = true;
    for (character, lower) in lowered(text, &text.to_lowercase()) {
        match is_start {
            true => push_titlecase(character, &mut titled),
            false => titled.push_str(lower),
        }
        is_start = !is_cased(character);
    }
    titled
}

/// `islower`
pub(crate) fn is_lower(text: &str) -> bool {
    let is_upper = |c: char| c.is_uppercase() || is_titlecase(c);
    text.chars().any(char::is_lowercase) && !text.chars().any(is_upper)
}

/// `isupper`
pub(crate) fn is_upper(text: &str) -> bool {
    let is_lower = |c: char| c.is_lowercase() || is_titlecase(c);
    text.chars().any(char::is_uppercase) && !text.chars().any(is_lower)
}

/// `istitle`: whether exactly the first letter of each run of letters is in upper or title case.
pub(super) fn is_title(text: &str) -> bool {
    let mut is_start = true;
    for character in text.chars() {
        if is_cased(character) && character.is_lowercase() == is_start {
            return false;
        }
        is_start = !is_cased(character);
    }
    text.chars().any(is_cased)
}

fn is_cased(character: char) -> bool {
    character.is_lowercase() || character.is_uppercase() || is_titlecase(character)
}

/// The characters of a text, each with its part of `lower`, the text in lower case. That of a sigma depends on its
/// place in a word.
fn lowered<'l>(text: &str, lower: &'l str) -> impl Iterator<Item = (char, &'l str)> {
    let mut rest = lower;
    text.chars().map(move |character| {
        let len = character.to_lowercase().map(char::len_utf8).sum();
        let (part, after) = rest.split_at(len);
        rest = after;
        (character, part)
    })
}

/// Appends a character in title case, which differs from upper case for what consists of several letters.
fn push_titlecase(character: char, text: &mut String) {
    text.push(match character {
        'Ǆ'..='ǆ' => 'ǅ',
        'Ǉ'..='ǉ' => 'ǈ',
        'Ǌ'..='ǌ' => 'ǋ',
        'Ǳ'..='ǳ' => 'ǲ',
        // Georgian has no title case.
        'ა'..='ჺ' | 'ჽ'..='ჿ' => character,
        // Greek letters with an iota below: the capital ones have a bit set.
        'ᾀ'..='ᾯ' => char::from_u32(u32::from(character) | 8).unwrap_or(character),
        'ᾳ' | 'ᾼ' => 'ᾼ',
        'ῃ' | 'ῌ' => 'ῌ',
        'ῳ' | 'ῼ' => 'ῼ',
        'ŉ' => return text.push_str("ʼN"),
        _ => {
            let mut upper = character.to_uppercase();
            text.extend(upper.next());
            let others = upper.map(|other| if other == 'Ι' { '\u{345}' } else { other });
            return text.extend(others.flat_map(char::to_lowercase));
        }
    });
}
