//! The small vocabularies of `tests/fixtures`.

use inferno_gguf::{Gguf, Metadata};
use inferno_tokenizer::{Tokenizer, TokenizerError};

/// The metadata of one vocabulary.
pub fn metadata(vocabulary: &str) -> Metadata {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");
    let gguf = Gguf::open(format!("{folder}/{vocabulary}.gguf")).unwrap();
    gguf.metadata().clone()
}

/// The byte-level vocabulary with a given pre-tokenizer.
pub fn byte_level(pre_tokenizer: &str) -> Result<Tokenizer, TokenizerError> {
    let mut metadata = metadata("byte_level");
    metadata.insert("tokenizer.ggml.pre", pre_tokenizer);
    Tokenizer::from_metadata(&metadata)
}

/// The names of all byte-level pre-tokenizers.
fn byte_level_names() -> Vec<&'static str> {
    let Err(TokenizerError::UnknownPreTokenizer { mut known, .. }) = byte_level("no such name")
    else {
        panic!("an unknown name is refused with the list of those that are known");
    };
    known.retain(|name| !["gemma4", "granite-embed-multi-311m", "sarvam-moe"].contains(name));
    known
}

/// One tokenizer per byte-level pre-tokenizer, and one per other tokenizer model.
pub fn all_tokenizers() -> Vec<(&'static str, Tokenizer)> {
    let bytes = byte_level_names().into_iter().map(|name| (name, byte_level(name).unwrap()));
    let kinds = ["text_level", "sentencepiece", "unigram", "wordpiece"];
    let others = kinds.map(|kind| (kind, Tokenizer::from_metadata(&metadata(kind)).unwrap()));
    bytes.chain(others).collect()
}
