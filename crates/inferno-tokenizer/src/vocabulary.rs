//! The tokens of a file: text, type, score, and the bytes that they decode to.
//!
//! Invariant: ids are `0..len()`, texts are unique, and all special ids are in range.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use foldhash::fast::RandomState;
use inferno_gguf::StringArray;

use crate::TokenizerError;
use crate::byte_alphabet;
use crate::special_tokens::SpecialTokens;

/// The type of a token (`tokenizer.ggml.token_type`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TokenType {
    Normal,
    /// Replaces text that no token covers.
    Unknown,
    /// Controls the model and is not text, such as the end of a turn.
    Control,
    /// Text that is always encoded as one token.
    UserDefined,
    Unused,
    /// One byte, in the form `<0x41>`.
    Byte,
}

impl TokenType {
    /// Converts the number in the file; undefined numbers mean an unused token.
    pub fn from_file(number: i32) -> Self {
        match number {
            1 => Self::Normal,
            2 => Self::Unknown,
            3 => Self::Control,
            4 => Self::UserDefined,
            6 => Self::Byte,
            _ => Self::Unused,
        }
    }
}

/// The spelling of normal tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Spelling {
    /// One printable character per byte.
    ByteAlphabet,
    /// Plain text with `▁` for spaces.
    EscapedSpaces,
}

/// The replacement of a space in SentencePiece vocabularies.
pub(crate) const ESCAPED_SPACE: &str = "\u{2581}";

/// Tags between the parts of an answer, which its reader needs even if a file declares them as
/// control tokens.
const ANSWER_TAGS: [&str; 4] = ["<think>", "</think>", "<tool_call>", "</tool_call>"];

/// The tokens of a file before validation.
#[derive(Default)]
pub(crate) struct RawVocabulary {
    pub texts: StringArray,
    pub kinds: Option<Vec<i32>>,
    pub scores: Option<Vec<f32>>,
    pub special: SpecialTokens,
}

/// The validated tokens of a file.
pub(crate) struct Vocabulary {
    texts: StringArray,
    kinds: Vec<TokenType>,
    scores: Vec<f32>,
    ids: HashMap<String, u32, RandomState>,
    spelling: Spelling,
    /// Control tokens that are not omitted from decoded text.
    visible: BTreeSet<u32>,
    pub special: SpecialTokens,
}

impl Vocabulary {
    pub fn new(raw: RawVocabulary, spelling: Spelling) -> Result<Self, TokenizerError> {
        let RawVocabulary { texts, kinds, scores, special } = raw;
        if texts.is_empty() {
            return Err(TokenizerError::EmptyVocabulary);
        }
        let same_length = |key: &str, found: usize| {
            let expected = texts.len();
            let key = key.to_owned();
            if found == expected {
                Ok(())
            } else {
                Err(TokenizerError::LengthMismatch { key, expected, found })
            }
        };
        if let Some(kinds) = &kinds {
            same_length("tokenizer.ggml.token_type", kinds.len())?;
        }
        if let Some(scores) = &scores {
            same_length("tokenizer.ggml.scores", scores.len())?;
            if let Some(id) = scores.iter().position(|score| score.is_nan()) {
                return Err(TokenizerError::ScoreNotANumber { id: id as u32 });
            }
        }
        let kinds = kinds.map_or_else(
            || vec![TokenType::Normal; texts.len()],
            |kinds| kinds.into_iter().map(TokenType::from_file).collect(),
        );
        let scores = scores.unwrap_or_else(|| vec![0.0; texts.len()]);

        let mut ids = HashMap::with_capacity_and_hasher(texts.len(), RandomState::default());
        for (id, text) in texts.iter().enumerate().filter(|(_, text)| !text.is_empty()) {
            if let Some(first) = ids.insert(text.to_owned(), id as u32) {
                return Err(TokenizerError::DuplicateToken {
                    first,
                    second: id as u32,
                    text: text.to_owned(),
                });
            }
        }
        let visible = ANSWER_TAGS.iter().filter_map(|&tag| ids.get(tag).copied()).collect();
        let mut vocabulary = Self { texts, kinds, scores, ids, spelling, visible, special };
        vocabulary.complete_special_tokens();
        Ok(vocabulary)
    }

    /// Adds the special tokens that are identified by their text, and corrects token types that are
    /// wrong in files.
    fn complete_special_tokens(&mut self) {
        let found = self.special.complete(&self.ids);
        for id in found.control {
            self.kinds[id as usize] = TokenType::Control;
        }
        for id in found.delimiters {
            match self.is_special(id) {
                true => _ = self.visible.insert(id),
                false => self.kinds[id as usize] = TokenType::UserDefined,
            }
        }
        for id in found.normal {
            self.kinds[id as usize] = TokenType::Normal;
        }
    }

    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// All ids in ascending order.
    pub fn ids(&self) -> impl Iterator<Item = u32> + use<> {
        0..self.texts.len() as u32
    }

    pub fn text(&self, id: u32) -> &str {
        self.texts.get(id as usize).unwrap_or_default()
    }

    pub fn kind(&self, id: u32) -> TokenType {
        self.kinds[id as usize]
    }

    pub fn score(&self, id: u32) -> f32 {
        self.scores[id as usize]
    }

    /// The token with exactly this text.
    pub fn id(&self, text: &str) -> Option<u32> {
        self.ids.get(text).copied()
    }

    /// The byte token for `byte`, or the token whose text is that one byte.
    pub fn byte_id(&self, byte: u8) -> Option<u32> {
        self.id(&format!("<0x{byte:02X}>")).or_else(|| {
            let text = [byte];
            self.id(std::str::from_utf8(&text).ok()?)
        })
    }

    /// Whether the token is a control or unknown token rather than text.
    pub fn is_special(&self, id: u32) -> bool {
        matches!(self.kind(id), TokenType::Control | TokenType::Unknown)
    }

    /// Whether the token is omitted from text that is decoded without special tokens.
    pub fn is_hidden(&self, id: u32) -> bool {
        self.is_special(id) && !self.visible.contains(&id)
    }

    /// The bytes that the token decodes to; `None` if the id is out of range.
    pub fn piece(&self, id: u32) -> Option<Cow<'_, [u8]>> {
        let text = self.texts.get(id as usize)?;
        Some(match self.kind(id) {
            TokenType::Control | TokenType::Unknown | TokenType::UserDefined => {
                Cow::Borrowed(text.as_bytes())
            }
            TokenType::Unused => Cow::Borrowed(&[]),
            TokenType::Byte => match byte_value(text) {
                Some(byte) => Cow::Owned(vec![byte]),
                None => Cow::Borrowed(text.as_bytes()),
            },
            TokenType::Normal => match self.spelling {
                Spelling::EscapedSpaces if text.contains(ESCAPED_SPACE) => {
                    Cow::Owned(text.replace(ESCAPED_SPACE, " ").into_bytes())
                }
                Spelling::EscapedSpaces => Cow::Borrowed(text.as_bytes()),
                Spelling::ByteAlphabet => match byte_alphabet::to_bytes(text) {
                    Some(bytes) => Cow::Owned(bytes),
                    None => Cow::Borrowed(text.as_bytes()),
                },
            },
        })
    }
}

/// The value of a byte token's text, such as 0x41 for `<0x41>`.
fn byte_value(text: &str) -> Option<u8> {
    let digits = text.strip_prefix("<0x")?.strip_suffix('>')?;
    let two_digits = digits.len() == 2 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    two_digits.then(|| u8::from_str_radix(digits, 16).ok()).flatten()
}
