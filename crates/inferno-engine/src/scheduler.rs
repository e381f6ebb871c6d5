//! Schedules which sequences compute how many tokens in the next forward pass.
//!
//! Pure and synchronous: [`schedule`](Scheduler::schedule) returns a plan, the caller runs it, and
//! [`commit`](Scheduler::commit) records what was sampled. Time is an argument.
//!
//! - Sequences that decode are planned first, one token each, so that no prompt delays them; prompts
//!   share the remaining tokens of the step, in chunks, and there is always at least one. A part of them is for
//!   prompts other than the first, so that a short one does not wait for a long one.
//! - All sequences have one order: that of arrival, shifted by the priority. A sequence is never
//!   preempted for a later one and, once it runs, waits for no later one's blocks; so the first always
//!   progresses, and each becomes the first in time. No sequence is preempted to admit an earlier one.
//! - A prompt gets all its blocks when it is admitted, each further block when it decodes. If none is
//!   left, the last sequence in the order loses its blocks and is computed again later.
//! - A step in which every sequence decodes may include drafts of what follows; none of them outlives
//!   the step unless it was accepted. With a recurrent state, accepted ones may be computed again.
//! - The prompts of a model that attends in both directions are computed whole, in one step each.
//! - A session's sequence is parked between the tokens that its caller requests: it keeps its blocks
//!   until another sequence needs them, and is not computed.
//! - Computed whole blocks are added to the prefix cache at once, even while their sequence runs. A
//!   prompt that could share a block which another one is about to compute waits for it.

mod admission;
mod cached_prefixes;
mod checkpoints;
mod commit;
mod decode;
mod discard;
mod held;
mod kv_blocks;
mod limits;
mod parking;
mod plan;
mod prefill;
mod row_request;
mod scheduled;
mod speculation;
mod state_slots;

use std::collections::BTreeMap;
use std::time::Instant;

use inferno_backend::{BlockId, LogitRows, SequenceChunk};

pub use kv_blocks::BlockUsage;
pub use limits::{SchedulerCounts, SchedulerLimits};
pub use plan::{Admission, Continuation, Plan, PlannedChunk};
pub use row_request::RowRequest;
pub(crate) use speculation::max_num_drafting;
pub use state_slots::StateUsage;

use crate::{CacheEvent, WindowUpdate};
use kv_blocks::KvBlocks;
use scheduled::{Retention, Scheduled};

/// Places in the queue that one level of priority is equivalent to.
const PRIORITY_PLACES: i64 = 64;

/// The highest level of priority that counts, and the lowest: each sequence is overtaken by a limited number of later
/// ones, however they are prioritized.
const MAX_PRIORITY: i32 = 16;

/// Identifies a sequence; lower ids are scheduled first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SequenceId {
    place: i64,
    arrival: u64,
}

/// All sequences and the blocks that they hold.
///
/// ```
/// use std::time::Instant;
///
/// use inferno_engine::{Continuation, RowRequest, Scheduler, SchedulerLimits};
///
/// let mut scheduler = Scheduler::new(SchedulerLimits {
///     num_blocks: 8,
///     block_tokens: 4,
///     max_num_sequences: 2,
///     max_num_batched_tokens: 5,
///     max_num_logit_rows: 2,
///     prefix_cache: true,
///     whole_prompts: false,
///     num_state_slots: 0,
///     window: None,
/// });
/// let long = scheduler.add(&[1, 2, 3, 4, 5, 6, 7], RowRequest::Last, 0, None);
///
/// let plan = scheduler.schedule(Instant::now());
/// assert_eq!(plan.chunks[0].num_tokens, 5);
/// scheduler.commit(&plan, &[Continuation::default()]);
///
/// let plan = scheduler.schedule(Instant::now());
/// assert!(plan.chunks[0].is_last);
/// assert_eq!(scheduler.chunk(&plan.chunks[0]).tokens, [6, 7]);
/// scheduler.commit(&plan, &[Continuation { num_accepted: 0, next: Some(8) }]);
///
/// let short = scheduler.add(&[9, 9], RowRequest::Last, 0, None);
/// let plan = scheduler.schedule(Instant::now());
/// assert_eq!(plan.chunks.iter().map(|chunk| (chunk.id, chunk.num_tokens)).collect::<Vec<_>>(), [(long, 1), (short, 2)]);
/// ```
#[derive(Debug)]
pub struct Scheduler {
    limits: SchedulerLimits,
    blocks: KvBlocks,
    waiting: BTreeMap<SequenceId, Scheduled>,
    running: BTreeMap<SequenceId, Scheduled>,
    /// Parked sequences of sessions.
    parked: BTreeMap<SequenceId, Scheduled>,
    num_added: u64,
    /// Sequences that were not admitted in the last step, to share the blocks of a running one.
    num_deferred: usize,
    /// Prompt tokens of a step in which sequences decode.
    max_prefill_tokens: usize,
    counts: SchedulerCounts,
}

