//! Drafts by a smaller model with the same vocabulary, or by a prediction head of the model.
//!
//! The draft model follows the sequences that are computed: before each step in which all of them decode, it computes the
//! tokens that it has not seen, then drafts one token after another, for all sequences in one pass. Each draft is drawn
//! with a copy of the sequence's own sampler and random numbers, so it is what the sequence would continue with if both
//! models agreed.
//!
//! A prediction head reads the hidden state of the model before each token as well, its own ones while it drafts. So it is
//! shown those of every pass, and computes its drafts again once their tokens are verified.
//!
//! Its cache has its own blocks. What it holds only affects speed: a sequence that loses its blocks is computed again, or
//! has no drafts. A draft model that fails is not used for this step, and after repeated failures never again.

mod acceptance;
mod draft_length;
mod hidden_rows;
mod pass_times;
mod passes;
mod slot;

use std::time::Duration;

use inferno_backend::{Batch, StateLayout, StateSlot};

use crate::scheduler::SequenceId;
use crate::window_blocks::WindowBlocks;
use crate::{BlockPool, EngineError, Runner, Sampler};
use acceptance::Acceptance;
use draft_length::{Circumstances, DraftLength, TrialTime};
use hidden_rows::HiddenRows;
use pass_times::PassTimes;
use slot::{DraftSlot, Turn};

/// Failures in a row after which the draft model is no longer used.
const MAX_FAILURES: usize = 3;

/// Sequences that the cache of the draft model holds at most, those that have ended included. Those with a recurrent state
/// are limited by the slots for it as well.
const MAX_NUM_SLOTS: usize = 32;

/// Tokens of a sequence that has ended from which on another one continues with them instead of an empty slot.
const MIN_NUM_REUSED: usize = 16;

/// A model, or a prediction head, that drafts tokens for another one, as [`GenerationCore::with_draft_model`](crate::GenerationCore::with_draft_model)
/// uses it.
pub struct DraftModel {
    /// The model, or the [prediction head](Runner::take_prediction_head) of the model that it drafts for. Its vocabulary must be that of the model that it drafts for; only speed suffers if it is not.
    pub runner: Box<dyn Runner>,
    /// How it drafts.
    pub options: DraftOptions,
}

/// Configures a [`DraftModel`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DraftOptions {
    /// Maximum number of tokens drafted per sequence and step. Fewer are drafted if that is faster.
    pub max_num_drafts: usize,
    /// Number of tokens that are drafted in each step even if fewer would be faster.
    pub min_num_drafts: usize,
    /// Tokens to which the draft model assigns a lower probability end a draft; 0 for no limit.
    pub min_probability: f32,
}

impl Default for DraftOptions {
    fn default() -> Self {
        Self { max_num_drafts: 8, min_num_drafts: 0, min_probability: 0.0 }
    }
}

/// Counters of a draft model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DraftCounts {
    /// Forward passes of the draft model.
    pub passes: u64,
    /// Those of them that failed.
    pub failed_passes: u64,
}

impl DraftCounts {
    /// Adds the counters of another draft model.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            passes: self.passes + other.passes,
            failed_passes: self.failed_passes + other.failed_passes,
        }
    }
}

/// What a sequence is drafted for in a step.
pub(super) struct DraftRequest<'a> {
    pub(super) id: SequenceId,
    /// All tokens of the sequence.
    pub(super) tokens: &'a [u32],
    /// Sequences that are computed together.
    pub(super) num_sequences: usize,
    /// Maximum number of drafts.
    pub(super) room: usize,
    /// Maximum number of tokens before the sequence ends.
    pub(super) num_left: usize,
    pub(super) sampler: &'a Sampler,
    /// Tokens that may not be sampled.
    pub(super) banned: &'a [u32],
}

/// A draft model with its cache.
pub(super) struct ModelDrafter {
    runner: Box<dyn Runner>,
    options: DraftOptions,
    /// Number of tokens that can be sampled.
    vocab_size: usize,
    pool: BlockPool,
    windows: WindowBlocks,
    batch: Batch,
    slots: Vec<DraftSlot>,
    free_states: Vec<[StateSlot; 2]>,
    times: PassTimes,
    trials: TrialTime,
    /// That of all sequences.
    acceptance: Acceptance,
    step: u64,
    num_failures: usize,
    counts: DraftCounts,
    /// Whether the last plan of a sequence's drafts promised to save time.
    is_promising: bool,
    /// The input of a prediction head.
    hidden: Vec<f32>,
    /// A row of logits with as many values as the sequence's sampler expects.
    row: Vec<f32>,
}

