//! Which sequence computes how many tokens in the next forward pass.
//!
//! Pure and synchronous: [`schedule`](Scheduler::schedule) gives a plan, somebody runs it, and
//! [`commit`](Scheduler::commit) takes in what was sampled. Time comes in as an argument.
//!
//! - Sequences that decode are planned first, one token each, so that no prompt holds them up;
//!   prompts take what is left of the step's tokens, in chunks, and there is always something left.
//! - All sequences stand in one order: that of arrival, moved by the priority. Who comes earlier
//!   in it is never preempted for who comes later and, once it runs, waits for no later one's blocks;
//!   so the first always goes on, and each becomes the first in time. Nobody is put out to let an
//!   earlier one in.
//! - A prompt gets all its blocks when it is admitted, each further block when it decodes. Where
//!   none is left, the last sequence in the order gives up its blocks and is computed again later.
//! - A step in which every sequence decodes may include drafts of what follows; none of them outlives
//!   the step unless it was accepted.
//! - A session's sequence is parked between the tokens that its caller asks for: it keeps its blocks
//!   until another sequence needs them, and is not computed.
//! - Whole blocks that are computed go into the prefix cache at once, also while their sequence
//!   runs. A prompt that could share a block which another one is about to compute waits for it.

mod kv_blocks;
mod parking;
mod plan;
mod row_request;
mod scheduled;
mod speculation;

use std::collections::BTreeMap;
use std::ops::Bound;
use std::time::Instant;

use inferno_backend::{BlockId, LogitRows, SequenceChunk};

pub use kv_blocks::BlockUsage;
pub use plan::{Admission, Continuation, Plan, PlannedChunk};
pub use row_request::RowRequest;

use crate::prefix_cache::PrefixNode;
use kv_blocks::{CachedBlock, KvBlocks};
use scheduled::{Retention, Scheduled};
use speculation::MAX_SPECULATIVE_TOKENS;

/// How many places in the queue one level of priority is worth.
const PRIORITY_PLACES: i64 = 64;

/// How a [`Scheduler`] is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchedulerLimits {
    /// Blocks of the KV cache.
    pub num_blocks: usize,
    /// Positions in a block.
    pub block_tokens: usize,
    /// Sequences that run together.
    pub max_num_sequences: usize,
    /// Tokens of one pass; at least `max_num_sequences`, so that a prompt always progresses next to
    /// sequences that decode.
    pub max_num_batched_tokens: usize,
    /// RowRequest of logits of one pass; not fewer than `max_num_sequences`.
    pub max_num_logit_rows: usize,
    /// Whether prompts reuse the blocks of others that begin alike.
    pub prefix_cache: bool,
}

impl SchedulerLimits {
    /// Positions of the whole cache.
    fn capacity(&self) -> usize {
        self.num_blocks.saturating_mul(self.block_tokens)
    }
}

/// Identifies a sequence; the lesser goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SequenceId {
    place: i64,
    arrival: u64,
}

/// What the scheduler has done so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SchedulerCounts {
    /// Tokens of the prompts that were looked up in the prefix cache.
    pub prefix_queries: u64,
    /// Those of them that were found there.
    pub prefix_hits: u64,
    /// Sequences that gave up their blocks for others.
    pub preemptions: u64,
    /// Times that tokens were drafted for a sequence.
    pub drafts: u64,
    /// Tokens that were drafted.
    pub drafted_tokens: u64,
    /// Those of them that were accepted.
    pub accepted_tokens: u64,
    /// These by their place in the draft.
    pub accepted_at: [u64; MAX_SPECULATIVE_TOKENS],
}

/// All sequences, waiting and running, and the blocks that they hold.
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
    /// Sequences of sessions that nobody waits for.
    parked: BTreeMap<SequenceId, Scheduled>,
    num_added: u64,
    /// Sequences that were passed over in the last step, to share the blocks of one that runs.
    num_deferred: usize,
    counts: SchedulerCounts,
}

