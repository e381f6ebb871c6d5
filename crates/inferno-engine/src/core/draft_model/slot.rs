//! What the draft model has computed of a sequence.

use inferno_backend::StateSlot;

use super::acceptance::Acceptance;
use super::draft_length::DraftLength;
use crate::scheduler::SequenceId;
use crate::window_blocks::WindowBlocks;
use crate::{BlockPool, Sampler, Sequence};

/// The tokens of a sequence in the cache of the draft model, and its drafts in the current step.
///
/// A slot outlives its sequence, so that the next turn of a conversation continues with it.
pub(super) struct DraftSlot {
    pub(super) owner: Option<SequenceId>,
    pub(super) sequence: Sequence,
    /// The slots of the recurrent state after the verified tokens, and of that after drafts.
    pub(super) states: Option<[StateSlot; 2]>,
    /// Number of tokens that the first of `states` has read.
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
}

impl DraftSlot {
    pub(super) fn new(block_tokens: usize, states: Option<[StateSlot; 2]>) -> Self {
        Self {
            owner: None,
            sequence: Sequence::new(block_tokens),
            states,
            num_verified: 0,
            last_use: 0,
            sampler: None,
            acceptance: Acceptance::default(),
            turn: None,
            verifying: Vec::new(),
        }
    }

    /// Number of its first tokens that are those of `tokens` and need not be computed again.
    pub(super) fn num_reusable(&self, tokens: &[u32]) -> usize {
        let pairs = self.sequence.tokens().iter().zip(tokens);
        let num_common = pairs.take_while(|(one, other)| one == other).count();
        let num_computed = self.sequence.num_computed().min(num_common);
        match self.states {
            Some(_) if num_computed < self.num_verified => 0,
            Some(_) => self.num_verified,
            None => num_computed,
        }
    }

    /// Replaces its tokens by `tokens`, of which the last is always computed, for its row.
    pub(super) fn follow(&mut self, tokens: &[u32], windows: &WindowBlocks, pool: &mut BlockPool) {
        let num_reusable = match (self.num_reusable(tokens), self.states) {
            (all, Some(_)) if all == tokens.len() => 0,
            (all, _) => all.min(tokens.len() - 1),
        };
        self.sequence.truncate(num_reusable, pool);
        let block = |index: usize| self.sequence.block_table()[index];
        let num_usable = windows.num_usable(num_reusable, block);
        match self.states {
            Some(_) if num_usable < num_reusable => self.sequence.recompute_from(0),
            _ => self.sequence.recompute_from(num_usable),
        }
        self.sequence.extend(&tokens[num_reusable..]);
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
        self.turn = None;
        self.verifying.clear();
    }
}
