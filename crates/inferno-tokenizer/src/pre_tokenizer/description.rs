//! What the pre-tokenizers do, for programs that have to find the name of one.

use super::families::FAMILIES;
use super::splitter::{Alphabet, Bos, PreTokenizer};

/// A pre-tokenizer of byte-level vocabularies.
///
/// ```
/// let qwen2 = inferno_tokenizer::pre_tokenizers().find(|it| it.names().contains(&"qwen2")).expect("it is known");
/// assert_eq!(qwen2.words("12 cats"), ["1", "2", " cats"]);
/// ```
#[derive(Clone, Copy)]
pub struct PreTokenizerDescription {
    names: &'static [&'static str],
    pre_tokenizer: PreTokenizer,
}

impl PreTokenizerDescription {
    /// The values of `tokenizer.ggml.pre` that mean this pre-tokenizer.
    pub fn names(&self) -> &'static [&'static str] {
        self.names
    }

    /// The words of a text, without gaps.
    pub fn words<'t>(&self, text: &'t str) -> Vec<&'t str> {
        let mut words = Vec::new();
        self.pre_tokenizer.split(text, &mut |word| words.push(word));
        words
    }

    /// Whether a word that is itself a token is encoded without merging.
    pub fn ignores_merges(&self) -> bool {
        self.pre_tokenizer.ignore_merges
    }

    /// Whether a BOS token is added if a file does not say so.
    pub fn adds_bos(&self) -> bool {
        self.pre_tokenizer.bos != Bos::OnRequest
    }
}

/// The pre-tokenizers of byte-level vocabularies.
pub fn pre_tokenizers() -> impl Iterator<Item = PreTokenizerDescription> {
    let all = FAMILIES
        .iter()
        .map(|&(names, pre_tokenizer)| PreTokenizerDescription { names, pre_tokenizer });
    all.filter(|it| it.pre_tokenizer.alphabet == Alphabet::Bytes)
}
