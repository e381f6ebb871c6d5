//! What the draft model has computed of a sequence.

use inferno_backend::StateSlot;

use super::acceptance::Acceptance;
use super::draft_length::DraftLength;
use super::hidden_rows::HiddenRows;
use crate::scheduler::SequenceId;
use crate::window_blocks::WindowBlocks;
use crate::{BlockPool, Sampler, Sequence};

/// The tokens of a sequence in the cache of the draft model, and its drafts in the current step.
///
/// A slot outlives its sequence, so that the next turn of a conversation continues with it.
pub(super) struct DraftSlot {
    pub(super) owner: Option<SequenceId>,
    pub(super) sequence: Sequence,
    /// The hidden states that a prediction head has not read yet; `None` for a model.
    pub(super) hidden: Option<HiddenRows>,
    /// The slots of the recurrent state after the verified tokens, and of that after drafts.
    pub(super) states: Option<[StateSlot; 2]>,
    /// Number of tokens that the first of `states` has read, or that a prediction head has read with the hidden states of the
    /// model instead of its own.
    num_verified: usize,
    /// The step in which it was last used.
    pub(super) last_use: u64,
    /// Draws as the sampler of the sequence will.
    pub(super) sampler: Option<Sampler>,
    pub(super) acceptance: Acceptance,
    pub(super) turn: Option<Turn>,
    /// The probabilities of the drafts that are being verified.
    pub(super) verifying: Vec<f64>,
}

/// The drafts of a sequence in one step.
pub(super) struct Turn {
    pub(super) length: DraftLength,
    /// Tokens that may not be drafted.
    pub(super) banned: Vec<u32>,
    pub(super) drafts: Vec<u32>,
    /// What the draft model assigned to them.
    pub(super) probabilities: Vec<f64>,
    pub(super) is_done: bool,
    /// The hidden state of a prediction head after its last token.
    pub(super) hidden: Vec<f32>,
}

impl DraftSlot {
    pub(super) fn new(
        block_tokens: usize,
        states: Option<[StateSlot; 2]>,
        hidden: Option<HiddenRows>,
    ) -> Self {
        Self {
            owner: None,
            sequence: Sequence::new(block_tokens),
            hidden,
            states,
            num_verified: 0,
            last_use: 0,
            sampler: None,
            acceptance: Acceptance::default(),
            turn: None,
            verifying: Vec::new(),
        }
    }

    /// The tokens that it computes of a sequence: all, or those whose hidden states before them a prediction head has.
    fn own_tokens<'t>(&self, tokens: &'t [u32]) -> &'t [u32] {
        let first = self.hidden.as_ref().map_or(0, HiddenRows::first_token);
        tokens.get(first..).unwrap_or_default()
    }

    /// Number of its first tokens that are those of a sequence and need not be computed again.
    pub(super) fn num_reusable(&self, tokens: &[u32]) -> usize {
        let tokens = self.own_tokens(tokens);
        let pairs = self.sequence.tokens().iter().zip(tokens);
        let num_common = pairs.take_while(|(one, other)| one == other).count();
        let num_computed = self.sequence.num_computed().min(num_common);
        match (&self.hidden, self.states) {
            (Some(_), _) => num_computed.min(self.num_verified),
            (None, Some(_)) if num_computed < self.num_verified => 0,
            (None, Some(_)) => self.num_verified,
            (None, None) => num_computed,
        }
    }

    /// Replaces its tokens by those of a sequence, of which the last is always computed, for its row. Returns false if that is
    /// not possible, as a prediction head lacks hidden states.
    pub(super) fn follow(
        &mut self,
        tokens: &[u32],
        windows: &WindowBlocks,
        pool: &mut BlockPool,
    ) -> bool {
        let own = self.own_tokens(tokens);
        if let Some(hidden) = &self.hidden
            && (own.is_empty()
                || self.num_reusable(tokens) != self.num_verified
                || hidden.num_rows() != own.len() - self.num_verified)
        {
            return false;
        }
        let num_reusable = match (self.num_reusable(tokens), self.states) {
            (all, Some(_)) if all == own.len() => 0,
            (all, _) => all.min(own.len() - 1),
        };
        self.sequence.truncate(num_reusable, pool);
        let block = |index: usize| self.sequence.block_table()[index];
        let num_usable = windows.num_usable(num_reusable, block);
        match self.states {
            Some(_) if num_usable < num_reusable => self.sequence.recompute_from(0),
            _ => self.sequence.recompute_from(num_usable),
        }
        self.sequence.extend(&own[num_reusable..]);
        // Hidden states of a window that was lost are no longer known.
        self.hidden.is_none() || num_usable == num_reusable
    }

    /// Adds the hidden states of the model from position `start` of a sequence on to those that a prediction head has.
    pub(super) fn show_hidden_rows(
        &mut self,
        tokens: &[u32],
        start: usize,
        rows: &[f32],
        pool: &mut BlockPool,
    ) {
        let num_reusable = self.num_reusable(tokens);
        let Some(hidden) = &mut self.hidden else { return };
        if num_reusable < self.num_verified {
            // The text has changed.
            self.num_verified = num_reusable;
            hidden.rewind(num_reusable);
        }
        if !hidden.push(start, rows) {
            self.num_verified = 0;
        }
        self.sequence.truncate(self.num_verified, pool);
    }

    /// Removes the hidden states of `num_tokens` tokens that were computed.
    pub(super) fn drop_hidden_rows(&mut self, num_tokens: usize) {
        if let Some(hidden) = &mut self.hidden {
            hidden.pop(num_tokens);
        }
    }

    /// Number of hidden states that were not read.
    pub(super) fn num_hidden_rows(&self) -> usize {
        self.hidden.as_ref().map_or(0, HiddenRows::num_rows)
    }

    /// Number of verified tokens.
    pub(super) fn num_verified(&self) -> usize {
        self.num_verified
    }

    /// Number of tokens that are not computed.
    pub(super) fn num_behind(&self) -> usize {
        self.sequence.tokens().len() - self.sequence.num_computed()
    }

    /// Marks all computed tokens as verified.
    pub(super) fn set_verified(&mut self) {
        self.num_verified = self.sequence.num_computed();
    }

    /// Removes all tokens.
    pub(super) fn clear(&mut self, pool: &mut BlockPool) {
        self.sequence.truncate(0, pool);
        self.num_verified = 0;
        if let Some(hidden) = &mut self.hidden {
            hidden.clear();
        }
        self.turn = None;
        self.verifying.clear();
    }
}
