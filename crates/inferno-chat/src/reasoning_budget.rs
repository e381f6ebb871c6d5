//! A maximum number of reasoning tokens: when it is reached, the closing delimiter is forced.

use std::sync::Arc;

use inferno_tokenizer::{ConstraintError, ConstraintState, TokenConstraint, TokenMask};

/// Closes reasoning after a number of tokens; an inner constraint applies to everything else.
pub(crate) struct ReasoningBudget {
    delimiters: ReasoningTokens,
    place: Place,
    budget: usize,
    inner: Option<Box<dyn TokenConstraint>>,
    /// For how many tokens the inner constraint has not permitted to close reasoning.
    num_barred: usize,
}

/// Tokens within a character are at most this many; after them, reasoning that cannot be closed has been ended by a call.
const MAX_TOKENS_OF_CHARACTER: usize = 4;

/// The reasoning delimiters.
#[derive(Debug, Clone)]
pub(crate) struct ReasoningTokens {
    /// The opening delimiter.
    pub(crate) open: Arc<[u32]>,
    /// The closing delimiter.
    pub(crate) close: Arc<[u32]>,
    /// What templates write after the closing delimiter.
    pub(crate) after: Arc<[u32]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// At the start, after this many tokens of the opening delimiter.
    Opening(usize),
    Reasoning {
        /// Number of tokens left.
        left: usize,
        /// Number of tokens of the closing delimiter at the end.
        closed: usize,
    },
    /// After this many tokens of the closing delimiter and what is written after it, which are forced.
    Closing(usize),
    /// Reasoning is over, or there was none.
    After,
}

impl Place {
    /// The place after the opening delimiter.
    fn begun(budget: usize) -> Self {
        match budget {
            0 => Self::Closing(0),
            left => Self::Reasoning { left, closed: 0 },
        }
    }
}

impl ReasoningBudget {
    /// Creates a budget; `is_open` if the prompt ends with the opening delimiter.
    pub(crate) fn new(
        delimiters: ReasoningTokens,
        budget: usize,
        is_open: bool,
        inner: Option<Box<dyn TokenConstraint>>,
    ) -> Self {
        let place = if is_open { Place::begun(budget) } else { Place::Opening(0) };
        Self { delimiters, place, budget, inner, num_barred: 0 }
    }

    /// The tokens that are forced when the budget is used up.
    fn forced(&self, index: usize) -> Option<u32> {
        self.delimiters.close.iter().chain(self.delimiters.after.iter()).nth(index).copied()
    }

    /// Notes that reasoning cannot be closed: within a character, or because a call has ended it.
    fn wait_to_close(&mut self) {
        self.num_barred += 1;
        if self.num_barred >= MAX_TOKENS_OF_CHARACTER {
            self.place = Place::After;
        }
    }

    /// The place after a token in reasoning.
    fn after_thought(&self, token: u32, left: usize, closed: usize) -> Place {
        let close = &self.delimiters.close;
        let closed = match token == close[closed] {
            true => closed + 1,
            false => usize::from(token == close[0]),
        };
        match left {
            _ if closed == close.len() => Place::After,
            // A delimiter that has begun is completed.
            0 | 1 => Place::Closing(closed),
            _ => Place::Reasoning { left: left - 1, closed },
        }
    }
}

impl TokenConstraint for ReasoningBudget {
    fn fork(&self) -> Box<dyn TokenConstraint> {
        Box::new(Self {
            delimiters: self.delimiters.clone(),
            place: self.place,
            budget: self.budget,
            inner: self.inner.as_ref().map(|inner| inner.fork()),
            num_barred: self.num_barred,
        })
    }

    fn mask(&mut self, allowed: &mut TokenMask) -> Result<(), ConstraintError> {
        let forced = match self.place {
            Place::Closing(index) => self.forced(index),
            Place::Opening(_) | Place::Reasoning { .. } | Place::After => None,
        };
        match (forced, &mut self.inner) {
            (Some(token), Some(inner)) if self.place == Place::Closing(0) => {
                inner.mask(allowed)?;
                if allowed.allows(token) {
                    allowed.words_mut().fill(0);
                    allowed.allow(token);
                    self.num_barred = 0;
                } else {
                    self.wait_to_close();
                }
            }
            (Some(token), _) => allowed.allow(token),
            (None, Some(inner)) => {
                inner.mask(allowed)?;
                if matches!(self.place, Place::Reasoning { closed: 0, .. }) {
                    match allowed.allows(self.delimiters.close[0]) {
                        true => self.num_barred = 0,
                        false => self.wait_to_close(),
                    }
                }
            }
            (None, None) => allowed.words_mut().fill(u32::MAX),
        }
        Ok(())
    }

