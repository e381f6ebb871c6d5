//! Constraints on the next token, such as grammars.

use crate::TokenMask;

/// Decides which tokens may follow, such as those that match a grammar.
///
/// Before each step the engine requests a mask, and afterwards it passes the token that was sampled.
pub trait TokenConstraint: Send {
    /// Clones the constraint with its state, for another choice of the same request.
    fn fork(&self) -> Box<dyn TokenConstraint>;

    /// Adds the tokens that may follow to `allowed`, which is empty.
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
    /// No token can follow: the choice ends here, as if the model had ended it.
    Complete,
}

/// Why a constraint cannot continue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConstraintError(
    /// The reason.
    pub String,
);
