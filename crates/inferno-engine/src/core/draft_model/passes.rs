//! The forward passes of a draft model: what it is behind, then one draft after another.

use inferno_backend::{CandidateShape, SequenceState};

use super::ModelDrafter;
use super::slot::DraftSlot;
use crate::forward::run_chunks;
use crate::{EngineError, PassRows};

impl ModelDrafter {
    /// Computes what the draft model is behind, then one draft after another.
    pub(super) fn run_passes(&mut self) -> Result<(), EngineError> {
        let chunks = self.plan_catch_up();
        self.run_pass(&chunks, 0)?;
        for &(index, _) in &chunks {
            let slot = &mut self.slots[index];
            slot.set_verified();
            match (&slot.turn, slot.states) {
                (Some(turn), Some([verified, drafted])) if !turn.is_done => {
                    self.runner.copy_state(verified, drafted);
                }
                _ => {}
            }
        }
        loop {
            let chunks = self.plan_drafts();
            if chunks.is_empty() {
                return Ok(());
            }
            self.run_pass(&chunks, 1)?;
        }
    }

    /// The slots whose drafts were requested with the tokens that are computed first, as far as they fit in one pass. Those
    /// that remain behind have no drafts in this step.
    fn plan_catch_up(&mut self) -> Vec<(usize, usize)> {
        let requested = (0..self.slots.len()).filter(|&index| self.slots[index].turn.is_some());
        let mut requested: Vec<_> = requested.collect();
        requested.sort_by_key(|&index| self.slots[index].num_behind());
        let limits = self.runner.limits();
        let mut num_left = limits.max_num_tokens;
        let mut chunks = Vec::new();
        for index in requested {
            let num_tokens = self.slots[index].num_behind().min(num_left);
            let is_possible = chunks.len() < limits.max_num_logit_rows
                && num_tokens > 0
                && self.reserve(index, num_tokens);
            let slot = &mut self.slots[index];
            if is_possible {
                num_left -= num_tokens;
                chunks.push((index, num_tokens));
            }
            if let Some(turn) = &mut slot.turn {
                turn.is_done = !is_possible;
            }
        }
        chunks
    }

    /// The slots that another token is drafted for.
    fn plan_drafts(&mut self) -> Vec<(usize, usize)> {
        let mut chunks = Vec::new();
        for index in 0..self.slots.len() {
            let slot = &mut self.slots[index];
            let Some(turn) = slot.turn.as_mut().filter(|turn| !turn.is_done) else { continue };
            let Some(&last) = turn.drafts.last() else { continue };
            slot.sequence.extend(&[last]);
            if self.reserve(index, 1) {
                chunks.push((index, 1));
            } else if let Some(turn) = &mut self.slots[index].turn {
                turn.is_done = true;
            }
        }
        chunks
    }

    /// Allocates blocks for the next tokens of a slot, if needed those of sequences that are not drafted for in this step.
    pub(super) fn reserve(&mut self, index: usize, num_tokens: usize) -> bool {
        let end = self.slots[index].sequence.num_computed() + num_tokens;
        loop {
            if self.slots[index].sequence.reserve(end, &mut self.pool).is_ok() {
                return true;
            }
            let is_idle =
                |slot: &DraftSlot| slot.turn.is_none() && !slot.sequence.block_table().is_empty();
            let Some(idle) = self.least_recently_used(is_idle) else { return false };
            self.slots[idle].clear(&mut self.pool);
        }
    }

