//! The character map of a Unigram vocabulary's normalization: a double-array trie of replacements.
//!
//! **Source**: SentencePiece's `builder.cc` (a 4-byte length, a Darts double-array trie of that
//! length, then the zero-terminated replacements); the bit layout of the trie's units is that of
//! Darts-clone.

use crate::TokenizerError;

/// Maximum length of a replacement; longer ones only occur in files that are made to inflate text.
const MAX_REPLACEMENT_LEN: usize = 1024;
/// Maximum length of a text that is replaced; a trie with cycles would match texts of any length.
const MAX_KEY_BYTES: usize = 256;

/// Replacements for parts of a text. The empty map replaces nothing.
#[derive(Default)]
pub(crate) struct Charsmap {
    units: Vec<u32>,
    /// Zero-terminated strings.
    replacements: Vec<u8>,
}

impl Charsmap {
    pub fn parse(bytes: &[u8]) -> Result<Self, TokenizerError> {
        let malformed = |reason| TokenizerError::MalformedCharsmap { bytes: bytes.len(), reason };
        let (len, rest) = bytes
            .split_first_chunk::<4>()
            .ok_or_else(|| malformed("it is shorter than its length field"))?;
        let len = u32::from_le_bytes(*len) as usize;
        if len > rest.len() {
            return Err(malformed("the trie is longer than the map"));
        }
        let (trie, replacements) = rest.split_at(len);
        let (units, partial) = trie.as_chunks::<4>();
        if !partial.is_empty() {
            return Err(malformed("the trie's length is not a multiple of four"));
        }
        if !replacements.is_empty() && !replacements.ends_with(&[0]) {
            return Err(malformed("the last replacement is not terminated"));
        }
        if replacements.split(|&byte| byte == 0).any(|text| text.len() > MAX_REPLACEMENT_LEN) {
            return Err(malformed("a replacement is longer than 1024 bytes"));
        }
        Ok(Self {
            units: units.iter().map(|&unit| u32::from_le_bytes(unit)).collect(),
            replacements: replacements.to_vec(),
        })
    }

    /// The longest prefix of `text` with a replacement: its length and the replacement.
    ///
    /// Transitions out of the array end the search, and so does [`MAX_KEY_BYTES`].
    pub fn longest_match(&self, text: &[u8]) -> Option<(usize, &[u8])> {
        let mut found = None;
        let mut node = base(*self.units.first()?);
        let text = &text[..text.len().min(MAX_KEY_BYTES)];
        for (index, &byte) in text.iter().enumerate().take_while(|(_, byte)| **byte != 0) {
            node ^= u32::from(byte);
            let Some(&unit) = self.units.get(node as usize) else {
                break;
            };
            if label(unit) != u32::from(byte) {
                break;
            }
            node ^= base(unit);
            if has_value(unit)
                && let Some(&value) = self.units.get(node as usize)
            {
                found = Some((index + 1, value & !(1 << 31)));
            }
        }
        let (len, start) = found?;
        let text = self.replacements.get(start as usize..)?;
        Some((len, text.split(|&byte| byte == 0).next()?))
    }
}

/// The position of a node's children.
fn base(unit: u32) -> u32 {
    (unit >> 10) << ((unit & 1 << 9) >> 6)
}

/// The byte of the transition to a node; units with a value have bit 31 set and match no byte.
fn label(unit: u32) -> u32 {
    unit & (1 << 31 | 0xFF)
}

/// Whether the string up to a node is in the trie.
fn has_value(unit: u32) -> bool {
    unit >> 8 & 1 == 1
}
