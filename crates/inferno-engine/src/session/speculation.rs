//! Draws from the rows of a pass with drafts, and holds what was drawn until it is said.

use std::collections::VecDeque;

use crate::speculation::Drafter;
use crate::{EngineError, SampledToken, Sampler, StopChecker};

/// Drafts tokens, and holds those that were accepted until they are said.
#[derive(Debug)]
pub(super) struct Speculation {
    drafter: Drafter,
    drawn: VecDeque<SampledToken>,
}

impl Speculation {
    /// With at most `max_num_drafts` drafted tokens a pass; none with 0.
    pub(super) fn new(max_num_drafts: usize) -> Self {
        Self { drafter: Drafter::new(max_num_drafts), drawn: VecDeque::new() }
    }

    /// The next token that was drawn in the last pass and is not said yet.
    pub(super) fn next_drawn(&mut self) -> Option<SampledToken> {
        self.drawn.pop_front()
    }

    /// At most `room` tokens that may follow `tokens`.
    pub(super) fn draft(&mut self, tokens: &[u32], room: usize) -> &[u32] {
        self.drafter.draft(tokens, room)
    }

    /// Draws a token from each row until one is not what was drafted, and gives back how many of the
    /// drafts were accepted. Nothing was drawn before.
    ///
    /// **Shapes**: `rows` holds the logits after the last token, then those after each draft.
    ///
    /// **Errors**: as [`Sampler::sample`] for the first row.
    pub(super) fn draw<'a>(
        &mut self,
        mut rows: impl Iterator<Item = &'a [f32]>,
        sampler: &mut Sampler,
        stop: &StopChecker,
    ) -> Result<usize, EngineError> {
        let first = rows.next().unwrap_or_default();
        let mut last = sampler.sample(first, stop.banned())?;
        for (&draft, row) in self.drafter.drafts().iter().zip(rows) {
            if last.id != draft {
                break;
            }
            // What fails here fails again when the token is computed by itself, which is its turn.
            let Ok(token) = sampler.sample(row, stop.banned_after(self.drawn.len() + 1)) else {
                break;
            };
            self.drawn.push_back(std::mem::replace(&mut last, token));
        }
        self.drawn.push_back(last);
        let num_accepted = self.drawn.len() - 1;
        self.drafter.judge(num_accepted);
        Ok(num_accepted)
    }
}
