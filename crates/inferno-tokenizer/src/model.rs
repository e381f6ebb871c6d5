//! The four ways to turn a piece of text into ids. Each file holds one, built from the checked
//! vocabulary.

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

/// How the text of one file's tokenizer becomes ids.
pub(crate) enum Model {
    Bpe(Bpe),
    SentencePiece(SentencePiece),
    Unigram(Unigram),
    WordPiece(WordPiece),
}

impl Model {
    /// Appends the ids of `text`, which holds no special token; `after_special` tells whether it
    /// starts the text or follows one.
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

    /// Whether encoding puts a space before the first word, which decoding has to take away.
    pub fn adds_leading_space(&self) -> bool {
        match self {
            Self::Bpe(_) => false,
            Self::SentencePiece(sentencepiece) => sentencepiece.adds_space_prefix(),
            Self::Unigram(unigram) => unigram.adds_space_prefix(),
            Self::WordPiece(_) => true,
        }
    }
}
