//! The forward passes of a step, and the rows that tasks read from them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use inferno_backend::CandidateShape;

use super::{CoreState, MIN_CONSTRAINT_WAIT};
use crate::core::event_sender::PassRecord;
use crate::forward::{RowKind, run_chunks};
use crate::scheduler::{Continuation, Plan};
use crate::{EngineError, PassRows};

/// Share of the duration of a forward pass, as a divisor, that a step waits for constraints.
const CONSTRAINT_WAIT_DIVISOR: u32 = 8;

/// Whole rows of logits from which on a pass copies them from the device together: with the candidates of rows between
/// them, which cost less than waiting for the device once per row.
const MIN_ROWS_TO_COPY: usize = 2;

impl CoreState {
    /// Runs the passes of a step and has the tasks read their rows: an entry in `continuations` for each
    /// chunk. A pass that fails ends the requests in it and no others, unless the device is lost. If a part of the runner
    /// is lost that can be replaced, chunks that were not computed are removed from the plan.
    pub(super) fn compute(&mut self, plan: &mut Plan) {
        self.continuations.clear();
        self.continuations.resize(plan.chunks.len(), Continuation::default());
        let (mut num_tokens, mut duration) = (0, Duration::ZERO);
        for kind in [RowKind::Logits, RowKind::Hidden] {
            if plan.chunks_with(kind).next().is_none() {
                continue;
            }
            match self.run_pass(plan, kind) {
                Ok(taken) => {
                    num_tokens += self.batch.num_tokens();
                    duration += taken;
                    if !self.unread.is_empty() {
                        let unread = std::mem::take(&mut self.unread);
                        self.withdraw(plan, |chunk| {
                            chunk.output == RowKind::Hidden || unread.contains(&chunk.id)
                        });
                        break;
                    }
                }
                Err(_) if self.may_retry() => {
                    self.counters.failed_steps += 1;
                    self.withdraw_passes(plan, kind);
                    break;
                }
                Err(error) => self.fail_pass(plan, kind, error),
            }
            if self.is_device_lost {
                break;
            }
        }
        if num_tokens > 0 {
            self.counters.step_tokens.add(num_tokens);
            let decode_tokens = plan.num_decode_tokens();
            let prompt_tokens = num_tokens.saturating_sub(decode_tokens);
            self.pacing.record(decode_tokens > 0, prompt_tokens, duration);
            if let Some(model) = &mut self.draft_model
                && plan.chunks.iter().all(|chunk| chunk.is_decode)
            {
                let has_drafts = plan.chunks.iter().any(|chunk| chunk.num_drafts > 0);
                model.record_model_pass(num_tokens, has_drafts, duration);
            }
        }
    }

    /// Ends the requests of a pass, or all if the device is lost.
    fn fail_pass(&mut self, plan: &Plan, kind: RowKind, error: EngineError) {
        self.counters.failed_steps += 1;
        self.is_device_lost |= error.is_device_lost();
        let error = Arc::new(error);
        for (_, chunk) in plan.chunks_with(kind) {
            self.fail(chunk.id, Arc::clone(&error));
        }
        if self.is_device_lost {
            self.fail_all(&error);
        }
    }

    /// What the tasks need of their rows. Single tasks may need whole rows, which they read from the device.
    fn pass_rows(&self, plan: &Plan, kind: RowKind) -> PassRows {
        if kind == RowKind::Hidden {
            return PassRows::Hidden;
        }
        let chunks = plan.chunks_with(kind).filter(|(_, chunk)| chunk.num_rows > 0);
        let counts = chunks.filter_map(|(_, chunk)| self.tasks.get(&chunk.id)?.num_candidates());
        match counts.max() {
            Some(count) => {
                PassRows::Candidates(CandidateShape { count, vocab_size: self.vocab_size })
            }
            None => PassRows::Logits,
        }
    }

    /// The rows of logits of which the tasks read all values.
    fn whole_rows(&self, plan: &Plan) -> Vec<usize> {
        let mut whole_rows = Vec::new();
        let mut next_row = 0;
        for (_, chunk) in plan.chunks_with(RowKind::Logits) {
            let of_chunk = next_row..next_row + chunk.num_rows;
            next_row = of_chunk.end;
            if self.tasks.get(&chunk.id).is_some_and(|task| task.num_candidates().is_none()) {
                whole_rows.extend(of_chunk);
            }
        }
        whole_rows
    }

