//! A small byte-level tokenizer in which some characters consist of two tokens.

use std::sync::Arc;

use inferno_gguf::{Metadata, StringArray};
use inferno_tokenizer::Tokenizer;

/// The end-of-sequence token.
pub const END: u32 = 0;

/// The beginning-of-sequence token.
pub const BEGIN: u32 = 1;

/// Tokens in the vocabulary.
pub const VOCAB_SIZE: usize = 34;

/// The tokenizer: `<end>`, `<begin>`, the letters, a space, `ab`, `the`, and the bytes of é and È.
pub fn tokenizer() -> Arc<Tokenizer> {
    tokenizer_of(VOCAB_SIZE)
}

/// The tokenizer of a model that must not generate the tokens `suppressed`.
pub fn tokenizer_that_suppresses(suppressed: &[i32]) -> Arc<Tokenizer> {
    let mut metadata = metadata_of(VOCAB_SIZE);
    metadata.insert("tokenizer.ggml.suppress_tokens", suppressed.to_vec());
    Arc::new(Tokenizer::from_metadata(&metadata).expect("a sound vocabulary"))
}

/// The tokenizer with further tokens, up to `vocab_size`.
pub fn tokenizer_of(vocab_size: usize) -> Arc<Tokenizer> {
    Arc::new(Tokenizer::from_metadata(&metadata_of(vocab_size)).expect("a sound vocabulary"))
}

fn metadata_of(vocab_size: usize) -> Metadata {
    let letters = ('a'..='z').map(String::from);
    // Byte-level vocabularies spell the bytes C3, A9 and 88, and the space, like this.
    let others = ["Ġ", "ab", "the", "Ã", "©", "Ī"].map(String::from);
    let tokens: StringArray = ["<end>".to_owned(), "<begin>".to_owned()]
        .into_iter()
        .chain(letters)
        .chain(others)
        .chain((VOCAB_SIZE..vocab_size).map(|id| format!("<{id}>")))
        .collect();
    assert_eq!(tokens.len(), vocab_size);

    let mut metadata = Metadata::new();
    metadata.insert("tokenizer.ggml.model", "gpt2");
    metadata.insert("tokenizer.ggml.pre", "gpt-2");
    metadata.insert("tokenizer.ggml.tokens", tokens);
    metadata.insert("tokenizer.ggml.merges", ["a b"].into_iter().collect::<StringArray>());
    let mut kinds = vec![1_i32; vocab_size];
    (kinds[END as usize], kinds[BEGIN as usize]) = (3, 3);
    metadata.insert("tokenizer.ggml.token_type", kinds);
    metadata.insert("tokenizer.ggml.eos_token_id", END);
    metadata.insert("tokenizer.ggml.bos_token_id", BEGIN);
    metadata.insert("tokenizer.ggml.add_bos_token", true);
    metadata
}
