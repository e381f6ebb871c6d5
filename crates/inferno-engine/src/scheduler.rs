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
//!   the step unless it was accepted.
//! - A session's sequence is parked between the tokens that its caller requests: it keeps its blocks
//!   until another sequence needs them, and is not computed.
//! - Computed whole blocks are added to the prefix cache at once, even while their sequence runs. A
//!   prompt that could share a block which another one is about to compute waits for it.

mod admission;
mod checkpoints;
mod held;
mod kv_blocks;
mod parking;
mod plan;
mod prefill;
mod row_request;
mod scheduled;
mod speculation;
mod state_slots;

use std::collections::BTreeMap;
use std::time::Instant;

use inferno_backend::{BlockId, KvBlockPart, KvWindow, LogitRows, SequenceChunk, StateSlot};

pub use kv_blocks::BlockUsage;
pub use plan::{Admission, Continuation, Plan, PlannedChunk};
pub use row_request::RowRequest;
pub use state_slots::StateUsage;

use crate::WindowUpdate;
use crate::prefix_cache::PrefixNode;
pub(crate) use kv_blocks::CachedBlock;
use kv_blocks::KvBlocks;
use scheduled::{Retention, Scheduled};
use speculation::MAX_SPECULATIVE_TOKENS;

/// Places in the queue that one level of priority is equivalent to.
const PRIORITY_PLACES: i64 = 64;

/// The highest level of priority that counts, and the lowest: each sequence is overtaken by a limited number of later
/// ones, however they are prioritized.
const MAX_PRIORITY: i32 = 16;

/// Configures a [`Scheduler`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchedulerLimits {
    /// Blocks of the KV cache.
    pub num_blocks: usize,
    /// Positions in a block.
    pub block_tokens: usize,
    /// Maximum number of sequences that run together.
    pub max_num_sequences: usize,
    /// Tokens per pass; at least `max_num_sequences`, so that prompts progress alongside decoding
    /// sequences.
    pub max_num_batched_tokens: usize,
    /// Rows of logits per pass; at least `max_num_sequences`.
    pub max_num_logit_rows: usize,
    /// Whether prompts reuse the blocks of earlier ones that begin with the same tokens.
    pub prefix_cache: bool,
    /// Slots of recurrent state; 0 if the model has no recurrent layers.
    pub num_state_slots: usize,
    /// The memory of layers with a sliding window, if it is limited: enough for all sequences that run together.
    pub window: Option<KvWindow>,
}

impl SchedulerLimits {
    /// Positions of the whole cache.
    fn capacity(&self) -> usize {
        self.num_blocks.saturating_mul(self.block_tokens)
    }
}

/// Identifies a sequence; lower ids are scheduled first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SequenceId {
    place: i64,
    arrival: u64,
}

