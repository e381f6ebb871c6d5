//! Python's classes of characters.

use unicode_general_category::{GeneralCategory, get_general_category};

/// `isalpha` of one character.
pub(super) fn is_letter(character: char) -> bool {
    matches!(
        get_general_category(character),
        GeneralCategory::UppercaseLetter
            | GeneralCategory::LowercaseLetter
            | GeneralCategory::TitlecaseLetter
            | GeneralCategory::ModifierLetter
            | GeneralCategory::OtherLetter
    )
}

/// `isdecimal` of one character.
pub(super) fn is_decimal(character: char) -> bool {
    get_general_category(character) == GeneralCategory::DecimalNumber
}

/// `isdigit` of one character: decimals, superscripts, subscripts, circled digits.
pub(super) fn is_digit(character: char) -> bool {
    is_decimal(character)
        || matches!(character, '²' | '³' | '¹' | '⁰' | '⁴'..='⁹' | '₀'..='₉' | '①'..='⑨')
}

/// `isalnum` of one character.
pub(super) fn is_alphanumeric(character: char) -> bool {
    is_letter(character) || character.is_numeric()
}
