//! The printable alphabet of byte-level vocabularies.
//!
//! Each of the 256 byte values is represented by one printable character: visible Latin-1 characters
//! represent themselves, the others are mapped to U+0100 and above in order, so that a space becomes
//! `Ġ` and a newline `Ċ`.
//!
//! **Source**: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", section
//! 2.2.

use std::sync::LazyLock;

/// Byte value to character.
static CHARS: LazyLock<[char; 256]> = LazyLock::new(|| {
    let mut moved = (0x100u32..).filter_map(char::from_u32);
    std::array::from_fn(|byte| match byte {
        0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF => byte as u8 as char,
        _ => moved.next().expect("there are more characters than bytes"),
    })
});

/// Character to byte value, for the characters below U+0144.
static BYTES: LazyLock<[Option<u8>; 0x144]> = LazyLock::new(|| {
    let mut bytes = [None; 0x144];
    for byte in 0..=255u8 {
        bytes[CHARS[byte as usize] as usize] = Some(byte);
    }
    bytes
});

/// The bytes that `text` represents; `None` if it has a character outside the alphabet.
pub(crate) fn to_bytes(text: &str) -> Option<Vec<u8>> {
    text.chars().map(|c| BYTES.get(c as usize).copied().flatten()).collect()
}

/// The text that represents `bytes` in byte-level vocabularies, one character per byte.
///
/// ```
/// assert_eq!(inferno_tokenizer::byte_level_text(b" cat"), "Ġcat");
/// ```
pub fn byte_level_text(bytes: &[u8]) -> String {
    bytes.iter().map(|&byte| CHARS[usize::from(byte)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_alphabet_matches_gpt2() {
        assert_eq!(to_bytes("ĠHelloĊ").unwrap(), b" Hello\n");
        assert_eq!(to_bytes("Ã¤").unwrap(), "ä".as_bytes());
        assert_eq!(to_bytes("ĀĠġłŃ").unwrap(), [0x00, 0x20, 0x7F, 0xA0, 0xAD]);
        assert_eq!(to_bytes("a b"), None);
        assert_eq!(to_bytes("日"), None);
    }
}
