//! Comparison of vocabularies.

use std::fmt;

use crate::Tokenizer;
use crate::vocabulary::TokenType;

/// The first token in which two vocabularies differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VocabularyDifference {
    /// The id of the token.
    pub id: u32,
    /// Its text in the first vocabulary; `None` if that has no such token.
    pub first: Option<String>,
    /// Its text in the second vocabulary; `None` if that has no such token.
    pub second: Option<String>,
}

impl fmt::Display for VocabularyDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |text: &Option<String>| match text {
            Some(text) => format!("{text:?}"),
            None => "missing".to_owned(),
        };
        let Self { id, first, second } = self;
        write!(f, "token {id} is {} and {}", name(first), name(second))
    }
}

impl Tokenizer {
    /// Compares the texts of all tokens with those of `other`; `None` if they are equal. Unused tokens, with which models of
    /// different sizes pad their vocabularies, may be missing at the end of either.
    pub fn first_difference(&self, other: &Self) -> Option<VocabularyDifference> {
        let text = |tokenizer: &Self, id: u32| {
            let vocabulary = &tokenizer.vocabulary;
            let is_used = |&id: &u32| vocabulary.kind(id) != TokenType::Unused;
            let is_known = (id as usize) < vocabulary.len();
            let found = is_known.then_some(id);
            (found.map(|id| vocabulary.text(id).to_owned()), found.filter(is_used).is_some())
        };
        let num_tokens = self.vocab_size().max(other.vocab_size()) as u32;
        (0..num_tokens).find_map(|id| {
            let ((first, is_first_used), (second, is_second_used)) =
                (text(self, id), text(other, id));
            let is_padding =
                (first.is_none() || second.is_none()) && !is_first_used && !is_second_used;
            let differs = first != second && !is_padding;
            differs.then_some(VocabularyDifference { id, first, second })
        })
    }
}

#[cfg(test)]
mod tests {
    use inferno_gguf::{Metadata, StringArray};

    use super::*;

    fn tokenizer(texts: &[&str], kinds: &[i32]) -> Tokenizer {
        let mut metadata = Metadata::default();
        metadata.insert("tokenizer.ggml.model", "llama");
        let texts: StringArray = texts.iter().collect();
        metadata.insert("tokenizer.ggml.scores", vec![0.0_f32; texts.len()]);
        metadata.insert("tokenizer.ggml.tokens", texts);
        metadata.insert("tokenizer.ggml.token_type", kinds.to_vec());
        Tokenizer::from_metadata(&metadata).expect("a sound vocabulary")
    }

    #[test]
    fn the_first_difference_is_named_and_padding_is_none() {
        let model = tokenizer(&["<unk>", "a", "b"], &[2, 1, 1]);
        assert_eq!(model.first_difference(&tokenizer(&["<unk>", "a", "b"], &[2, 1, 1])), None);
        let padded = tokenizer(&["<unk>", "a", "b", "[PAD3]"], &[2, 1, 1, 5]);
        assert_eq!(model.first_difference(&padded), None);
        assert_eq!(padded.first_difference(&model), None);
        let other = model.first_difference(&tokenizer(&["<unk>", "a", "c"], &[2, 1, 1]));
        assert_eq!(other.expect("a difference").to_string(), "token 2 is \"b\" and \"c\"");
        let longer = model.first_difference(&tokenizer(&["<unk>", "a", "b", "d"], &[2, 1, 1, 1]));
        assert_eq!(longer.expect("a difference").to_string(), "token 3 is missing and \"d\"");
    }
}
