//! How byte-level vocabularies cut a text into words before merging: the table of
//! `tokenizer.ggml.pre`.
//!
//! The families are data (`families`, `word_rules`); `stage` and `words` are the code that reads
//! them. Where a vocabulary's own pattern and llama.cpp's reading of it differ (capitals and marks
//! outside ASCII), this follows llama.cpp, because GGUF files are made for it and checked with it.
//!
//! Every splitter is linear in the text, and none needs a regular expression.

mod blank;
mod families;
mod gpt2;
mod literal;
mod sets;
mod stage;
mod word_rules;
mod words;

use crate::TokenizerError;
use families::FAMILIES;
use stage::Stage;

/// What `tokenizer.ggml.pre` stands for: how to split, and the defaults that come with the name.
#[derive(Clone, Copy)]
pub(crate) struct PreTokenizer {
    stages: &'static [Stage],
    /// Whether a word that is a token as it stands is taken without merging.
    pub ignore_merges: bool,
    /// Whether a BOS token starts a text.
    pub bos: Bos,
    /// Whether words are byte sequences, or text with `▁` for spaces.
    pub alphabet: Alphabet,
}

/// Whether a BOS token starts a text that is to have special tokens.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bos {
    /// If the file says so.
    OnRequest,
    /// Unless the file says otherwise.
    ByDefault,
    /// Whatever the file says: some say no and mean yes.
    Always,
}

/// What the pieces of a BPE vocabulary are written in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alphabet {
    /// One printable character per byte.
    Bytes,
    /// Plain text in which `▁` stands for a space.
    Text {
        /// Whether a run of newlines that is a token is taken without merging.
        newline_runs: bool,
    },
}

impl PreTokenizer {
    /// Finds a pre-tokenizer by name.
    pub fn named(name: &str) -> Result<Self, TokenizerError> {
        let family = FAMILIES.iter().find(|(names, _)| names.contains(&name));
        family.map(|&(_, pre_tokenizer)| pre_tokenizer).ok_or_else(|| {
            let mut known: Vec<_> =
                FAMILIES.iter().flat_map(|(names, _)| names.iter().copied()).collect();
            known.sort_unstable();
            TokenizerError::UnknownPreTokenizer { name: name.to_owned(), known }
        })
    }

    /// Hands the words of `text`, in order and without gaps, to `emit`.
    pub fn split<'t>(&self, text: &'t str, emit: &mut dyn FnMut(&'t str)) {
        apply(self.stages, text, emit);
    }
}

fn apply<'t>(stages: &[Stage], text: &'t str, emit: &mut dyn FnMut(&'t str)) {
    match stages {
        [] => emit(text),
        [only] => only.split(text, emit),
        [first, rest @ ..] => first.split(text, &mut |piece| apply(rest, piece, emit)),
    }
}

/// The Chinese characters that llama.cpp counts as such.
fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}'
        | '\u{20000}'..='\u{2A6DF}' | '\u{2A700}'..='\u{2EBEF}' | '\u{2F800}'..='\u{2FA1F}')
}
