//! A bound on what a model says to itself: when it is reached, the mark that ends thoughts comes next.

use std::sync::Arc;

use inferno_engine::{ConstraintError, ConstraintState, TokenConstraint, TokenMask};

/// Counts the tokens of thoughts, and ends them at the bound; what else may come, an inner constraint says.
pub(crate) struct ThinkingBudget {
    marks: ThinkingMarks,
    place: Place,
    budget: usize,
    inner: Option<Box<dyn TokenConstraint>>,
}

/// The tokens around thoughts.
#[derive(Debug, Clone)]
pub(crate) struct ThinkingMarks {
    /// Begins them.
    pub open: u32,
    /// Ends them: the mark, and what templates write after it.
    pub close: Arc<[u32]>,
}

#[derive(Debug, Clone, Copy)]
enum Place {
    /// No token came.
    Before,
    Thinking {
        /// Tokens that may still come.
        left: usize,
    },
    /// So many tokens of the ending came.
    Ending(usize),
    /// Thoughts have ended, or there were none.
    After,
}

impl ThinkingBudget {
    /// `has_begun` says that the prompt ends with the first mark.
    pub fn new(
        marks: ThinkingMarks,
        budget: usize,
        has_begun: bool,
        inner: Option<Box<dyn TokenConstraint>>,
    ) -> Self {
        let place = if has_begun { Place::Thinking { left: budget } } else { Place::Before };
        Self { marks, place, budget, inner }
    }
}

impl TokenConstraint for ThinkingBudget {
    fn fork(&self) -> Box<dyn TokenConstraint> {
        Box::new(Self {
            marks: self.marks.clone(),
            place: self.place,
            budget: self.budget,
            inner: self.inner.as_ref().map(|inner| inner.fork()),
        })
    }

    fn mask(&mut self, allowed: &mut TokenMask) -> Result<(), ConstraintError> {
        match (self.place, &mut self.inner) {
            (Place::Ending(came), _) => allowed.allow(self.marks.close[came]),
            (_, Some(inner)) => inner.mask(allowed)?,
            (_, None) => allowed.words_mut().fill(u32::MAX),
        }
        Ok(())
    }

    fn accept(&mut self, token: u32) -> Result<ConstraintState, ConstraintError> {
        self.place = match self.place {
            Place::Before if token == self.marks.open => Place::Thinking { left: self.budget },
            Place::Thinking { .. } if Some(&token) == self.marks.close.first() => Place::After,
            Place::Thinking { left: 0 | 1 } => Place::Ending(0),
            Place::Thinking { left } => Place::Thinking { left: left - 1 },
            Place::Ending(came) if came + 1 < self.marks.close.len() => Place::Ending(came + 1),
            Place::Before | Place::Ending(_) | Place::After => Place::After,
        };
        match &mut self.inner {
            Some(inner) => inner.accept(token),
            None => Ok(ConstraintState::Open),
        }
    }
}