impl ModelDrafter {
    /// `vocab_size` is the number of tokens that can be sampled.
    pub(super) fn new(model: DraftModel, vocab_size: usize) -> Self {
        let DraftModel { runner, options } = model;
        let layout = runner.kv_layout();
        let num_states =
            runner.state_layout().map_or(0, |&StateLayout { num_slots, .. }| num_slots);
        let pairs = (0..num_states / 2).map(|pair| [2 * pair, 2 * pair + 1]);
        let free_states = pairs.map(|pair| pair.map(|slot| StateSlot(slot as u32))).collect();
        Self {
            pool: BlockPool::new(layout.num_blocks),
            windows: WindowBlocks::of(layout),
            runner,
            options,
            vocab_size,
            batch: Batch::default(),
            slots: Vec::new(),
            free_states,
            times: PassTimes::default(),
            trials: TrialTime::default(),
            acceptance: Acceptance::default(),
            step: 0,
            num_failures: 0,
            counts: DraftCounts::default(),
            is_promising: true,
            hidden: Vec::new(),
            row: Vec::new(),
        }
    }

    pub(super) fn counts(&self) -> DraftCounts {
        self.counts
    }

    /// Whether it drafts with a prediction head, which needs the hidden states of the model.
    pub(super) fn reads_hidden_rows(&self) -> bool {
        self.runner.reads_hidden_rows() && self.num_failures < MAX_FAILURES
    }

    /// Shows a prediction head the hidden states of a sequence from position `start` on.
    pub(super) fn show_hidden_rows(
        &mut self,
        id: SequenceId,
        tokens: &[u32],
        start: usize,
        rows: &[f32],
    ) {
        let Some(index) = self.slot_of(id, tokens) else { return };
        self.slots[index].show_hidden_rows(tokens, start, rows, &mut self.pool);
        self.slots[index].last_use = self.step;
        let limit = self.runner.limits().max_num_tokens;
        if self.slots[index].num_hidden_rows() < limit {
            return;
        }
        // Hidden states are larger than what the head keeps of them.
        if !self.is_promising || !self.read_prompt(index, tokens, limit) {
            self.slots[index].clear(&mut self.pool);
        }
    }

    /// Computes tokens of a prompt in the prediction head, without drafting. Returns false if that is not possible.
    fn read_prompt(&mut self, index: usize, tokens: &[u32], limit: usize) -> bool {
        let slot = &mut self.slots[index];
        let first = slot.hidden.as_ref().map_or(0, HiddenRows::first_token) + slot.num_verified();
        // The token after the last hidden state may be unknown.
        let num_known = slot.num_hidden_rows().saturating_sub(1);
        let num_tokens = tokens.len().saturating_sub(first).min(limit).min(num_known);
        slot.sequence.extend(&tokens[first.min(tokens.len())..][..num_tokens]);
        if num_tokens == 0 || !self.reserve(index, num_tokens) {
            return false;
        }
        match self.run_pass(&[(index, num_tokens)], 0) {
            Ok(()) => {
                self.slots[index].set_verified();
                true
            }
            Err(error) => {
                self.record_failure(&error);
                true
            }
        }
    }

    /// Begins a step. Slots of sequences that have ended may be used by others.
    pub(super) fn begin_step(&mut self, is_running: impl Fn(SequenceId) -> bool) {
        self.step += 1;
        for slot in &mut self.slots {
            slot.owner = slot.owner.filter(|&id| is_running(id));
            slot.turn = None;
            slot.verifying.clear();
        }
    }

    /// Requests drafts of a sequence, if they are worth their time.
    pub(super) fn request(&mut self, request: DraftRequest<'_>) {
        let DraftRequest { id, tokens, num_sequences, num_left, sampler, banned, .. } = request;
        let room = request.room.min(self.options.max_num_drafts);
        let room = room.min(self.runner.context_length().saturating_sub(tokens.len()));
        let num_known = self.runner.vocab_size();
        if room == 0 || self.num_failures >= MAX_FAILURES {
            return;
        }
        let Some(index) = self.slot_of(id, tokens) else { return };
        let slot = &mut self.slots[index];
        if !slot.follow(tokens, &self.windows, &mut self.pool) {
            return;
        }
        let unseen = &slot.sequence.tokens()[slot.sequence.num_computed()..];
        if unseen.iter().any(|&token| token as usize >= num_known) {
            slot.clear(&mut self.pool);
            return;
        }
        let num_behind = slot.num_behind();
        let min_num_drafts = self.options.min_num_drafts;
        let circumstances =
            Circumstances { num_sequences, room, min_num_drafts, num_left, num_behind };
        let length =
            DraftLength::plan(slot.acceptance, &self.times, &mut self.trials, circumstances);
        self.is_promising = length.is_some() || !self.times.is_known(num_sequences);
        let Some(length) = length else { return };
        slot.last_use = self.step;
        match &mut slot.sampler {
            Some(copy) => copy.continue_as(sampler),
            copy => *copy = Some(sampler.fork()),
        }
        slot.turn = Some(Turn {
            length,
            banned: banned.to_vec(),
            drafts: Vec::new(),
            probabilities: Vec::new(),
            is_done: false,
            hidden: Vec::new(),
        });
    }

