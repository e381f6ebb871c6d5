//! The engine's thread: receive, schedule, run, sample, commit, tell.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvError, TryRecvError};
use std::time::Instant;

use inferno_backend::Batch;

use super::choice::Choice;
use super::handle::Shared;
use crate::scheduler::{Plan, Rows, Scheduler, SequenceId};
use crate::{EngineError, FinishReason, Runner};

/// What the thread is told.
pub(super) enum Message {
    Submit(Submission),
    ShutDown,
}

/// A request that was found sound.
pub(super) struct Submission {
    pub(super) prompt: Vec<u32>,
    pub(super) rows: Rows,
    pub(super) priority: i32,
    pub(super) deadline: Option<Instant>,
    pub(super) choices: Vec<Choice>,
}

/// Owns the model and all sequences.
pub(super) struct Worker {
    runner: Box<dyn Runner>,
    scheduler: Scheduler,
    choices: HashMap<SequenceId, Choice>,
    messages: Receiver<Message>,
    shared: Arc<Shared>,
    /// Its memory is used again by the next pass.
    batch: Batch,
    /// What was sampled in this step.
    sampled: Vec<Option<u32>>,
}

impl Worker {
    pub(super) fn new(
        runner: Box<dyn Runner>,
        scheduler: Scheduler,
        messages: Receiver<Message>,
        shared: Arc<Shared>,
    ) -> Self {
        let (choices, batch, sampled) = (HashMap::new(), Batch::default(), Vec::new());
        Self { runner, scheduler, choices, messages, shared, batch, sampled }
    }

    /// Works until it is told to stop; what has not ended then is cancelled.
    pub(super) fn run(mut self) {
        while self.receive() {
            self.remove_abandoned();
            self.step();
            self.show();
        }
        for (id, choice) in self.choices.drain() {
            self.scheduler.remove(id);
            choice.end(FinishReason::Cancelled);
        }
        self.show();
    }

    /// Takes in what has come; waits where there is nothing to do. False at the end.
    fn receive(&mut self) -> bool {
        loop {
            let message = match self.choices.is_empty() {
                true => self.messages.recv().map_err(|RecvError| TryRecvError::Disconnected),
                false => self.messages.try_recv(),
            };
            match message {
                Ok(Message::Submit(submission)) => self.add(submission),
                Err(TryRecvError::Empty) => return true,
                Ok(Message::ShutDown) | Err(TryRecvError::Disconnected) => return false,
            }
        }
    }

    fn add(&mut self, submission: Submission) {
        let Submission { prompt, rows, priority, deadline, choices } = submission;
        for choice in choices {
            let id = self.scheduler.add(&prompt, rows, priority, deadline);
            self.choices.insert(id, choice);
        }
    }

    /// Ends what nobody waits for.
    fn remove_abandoned(&mut self) {
        let scheduler = &mut self.scheduler;
        self.choices.retain(|&id, choice| {
            let is_abandoned = choice.is_abandoned();
            if is_abandoned {
                scheduler.remove(id);
            }
            !is_abandoned
        });
    }

    fn step(&mut self) {
        let plan = self.scheduler.schedule(Instant::now());
        self.note(&plan);
        if plan.chunks.is_empty() {
            return;
        }
        if let Err(error) = self.compute(&plan) {
            let error = Arc::new(error);
            self.shared.snapshot().failed_steps += 1;
            for chunk in &plan.chunks {
                self.fail(chunk.id, &error);
            }
            return;
        }
        self.scheduler.commit(&plan, &self.sampled);
        for (chunk, sampled) in plan.chunks.iter().filter(|it| it.samples).zip(&self.sampled) {
            if sampled.is_none() {
                self.choices.remove(&chunk.id);
            }
        }
    }

    /// Tells the sequences what became of them.
    fn note(&mut self, plan: &Plan) {
        for id in &plan.expired {
            if let Some(choice) = self.choices.remove(id) {
                choice.end(FinishReason::DeadlineExceeded);
            }
        }
        for id in &plan.preempted {
            self.choices.get_mut(id).into_iter().for_each(Choice::preempt);
        }
        for admission in &plan.admitted {
            if let Some(choice) = self.choices.get_mut(&admission.id) {
                choice.admit(admission.num_cached_tokens);
                self.shared.snapshot().prompt_tokens += choice.prompt_tokens as u64;
            }
        }
    }

    /// Runs the pass and samples: an entry in `sampled` for each chunk that samples.
    fn compute(&mut self, plan: &Plan) -> Result<(), EngineError> {
        let block_tokens = self.runner.kv_layout().block_tokens;
        let mut builder = std::mem::take(&mut self.batch).into_builder(block_tokens);
        for chunk in &plan.chunks {
            builder.push(&self.scheduler.chunk(chunk))?;
        }
        self.batch = builder.build();
        let row_len = self.runner.vocab_size();
        let logits = self.runner.run(&self.batch)?;
        let expected = plan.num_rows() * row_len;
        if logits.len() != expected {
            return Err(EngineError::LogitsLength { expected, found: logits.len() });
        }
        // What the tokenizer has no text for cannot be said.
        let known = self.shared.vocab_size;
        let (mut rest, mut num_sampled) = (logits, 0);
        self.sampled.clear();
        for (chunk, end) in plan.chunks.iter().zip(self.batch.context_lens()) {
            let (rows, others) = rest.split_at(chunk.num_rows * row_len);
            rest = others;
            let rows = rows.chunks_exact(row_len).map(|row| &row[..known]);
            let choice = self.choices.get_mut(&chunk.id).expect("who is computed has not ended");
            let before = choice.generated_tokens();
            let token = choice.read(end - chunk.num_rows, rows);
            num_sampled += (choice.generated_tokens() - before) as u64;
            let token = token.unwrap_or_else(|error| {
                self.scheduler.remove(chunk.id);
                if let Some(choice) = self.choices.remove(&chunk.id) {
                    choice.fail(Arc::new(error));
                }
                None
            });
            self.sampled.extend(chunk.samples.then_some(token));
        }
        let mut snapshot = self.shared.snapshot();
        snapshot.steps += 1;
        snapshot.generation_tokens += num_sampled;
        Ok(())
    }

    fn fail(&mut self, id: SequenceId, error: &Arc<EngineError>) {
        self.scheduler.remove(id);
        if let Some(choice) = self.choices.remove(&id) {
            choice.fail(Arc::clone(error));
        }
    }

    /// Shows the state to whoever asks.
    fn show(&self) {
        let mut snapshot = self.shared.snapshot();
        snapshot.num_running = self.scheduler.num_running();
        snapshot.num_waiting = self.scheduler.num_waiting();
        snapshot.blocks = self.scheduler.block_usage();
        snapshot.scheduler = self.scheduler.counts();
    }
}