    fn accept(&mut self, token: u32) -> Result<ConstraintState, ConstraintError> {
        self.place = match self.place {
            Place::Opening(index) if self.delimiters.open.get(index) == Some(&token) => {
                match index + 1 == self.delimiters.open.len() {
                    true => Place::begun(self.budget),
                    false => Place::Opening(index + 1),
                }
            }
            Place::Reasoning { left, closed } => self.after_thought(token, left, closed),
            // The constraint has not permitted the delimiter yet.
            Place::Closing(0) if token != self.delimiters.close[0] => Place::Closing(0),
            Place::Closing(index) if self.forced(index + 1).is_some() => Place::Closing(index + 1),
            Place::Opening(_) | Place::Closing(_) | Place::After => Place::After,
        };
        match &mut self.inner {
            Some(inner) => inner.accept(token),
            None => Ok(ConstraintState::Open),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The place after tokens, with delimiters of several tokens.
    fn place_after(tokens: &[u32], is_open: bool) -> Place {
        let delimiters =
            ReasoningTokens { open: [1, 2].into(), close: [3, 4].into(), after: [5].into() };
        let mut budget = ReasoningBudget::new(delimiters, 3, is_open, None);
        for &token in tokens {
            let mut mask = TokenMask::new(32);
            budget.mask(&mut mask).unwrap();
            assert!(mask.allows(token), "{token} in {tokens:?}");
            budget.accept(token).unwrap();
        }
        budget.place
    }

    #[test]
    fn delimiters_may_have_several_tokens() {
        assert_eq!(place_after(&[1], false), Place::Opening(1));
        assert_eq!(place_after(&[1, 9], false), Place::After);
        assert_eq!(place_after(&[1, 2, 9], false), Place::Reasoning { left: 2, closed: 0 });
        assert_eq!(place_after(&[9, 3, 4], true), Place::After);
        assert_eq!(place_after(&[3, 3, 4], true), Place::After);
        // The budget is used up: the delimiter is forced, or the rest of one that has begun.
        assert_eq!(place_after(&[9, 9, 9], true), Place::Closing(0));
        assert_eq!(place_after(&[9, 9, 3], true), Place::Closing(1));
        assert_eq!(place_after(&[9, 9, 3, 4, 5], true), Place::After);
    }

    /// Allows one token as in the middle of a call or character, and every token after that.
    struct Only {
        token: u32,
        num_left: usize,
    }

    impl TokenConstraint for Only {
        fn fork(&self) -> Box<dyn TokenConstraint> {
            Box::new(Self { ..*self })
        }

        fn mask(&mut self, allowed: &mut TokenMask) -> Result<(), ConstraintError> {
            match self.num_left {
                0 => allowed.words_mut().fill(u32::MAX),
                _ => allowed.allow(self.token),
            }
            Ok(())
        }

        fn accept(&mut self, token: u32) -> Result<ConstraintState, ConstraintError> {
            assert!(self.num_left == 0 || token == self.token);
            self.num_left = self.num_left.saturating_sub(1);
            Ok(ConstraintState::Open)
        }
    }

    /// The place after tokens 8, of which the first ones are the only ones that are permitted.
    fn place_after_barred(num_barred: usize, num_tokens: usize, budget: usize) -> Place {
        let delimiters = ReasoningTokens { open: [1].into(), close: [3].into(), after: [].into() };
        let only = Only { token: 8, num_left: num_barred };
        let mut budget = ReasoningBudget::new(delimiters, budget, true, Some(Box::new(only)));
        for _ in 0..num_tokens {
            let mut mask = TokenMask::new(32);
            budget.mask(&mut mask).unwrap();
            let token = if mask.allows(8) { 8 } else { 3 };
            assert!(mask.allows(token));
            budget.accept(token).unwrap();
        }
        budget.place
    }

    #[test]
    fn calls_that_end_reasoning_are_not_interrupted() {
        for budget in [1, 2, 3, 20] {
            assert_eq!(place_after_barred(6, 6, budget), Place::After, "{budget}");
        }
    }

    #[test]
    fn characters_of_several_tokens_are_completed_before_reasoning_is_closed() {
        assert_eq!(place_after_barred(3, 3, 1), Place::Closing(0));
        assert_eq!(place_after_barred(3, 4, 1), Place::After);
        assert_eq!(place_after_barred(3, 4, 20), Place::Reasoning { left: 16, closed: 0 });
    }

    #[test]
    fn without_a_budget_reasoning_ends_at_once() {
        assert_eq!(Place::begun(0), Place::Closing(0));
        assert_eq!(Place::begun(1), Place::Reasoning { left: 1, closed: 0 });
    }
}
