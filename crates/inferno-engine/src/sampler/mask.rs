//! Which tokens may come next, as a set of bits.

/// A set of tokens, one bit each.
///
/// ```
/// use inferno_engine::TokenMask;
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

    /// Takes all tokens out.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Puts a token in; one beyond the vocabulary is passed over.
    pub fn allow(&mut self, token: u32) {
        if let Some(word) = self.words.get_mut(token as usize / 32) {
            *word |= 1 << (token % 32);
        }
    }

    /// Whether a token is in.
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

    /// Sets the logits of all other tokens to negative infinity.
    pub(super) fn apply(&self, logits: &mut [f32]) {
        for (index, logits) in logits.chunks_mut(32).enumerate() {
            let word = self.words.get(index).copied().unwrap_or(0);
            if word == u32::MAX {
                continue;
            }
            for (bit, logit) in logits.iter_mut().enumerate() {
                if word >> bit & 1 == 0 {
                    *logit = f32::NEG_INFINITY;
                }
            }
        }
    }
}