impl Scheduler {
    /// Creates a scheduler without sequences, for an unused cache.
    ///
    /// **Panics** when a limit is 0, or `max_num_batched_tokens` or `max_num_logit_rows` is below
    /// `max_num_sequences`.
    pub fn new(limits: SchedulerLimits) -> Self {
        assert!(limits.num_blocks > 0 && limits.block_tokens > 0, "a cache holds something");
        assert!(limits.max_num_sequences > 0, "a sequence must run");
        assert!(limits.max_num_batched_tokens >= limits.max_num_sequences, "prompts must progress");
        assert!(limits.max_num_logit_rows >= limits.max_num_sequences, "all sample at once");
        Self {
            blocks: KvBlocks::new(&limits),
            limits,
            waiting: BTreeMap::new(),
            running: BTreeMap::new(),
            parked: BTreeMap::new(),
            num_added: 0,
            num_deferred: 0,
            max_prefill_tokens: usize::MAX,
            counts: SchedulerCounts::default(),
        }
    }

    /// Returns the maximum number of tokens of a sequence.
    pub fn capacity(&self) -> usize {
        self.limits.capacity()
    }

    /// Returns the number of sequences that wait to be admitted, for the first time or after they lost
    /// their blocks.
    pub fn num_waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Returns how many of them were not admitted in the last step because a running sequence is about to
    /// compute blocks that they can share.
    pub fn num_deferred(&self) -> usize {
        self.num_deferred.min(self.waiting.len())
    }

    /// Returns the number of running sequences.
    pub fn num_running(&self) -> usize {
        self.running.len()
    }

    /// Returns the counters.
    pub fn counts(&self) -> SchedulerCounts {
        self.counts
    }

    /// Begins to record the changes of the prefix cache, starting with its blocks.
    pub(crate) fn record_cache_events(&mut self) {
        self.blocks.record_cache_events();
    }

    /// Returns the changes of the prefix cache since the last call.
    pub(crate) fn take_cache_events(&mut self) -> Vec<CacheEvent> {
        self.blocks.take_cache_events()
    }

    /// Returns how the blocks of the cache are used.
    pub fn block_usage(&self) -> BlockUsage {
        self.blocks.usage()
    }

    /// Returns how the slots of recurrent state are used.
    pub fn state_usage(&self) -> StateUsage {
        self.blocks.states.usage()
    }

    /// Releases everything that is computed of a sequence whose pass failed, since its recurrent state is no longer
    /// that of its computed tokens.
    pub(crate) fn discard_state(&mut self, id: SequenceId) {
        if let Some(scheduled) = self.running.get_mut(&id)
            && self.blocks.states.are_needed()
        {
            self.blocks.release(scheduled);
        }
    }

    /// Returns the block table of each sequence.
    pub fn block_tables(&self) -> impl Iterator<Item = &[BlockId]> {
        let sequences = [&self.running, &self.waiting, &self.parked].into_iter().flatten();
        sequences.map(|(_, scheduled)| scheduled.sequence.block_table())
    }

    /// Adds a waiting sequence. A lower `priority` is scheduled first: each level from -16 to 16 is equivalent to a
    /// fixed number of places in the queue, so that no sequence starves.
    ///
    /// **Panics** when there are no tokens, or more than [`capacity`](Self::capacity).
    pub fn add(
        &mut self,
        tokens: &[u32],
        rows: RowRequest,
        priority: i32,
        deadline: Option<Instant>,
    ) -> SequenceId {
        assert!(!tokens.is_empty() && tokens.len() <= self.capacity(), "it could never run");
        let mut scheduled = Scheduled::new(self.limits.block_tokens, Retention::Removed);
        scheduled.sequence.extend(tokens);
        scheduled.request_rows(rows);
        scheduled.deadline = deadline;
        let id = self.next_id(priority);
        self.waiting.insert(id, scheduled);
        id
    }

