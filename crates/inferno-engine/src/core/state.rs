//! One step: schedule, forward pass, sample, commit.

mod contents;
mod passes;
mod recovery;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use inferno_backend::Batch;
use tokio::sync::mpsc;

use super::draft_model::{DraftModel, DraftRequest, ModelDrafter};
use super::event_sender::{EventQueue, EventSender};
use super::prefill_pacing::PrefillPacing;
use super::snapshot::EngineSnapshot;
use super::task::SequenceTask;
use crate::scheduler::{Continuation, Plan, RowRequest, Scheduler, SequenceId};
use crate::{CacheEvent, EngineError, FinishReason, Runner};

/// How long a step waits for constraints, at least: in most cases they are ready, or will be in a moment.
const MIN_CONSTRAINT_WAIT: Duration = Duration::from_millis(1);

/// The runner and all sequences that are computed on it.
pub(crate) struct CoreState {
    pub(super) runner: Box<dyn Runner>,
    pub(crate) scheduler: Scheduler,
    /// Drafts what prompt lookup does not find.
    draft_model: Option<ModelDrafter>,
    tasks: HashMap<SequenceId, SequenceTask>,
    /// Tokens that both model and tokenizer have.
    pub(super) vocab_size: usize,
    /// Its memory is used again by the next pass.
    batch: Batch,
    /// How the chunks of the current step continue.
    continuations: Vec<Continuation>,
    /// Sequences whose next token waits for their constraint.
    held: Vec<SequenceId>,
    pacing: PrefillPacing,
    is_device_lost: bool,
    /// Number of passes that were lost since the last one that succeeded.
    num_losses: usize,
    /// Sequences whose rows were lost before they were read.
    unread: Vec<SequenceId>,
    /// Receives the changes of the prefix cache.
    cache_observer: Option<mpsc::UnboundedSender<Vec<CacheEvent>>>,
    /// Counters; the rest is filled in by [`snapshot`](Self::snapshot).
    counters: EngineSnapshot,
}

impl CoreState {
    pub(super) fn new(
        runner: Box<dyn Runner>,
        scheduler: Scheduler,
        vocab_size: usize,
        target_itl: Option<Duration>,
        draft_model: Option<DraftModel>,
    ) -> Self {
        let counters =
            EngineSnapshot { block_tokens: runner.kv_layout().block_tokens, ..Default::default() };
        Self {
            runner,
            scheduler,
            draft_model: draft_model.map(|model| ModelDrafter::new(model, vocab_size)),
            tasks: HashMap::new(),
            vocab_size,
            batch: Batch::default(),
            continuations: Vec::new(),
            held: Vec::new(),
            pacing: PrefillPacing::new(target_itl),
            is_device_lost: false,
            num_losses: 0,
            unread: Vec::new(),
            cache_observer: None,
            counters,
        }
    }

    pub(super) fn snapshot(&self) -> EngineSnapshot {
        EngineSnapshot {
            num_running: self.scheduler.num_running(),
            num_waiting: self.scheduler.num_waiting(),
            num_deferred: self.scheduler.num_deferred(),
            blocks: self.scheduler.block_usage(),
            states: self.scheduler.state_usage(),
            scheduler: self.scheduler.counts(),
            draft_model: self.draft_model.as_ref().map(ModelDrafter::counts).unwrap_or_default(),
            is_stage_lost: self.runner.is_lost(),
            ..self.counters
        }
    }

    /// Adds a sequence that is computed until its task ends.
    pub(crate) fn add(
        &mut self,
        tokens: &[u32],
        rows: RowRequest,
        priority: i32,
        deadline: Option<Instant>,
        task: SequenceTask,
    ) -> SequenceId {
        let id = self.scheduler.add(tokens, rows, priority, deadline);
        self.tasks.insert(id, task);
        id
    }

    /// Adds an empty sequence for a session.
    pub(crate) fn open(&mut self, keeps_kv: bool) -> SequenceId {
        self.scheduler.add_parked(keeps_kv)
    }

    /// Prepares a session's sequence for `task` on `tokens`; it is computed when it resumes. Returns its
    /// new id.
    pub(crate) fn begin(
        &mut self,
        id: SequenceId,
        tokens: &[u32],
        task: SequenceTask,
    ) -> SequenceId {
        self.scheduler.set_parked_tokens(id, tokens);
        let id = self.scheduler.requeue(id);
        self.tasks.insert(id, task);
        id
    }