/// Counters of a scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SchedulerCounts {
    /// Tokens of the prompts that were looked up in the prefix cache.
    pub prefix_queries: u64,
    /// Those of them that were found there.
    pub prefix_hits: u64,
    /// Number of times that a running sequence lost its blocks.
    pub preemptions: u64,
    /// Times that tokens were drafted for a sequence.
    pub drafts: u64,
    /// Tokens that were drafted.
    pub drafted_tokens: u64,
    /// Drafted tokens that were accepted.
    pub accepted_tokens: u64,
    /// Accepted tokens by their index in the draft.
    pub accepted_at: [u64; MAX_SPECULATIVE_TOKENS],
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
            all if all == chunk.num_tokens => LogitRows::All,
            _ => LogitRows::Last,
        };
        SequenceChunk { logits, ..next }
    }

    /// Uses the blocks within the windows of all running sequences, and returns the changes of such blocks to apply
    /// before `plan` is computed.
    pub fn take_window_updates(&mut self, plan: &Plan) -> Vec<WindowUpdate> {
        self.use_windows(plan);
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

    /// Records that `plan` was computed, and how each of its chunks continues, which counts if it ends
    /// with the sequence's last token. Chunks whose sequence no longer runs are ignored.
    ///
    /// **Panics** when there are more or fewer continuations than chunks, more drafts are accepted
    /// than there were, or a sequence outgrows the [`capacity`](Self::capacity).
    pub fn commit(&mut self, plan: &Plan, continuations: &[Continuation]) {
        assert_eq!(plan.chunks.len(), continuations.len(), "one for each chunk");
        for (chunk, &Continuation { num_accepted, next }) in plan.chunks.iter().zip(continuations) {
            let Some(scheduled) = self.running.get_mut(&chunk.id) else {
                continue;
            };
            scheduled.sequence.advance(chunk.num_tokens);
            if chunk.num_drafts > 0 {
                assert!(num_accepted <= chunk.num_drafts, "more are accepted than were drafted");
                self.blocks.drop_last(&mut scheduled.sequence, chunk.num_drafts - num_accepted);
                self.counts.accepted_tokens += num_accepted as u64;
                for count in self.counts.accepted_at.iter_mut().take(num_accepted) {
                    *count += 1;
                }
            }
            scheduled.rows_from = scheduled.rows_from.max(scheduled.sequence.num_computed());
            self.blocks.publish(scheduled);
            self.commit_checkpoint(chunk);
            let scheduled = &self.running[&chunk.id];
            if chunk.is_last && !scheduled.is_held {
                self.continue_with(chunk.id, next);
            }
        }
    }

    /// Extends a running or waiting sequence with its next token, or ends it.
    fn continue_with(&mut self, id: SequenceId, next: Option<u32>) {
        let found = self.running.get_mut(&id).or_else(|| self.waiting.get_mut(&id));
        let Some(scheduled) = found else { return };
        if let Some(token) = next {
            scheduled.sequence.extend(&[token]);
            let len = scheduled.sequence.tokens().len();
            assert!(len <= self.limits.capacity(), "a sequence outgrows the cache");
        }
        if scheduled.retention == Retention::ParkedUncomputed {
            self.blocks.rewind(scheduled, 0);
        }
        if next.is_none() || scheduled.retention != Retention::Removed {
            self.stop(id);
        }
    }

    /// Returns the blocks of the prefix cache, the most recently used first and none before its parent.
    pub(crate) fn cached_blocks(&self) -> Vec<CachedBlock> {
        self.blocks.cached()
    }

    /// Returns the checkpoints of the prefix cache: the index of each one's block in
    /// [`cached_blocks`](Self::cached_blocks), and its slot.
    pub(crate) fn cached_states(&self) -> Vec<(usize, StateSlot)> {
        self.blocks.cached_states()
    }

    /// Adds a checkpoint to a block of the prefix cache; the caller fills the slot. `None` if there is no slot, or the
    /// block has a checkpoint.
    pub(crate) fn insert_state(&mut self, node: PrefixNode) -> Option<StateSlot> {
        self.blocks.insert_state(node)
    }

    /// Adds a block to the prefix cache that the caller fills with the keys and values of `tokens`; returns no
    /// block if the cache has these tokens already. `None` if no block is free, or sharing is disabled.
    pub(crate) fn insert_cached(
        &mut self,
        parent: Option<PrefixNode>,
        tokens: &[u32],
    ) -> Option<(PrefixNode, Option<BlockId>)> {
        self.limits.prefix_cache.then(|| self.blocks.insert_cached(parent, tokens)).flatten()
    }

    /// Selects the part of an inserted block to fill: all of it, if `has_window` and there is memory left for its
    /// windowed layers.
    pub(crate) fn fill_inserted(&mut self, block: BlockId, has_window: bool) -> KvBlockPart {
        let windows = &mut self.blocks.windows;
        windows.release(block);
        if windows.is_limited() && (!has_window || windows.num_used() >= windows.capacity()) {
            return KvBlockPart::Unwindowed;
        }
        windows.use_block(block);
        KvBlockPart::All
    }

    /// Releases the blocks of [`insert_cached`](Self::insert_cached), in that order. Unless they were all
    /// filled, every unused block is evicted.
    pub(crate) fn release_inserted(&mut self, nodes: Vec<PrefixNode>, are_filled: bool) {
        self.blocks.release_inserted(nodes, are_filled);
    }

    fn expire(&mut self, now: Instant) -> Vec<SequenceId> {
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

    /// Plans one token for each sequence that has one to compute, with a block for it.
    fn plan_decodes(&mut self, plan: &mut Plan) {
        let decodes = self.running.iter().filter(|(_, scheduled)| scheduled.num_left() == 1);
        let decodes: Vec<_> = decodes.map(|(&id, _)| id).collect();
        for id in decodes {
            while let Some(scheduled) = self.running.get_mut(&id) {
                if self.blocks.reserve(&mut scheduled.sequence) {
                    plan.push(id, scheduled, 1, &self.limits);
                    break;
                }
                if !self.reclaim_idle() {
                    self.preempt_last(plan);
                }
            }
        }
    }

    /// Releases the blocks of the last running sequence in the order, which waits from then on.
    fn preempt_last(&mut self, plan: &mut Plan) {
        let Some((id, mut scheduled)) = self.running.pop_last() else {
            return;
        };
        self.blocks.release(&mut scheduled);
        self.waiting.insert(id, scheduled);
        self.counts.preemptions += 1;
        plan.preempted.push(id);
    }
}
