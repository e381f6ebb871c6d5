//! Sets of characters that the patterns of individual vocabularies define.

/// Chinese characters, as defined by llama.cpp.
pub(super) fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}'
        | '\u{20000}'..='\u{2A6DF}' | '\u{2A700}'..='\u{2EBEF}' | '\u{2F800}'..='\u{2FA1F}')
}

/// Chinese characters, hiragana and katakana.
pub(super) fn is_kana_or_han(c: char) -> bool {
    matches!(c, '\u{4E00}'..='\u{9FA5}' | '\u{3040}'..='\u{30FF}')
}

/// The wide block from Samaritan to the last Chinese character, and Korean syllables.
pub(super) fn is_east_of_arabic(c: char) -> bool {
    matches!(c, '\u{800}'..='\u{9FA5}' | '\u{AC00}'..='\u{D7FF}') && !c.is_whitespace()
}

/// Korean syllables and compatibility letters.
pub(super) fn is_hangul(c: char) -> bool {
    matches!(c, '\u{AC00}'..='\u{D7A3}' | '\u{3131}'..='\u{318E}')
}

/// Punctuation of Chinese, Japanese and Korean text.
pub(super) fn is_wide_punctuation(c: char) -> bool {
    matches!(c, '！' | '…' | '“' | '”' | '‘' | '’' | '—' | '：' | '；' | '，'
        | '\u{3001}'..='\u{303F}' | '\u{FE30}'..='\u{FE4F}')
}

/// The letters of Bopomofo.
pub(super) fn is_bopomofo(c: char) -> bool {
    matches!(c, '\u{3105}'..='\u{312F}')
}

/// ASCII punctuation and symbols, their full-width forms, and related quotation marks and stops.
pub(super) fn is_western_or_wide_punctuation(c: char) -> bool {
    matches!(c, '!'..='/' | ':'..='~' | '\u{FF01}'..='\u{FF0F}' | '\u{FF1A}'..='\u{FF5E}'
        | '\u{2018}'..='\u{201F}' | '\u{3001}'..='\u{3002}')
}

/// Punctuation that ends a part of a sentence in the BLOOM family, in several scripts.
pub(super) fn ends_a_sentence_part(c: char) -> bool {
    "(|.,!?…。，、।۔،)".contains(c)
}

