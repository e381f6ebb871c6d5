//! Python's classes of characters.

use unicode_general_category::{GeneralCategory, get_general_category};

/// Ideographs that are numerals, as of Unicode 15.1.
const IDEOGRAPHIC_NUMERALS: &str = "㐅㒃㠪㭍一七万三两九二五亖京亿什仟仨伍佰俩倆億兆兩八六十千卄卅卌叁参參叄四壱壹幺廾廿弌弍弎弐拐拾捌\
     柒洞漆玖百皕秭肆萬貮貳贰鈎钩阡陆陌陸零\u{f96b}\u{f973}\u{f978}\u{f9b2}\u{f9d1}\u{f9d3}\u{f9fd}\u{20001}\
     \u{20064}\u{200e2}\u{20121}\u{2092a}\u{20983}\u{2098c}\u{2099c}\u{20aea}\u{20afd}\u{20b19}\u{22390}\u{22998}\
     \u{23b1b}\u{2626d}\u{2f890}";

/// `isspace` of one character.
pub(crate) fn is_space(character: char) -> bool {
    character.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&character)
}

/// Whether Python's `repr` writes a character without escaping it.
pub(crate) fn is_printable(character: char) -> bool {
    if character.is_ascii() {
        return (' '..='~').contains(&character);
    }
    !matches!(
        get_general_category(character),
        GeneralCategory::Control
            | GeneralCategory::Format
            | GeneralCategory::Surrogate
            | GeneralCategory::PrivateUse
            | GeneralCategory::Unassigned
            | GeneralCategory::LineSeparator
            | GeneralCategory::ParagraphSeparator
            | GeneralCategory::SpaceSeparator
    )
}

/// `isalpha` of one character.
pub(crate) fn is_letter(character: char) -> bool {
    matches!(
        get_general_category(character),
        GeneralCategory::UppercaseLetter
            | GeneralCategory::LowercaseLetter
            | GeneralCategory::TitlecaseLetter
            | GeneralCategory::ModifierLetter
            | GeneralCategory::OtherLetter
    )
}

/// Whether a character is a digraph with only its first letter in upper case, or alike.
pub(crate) fn is_titlecase(character: char) -> bool {
    get_general_category(character) == GeneralCategory::TitlecaseLetter
}

/// `isdecimal` of one character.
pub(crate) fn is_decimal(character: char) -> bool {
    get_general_category(character) == GeneralCategory::DecimalNumber
}

/// `isdigit` of one character: decimals, superscripts, subscripts, circled digits.
pub(crate) fn is_digit(character: char) -> bool {
    is_decimal(character)
        || matches!(
            character,
            '²' | '³'
                | '¹'
                | '፩'..='፱'
                | '᧚'
                | '⁰'
                | '⁴'..='⁹'
                | '₀'..='₉'
                | '①'..='⑨'
                | '⑴'..='⑼'
                | '⒈'..='⒐'
                | '⓪'
                | '⓵'..='⓽'
                | '⓿'
                | '❶'..='❾'
                | '➀'..='➈'
                | '➊'..='➒'
                | '\u{10a40}'..='\u{10a43}'
                | '\u{10e60}'..='\u{10e68}'
                | '\u{11052}'..='\u{1105a}'
                | '\u{1f100}'..='\u{1f10a}'
        )
}

/// `isnumeric` of one character.
pub(crate) fn is_numeric(character: char) -> bool {
    character.is_numeric() || IDEOGRAPHIC_NUMERALS.contains(character)
}

/// `isalnum` of one character.
pub(crate) fn is_alphanumeric(character: char) -> bool {
    is_letter(character) || is_numeric(character)
}

/// Whether an identifier can begin with a character.
pub(crate) fn starts_identifier(character: char) -> bool {
    if character.is_ascii() {
        return character == '_' || character.is_ascii_alphabetic();
    }
    is_letter(character)
        || get_general_category(character) == GeneralCategory::LetterNumber
        || matches!(character, '\u{1885}' | '\u{1886}' | '℘' | '℮')
}

/// Whether an identifier can have a character after the first.
pub(crate) fn continues_identifier(character: char) -> bool {
    starts_identifier(character)
        || matches!(
            get_general_category(character),
            GeneralCategory::NonspacingMark
                | GeneralCategory::SpacingMark
                | GeneralCategory::DecimalNumber
                | GeneralCategory::ConnectorPunctuation
        )
        || matches!(character, '·' | '\u{387}' | '፩'..='፱' | '᧚')
}

/// A text with the decimal digits of all scripts replaced by those of ASCII.
pub(crate) fn with_ascii_digits(text: &str) -> String {
    // Every script has its digits in order, in blocks of ten.
    let is_decimal_at = |number: u32| char::from_u32(number).is_some_and(is_decimal);
    let value =
        |digit: char| (0..u32::from(digit)).rev().take_while(|at| is_decimal_at(*at)).count() % 10;
    text.chars()
        .map(|c| match !c.is_ascii() && is_decimal(c) {
            true => char::from_digit(value(c) as u32, 10).unwrap_or(c),
            false => c,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// **Source**: `c.isidentifier()` and `("a" + c).isidentifier()` of Python 3.11.
    #[test]
    fn identifiers_have_the_characters_of_python() {
        for (character, starts, continues) in [
            ('_', true, true),
            ('a', true, true),
            ('7', false, true),
            ('-', false, false),
            (' ', false, false),
            ('é', true, true),
            ('語', true, true),
            ('ᛮ', true, true),
            ('℘', true, true),
            ('\u{1885}', true, true),
            // Marks, of which the second is alphabetic.
            ('\u{301}', false, true),
            ('\u{345}', false, true),
            ('\u{93f}', false, true),
            ('٣', false, true),
            ('‿', false, true),
            ('·', false, true),
            ('²', false, false),
            ('Ⓐ', false, false),
            ('½', false, false),
            ('€', false, false),
        ] {
            assert_eq!(starts_identifier(character), starts, "{character:?}");
            assert_eq!(continues_identifier(character), continues, "{character:?}");
        }
    }
}
