//! A maximum number of reasoning tokens: when it is reached, the closing delimiter is forced.

use std::sync::Arc;

use inferno_tokenizer::{ConstraintError, ConstraintState, TokenConstraint, TokenMask};

/// Closes reasoning after a number of tokens; an inner constraint applies to everything else.
pub(crate) struct ReasoningBudget {
    delimiters: ReasoningTokens,
    place: Place,
    budget: usize,
    inner: Option<Box<dyn TokenConstraint>>,
}

/// The reasoning delimiters.
#[derive(Debug, Clone)]
pub(crate) struct ReasoningTokens {
    /// The opening delimiter.
    pub(crate) open: u32,
    /// The closing delimiter, and what templates write after it.
    pub(crate) close: Arc<[u32]>,
}

#[derive(Debug, Clone, Copy)]
enum Place {
    /// Before the first token.
    Before,
    Reasoning {
        /// Number of tokens left.
        left: usize,
    },
    /// After this many tokens of the closing delimiter.
    Closing(usize),
    /// Reasoning is over, or there was none.
    After,
}

impl ReasoningBudget {
    /// Creates a budget; `is_open` if the prompt ends with the opening delimiter.
    pub(crate) fn new(
        delimiters: ReasoningTokens,
        budget: usize,
        is_open: bool,
        inner: Option<Box<dyn TokenConstraint>>,
    ) -> Self {
        let place = if is_open { Place::Reasoning { left: budget } } else { Place::Before };
        Self { delimiters, place, budget, inner }
    }
}

impl TokenConstraint for ReasoningBudget {
    fn fork(&self) -> Box<dyn TokenConstraint> {
        Box::new(Self {
            delimiters: self.delimiters.clone(),
            place: self.place,
            budget: self.budget,
            inner: self.inner.as_ref().map(|inner| inner.fork()),
        })
    }

    fn mask(&mut self, allowed: &mut TokenMask) -> Result<(), ConstraintError> {
        match (self.place, &mut self.inner) {
            (Place::Closing(came), _) => allowed.allow(self.delimiters.close[came]),
            (_, Some(inner)) => inner.mask(allowed)?,
            (_, None) => allowed.words_mut().fill(u32::MAX),
        }
        Ok(())
    }

    fn accept(&mut self, token: u32) -> Result<ConstraintState, ConstraintError> {
        self.place = match self.place {
            Place::Before if token == self.delimiters.open => {
                Place::Reasoning { left: self.budget }
            }
            Place::Reasoning { .. } if Some(&token) == self.delimiters.close.first() => {
                Place::After
            }
            Place::Reasoning { left: 0 | 1 } => Place::Closing(0),
            Place::Reasoning { left } => Place::Reasoning { left: left - 1 },
            Place::Closing(came) if came + 1 < self.delimiters.close.len() => {
                Place::Closing(came + 1)
            }
            Place::Before | Place::Closing(_) | Place::After => Place::After,
        };
        match &mut self.inner {
            Some(inner) => inner.accept(token),
            None => Ok(ConstraintState::Open),
        }
    }
}
