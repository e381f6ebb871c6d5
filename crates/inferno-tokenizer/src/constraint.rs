//! Constraints on generated tokens.

/// Decides which tokens may be generated next, for example those that continue a match of a grammar.
///
/// Before each step the sampler asks for a mask; afterwards it reports the token that was sampled.
pub trait TokenConstraint: Send {
    /// Copies the constraint with its state, for another choice of the same request.
    fn fork(&self) -> Box<dyn TokenConstraint>;

    /// Adds the tokens that may come next to `allowed`, which is empty.
    ///
    /// **Errors**: a constraint that cannot continue; the request fails.
    fn mask(&mut self, allowed: &mut TokenMask) -> Result<(), ConstraintError>;

    /// Advances by `token`, which the last mask allowed.
    ///
    /// **Errors**: a constraint that cannot continue; the request fails.
    fn accept(&mut self, token: u32) -> Result<ConstraintState, ConstraintError>;
}

/// The state of a constraint after a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConstraintState {
    /// More tokens may follow.
    Open,
    /// No token can follow: generation ends, as with an end-of-generation token.
    Complete,
}

/// Why a constraint cannot continue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConstraintError(
    /// The reason.
    pub String,
);

/// A set of tokens, one bit per token.
///
/// ```
/// use inferno_tokenizer::TokenMask;
///
/// let mut mask = TokenMask::new(40);
/// mask.allow(33);
/// assert!(mask.allows(33) && !mask.allows(1));
/// assert_eq!(mask.words(), [0, 2]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenMask {
    words: Vec<u32>,
}

impl TokenMask {
    /// The empty set, for a vocabulary of `vocab_size` tokens.
    pub fn new(vocab_size: usize) -> Self {
        Self { words: vec![0; vocab_size.div_ceil(32)] }
    }

    /// Removes all tokens.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Adds a token; one beyond the vocabulary is ignored.
    pub fn allow(&mut self, token: u32) {
        if let Some(word) = self.words.get_mut(token as usize / 32) {
            *word |= 1 << (token % 32);
        }
    }

    /// Whether the set contains a token.
    pub fn allows(&self, token: u32) -> bool {
        self.words.get(token as usize / 32).is_some_and(|word| word >> (token % 32) & 1 == 1)
    }

    /// The bits: token t is bit t % 32, counted from the lowest, of word t / 32.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// The bits, to be written.
    pub fn words_mut(&mut self) -> &mut [u32] {
        &mut self.words
    }
}
