//! What is computed for a sequence.

/// What a sequence is computed for: a row after some tokens of its prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rows {
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

/// What the rows of a pass hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// Logits, of which a pass has no more than there is room for.
    Logits,
    /// Hidden states, of which a pass has as many as tokens.
    Hidden,
}

impl Rows {
    /// What they hold.
    pub fn output(self) -> Output {
        match self {
            Self::Last | Self::All => Output::Logits,
            Self::LastHidden | Self::AllHidden => Output::Hidden,
        }
    }
}