impl Scheduler {
    /// A scheduler without sequences, for a cache of which nothing is in use.
    ///
    /// **Panics** when a limit is 0, or `max_num_batched_tokens` or `max_num_logit_rows` is below
    /// `max_num_sequences`.
    pub fn new(limits: SchedulerLimits) -> Self {
        assert!(limits.num_blocks > 0 && limits.block_tokens > 0, "a cache holds something");
        assert!(limits.max_num_sequences > 0, "a sequence must run");
        assert!(limits.max_num_batched_tokens >= limits.max_num_sequences, "prompts must progress");
        assert!(limits.max_num_logit_rows >= limits.max_num_sequences, "all sample at once");
        Self {
            blocks: KvBlocks::new(limits.num_blocks, limits.block_tokens, limits.prefix_cache),
            limits,
            waiting: BTreeMap::new(),
            running: BTreeMap::new(),
            parked: BTreeMap::new(),
            num_added: 0,
            num_deferred: 0,
            counts: SchedulerCounts::default(),
        }
    }

    /// Tokens that a sequence may have computed at most.
    pub fn capacity(&self) -> usize {
        self.limits.capacity()
    }

    /// Sequences that wait for their first blocks, or again after they lost theirs.
    pub fn num_waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Those that were not let in at the last step because another one is about to compute blocks which
    /// they can share.
    pub fn num_deferred(&self) -> usize {
        self.num_deferred.min(self.waiting.len())
    }

    /// Sequences that hold blocks.
    pub fn num_running(&self) -> usize {
        self.running.len()
    }

    /// What has happened so far.
    pub fn counts(&self) -> SchedulerCounts {
        self.counts
    }

    /// Where the cache's blocks are.
    pub fn block_usage(&self) -> BlockUsage {
        self.blocks.usage()
    }

    /// The blocks of each sequence, from position 0 on.
    pub fn block_tables(&self) -> impl Iterator<Item = &[BlockId]> {
        let sequences = [&self.running, &self.waiting, &self.parked].into_iter().flatten();
        sequences.map(|(_, scheduled)| scheduled.sequence.block_table())
    }