    /// Computes the drafts that were requested. A failure leaves none.
    pub(super) fn run(&mut self) -> Vec<(SequenceId, Vec<u32>)> {
        if self.slots.iter().all(|slot| slot.turn.is_none()) {
            return Vec::new();
        }
        match self.run_passes() {
            Ok(()) => self.num_failures = 0,
            Err(error) => self.record_failure(&error),
        }
        let mut drafted = Vec::new();
        for slot in &mut self.slots {
            let (Some(id), Some(turn)) = (slot.owner, slot.turn.take()) else { continue };
            let Turn { length, mut drafts, probabilities, .. } = turn;
            drafts.truncate(length.num_worth_verifying(&self.times));
            if !drafts.is_empty() {
                slot.verifying = probabilities;
                drafted.push((id, drafts));
            }
        }
        drafted
    }

    fn record_failure(&mut self, error: &EngineError) {
        self.counts.failed_passes += 1;
        self.num_failures += 1;
        if error.is_device_lost() {
            self.num_failures = MAX_FAILURES;
        }
        // What a pass that failed leaves in the cache is unknown.
        for slot in &mut self.slots {
            slot.clear(&mut self.pool);
        }
    }

    /// Records how many drafts of a sequence were accepted, and whether the one after them was rejected.
    pub(super) fn record_accepted(
        &mut self,
        id: SequenceId,
        num_accepted: usize,
        is_rejected: bool,
    ) {
        let Some(slot) = self.slots.iter_mut().find(|slot| slot.owner == Some(id)) else { return };
        for (place, probability) in slot.verifying.drain(..).enumerate() {
            let is_accepted = place < num_accepted;
            if is_accepted || place == num_accepted && is_rejected {
                slot.acceptance.record(probability, is_accepted);
                self.acceptance.record(probability, is_accepted);
            }
        }
    }

    /// Records a pass of the model in which all sequences decode.
    pub(super) fn record_model_pass(
        &mut self,
        num_rows: usize,
        has_drafts: bool,
        duration: Duration,
    ) {
        self.times.record_model(num_rows, duration);
        if !has_drafts {
            self.trials.save(duration.as_secs_f64());
        }
    }

    /// The index of the slot of a sequence; `None` if all are in use.
    fn slot_of(&mut self, id: SequenceId, tokens: &[u32]) -> Option<usize> {
        if let Some(own) = self.slots.iter().position(|slot| slot.owner == Some(id)) {
            return Some(own);
        }
        let free = (0..self.slots.len()).filter(|&index| self.slots[index].owner.is_none());
        let reusable = free.map(|index| (self.slots[index].num_reusable(tokens), index));
        let index = match reusable.max() {
            Some((MIN_NUM_REUSED.., index)) => index,
            _ => self.new_slot()?,
        };
        let slot = &mut self.slots[index];
        slot.owner = Some(id);
        slot.sampler = None;
        slot.acceptance = self.acceptance.as_prior();
        Some(index)
    }

    /// Adds a slot, or empties the least recently used one of those whose sequences have ended.
    fn new_slot(&mut self) -> Option<usize> {
        let has_states = self.runner.state_layout().is_some();
        let is_full =
            self.slots.len() >= MAX_NUM_SLOTS || has_states && self.free_states.is_empty();
        if is_full {
            let index = self.least_recently_used(|slot| slot.owner.is_none())?;
            self.slots[index].clear(&mut self.pool);
            return Some(index);
        }
        let states = if has_states { self.free_states.pop() } else { None };
        let block_tokens = self.runner.kv_layout().block_tokens;
        let hidden_size = self.runner.hidden_size();
        let hidden = self.runner.reads_hidden_rows().then(|| HiddenRows::new(hidden_size));
        self.slots.push(DraftSlot::new(block_tokens, states, hidden));
        Some(self.slots.len() - 1)
    }

    fn least_recently_used(&self, is_selected: impl Fn(&DraftSlot) -> bool) -> Option<usize> {
        let selected = (0..self.slots.len()).filter(|&index| is_selected(&self.slots[index]));
        selected.min_by_key(|&index| self.slots[index].last_use)
    }
}
