//! The rows that a sequence needs.

use crate::RowKind;

/// The rows that a forward pass returns for a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RowRequest {
    /// Logits after the last token, to continue from there.
    #[default]
    Last,
    /// Logits after all tokens, so that none of them comes from the prefix cache.
    All,
    /// Logits after the token at this position and all later ones. Those before it may come from the prefix cache.
    From(usize),
    /// The hidden state of the last token.
    LastHidden,
    /// The hidden states of all tokens, so that none of them comes from the prefix cache.
    AllHidden,
}

impl RowRequest {
    /// Returns what the rows hold.
    pub fn output(self) -> RowKind {
        match self {
            Self::Last | Self::All | Self::From(_) => RowKind::Logits,
            Self::LastHidden | Self::AllHidden => RowKind::Hidden,
        }
    }
}