/// Asian scripts without spaces between words, and the gaps between their blocks.
pub(super) fn is_asian(c: char) -> bool {
    matches!(c, '\u{E40}'..='\u{EFF}' | '\u{1000}'..='\u{109F}' | '\u{1100}'..='\u{11FF}'
        | '\u{1780}'..='\u{17FF}' | '\u{2F00}'..='\u{2FDF}' | '\u{3040}'..='\u{30FF}'
        | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{FAFF}' | '\u{FF65}'..='\u{FF9F}')
}

/// Letters of scripts with two cases, as listed by the first DeepSeek vocabulary.
pub(super) fn is_cased_letter(c: char) -> bool {
    let after = CASED_LETTERS.partition_point(|&(first, _)| first <= c);
    after > 0 && c <= CASED_LETTERS[after - 1].1
}

/// Inclusive ranges in ascending order.
static CASED_LETTERS: &[(char, char)] = &[
    ('A', 'Z'),
    ('a', 'z'),
    ('\u{B5}', '\u{B5}'),
    ('\u{C0}', '\u{D6}'),
    ('\u{D8}', '\u{F6}'),
    ('\u{F8}', '\u{1BA}'),
    ('\u{1BC}', '\u{1BF}'),
    ('\u{1C4}', '\u{293}'),
    ('\u{295}', '\u{2AF}'),
    ('\u{370}', '\u{373}'),
    ('\u{376}', '\u{376}'),
    ('\u{377}', '\u{377}'),
    ('\u{37B}', '\u{37D}'),
    ('\u{37F}', '\u{37F}'),
    ('\u{386}', '\u{386}'),
    ('\u{388}', '\u{38A}'),
    ('\u{38C}', '\u{38C}'),
    ('\u{38E}', '\u{3A1}'),
    ('\u{3A3}', '\u{3F5}'),
    ('\u{3F7}', '\u{481}'),
    ('\u{48A}', '\u{52F}'),
    ('\u{531}', '\u{556}'),
    ('\u{10A0}', '\u{10C5}'),
    ('\u{13A0}', '\u{13F5}'),
    ('\u{13F8}', '\u{13FD}'),
    ('\u{1C90}', '\u{1CBA}'),
    ('\u{1CBD}', '\u{1CBF}'),
    ('\u{1D00}', '\u{1D2B}'),
    ('\u{1D6B}', '\u{1D77}'),
    ('\u{1D79}', '\u{1D9A}'),
    ('\u{1E00}', '\u{1F15}'),
    ('\u{1F18}', '\u{1F1D}'),
    ('\u{1F20}', '\u{1F45}'),
    ('\u{1F48}', '\u{1F4D}'),
    ('\u{1F50}', '\u{1F57}'),
    ('\u{1F59}', '\u{1F59}'),
    ('\u{1F5B}', '\u{1F5B}'),
    ('\u{1F5D}', '\u{1F5D}'),
    ('\u{1F5F}', '\u{1F7D}'),
    ('\u{1F80}', '\u{1FB4}'),
    ('\u{1FB6}', '\u{1FBC}'),
    ('\u{1FBE}', '\u{1FBE}'),
    ('\u{1FC2}', '\u{1FC4}'),
    ('\u{1FC6}', '\u{1FCC}'),
    ('\u{1FD0}', '\u{1FD3}'),
    ('\u{1FD6}', '\u{1FDB}'),
    ('\u{1FE0}', '\u{1FEC}'),
    ('\u{1FF2}', '\u{1FF4}'),
    ('\u{1FF6}', '\u{1FFC}'),
    ('\u{2102}', '\u{2102}'),
    ('\u{2107}', '\u{2107}'),
    ('\u{210A}', '\u{2113}'),
    ('\u{2115}', '\u{2115}'),
    ('\u{2119}', '\u{211D}'),
    ('\u{2124}', '\u{2124}'),
    ('\u{2126}', '\u{2126}'),
    ('\u{2128}', '\u{2128}'),
    ('\u{212A}', '\u{212D}'),
    ('\u{212F}', '\u{2134}'),
    ('\u{2139}', '\u{2139}'),
    ('\u{213C}', '\u{213F}'),
    ('\u{2145}', '\u{2149}'),
    ('\u{214E}', '\u{214E}'),
    ('\u{2183}', '\u{2183}'),
    ('\u{2184}', '\u{2184}'),
    ('\u{2C00}', '\u{2C7B}'),
    ('\u{2C7E}', '\u{2CE4}'),
    ('\u{2CEB}', '\u{2CEE}'),
    ('\u{2CF2}', '\u{2CF2}'),
    ('\u{2CF3}', '\u{2CF3}'),
    ('\u{A640}', '\u{A66D}'),
    ('\u{A680}', '\u{A69B}'),
    ('\u{A722}', '\u{A76F}'),
    ('\u{A771}', '\u{A787}'),
    ('\u{A78B}', '\u{A78E}'),
    ('\u{AB70}', '\u{ABBF}'),
    ('\u{FB00}', '\u{FB06}'),
    ('\u{FB13}', '\u{FB17}'),
    ('\u{FF21}', '\u{FF3A}'),
    ('\u{FF41}', '\u{FF5A}'),
    ('\u{10400}', '\u{1044F}'),
    ('\u{104B0}', '\u{104D3}'),
    ('\u{104D8}', '\u{104FB}'),
    ('\u{10C80}', '\u{10CB2}'),
    ('\u{10CC0}', '\u{10CF2}'),
    ('\u{118A0}', '\u{118DF}'),
    ('\u{1E900}', '\u{1E943}'),
];
