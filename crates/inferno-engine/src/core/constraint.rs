//! What a grammar may say about the next token.

use crate::TokenMask;

/// Decides which tokens may come next, such as those that go on with a grammar.
///
/// Before each step the engine asks for a mask, and afterwards tells which token was drawn.
pub trait TokenConstraint: Send {
    /// The same constraint in the same state, for another choice of the same request.
    fn fork(&self) -> Box<dyn TokenConstraint>;

    /// Puts the tokens that may come next into `allowed`, which is empty.
    ///
    /// **Errors**: a constraint that cannot go on; the request fails.
    fn mask(&mut self, allowed: &mut TokenMask) -> Result<(), ConstraintError>;

    /// Goes on by `token`, which the last mask allowed.
    ///
    /// **Errors**: a constraint that cannot go on; the request fails.
    fn accept(&mut self, token: u32) -> Result<ConstraintState, ConstraintError>;
}

/// How a constraint stands after a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConstraintState {
    /// More tokens may follow.
    Open,
    /// Nothing can follow: the choice ends here, as if the model had ended it.
    Complete,
}

/// Why a constraint cannot go on, in its own words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConstraintError(
    /// The reason.
    pub String,
);
