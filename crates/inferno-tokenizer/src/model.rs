//! The four tokenizer models, one per file, built from a validated vocabulary.

mod bert_characters;
mod bpe;
mod charsmap;
mod merge;
mod sentencepiece;
mod trie;
mod unigram;
mod word_cache;
mod wordpiece;

pub(crate) use bpe::Bpe;
pub(crate) use charsmap::Charsmap;
pub(crate) use sentencepiece::SentencePiece;
pub(crate) use unigram::{Unigram, UnigramOptions};
pub(crate) use wordpiece::{WordPiece, WordPieceOptions};

/// The model of a file's tokenizer (`tokenizer.ggml.model`).
pub(crate) enum TokenizerModel {
    Bpe(Bpe),
    SentencePiece(SentencePiece),
    Unigram(Unigram),
    WordPiece(WordPiece),
}

impl TokenizerModel {
    /// Appends the ids of `text`, which contains no special tokens. `after_special` is true at the
    /// start of the text and after a special token.
    pub fn encode(&self, text: &str, after_special: bool, ids: &mut Vec<u32>) {
        match self {
            Self::Bpe(bpe) => bpe.encode(text, ids),
            Self::SentencePiece(sentencepiece) => {
                sentencepiece.encode(text, after_special, ids);
            }
            Self::Unigram(unigram) => unigram.encode(text, ids),
            Self::WordPiece(wordpiece) => wordpiece.encode(text, ids),
        }
    }

    /// Whether encoding adds a space before the first word, which decoding removes.
    pub fn adds_leading_space(&self) -> bool {
        match self {
            Self::Bpe(_) => false,
            Self::SentencePiece(sentencepiece) => sentencepiece.adds_space_prefix(),
            Self::Unigram(unigram) => unigram.adds_space_prefix(),
            Self::WordPiece(_) => true,
        }
    }
}
