//! The engine's thread: receive, schedule, run, sample, commit, tell.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvError, Sender, TryRecvError};
use std::time::Instant;

use inferno_backend::Batch;

use super::handle::Shared;
use super::saved_prefixes;
use super::task::Task;
use crate::forward::{RowKind, run_chunks};
use crate::scheduler::{Continuation, Plan, Rows, Scheduler, SequenceId};
use crate::{EngineError, FinishReason, Runner};

/// What the thread is told.
pub(super) enum Message {
    Submit(Submission),
    /// What the prefix cache holds is to be written to this file, or read from it.
    Prefixes {
        action: FileAction,
        path: PathBuf,
        done: Sender<Result<usize, EngineError>>,
    },
    ShutDown,
}

/// What to do with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileAction {
    Save,
    Load,
}

/// A request that was found sound.
pub(super) struct Submission {
    pub(super) prompt: Vec<u32>,
    pub(super) rows: Rows,
    pub(super) priority: i32,
    pub(super) deadline: Option<Instant>,
    pub(super) tasks: Vec<Task>,
}

/// Owns the model and all sequences.
pub(super) struct Worker {
    /// Tells that the thread has not ended. It goes before all else, also where the thread panics, so that whoever learns of the
    /// end by its own request finds it so.
    _alive: Arc<()>,
    runner: Box<dyn Runner>,
    scheduler: Scheduler,
    tasks: HashMap<SequenceId, Task>,
    messages: Receiver<Message>,
    shared: Arc<Shared>,
    /// Its memory is used again by the next pass.
    batch: Batch,
    /// How the chunks of this step go on.
    sampled: Vec<Continuation>,
}

impl Worker {
    pub(super) fn new(
        alive: Arc<()>,
        runner: Box<dyn Runner>,
        scheduler: Scheduler,
        messages: Receiver<Message>,
        shared: Arc<Shared>,
    ) -> Self {
        let (tasks, batch, sampled) = (HashMap::new(), Batch::default(), Vec::new());
        Self { _alive: alive, runner, scheduler, tasks, messages, shared, batch, sampled }
    }

    /// Works until it is told to stop; what has not ended then is cancelled.
    pub(super) fn run(mut self) {
        while self.receive() {
            self.remove_abandoned();
            self.step();
            self.show();
        }
        for (id, task) in self.tasks.drain() {
            self.scheduler.remove(id);
            task.end(FinishReason::Cancelled);
        }
        self.show();
    }

    /// Takes in what has come; waits where there is nothing to do. False at the end.
    fn receive(&mut self) -> bool {
        loop {
            let message = match self.tasks.is_empty() {
                true => self.messages.recv().map_err(|RecvError| TryRecvError::Disconnected),
                false => self.messages.try_recv(),
            };
            match message {
                Ok(Message::Submit(submission)) => self.add(submission),
                Ok(Message::Prefixes { action, path, done }) => {
                    let result = self.prefixes(action, &path);
                    self.show();
                    // Whoever asked may not have waited.
                    let _ = done.send(result);
                }
                Err(TryRecvError::Empty) => return true,
                Ok(Message::ShutDown) | Err(TryRecvError::Disconnected) => return false,
            }
        }
    }

    fn add(&mut self, submission: Submission) {
        let Submission { prompt, rows, priority, deadline, tasks } = submission;
        for task in tasks {
            let id = self.scheduler.add(&prompt, rows, priority, deadline);
            self.tasks.insert(id, task);
        }
    }

    fn prefixes(&mut self, action: FileAction, path: &Path) -> Result<usize, EngineError> {
        let (scheduler, runner) = (&mut self.scheduler, &mut *self.runner);
        match action {
            FileAction::Save => saved_prefixes::save(scheduler, runner, path),
            FileAction::Load => {
                saved_prefixes::load(scheduler, runner, self.shared.vocab_size, path)
            }
        }
    }

    /// Ends what nobody waits for.
    fn remove_abandoned(&mut self) {
        let scheduler = &mut self.scheduler;
        self.tasks.retain(|&id, task| {
            let is_abandoned = task.ticket().is_abandoned();
            if is_abandoned {
                scheduler.remove(id);
            }
            !is_abandoned
        });
    }

    fn step(&mut self) {
        let mut plan = self.scheduler.schedule(Instant::now());
        self.note(&plan);
        if plan.chunks.is_empty() {
            return;
        }
        if self.shared.options.num_speculative_tokens > 0 {
            self.speculate(&mut plan);
        }
        self.compute(&plan);
        self.shared.snapshot().step_tokens.add(plan.num_tokens());
        self.scheduler.commit(&plan, &self.sampled);
        for (chunk, sampled) in plan.chunks.iter().zip(&self.sampled) {
            if chunk.is_last && sampled.next.is_none() {
                self.tasks.remove(&chunk.id);
            }
        }
    }

