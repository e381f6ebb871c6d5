//! The properties of characters that BERT's normalization depends on, as Hugging Face's tokenizers has them: those of
//! Unicode 8 (2015). In newer scripts, it finds no control characters, punctuation and marks.

use crate::unicode::{CharClass, is_nonspacing_mark};

/// Ranges with all characters that have one of these properties in newer versions alone.
static NEWER: [(char, char); 41] = [
    ('\u{61D}', '\u{61D}'),
    ('\u{7FD}', '\u{7FD}'),
    ('\u{890}', '\u{8E2}'),
    ('\u{9FD}', '\u{9FE}'),
    ('\u{A76}', '\u{A76}'),
    ('\u{AFA}', '\u{AFF}'),
    ('\u{B55}', '\u{B55}'),
    ('\u{C04}', '\u{C3C}'),
    ('\u{C77}', '\u{C77}'),
    ('\u{C84}', '\u{C84}'),
    ('\u{D00}', '\u{D00}'),
    ('\u{D3B}', '\u{D3C}'),
    ('\u{D81}', '\u{D81}'),
    ('\u{EBA}', '\u{EBA}'),
    ('\u{ECE}', '\u{ECE}'),
    ('\u{180F}', '\u{1886}'),
    ('\u{1ABF}', '\u{1ACE}'),
    ('\u{1B4E}', '\u{1B4F}'),
    ('\u{1B7D}', '\u{1B7F}'),
    ('\u{1DF6}', '\u{1DFB}'),
    ('\u{2E43}', '\u{2E5D}'),
    ('\u{A82C}', '\u{A82C}'),
    ('\u{A8C5}', '\u{A8C5}'),
    ('\u{A8FF}', '\u{A8FF}'),
    ('\u{A9BD}', '\u{A9BD}'),
    ('\u{10D24}', '\u{10F89}'),
    ('\u{11070}', '\u{11074}'),
    ('\u{110C2}', '\u{110CD}'),
    ('\u{111CF}', '\u{111CF}'),
    ('\u{1123E}', '\u{11241}'),
    ('\u{1133B}', '\u{1133B}'),
    ('\u{113BB}', '\u{1145E}'),
    ('\u{11660}', '\u{1166C}'),
    ('\u{116B9}', '\u{116B9}'),
    ('\u{1182F}', '\u{11FFF}'),
    ('\u{12FF1}', '\u{1612F}'),
    ('\u{16D6D}', '\u{16F4F}'),
    ('\u{16FE2}', '\u{16FE4}'),
    ('\u{1CF00}', '\u{1CF46}'),
    ('\u{1E000}', '\u{1E5FF}'),
    ('\u{1E944}', '\u{1E95F}'),
];

fn is_newer(c: char) -> bool {
    let after = NEWER.partition_point(|&(first, _)| first <= c);
    after > 0 && c <= NEWER[after - 1].1
}

/// Whether a character is removed from text: control characters that are not white space for BERT.
pub(super) fn is_removed(c: char) -> bool {
    let is_control = CharClass::of(c).any(CharClass::CONTROL) && !matches!(c, '\t' | '\n' | '\r');
    c == char::REPLACEMENT_CHARACTER || is_control && !is_newer(c)
}

/// Punctuation, and all symbols of ASCII.
pub(super) fn is_punctuation(c: char) -> bool {
    let is_punctuation = CharClass::of(c).any(CharClass::PUNCTUATION) && !is_newer(c);
    // These two became a symbol and a mark.
    c.is_ascii_punctuation() || is_punctuation || matches!(c, '\u{166D}' | '\u{111C9}')
}

/// Accents: marks without a width.
pub(super) fn is_accent(c: char) -> bool {
    let is_accent = is_nonspacing_mark(c) && !is_newer(c);
    // The first was punctuation, the others became marks with a width.
    c != '\u{111C9}' && is_accent || matches!(c, '\u{1734}' | '\u{1171E}')
}

/// The Chinese characters that BERT treats as separate words.
pub(super) fn is_chinese(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}'
        | '\u{20000}'..='\u{2A6DF}' | '\u{2A700}'..='\u{2B81F}' | '\u{2B920}'..='\u{2CEAF}'
        | '\u{2F800}'..='\u{2FA1F}')
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROPERTIES: &str = include_str!("../../tests/fixtures/bert_characters.json");

    #[track_caller]
    fn check(name: &str, has_property: fn(char) -> bool) {
        let ranges: serde_json::Value = serde_json::from_str(PROPERTIES).expect("valid JSON");
        let ranges: Vec<(u32, u32)> =
            serde_json::from_value(ranges[name].clone()).expect("ranges of characters");
        let mut ranges = ranges.into_iter().peekable();
        for c in '\0'..=char::MAX {
            while ranges.next_if(|&(_, last)| last < c as u32).is_some() {}
            let expected = ranges.peek().is_some_and(|&(first, _)| first <= c as u32);
            assert_eq!(has_property(c), expected, "{c:?} ({:X})", c as u32);
        }
    }

    #[test]
    fn the_properties_of_all_characters_are_those_of_tokenizers() {
        check("removed", is_removed);
        check("punctuation", is_punctuation);
        check("accents", is_accent);
        check("chinese", is_chinese);
    }
}