    /// Adds a sequence to those that wait. A lower `priority` goes first: each level is worth a fixed
    /// number of places in the queue, so that in the end every sequence has its turn.
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
        let place = (arrival as i64).saturating_add(i64::from(priority) * PRIORITY_PLACES);
        SequenceId { place, arrival }
    }

    /// What to compute next; nothing only when there are no sequences. Those whose deadline is not
    /// after `now` end here.
    pub fn schedule(&mut self, now: Instant) -> Plan {
        let mut plan = Plan { expired: self.expire(now), ..Plan::default() };
        self.num_deferred = 0;
        self.plan_decodes(&mut plan);
        self.plan_prefills(&mut plan);
        if plan.preempted.is_empty() {
            self.admit(&mut plan);
        }
        plan
    }

    /// The tokens and blocks of a planned chunk, for the batch.
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

    /// The tokens of a running sequence.
    ///
    /// **Panics** when it has ended.
    pub fn tokens(&self, id: SequenceId) -> &[u32] {
        self.running[&id].sequence.tokens()
    }

    /// Notes that `plan` was computed, and how each of its chunks goes on, which counts where it
    /// ends with the sequence's last token. Sequences that were removed since the plan was made are
    /// passed over.
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
            if !chunk.is_last {
                continue;
            }
            if let Some(token) = next {
                scheduled.sequence.extend(&[token]);
                let len = scheduled.sequence.tokens().len();
                assert!(len <= self.limits.capacity(), "a sequence outgrows the cache");
            }
            if scheduled.retention == Retention::ParkedUncomputed {
                self.blocks.rewind(scheduled, 0);
            }
            if next.is_none() || scheduled.retention != Retention::Removed {
                self.stop(chunk.id);
            }
        }
    }

    /// What the prefix cache holds, the most recently used block first and none before its parent.
    pub(crate) fn cached_blocks(&self) -> Vec<CachedBlock> {
        self.blocks.cached()
    }

    /// Puts a block into the prefix cache that the caller fills with what is known of these tokens;
    /// without a block, where it has one with them. `None` where no block is free, or none is shared.
    pub(crate) fn take_in(
        &mut self,
        parent: Option<PrefixNode>,
        tokens: &[u32],
    ) -> Option<(PrefixNode, Option<BlockId>)> {
        self.limits.prefix_cache.then(|| self.blocks.take_in(parent, tokens)).flatten()
    }

    /// Ends what [`take_in`](Self::take_in) began, in that order. Unless all `is_sound`, nothing stays
    /// cached that is not in use.
    pub(crate) fn release_taken_in(&mut self, nodes: Vec<PrefixNode>, is_sound: bool) {
        self.blocks.release_taken_in(nodes, is_sound);
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

    /// One token for each sequence that has one to compute, with a block for it.
    fn plan_decodes(&mut self, plan: &mut Plan) {
        let decodes = self.running.iter().filter(|(_, scheduled)| scheduled.num_left() == 1);
        let decodes: Vec<_> = decodes.map(|(&id, _)| id).collect();
        for id in decodes {
            while let Some(scheduled) = self.running.get_mut(&id) {
                if self.blocks.reserve(&mut scheduled.sequence) {
                    plan.push(id, scheduled, &self.limits);
                    break;
                }
                if !self.reclaim_idle() {
                    self.preempt_last(plan);
                }
            }
        }
    }

    /// Chunks of the prompts that are being read.
    fn plan_prefills(&mut self, plan: &mut Plan) {
        for (&id, scheduled) in self.running.iter().filter(|(_, it)| it.num_left() > 1) {
            plan.push(id, scheduled, &self.limits);
        }
    }

    /// Lets sequences in while there is room, in their order. Nobody overtakes one that does not
    /// find enough blocks.
    fn admit(&mut self, plan: &mut Plan) {
        let mut last = None;
        while plan.num_tokens() < self.limits.max_num_batched_tokens
            && plan.num_logit_rows() < self.limits.max_num_logit_rows
            && self.running.len() < self.limits.max_num_sequences
        {
            let after = last.map_or(Bound::Unbounded, Bound::Excluded);
            let mut rest = self.waiting.range((after, Bound::Unbounded));
            let Some((&id, candidate)) = rest.next() else {
                break;
            };
            last = Some(id);
            let held_blocks = candidate.holds_blocks();
            let path = match held_blocks {
                true => Vec::new(),
                false => self.blocks.cached_prefix(candidate),
            };
            let is_shared = |running: &Scheduled| self.blocks.will_share(running, &path, candidate);
            if !held_blocks && plan.chunks.iter().any(|chunk| is_shared(&self.running[&chunk.id])) {
                self.num_deferred += 1;
                continue;
            }
            // Each running sequence may need a block soon; to take the last ones is to lose them.
            let Some(mut admitted) = self.waiting.remove(&id) else {
                break;
            };
            let num_cached = path.len() * self.limits.block_tokens;
            if !path.is_empty() {
                self.blocks.adopt(&mut admitted, path);
            }
            if !self.reserve_for_admission(&mut admitted) {
                if !held_blocks {
                    self.blocks.release(&mut admitted);
                }
                self.waiting.insert(id, admitted);
                break;
            }
            if !std::mem::replace(&mut admitted.was_admitted, true) {
                self.counts.prefix_queries += admitted.sequence.tokens().len() as u64;
                self.counts.prefix_hits += num_cached as u64;
                plan.admitted.push(Admission { id, num_cached_tokens: num_cached });
            }
            plan.push(id, &admitted, &self.limits);
            self.running.insert(id, admitted);
        }
    }

    /// Reserves blocks for all tokens of a sequence that is about to run, and leaves one for each that
    /// runs already; false, and nothing is reserved, if there are too few.
    fn reserve_for_admission(&mut self, admitted: &mut Scheduled) -> bool {
        let margin = self.running.len();
        let num_missing = self.blocks.num_missing(&admitted.sequence, margin);
        if num_missing > 0 && num_missing > self.num_idle_blocks() {
            return false;
        }
        while self.blocks.num_missing(&admitted.sequence, margin) > 0 {
            if !self.reclaim_idle() {
                return false;
            }
        }
        self.blocks.reserve(&mut admitted.sequence)
    }

    /// Takes the blocks of the last sequence in the order, and lets it wait.
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