    /// Sets the tokens of a session's sequence, and releases the blocks that only others needed.
    pub(crate) fn set_tokens(&mut self, id: SequenceId, tokens: &[u32]) {
        self.scheduler.set_parked_tokens(id, tokens);
    }

    /// Makes a session's sequence runnable.
    pub(super) fn resume(&mut self, id: SequenceId) {
        self.scheduler.resume(id);
    }

    /// Ends the task of a sequence; a session's sequence is parked.
    pub(super) fn finish(&mut self, id: SequenceId) {
        self.tasks.remove(&id);
        self.scheduler.stop(id);
    }

    /// Removes a session's sequence.
    pub(crate) fn close(&mut self, id: SequenceId) {
        self.tasks.remove(&id);
        self.scheduler.remove(id);
    }

    /// Moves the events and passes of a session's sequence into `queue`, which is empty.
    pub(super) fn take_events(&mut self, id: SequenceId, queue: &mut EventQueue) {
        if let Some(source) = self.queue_mut(id) {
            std::mem::swap(source, queue);
        }
    }

    pub(super) fn has_events(&mut self, id: SequenceId) -> bool {
        self.queue_mut(id).is_some_and(|queue| !queue.events.is_empty())
    }

    /// Returns the number of tokens that were computed for a session's sequence since its events were taken.
    pub(super) fn computed_tokens(&mut self, id: SequenceId) -> usize {
        let passes = self.queue_mut(id).map(|queue| &queue.passes);
        passes.into_iter().flatten().map(|pass| pass.num_tokens).sum()
    }

    fn queue_mut(&mut self, id: SequenceId) -> Option<&mut EventQueue> {
        self.tasks.get_mut(&id)?.sender_mut().queue_mut()
    }

    /// Ends the requests that `is_selected` returns true for.
    pub(super) fn end_requests(
        &mut self,
        reason: FinishReason,
        is_selected: impl Fn(&EventSender) -> bool,
    ) {
        for (id, task) in self.tasks.extract_if(|_, task| is_selected(task.sender())) {
            self.scheduler.remove(id);
            task.end(reason);
        }
    }

    /// Sends the changes of the prefix cache to `observer` from now on, starting with its blocks.
    pub(super) fn observe_cache(&mut self, observer: mpsc::UnboundedSender<Vec<CacheEvent>>) {
        self.scheduler.record_cache_events();
        self.cache_observer = Some(observer);
        self.send_cache_events();
    }

    /// Sends the changes of the prefix cache since the last call.
    pub(super) fn send_cache_events(&mut self) {
        let Some(observer) = &self.cache_observer else { return };
        let events = self.scheduler.take_cache_events();
        if !events.is_empty() {
            // The observer is gone when a server stops.
            let _ = observer.send(events);
        }
    }

    /// Whether the device has failed for good.
    pub(super) fn is_device_lost(&self) -> bool {
        self.is_device_lost
    }

    /// Drops all tasks, so that their receivers see the end.
    pub(super) fn drop_tasks(&mut self) {
        self.tasks.clear();
    }

    /// Computes one step for all runnable sequences. If all of them wait for their constraints, the step only waits,
    /// for a moment.
    pub(super) fn step(&mut self) {
        self.end_requests(FinishReason::Cancelled, EventSender::is_abandoned);
        self.resume_held(Instant::now());
        if self.runner.is_lost() && !self.recover() {
            return;
        }
        self.scheduler.limit_prefill(self.pacing.max_tokens());
        let mut plan = self.scheduler.schedule(Instant::now());
        self.record_plan(&plan);
        for &(from, to) in &plan.state_copies {
            self.runner.copy_state(from, to);
        }
        if plan.chunks.is_empty() {
            self.resume_held(Instant::now() + MIN_CONSTRAINT_WAIT);
            return;
        }
        self.add_drafts(&mut plan);
        self.runner.update_windows(&self.scheduler.take_window_updates(&plan));
        self.compute(&mut plan);
        self.scheduler.commit(&plan, &self.continuations);
        for (place, chunk) in plan.chunks.iter().enumerate() {
            if chunk.is_last && self.continuations[place].next.is_none() {
                self.remove_finished(chunk.id);
            }
        }
    }

