//! Splitting text into words before merging, by the name in `tokenizer.ggml.pre`.
//!
//! The vocabulary families are data (`families`, `word_rules`); `stage` and `words` interpret them.
//! If a vocabulary's own pattern and llama.cpp's interpretation differ (capitals and marks outside
//! ASCII), this follows llama.cpp, as GGUF files are made for and tested with it.
//!
//! Every splitter runs in linear time and without regular expressions.
//!
//! **To add a pre-tokenizer**, add an entry to `families.rs`.

mod blank;
mod description;
mod families;
mod gpt2;
mod literal;
mod pieces;
mod sets;
mod splitter;
mod stage;
mod word_rules;
mod words;

use crate::TokenizerError;
pub use description::{PreTokenizerDescription, pre_tokenizers};
use families::FAMILIES;
pub(crate) use splitter::{Alphabet, Bos, PreTokenizer};

/// Returns the pre-tokenizer with the given name.
///
/// **Errors**: [`TokenizerError::UnknownPreTokenizer`].
pub(crate) fn named(name: &str) -> Result<PreTokenizer, TokenizerError> {
    let family = FAMILIES.iter().find(|(names, _)| names.contains(&name));
    family.map(|&(_, pre_tokenizer)| pre_tokenizer).ok_or_else(|| {
        let mut known: Vec<_> =
            FAMILIES.iter().flat_map(|(names, _)| names.iter().copied()).collect();
        known.sort_unstable();
        TokenizerError::UnknownPreTokenizer { name: name.to_owned(), known }
    })
}