    /// Passes the hidden states of the last pass on to the prediction head, if the model has one that drafts. A device that
    /// cannot be read fails the next pass.
    fn show_hidden_rows(&mut self, plan: &Plan, kind: RowKind) {
        let Self { runner, scheduler, draft_model, batch, continuations, .. } = self;
        let Some(model) = draft_model.as_mut().filter(|model| model.reads_hidden_rows()) else {
            return;
        };
        let hidden_size = runner.hidden_size();
        let Ok(mut rest) = runner.hidden_rows() else { return };
        for ((place, chunk), end) in plan.chunks_with(kind).zip(batch.context_lens()) {
            let of_chunk = rest.split_off(..chunk.num_tokens * hidden_size).unwrap_or_default();
            if kind == RowKind::Logits {
                // Those of rejected drafts are hidden states of another text.
                let num_rejected = chunk.num_drafts - continuations[place].num_accepted;
                let start = end - chunk.num_tokens;
                let num_valid = chunk.num_tokens - num_rejected;
                let valid = &of_chunk[..num_valid * hidden_size];
                model.show_hidden_rows(chunk.id, scheduler.tokens(chunk.id), start, valid);
            }
        }
    }

    /// Runs the pass of the chunks whose rows hold `kind`, and returns its duration.
    ///
    /// **Errors**: as [`run_chunks`].
    fn run_pass(&mut self, plan: &Plan, kind: RowKind) -> Result<Duration, EngineError> {
        // Tokens that the tokenizer has no text for cannot be sampled.
        let row_len = match kind {
            RowKind::Logits => self.vocab_size,
            RowKind::Hidden => self.runner.hidden_size(),
        };
        let pass_rows = self.pass_rows(plan, kind);
        let chunks = plan
            .chunks_with(kind)
            .map(|(_, chunk)| (self.scheduler.chunk(chunk), self.scheduler.chunk_state(chunk)));
        let whole_rows = match pass_rows {
            PassRows::Candidates(_) => self.whole_rows(plan),
            PassRows::Logits | PassRows::Hidden => Vec::new(),
        };
        let (mut rows, duration) =
            run_chunks(&mut *self.runner, &mut self.batch, pass_rows, None, chunks)?;
        if whole_rows.len() >= MIN_ROWS_TO_COPY {
            rows.copy_whole(&whole_rows)?;
        }
        let wait = MIN_CONSTRAINT_WAIT.max(duration / CONSTRAINT_WAIT_DIVISOR);
        let deadline = Instant::now() + wait;
        let (mut next_row, mut failed) = (0, Vec::new());
        for ((place, chunk), end) in plan.chunks_with(kind).zip(self.batch.context_lens()) {
            let of_chunk = next_row..next_row + chunk.num_rows;
            next_row = of_chunk.end;
            let rows = of_chunk.map(|index| rows.row(index, row_len));
            let task = self.tasks.get_mut(&chunk.id).expect("what is computed has a task");
            let before = task.sender().num_generated();
            task.sender_mut().record_processed(*end);
            match task.read(end - chunk.num_rows, rows, deadline) {
                Ok(continuation) => {
                    self.continuations[place] = continuation;
                    let Continuation { num_accepted, next } = continuation;
                    if let Some(model) = self.draft_model.as_mut().filter(|_| chunk.num_drafts > 0)
                    {
                        let is_rejected = num_accepted < chunk.num_drafts && next.is_some();
                        model.record_accepted(chunk.id, num_accepted, is_rejected);
                    }
                }
                Err(error) => failed.push((chunk, error)),
            }
            if task.is_held() {
                self.scheduler.hold(chunk.id);
                self.held.push(chunk.id);
            }
            let sender = task.sender_mut();
            self.counters.generation_tokens += (sender.num_generated() - before) as u64;
            sender.record_pass(PassRecord {
                num_tokens: chunk.num_tokens,
                duration,
                num_drafts: chunk.num_drafts,
                num_accepted: self.continuations[place].num_accepted,
            });
        }
        drop(rows);
        self.show_hidden_rows(plan, kind);
        let may_retry = !failed.is_empty() && self.may_retry();
        for (chunk, error) in failed {
            // Rows of a part of the runner that is lost. The first of several rows may have been sampled from already.
            match may_retry && chunk.num_rows == 1 {
                true => self.unread.push(chunk.id),
                false => self.fail(chunk.id, Arc::new(error)),
            }
        }
        self.counters.steps += 1;
        if self.unread.is_empty() {
            self.num_losses = 0;
        }
        Ok(duration)
    }
}
