//! The stages of a pre-tokenizer and their application.

use super::stage::SplitStage;

/// A pre-tokenizer: its splitting stages, and the tokenizer defaults implied by its name.
#[derive(Clone, Copy)]
pub(crate) struct PreTokenizer {
    pub(super) stages: &'static [SplitStage],
    /// Whether a word that is itself a token is encoded without merging.
    pub ignore_merges: bool,
    /// Whether a BOS token is added.
    pub bos: Bos,
    /// The alphabet of the vocabulary.
    pub alphabet: Alphabet,
}

/// Whether a BOS token is added when special tokens are requested.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bos {
    /// Only if the file sets it.
    OnRequest,
    /// Unless the file disables it.
    ByDefault,
    /// Always; some files disable it although the model requires it.
    Always,
}

/// The alphabet of the pieces of a BPE vocabulary.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alphabet {
    /// One printable character per byte.
    Bytes,
    /// Plain text with `▁` for spaces.
    Text {
        /// Whether a run of newlines that is a token is encoded without merging.
        newline_runs: bool,
    },
}

impl PreTokenizer {
    /// Passes the words of `text`, in order and without gaps, to `emit`.
    pub fn split<'t>(&self, text: &'t str, emit: &mut dyn FnMut(&'t str)) {
        apply(self.stages, text, emit);
    }
}

fn apply<'t>(stages: &[SplitStage], text: &'t str, emit: &mut dyn FnMut(&'t str)) {
    match stages {
        [] => emit(text),
        [only] => only.split(text, emit),
        [first, rest @ ..] => first.split(text, &mut |piece| apply(rest, piece, emit)),
    }
}