    /// Continues the sequences whose constraints are ready, or will be before `deadline`.
    fn resume_held(&mut self, deadline: Instant) {
        for id in std::mem::take(&mut self.held) {
            let Some(task) = self.tasks.get_mut(&id).filter(|task| task.is_held()) else {
                continue;
            };
            let before = task.sender().num_generated();
            let resumed = task.resume(deadline);
            let is_held = task.is_held();
            self.counters.generation_tokens += (task.sender().num_generated() - before) as u64;
            match resumed {
                Ok(_) if is_held => self.held.push(id),
                Ok(next) => {
                    self.scheduler.continue_held(id, next);
                    if next.is_none() {
                        self.remove_finished(id);
                    }
                }
                Err(error) => self.fail(id, Arc::new(error)),
            }
        }
    }

    /// Passes on what the plan changes about each sequence.
    fn record_plan(&mut self, plan: &Plan) {
        self.end_expired(&plan.expired);
        self.record_preemptions(&plan.preempted);
        for admission in &plan.admitted {
            if let Some(task) = self.tasks.get_mut(&admission.id) {
                let sender = task.sender_mut();
                sender.record_admission(admission.num_cached_tokens);
                self.counters.prompt_tokens += sender.prompt_tokens() as u64;
            }
        }
    }

    fn end_expired(&mut self, expired: &[SequenceId]) {
        for id in expired {
            if let Some(task) = self.tasks.remove(id) {
                task.end(FinishReason::DeadlineExceeded);
            }
        }
    }

    fn record_preemptions(&mut self, preempted: &[SequenceId]) {
        for id in preempted {
            if let Some(task) = self.tasks.get_mut(id) {
                task.sender_mut().record_preemption();
            }
        }
    }

    /// Adds drafts of what may follow, if the step has room for them.
    fn add_drafts(&mut self, plan: &mut Plan) {
        let Self { tasks, scheduler, draft_model, .. } = self;
        if let Some(model) = draft_model {
            model.begin_step(|id| tasks.contains_key(&id));
        }
        for place in 0..plan.chunks.len() {
            let mut chunk = plan.chunks[place];
            let task = tasks.get_mut(&chunk.id).and_then(SequenceTask::generation_mut);
            let Some(task) = task.filter(|task| task.may_look_up() || draft_model.is_some()) else {
                continue;
            };
            let num_left = task.max_num_drafts();
            let room = scheduler.room_for_drafts(plan, &chunk).min(num_left);
            if room == 0 {
                continue;
            }
            let (id, tokens) = (chunk.id, scheduler.tokens(chunk.id));
            let drafts = task.look_up(tokens, room);
            match draft_model {
                Some(model) if drafts.is_empty() => {
                    let (sampler, banned) = (task.sampler(), task.banned());
                    let num_sequences = plan.chunks.len();
                    model.request(DraftRequest {
                        id,
                        tokens,
                        num_sequences,
                        room,
                        num_left,
                        sampler,
                        banned,
                    });
                }
                _ => {
                    scheduler.draft(&mut chunk, drafts);
                    plan.chunks[place] = chunk;
                }
            }
        }
        for (id, mut drafts) in draft_model.iter_mut().flat_map(ModelDrafter::run) {
            let chunk = plan.chunks.iter().position(|chunk| chunk.id == id);
            let task = tasks.get_mut(&id).and_then(SequenceTask::generation_mut);
            let (Some(place), Some(task)) = (chunk, task) else { continue };
            let mut chunk = plan.chunks[place];
            // Drafts of other sequences may have used the last free blocks.
            drafts.truncate(scheduler.room_for_drafts(plan, &chunk));
            task.set_drafts(&drafts);
            scheduler.draft(&mut chunk, &drafts);
            plan.chunks[place] = chunk;
        }
    }

    /// Ends a sequence with an error.
    fn fail(&mut self, id: SequenceId, error: Arc<EngineError>) {
        self.scheduler.discard_state(id);
        self.scheduler.stop(id);
        if let Some(task) = self.tasks.get_mut(&id) {
            task.sender_mut().fail(error);
            self.remove_finished(id);
        }
    }

    /// Ends every request with an error.
    fn fail_all(&mut self, error: &Arc<EngineError>) {
        let ids: Vec<SequenceId> = self.tasks.keys().copied().collect();
        ids.into_iter().for_each(|id| self.fail(id, Arc::clone(error)));
    }

    /// Removes the task of a request that has ended. A session removes its own when it has read the events.
    fn remove_finished(&mut self, id: SequenceId) {
        let is_finished = |task: &SequenceTask| !task.sender().is_queued() && !task.is_held();
        if self.tasks.get(&id).is_some_and(is_finished) {
            self.tasks.remove(&id);
        }
    }
}