    /// Sets the position from which on the tokens of a waiting sequence belong to the second of two segments.
    pub(crate) fn set_second_segment(&mut self, id: SequenceId, start: Option<usize>) {
        if let Some(scheduled) = self.waiting.get_mut(&id) {
            scheduled.sequence.set_second_segment(start);
        }
    }

    /// Removes a sequence in any state and releases its blocks; false when there is none.
    pub fn remove(&mut self, id: SequenceId) -> bool {
        let removed = self.running.remove(&id).or_else(|| self.waiting.remove(&id));
        let Some(mut scheduled) = removed.or_else(|| self.parked.remove(&id)) else {
            return false;
        };
        self.blocks.release(&mut scheduled);
        true
    }

    fn next_id(&mut self, priority: i32) -> SequenceId {
        let arrival = self.num_added;
        self.num_added += 1;
        let level = i64::from(priority.clamp(-MAX_PRIORITY, MAX_PRIORITY));
        let place = (arrival as i64).saturating_add(level * PRIORITY_PLACES);
        SequenceId { place, arrival }
    }

    /// Returns the plan of the next step, which is empty only if every sequence is parked, [held](Self::hold) or waits for a held one.
    /// Sequences whose deadline is not after `now` are removed.
    pub fn schedule(&mut self, now: Instant) -> Plan {
        let mut plan = Plan { expired: self.expire(now), ..Plan::default() };
        self.num_deferred = 0;
        self.plan_decodes(&mut plan);
        self.plan_prefills(&mut plan);
        self.plan_checkpoints(&mut plan);
        plan
    }

    /// Returns the tokens and blocks of a planned chunk, for the batch.
    ///
    /// **Panics** when its sequence has ended since.
    pub fn chunk(&self, chunk: &PlannedChunk) -> SequenceChunk<'_> {
        let next = self.running[&chunk.id].sequence.chunk(chunk.num_tokens);
        let logits = match chunk.num_rows {
            0 => LogitRows::None,
            1 => LogitRows::Last,
            all if all == chunk.num_tokens => LogitRows::All,
            num_rows => LogitRows::Tail(num_rows),
        };
        SequenceChunk { logits, ..next }
    }

    /// Uses the blocks within the windows of all running sequences, and returns the changes of such blocks to apply
    /// before `plan` is computed.
    pub fn take_window_updates(&mut self, plan: &Plan) -> Vec<WindowUpdate> {
        self.use_windows(plan);
        self.take_pending_window_updates()
    }

    /// Returns the changes of blocks within windows since the last call, when nothing is about to be computed.
    pub(crate) fn take_pending_window_updates(&mut self) -> Vec<WindowUpdate> {
        self.blocks.windows.take_updates()
    }

    fn use_windows(&mut self, plan: &Plan) {
        self.blocks.windows.begin_step();
        for (id, scheduled) in &self.running {
            let sequence = &scheduled.sequence;
            let chunk = plan.chunks.iter().find(|chunk| chunk.id == *id);
            let start = sequence.num_computed();
            let end = start + chunk.map_or(0, |chunk| chunk.num_tokens);
            self.blocks.windows.use_positions(sequence.block_table(), start..end);
        }
    }

    /// Returns the tokens of a running sequence.
    ///
    /// **Panics** when it has ended.
    pub fn tokens(&self, id: SequenceId) -> &[u32] {
        self.running[&id].sequence.tokens()
    }

    /// Removes the sequences whose deadline is not after `now`, and returns them.
    pub(crate) fn expire(&mut self, now: Instant) -> Vec<SequenceId> {
        let expired: Vec<_> = self
            .running
            .iter()
            .chain(&self.waiting)
            .filter(|(_, scheduled)| scheduled.deadline.is_some_and(|deadline| deadline <= now))
            .map(|(&id, _)| id)
            .collect();
        for &id in &expired {
            self.remove(id);
        }
        expired
    }
}
