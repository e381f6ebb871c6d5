//! What is computed for a sequence.

use crate::RowKind;

/// What a sequence is computed for: a row after some tokens of its prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RowRequest {
    /// Logits after the last one, to go on from there.
    #[default]
    Last,
    /// Logits after all, so that none of them is taken from the prefix cache.
    All,
    /// The hidden state of the last one.
    LastHidden,
    /// The hidden states of all, so that none of them is taken from the prefix cache.
    AllHidden,
}

impl RowRequest {
    /// What they hold.
    pub fn output(self) -> RowKind {
        match self {
            Self::Last | Self::All => RowKind::Logits,
            Self::LastHidden | Self::AllHidden => RowKind::Hidden,
        }
    }
}
