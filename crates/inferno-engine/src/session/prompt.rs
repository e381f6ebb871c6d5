//! Prompts.

/// A prompt, as text or as tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prompt<'a> {
    /// Text, to be encoded by the model's tokenizer.
    Text(&'a str),
    /// Tokens, used unchanged.
    Tokens(&'a [u32]),
}

impl<'a> From<&'a str> for Prompt<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a String> for Prompt<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a [u32]> for Prompt<'a> {
    fn from(tokens: &'a [u32]) -> Self {
        Self::Tokens(tokens)
    }
}

impl<'a> From<&'a Vec<u32>> for Prompt<'a> {
    fn from(tokens: &'a Vec<u32>) -> Self {
        Self::Tokens(tokens)
    }
}

impl<'a, const N: usize> From<&'a [u32; N]> for Prompt<'a> {
    fn from(tokens: &'a [u32; N]) -> Self {
        Self::Tokens(tokens)
    }
}