    /// Tells the sequences what became of them.
    fn note(&mut self, plan: &Plan) {
        for id in &plan.expired {
            if let Some(task) = self.tasks.remove(id) {
                task.end(FinishReason::DeadlineExceeded);
            }
        }
        for id in &plan.preempted {
            if let Some(task) = self.tasks.get_mut(id) {
                task.ticket_mut().preempt();
            }
        }
        for admission in &plan.admitted {
            if let Some(task) = self.tasks.get_mut(&admission.id) {
                let ticket = task.ticket_mut();
                ticket.admit(admission.num_cached_tokens);
                self.shared.snapshot().prompt_tokens += ticket.prompt_tokens as u64;
            }
        }
    }

    /// Adds drafts of what may follow, where the step has room for them.
    fn speculate(&mut self, plan: &mut Plan) {
        for place in 0..plan.chunks.len() {
            let mut chunk = plan.chunks[place];
            let room = self.scheduler.room_for_drafts(plan, &chunk);
            let task = self.tasks.get_mut(&chunk.id).expect("who is computed has not ended");
            if room > 0 {
                let drafts = task.draft(self.scheduler.tokens(chunk.id), room);
                self.scheduler.draft(&mut chunk, drafts);
                plan.chunks[place] = chunk;
            }
        }
    }

    /// Runs the passes of a step and lets the tasks read their rows: an entry in `sampled` for each
    /// chunk. A pass that fails ends the requests in it and no others.
    fn compute(&mut self, plan: &Plan) {
        self.sampled.clear();
        self.sampled.resize(plan.chunks.len(), Continuation::default());
        for output in [RowKind::Logits, RowKind::Hidden] {
            if plan.chunks_with(output).next().is_none() {
                continue;
            }
            if let Err(error) = self.pass(plan, output) {
                let error = Arc::new(error);
                self.shared.snapshot().failed_steps += 1;
                for (_, chunk) in plan.chunks_with(output) {
                    self.fail(chunk.id, &error);
                }
            }
        }
    }

    /// Runs the pass of the chunks whose rows hold `output`.
    fn pass(&mut self, plan: &Plan, kind: RowKind) -> Result<(), EngineError> {
        let chunks = plan.chunks_with(kind).map(|(_, chunk)| self.scheduler.chunk(chunk));
        let output = run_chunks(&mut *self.runner, &mut self.batch, kind, chunks)?;
        // Tokens that the tokenizer has no text for cannot be sampled.
        let known = match kind {
            RowKind::Logits => self.shared.vocab_size,
            RowKind::Hidden => self.shared.hidden_size,
        };
        let mut next_row = 0;
        let mut num_sampled = 0;
        for ((place, chunk), end) in plan.chunks_with(kind).zip(self.batch.context_lens()) {
            let rows = output.rows().skip(next_row).take(chunk.num_rows);
            next_row += chunk.num_rows;
            let rows = rows.map(|row| &row[..known]);
            let task = self.tasks.get_mut(&chunk.id).expect("who is computed has not ended");
            let before = task.ticket().progress.generated_tokens();
            let continuation = task.read(end - chunk.num_rows, rows);
            num_sampled += (task.ticket().progress.generated_tokens() - before) as u64;
            self.sampled[place] = continuation.unwrap_or_else(|error| {
                self.scheduler.remove(chunk.id);
                if let Some(task) = self.tasks.remove(&chunk.id) {
                    task.ticket().fail(Arc::new(error));
                }
                Continuation::default()
            });
        }
        let mut snapshot = self.shared.snapshot();
        snapshot.steps += 1;
        snapshot.generation_tokens += num_sampled;
        Ok(())
    }

    fn fail(&mut self, id: SequenceId, error: &Arc<EngineError>) {
        self.scheduler.remove(id);
        if let Some(task) = self.tasks.remove(&id) {
            task.ticket().fail(Arc::clone(error));
        }
    }

    /// Shows the state to whoever asks.
    fn show(&self) {
        let mut snapshot = self.shared.snapshot();
        snapshot.num_running = self.scheduler.num_running();
        snapshot.num_waiting = self.scheduler.num_waiting();
        snapshot.num_deferred = self.scheduler.num_deferred();
        snapshot.blocks = self.scheduler.block_usage();
        snapshot.scheduler = self.scheduler.counts();
    }
}
