//! Unigram models: `t5` in GGUF files.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use inferno_gguf::{Metadata, MetadataArray};
use serde_json::Value;

use super::files::TokenizerFiles;
use super::sentencepiece::{Model, NormalizerSpec, PADDING_SCORE};
use super::{TokenType, Tokens, padding_text};
use crate::ConvertError;

/// The number of the unknown token if a file has none.
const DEFAULT_UNKNOWN: u64 = 3;

/// A vocabulary, and how texts are normalized before it is applied.
pub(super) struct Unigram {
    pub(super) tokens: Tokens,
    adds_space_prefix: bool,
    removes_extra_spaces: bool,
    charsmap: Vec<u8>,
}

impl Unigram {
    /// The model in `tokenizer.json`, with `size` tokens or as many as it has.
    pub(super) fn from_json(
        files: &TokenizerFiles,
        size: Option<usize>,
    ) -> Result<Self, ConvertError> {
        let model = files.model().unwrap_or(&Value::Null);
        let Some(vocabulary) = model["vocab"].as_array() else {
            return Err(files.invalid("expected a list \"vocab\" in \"model\""));
        };
        let added = files.added_tokens()?;
        let special = files.special_texts();
        let last = added.keys().next_back().map_or(0, |last| last + 1).max(vocabulary.len());
        let mut tokens = padded(size.unwrap_or(0).max(last));
        let unknown = model["unk_id"].as_u64().unwrap_or(DEFAULT_UNKNOWN) as usize;
        for (id, entry) in vocabulary.iter().enumerate() {
            let (Some(text), Some(score)) = (entry[0].as_str(), entry[1].as_f64()) else {
                let reason = format!("token {id}: expected a text and a score, found {entry}");
                return Err(files.invalid(reason));
            };
            tokens.set(id, text, score as f32, TokenType::Normal);
        }
        for (id, token) in &added {
            let score = vocabulary.get(*id).and_then(|entry| entry[1].as_f64()).unwrap_or(0.0);
            let is_control = token.is_special || special.contains(&token.text.as_str());
            let kind = if is_control { TokenType::Control } else { TokenType::UserDefined };
            tokens.set(*id, &token.text, score as f32, kind);
        }
        if let Some(kind) = tokens.types.get_mut(unknown) {
            *kind = TokenType::Unknown;
        }
        Ok(Self {
            tokens,
            adds_space_prefix: files.adds_space_prefix(),
            removes_extra_spaces: files.removes_extra_spaces(),
            charsmap: charsmap(files)?,
        })
    }

    /// A sentence-piece model with the numbers of tokens that XLM-RoBERTa has: four special tokens come first.
    pub(super) fn from_pieces(
        files: &TokenizerFiles,
        model: &[u8],
        size: Option<usize>,
        has_mask: bool,
    ) -> Result<Self, ConvertError> {
        let damaged =
            |reason: &str| ConvertError::invalid(files.folder.join(super::files::PIECES), reason);
        let Model { pieces, is_unigram, normalizer } =
            Model::parse(model).ok_or_else(|| damaged("not a sentence-piece model, or damaged"))?;
        if !is_unigram {
            return Err(damaged("expected a Unigram model, found another kind"));
        }
        let mut tokens = padded(size.unwrap_or(0).max(pieces.len()));
        let special = [
            ("<s>", TokenType::Control),
            ("<pad>", TokenType::Control),
            ("</s>", TokenType::Control),
            ("<unk>", TokenType::Unknown),
        ];
        for (id, (text, kind)) in special.into_iter().enumerate() {
            tokens.set(id, text, 0.0, kind);
        }
        let len = tokens.texts.len();
        // The first three pieces are the special tokens; numbers after the last piece keep the names that they would have
        // without the one more.
        for (id, piece) in pieces.iter().enumerate().skip(3).filter(|(id, _)| id + 1 < len) {
            tokens.set(id + 1, &piece.text, piece.score, piece.kind);
        }
        for id in pieces.len() + 1..len {
            tokens.set(id, &padding_text(id - 1), PADDING_SCORE, TokenType::Unused);
        }
        if has_mask {
            tokens.set(pieces.len() + 1, "<mask>", 0.0, TokenType::Control);
        }
        let NormalizerSpec { charsmap, adds_prefix, removes_extra_spaces } = normalizer;
        Ok(Self { tokens, adds_space_prefix: adds_prefix, removes_extra_spaces, charsmap })
    }

    /// Writes how texts are normalized.
    pub(super) fn write_normalization(&self, metadata: &mut Metadata) {
        metadata.insert("tokenizer.ggml.add_space_prefix", self.adds_space_prefix);
        metadata.insert("tokenizer.ggml.remove_extra_whitespaces", self.removes_extra_spaces);
        if !self.charsmap.is_empty() {
            let charsmap = MetadataArray::U8(self.charsmap.clone());
            metadata.insert("tokenizer.ggml.precompiled_charsmap", charsmap);
        }
    }
}

/// `size` tokens without a text.
fn padded(size: usize) -> Tokens {
    Tokens {
        texts: (0..size).map(padding_text).collect(),
        types: vec![TokenType::Unused; size],
        scores: Some(vec![PADDING_SCORE; size]),
    }
}

/// The replacements of characters, which `tokenizer.json` has as text.
fn charsmap(files: &TokenizerFiles) -> Result<Vec<u8>, ConvertError> {
    let stages = files.stages("normalizer");
    let Some(encoded) = stages.iter().find_map(|stage| stage["precompiled_charsmap"].as_str())
    else {
        return Ok(Vec::new());
    };
    STANDARD.decode(encoded).map_err(|error| {
        files.invalid(format!("precompiled_charsmap: expected base64, found {error}"))
    })
}
