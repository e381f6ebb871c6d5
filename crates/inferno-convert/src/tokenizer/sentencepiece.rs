//! Sentence-piece models (`tokenizer.model`): a message of protocol buffers.
//!
//! **Source**: `sentencepiece_model.proto`.

use serde_json::Value;

use super::files::{TokenizerFiles, looks_special};
use super::{TokenType, Tokens, padding_text};
use crate::ConvertError;

/// The scores of tokens without a piece, and of added ones.
pub(super) const PADDING_SCORE: f32 = -10_000.0;
const ADDED_SCORE: f32 = -1000.0;

/// The tokens, of which there are `size`, and a note if the model is of a kind that is encoded differently.
pub(super) fn tokens(
    files: &TokenizerFiles,
    model: &[u8],
    size: Option<usize>,
    reads_added_tokens: bool,
) -> Result<(Tokens, Option<String>), ConvertError> {
    let damaged = || {
        ConvertError::invalid(
            files.folder.join("tokenizer.model"),
            "not a sentence-piece model, or damaged",
        )
    };
    let Model { pieces, is_unigram, .. } = Model::parse(model).ok_or_else(damaged)?;
    let size = size.unwrap_or(pieces.len());
    let mut tokens = Tokens {
        texts: (0..size).map(padding_text).collect(),
        types: vec![TokenType::Unused; size],
        scores: None,
    };
    let mut scores = vec![PADDING_SCORE; size];
    for (id, piece) in pieces.into_iter().enumerate().take(size) {
        tokens.texts[id] = piece.text;
        tokens.types[id] = piece.kind;
        scores[id] = piece.score;
    }
    let mut set = |id: usize, text: &str, kind: TokenType| {
        if id < size {
            tokens.texts[id] = text.to_owned();
            tokens.types[id] = kind;
            scores[id] = ADDED_SCORE;
        }
    };
    for (text, id) in files.added_texts.iter().flatten() {
        if let Some(id) = id.as_u64() {
            set(id as usize, text, TokenType::UserDefined);
        }
    }
    let decoder =
        files.config.as_ref().and_then(|config| config.get("added_tokens_decoder")?.as_object());
    let from_config =
        decoder.into_iter().flatten().filter_map(|(id, token)| Some((id.parse().ok()?, token)));
    let list =
        files.tokenizer.as_ref().and_then(|tokenizer| tokenizer.get("added_tokens")?.as_array());
    let from_tokenizer = list.into_iter().flatten().filter(|_| reads_added_tokens);
    let from_tokenizer =
        from_tokenizer.filter_map(|token| Some((token["id"].as_u64()? as usize, token)));
    for (id, token) in from_config.chain(from_tokenizer) {
        let token: &Value = token;
        let Some(text) = token["content"].as_str() else { continue };
        let is_control = token["special"] == true || (looks_special(text) && !reads_added_tokens);
        match is_control {
            true => set(id, text, TokenType::Control),
            false if reads_added_tokens => set(id, text, TokenType::UserDefined),
            false => set(id, &text.replace('▁', " "), TokenType::UserDefined),
        }
    }
    let note = is_unigram.then(|| {
        "the tokenizer is a Unigram model, which GGUF files of this architecture encode by merging; token ids can \
         differ from those of the original"
            .to_owned()
    });
    tokens.scores = Some(scores);
    Ok((tokens, note))
}

/// A token of a model.
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) score: f32,
    pub(super) kind: TokenType,
}

/// A sentence-piece model.
pub(super) struct Model {
    pub(super) pieces: Vec<Piece>,
    pub(super) is_unigram: bool,
    pub(super) normalizer: NormalizerSpec,
}

/// How a model normalizes texts.
pub(super) struct NormalizerSpec {
    /// Replacements of characters, as `tokenizer.ggml.precompiled_charsmap` has them.
    pub(super) charsmap: Vec<u8>,
    pub(super) adds_prefix: bool,
    pub(super) removes_extra_spaces: bool,
}

impl Model {
    /// `None` if the message is damaged.
    pub(super) fn parse(message: &[u8]) -> Option<Self> {
        let (mut pieces, mut is_unigram) = (Vec::new(), true);
        let mut normalizer = NormalizerSpec::parse(&[])?;
        let mut reader = Reader { message };
        while let Some((field, value)) = reader.next()? {
            match (field, value) {
                (1, Wire::Bytes(piece)) => pieces.push(Piece::parse(piece)?),
                (2, Wire::Bytes(trainer)) => {
                    let mut reader = Reader { message: trainer };
                    while let Some((field, value)) = reader.next()? {
                        if let (3, Wire::Number(kind)) = (field, value) {
                            is_unigram = kind == 1;
                        }
                    }
                }
                (3, Wire::Bytes(message)) => normalizer = NormalizerSpec::parse(message)?,
                _ => {}
            }
        }
        (!pieces.is_empty()).then_some(Self { pieces, is_unigram, normalizer })
    }
}

impl NormalizerSpec {
    fn parse(message: &[u8]) -> Option<Self> {
        let mut normalizer =
            Self { charsmap: Vec::new(), adds_prefix: true, removes_extra_spaces: true };
        let mut reader = Reader { message };
        while let Some((field, value)) = reader.next()? {
            match (field, value) {
                (2, Wire::Bytes(charsmap)) => normalizer.charsmap = charsmap.to_vec(),
                (3, Wire::Number(flag)) => normalizer.adds_prefix = flag != 0,
                (4, Wire::Number(flag)) => normalizer.removes_extra_spaces = flag != 0,
                _ => {}
            }
        }
        Some(normalizer)
    }
}

impl Piece {
    fn parse(message: &[u8]) -> Option<Self> {
        let mut piece = Self { text: String::new(), score: 0.0, kind: TokenType::Normal };
        let mut reader = Reader { message };
        while let Some((field, value)) = reader.next()? {
            match (field, value) {
                (1, Wire::Bytes(text)) => piece.text = str::from_utf8(text).ok()?.to_owned(),
                (2, Wire::Word(score)) => piece.score = f32::from_bits(score),
                (3, Wire::Number(kind)) => {
                    piece.kind = match kind {
                        2 => TokenType::Unknown,
                        3 => TokenType::Control,
                        5 => TokenType::Unused,
                        6 => TokenType::Byte,
                        // Text that is always one piece is found by its score.
                        _ => TokenType::Normal,
                    }
                }
                _ => {}
            }
        }
        Some(piece)
    }
}

/// The value of a field.
enum Wire<'a> {
    Number(u64),
    Word(u32),
    Bytes(&'a [u8]),
}

/// Reads the fields of a message.
struct Reader<'a> {
    message: &'a [u8],
}

impl<'a> Reader<'a> {
    /// The next field; `None` if the message is damaged.
    fn next(&mut self) -> Option<Option<(u64, Wire<'a>)>> {
        if self.message.is_empty() {
            return Some(None);
        }
        let tag = self.number()?;
        let value = match tag & 7 {
            0 => Wire::Number(self.number()?),
            1 => {
                self.take(8)?;
                Wire::Number(0)
            }
            2 => {
                let len = usize::try_from(self.number()?).ok()?;
                Wire::Bytes(self.take(len)?)
            }
            5 => Wire::Word(u32::from_le_bytes(self.take(4)?.try_into().ok()?)),
            _ => return None,
        };
        Some(Some((tag >> 3, value)))
    }

    /// A number of seven bits per byte, the lowest first.
    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = *self.take(1)?.first()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.message.split_at_checked(len)?;
        self.message = rest;
        Some(taken)
    }
}