    /// Computes the next tokens of slots with the recurrent state that `state` selects, and draws a draft from each row.
    pub(super) fn run_pass(
        &mut self,
        chunks: &[(usize, usize)],
        state: usize,
    ) -> Result<(), EngineError> {
        if chunks.is_empty() {
            return Ok(());
        }
        self.counts.passes += 1;
        let rows = self.pass_rows(chunks);
        self.gather_hidden(chunks, state);
        let Self { runner, windows, batch, slots, .. } = self;
        windows.begin_step();
        for &(index, num_tokens) in chunks {
            let sequence = &slots[index].sequence;
            let start = sequence.num_computed();
            windows.use_positions(sequence.block_table(), start..start + num_tokens);
        }
        runner.update_windows(&windows.take_updates());
        let planned = chunks.iter().map(|&(index, num_tokens)| {
            let slot = &slots[index];
            let state = slot.states.map(|states| SequenceState::from(states[state]));
            (slot.sequence.chunk(num_tokens), state)
        });
        let num_row_values = runner.vocab_size();
        let reads_hidden = runner.reads_hidden_rows();
        let hidden = reads_hidden.then_some(&self.hidden[..]);
        let (rows, duration) = run_chunks(&mut **runner, batch, rows, hidden, planned)?;
        let mut next_row = 0;
        for &(index, num_tokens) in chunks {
            let slot = &mut slots[index];
            slot.sequence.advance(num_tokens);
            let Some(turn) = &mut slot.turn else { continue };
            if slot.sequence.num_computed() < slot.sequence.tokens().len() {
                turn.is_done = true;
                continue;
            }
            let row = rows.row(next_row, num_row_values.min(self.vocab_size));
            next_row += 1;
            let sampler = slot.sampler.as_mut().expect("a slot with a turn has a sampler");
            let Some((draft, probability)) = sampler.draft(row, &turn.banned, &mut self.row)?
            else {
                turn.is_done = true;
                continue;
            };
            if probability < f64::from(self.options.min_probability) {
                turn.is_done = true;
                continue;
            }
            turn.drafts.push(draft);
            turn.probabilities.push(probability);
            turn.is_done = !turn.length.push(probability, &self.times);
        }
        drop(rows);
        if reads_hidden {
            self.pass_hidden_on(chunks, state)?;
        }
        let num_tokens = chunks.iter().map(|(_, num_tokens)| num_tokens).sum();
        self.times.record_draft(chunks.len(), num_tokens, duration);
        Ok(())
    }

    /// Collects the hidden states before the next tokens of slots: those of the model, or of the head if it drafts.
    fn gather_hidden(&mut self, chunks: &[(usize, usize)], state: usize) {
        self.hidden.clear();
        for &(index, num_tokens) in chunks {
            let DraftSlot { hidden: Some(hidden), turn, .. } = &self.slots[index] else { continue };
            match turn {
                Some(turn) if state > 0 => self.hidden.extend_from_slice(&turn.hidden),
                _ => self.hidden.extend_from_slice(hidden.first(num_tokens)),
            }
        }
    }

    /// Stores the hidden state after the last token of each slot, for the next draft.
    fn pass_hidden_on(
        &mut self,
        chunks: &[(usize, usize)],
        state: usize,
    ) -> Result<(), EngineError> {
        let hidden_size = self.runner.hidden_size();
        let mut rest = self.runner.hidden_rows()?;
        for &(index, num_tokens) in chunks {
            let of_chunk = rest.split_off(..num_tokens * hidden_size).unwrap_or_default();
            let slot = &mut self.slots[index];
            if let Some(turn) = &mut slot.turn {
                turn.hidden.clear();
                turn.hidden.extend_from_slice(&of_chunk[(num_tokens - 1) * hidden_size..]);
            }
            if state == 0 {
                slot.drop_hidden_rows(num_tokens);
            }
        }
        Ok(())
    }

    /// What a pass returns for the rows of these slots.
    fn pass_rows(&self, chunks: &[(usize, usize)]) -> PassRows {
        let counts = chunks.iter().map(|&(index, _)| {
            let slot = &self.slots[index];
            let num_banned = slot.turn.as_ref().map_or(0, |turn| turn.banned.len());
            slot.sampler.as_ref().and_then(|sampler| sampler.num_candidates(num_banned))
        });
        let has_whole_rows = self.runner.vocab_size() >= self.vocab_size;
        match counts.collect::<Option<Vec<_>>>().and_then(|counts| counts.into_iter().max()) {
            Some(count) if has_whole_rows => {
                PassRows::Candidates(CandidateShape { count, vocab_size: self.vocab_size })
            }
            _ => PassRows::Logits,
        }
    }
}
