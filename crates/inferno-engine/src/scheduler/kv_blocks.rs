//! The blocks of the KV cache, between sequences and the prefix cache.
//!
//! Invariant: a block is free, or in the prefix cache (in use or not), or one sequence's own.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use inferno_backend::{BlockId, StateSlot};

use super::SchedulerLimits;
use super::checkpoints::ScheduledState;
use super::scheduled::{Retention, Scheduled};
use super::state_slots::StateSlots;
use crate::cache_events::{CacheEvent, CacheEventLog};
use crate::prefix_cache::{PrefixCache, PrefixNode};
use crate::window_blocks::WindowBlocks;
use crate::{BlockPool, Sequence};

/// How the blocks of the KV cache are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BlockUsage {
    /// Blocks in all.
    pub num_blocks: usize,
    /// Free blocks.
    pub num_free: usize,
    /// Blocks of the prefix cache that no sequence uses.
    pub num_cached: usize,
    /// Blocks that can hold keys and values of layers with a sliding window, if these are fewer; else 0.
    pub num_window_blocks: usize,
    /// Blocks that hold such keys and values.
    pub num_window_used: usize,
}

impl BlockUsage {
    /// Returns the number of blocks that sequences hold.
    pub fn num_in_use(&self) -> usize {
        self.num_blocks - self.num_free - self.num_cached
    }

    /// Adds the blocks of another cache.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            num_blocks: self.num_blocks + other.num_blocks,
            num_free: self.num_free + other.num_free,
            num_cached: self.num_cached + other.num_cached,
            num_window_blocks: self.num_window_blocks + other.num_window_blocks,
            num_window_used: self.num_window_used + other.num_window_used,
        }
    }
}

/// A block of the prefix cache.
#[derive(Debug)]
pub(crate) struct CachedBlock {
    /// The index of its parent, in the list that contains it.
    pub(crate) parent: Option<usize>,
    pub(crate) tokens: Arc<[u32]>,
    pub(crate) block: BlockId,
    /// Whether it holds keys and values of windowed layers, too.
    pub(crate) has_window: bool,
}

#[derive(Debug)]
pub(super) struct KvBlocks {
    num_blocks: usize,
    block_tokens: usize,
    pool: BlockPool,
    cache: PrefixCache,
    /// The changes of `cache`, if they are observed.
    events: Option<CacheEventLog>,
    pub(super) windows: WindowBlocks,
    /// Whether blocks are shared.
    shares: bool,
    pub(super) states: StateSlots,
}

impl KvBlocks {
    pub(super) fn new(limits: &SchedulerLimits) -> Self {
        let &SchedulerLimits { num_blocks, block_tokens, prefix_cache: shares, window, .. } =
            limits;
        let (pool, cache) = (BlockPool::new(num_blocks), PrefixCache::new(block_tokens));
        let states = StateSlots::new(limits.num_state_slots);
        let windows = WindowBlocks::new(window, block_tokens);
        Self { num_blocks, block_tokens, pool, cache, events: None, windows, shares, states }
    }

    pub(super) fn usage(&self) -> BlockUsage {
        BlockUsage {
            num_blocks: self.num_blocks,
            num_free: self.pool.num_free(),
            num_cached: self.cache.num_unused(),
            num_window_blocks: self.windows.capacity(),
            num_window_used: self.windows.num_used(),
        }
    }

    /// Returns the cached blocks at the start of `waiting`, up to the first token whose row is wanted, and the
    /// number of those that can be used: up to the last one with a checkpoint, if the model has a state.
    pub(super) fn cached_prefix(&self, waiting: &Scheduled) -> (Vec<PrefixNode>, usize) {
        let path = self.cache.lookup(waiting.sequence.tokens(), self.num_shareable(waiting));
        let num_usable = match self.states.are_needed() {
            true => path.iter().rposition(|&node| self.states.has_checkpoint(node)),
            false => path.len().checked_sub(1),
        };
        (path, num_usable.map_or(0, |last| last + 1))
    }

    /// Whether `running` will compute more of the blocks that `waiting` begins with than the `num_usable` first ones.
    /// If so, requests a checkpoint at their end.
    pub(super) fn will_checkpoint(
        &self,
        running: &mut Scheduled,
        num_usable: usize,
        waiting: &Scheduled,
    ) -> bool {
        let tokens = running.sequence.tokens();
        let common = tokens.iter().zip(waiting.sequence.tokens());
        let num_common = common.take_while(|(a, b)| a == b).count();
        let num_blocks = self.num_shareable(waiting).min(num_common / self.block_tokens);
        let position = num_blocks * self.block_tokens;
        let will_compute = num_blocks > num_usable && running.sequence.num_computed() < position;
        let is_kept = running.retention != Retention::ParkedUncomputed;
        if !self.shares || !is_kept || !will_compute {
            return false;
        }
        self.add_branch(running, num_blocks);
        true
    }

    /// Requests a checkpoint after the first `num_blocks` blocks of a sequence.
    pub(super) fn add_branch(&self, scheduled: &mut Scheduled, num_blocks: usize) {
        // The end of a prompt has a checkpoint anyway.
        if num_blocks < (scheduled.sequence.tokens().len() - 1) / self.block_tokens {
            scheduled.state.add_branch(num_blocks * self.block_tokens);
        }
    }

    /// The number of nodes of `path` after which the window of layers that have one is cached.
    pub(super) fn num_with_window(&self, path: &[PrefixNode]) -> usize {
        let num_computed = path.len() * self.block_tokens;
        let block = |index: usize| self.cache.block(path[index]);
        self.windows.num_usable(num_computed, block) / self.block_tokens
    }

    /// The number of positions of a sequence that did not run after which it can be continued.
    pub(super) fn num_continuable(&self, sequence: &Sequence) -> usize {
        let block = |index: usize| sequence.block_table()[index];
        self.windows.num_usable(sequence.num_computed(), block)
    }

    /// Rewinds a sequence that did not run to where it can be continued.
    pub(super) fn rewind_to_window(&mut self, scheduled: &mut Scheduled) {
        let num_computed = self.num_continuable(&scheduled.sequence);
        if num_computed < scheduled.sequence.num_computed() {
            self.rewind(scheduled, num_computed);
        }
    }

    /// Whether the first block after `path` that `waiting` needs is one that `running` will compute.
    pub(super) fn will_share(
        &self,
        running: &Scheduled,
        path: &[PrefixNode],
        waiting: &Scheduled,
    ) -> bool {
        let (depth, tokens) = (path.len(), waiting.sequence.tokens());
        let begins_alike = depth == 0 || running.path.get(depth - 1) == path.last();
        let next = depth * self.block_tokens..(depth + 1) * self.block_tokens;
        self.shares
            && running.retention != Retention::ParkedUncomputed
            && depth < self.num_shareable(waiting)
            && begins_alike
            && running.sequence.tokens().get(next.clone()) == Some(&tokens[next])
    }

    /// Assigns the blocks of `path` to a sequence that has none, and pins them.
    pub(super) fn adopt(&mut self, scheduled: &mut Scheduled, path: Vec<PrefixNode>) {
        self.cache.acquire(&path);
        scheduled.sequence.adopt(path.iter().map(|&node| self.cache.block(node)));
        scheduled.path = path;
    }

    /// How many more unused blocks there must be for `sequence` to have one for each of its tokens
    /// while `margin` others stay unused; 0 if it needs none.
    pub(super) fn num_missing(&self, sequence: &Sequence, margin: usize) -> usize {
        let num_blocks = sequence.tokens().len().div_ceil(self.block_tokens);
        match num_blocks.saturating_sub(sequence.block_table().len()) {
            0 => 0,
            num_needed => (num_needed + margin).saturating_sub(self.num_unused()),
        }
    }

    /// Number of blocks that `sequences` hold; shared ones count once.
    pub(super) fn num_held<'a>(&self, sequences: impl Iterator<Item = &'a Scheduled>) -> usize {
        let (mut num_own, mut shared) = (0, HashSet::new());
        for Scheduled { sequence, path, .. } in sequences {
            num_own += sequence.block_table().len() - path.len();
            // Who uses a node uses all nodes above it, which were counted with it.
            let _ = path.iter().rev().all(|&node| shared.insert(node));
        }
        num_own + shared.len()
    }

    /// Blocks that no sequence uses.
    fn num_unused(&self) -> usize {
        self.pool.num_free() + self.cache.num_unused()
    }

    /// Reserves blocks for all tokens of `sequence`, from the prefix cache if none is free; false, and
    /// none is reserved, when there are not enough.
    pub(super) fn reserve(&mut self, sequence: &mut Sequence) -> bool {
        self.reserve_until(sequence, sequence.tokens().len())
    }

    /// Reserves blocks as [`reserve`](Self::reserve) does, for the first `num_tokens` tokens.
    pub(super) fn reserve_until(&mut self, sequence: &mut Sequence, num_tokens: usize) -> bool {
        let num_blocks = num_tokens.div_ceil(self.block_tokens);
        let num_needed = num_blocks.saturating_sub(sequence.block_table().len());
        if num_needed > self.num_unused() {
            return false;
        }
        while self.pool.num_free() < num_needed {
            if !self.evict() {
                return false;
            }
        }
        sequence.reserve(num_tokens, &mut self.pool).is_ok()
    }

    /// Returns the blocks of the prefix cache, the most recently used first and none before its parent.
    pub(super) fn cached(&self) -> Vec<CachedBlock> {
        let nodes = self.cache.by_recency();
        let places: HashMap<_, _> = nodes.iter().zip(0usize..).collect();
        let block = |&node: &PrefixNode| CachedBlock {
            parent: self.cache.parent(node).map(|parent| places[&parent]),
            tokens: self.cache.tokens(node).into(),
            block: self.cache.block(node),
            has_window: self.windows.holds(self.cache.block(node)),
        };
        nodes.iter().map(block).collect()
    }

    /// Adds a block to the prefix cache that is to be filled with the keys and values of `tokens`, and uses
    /// it; returns no block if the cache has these tokens already. `None` if no block is free.
    pub(super) fn insert_cached(
        &mut self,
        parent: Option<PrefixNode>,
        tokens: &[u32],
    ) -> Option<(PrefixNode, Option<BlockId>)> {
        let block = self.pool.allocate()?;
        let (node, is_new) = self.insert(parent, tokens, block);
        if !is_new {
            self.pool.release(block);
        }
        Some((node, is_new.then_some(block)))
    }

    /// Releases blocks that were inserted, in that order. Unless they were all filled, every unused block is
    /// evicted.
    pub(super) fn release_inserted(&mut self, nodes: Vec<PrefixNode>, are_filled: bool) {
        for node in nodes.into_iter().rev() {
            self.cache.release(&[node]);
        }
        while !are_filled && self.evict() {}
    }

    /// Removes all unused blocks from the prefix cache, and their keys and values from the windows.
    pub(super) fn discard_cached(&mut self) {
        while self.evict() {}
        self.windows.release_all();
    }

    /// Begins to record the changes of the prefix cache, starting with its blocks.
    pub(super) fn record_cache_events(&mut self) {
        let log = self.events.insert(CacheEventLog::default());
        for node in self.cache.by_recency() {
            log.stored(self.cache.parent(node), node, self.cache.tokens(node));
        }
    }

    /// Returns the changes of the prefix cache since the last call; none if they are not recorded.
    pub(super) fn take_cache_events(&mut self) -> Vec<CacheEvent> {
        self.events.as_mut().map(CacheEventLog::take).unwrap_or_default()
    }

    /// Adds a block to the prefix cache, as [`PrefixCache::insert`] does.
    fn insert(
        &mut self,
        parent: Option<PrefixNode>,
        tokens: &[u32],
        block: BlockId,
    ) -> (PrefixNode, bool) {
        let (node, is_new) = self.cache.insert(parent, tokens, block);
        if is_new && let Some(log) = &mut self.events {
            log.stored(parent, node, tokens);
        }
        (node, is_new)
    }

    /// Removes a block from the prefix cache if nothing else uses it, as [`PrefixCache::withdraw`] does.
    fn withdraw(&mut self, node: PrefixNode) -> bool {
        let is_removed = self.cache.withdraw(node);
        if is_removed {
            self.record_removal(node);
        }
        is_removed
    }

    fn record_removal(&mut self, node: PrefixNode) {
        if let Some(log) = &mut self.events {
            log.removed(node);
        }
    }

    /// Frees the least recently used block of the prefix cache, and its checkpoint; false if all are in use.
    fn evict(&mut self) -> bool {
        let Some((node, block)) = self.cache.evict() else { return false };
        self.record_removal(node);
        self.states.detach(node);
        self.pool.release(block);
        true
    }

    /// The index of each checkpoint's block in [`cached`](Self::cached), and its slot.
    pub(super) fn cached_states(&self) -> Vec<(usize, StateSlot)> {
        let nodes = self.cache.by_recency();
        let states: HashMap<_, _> = self.states.checkpoints().collect();
        let slots = nodes.iter().map(|node| states.get(node).copied()).enumerate();
        slots.filter_map(|(place, slot)| slot.map(|slot| (place, slot))).collect()
    }

    /// Makes a slot the checkpoint of block `node`; the caller fills it. `None` if there is no slot, or it has one.
    pub(super) fn insert_state(&mut self, node: PrefixNode) -> Option<StateSlot> {
        let is_new = !self.states.has_checkpoint(node);
        let slot = is_new.then(|| self.states.allocate()).flatten()?;
        self.states.attach(node, slot);
        Some(slot)
    }

    /// How many more tokens of `sequence` find room in its blocks and in those that no sequence uses.
    pub(super) fn room(&self, sequence: &Sequence) -> usize {
        let num_blocks = sequence.block_table().len() + self.num_unused();
        num_blocks * self.block_tokens - sequence.tokens().len()
    }

    /// Removes the last `num_tokens` tokens of `sequence` and frees the blocks that only they needed.
    pub(super) fn drop_last(&mut self, sequence: &mut Sequence, num_tokens: usize) {
        sequence.truncate(sequence.tokens().len() - num_tokens, &mut self.pool);
    }

    /// Adds the whole blocks that are computed to the prefix cache. If it has one with the same tokens, that
    /// one replaces the sequence's own: it holds the same bits.
    pub(super) fn publish(&mut self, scheduled: &mut Scheduled) {
        let Scheduled { sequence, path, retention, .. } = scheduled;
        if !self.shares || *retention == Retention::ParkedUncomputed {
            return;
        }
        for index in path.len()..sequence.num_computed() / self.block_tokens {
            let start = index * self.block_tokens;
            let tokens = &sequence.tokens()[start..start + self.block_tokens];
            let own = sequence.block_table()[index];
            let (node, is_new) = self.insert(path.last().copied(), tokens, own);
            if !is_new {
                let shared = self.cache.block(node);
                sequence.replace_block(index, shared);
                self.windows.replace(own, shared);
                self.pool.release(own);
            }
            path.push(node);
        }
    }

    /// Releases all blocks of `scheduled` and its state, so that nothing of it is computed.
    pub(super) fn release(&mut self, scheduled: &mut Scheduled) {
        let ScheduledState { slot, next, .. } = std::mem::take(&mut scheduled.state);
        for slot in slot.into_iter().chain(next.map(|(_, slot)| slot)) {
            self.states.release(slot);
        }
        let path = std::mem::take(&mut scheduled.path);
        for block in scheduled.sequence.split_blocks(0).into_iter().skip(path.len()) {
            self.pool.release(block);
        }
        self.cache.release(&path);
    }

    /// Keeps at most the first `num_computed` positions of `scheduled` computed, so that those after
    /// them can be written. A shared block cannot be written: positions in it are computed again.
    ///
    /// A recurrent state cannot go back: everything is released, to resume from a checkpoint.
    pub(super) fn rewind(&mut self, scheduled: &mut Scheduled, num_computed: usize) {
        if self.states.are_needed() && num_computed < scheduled.sequence.num_computed() {
            return self.release(scheduled);
        }
        let Scheduled { sequence, path, .. } = scheduled;
        let num_whole = num_computed / self.block_tokens;
        if path.len() > num_whole {
            for block in sequence.split_blocks(path.len()) {
                self.pool.release(block);
            }
            let is_partial = !num_computed.is_multiple_of(self.block_tokens);
            for (index, node) in path.drain(num_whole..).enumerate().rev() {
                // The block of an only user becomes its own.
                let keeps = index == 0 && is_partial && self.withdraw(node);
                if !keeps {
                    sequence.split_blocks(num_whole + index);
                    self.cache.release(&[node]);
                }
            }
        }
        sequence.recompute_from(num_computed);
    }

    /// Truncates `scheduled` to its first `len` tokens and releases the blocks that only the others
    /// needed.
    pub(super) fn truncate(&mut self, scheduled: &mut Scheduled, len: usize) {
        if len == 0 {
            // Blocks and a state that were being restored are not computed yet.
            self.release(scheduled);
        } else if len < scheduled.sequence.num_computed() {
            self.rewind(scheduled, len);
        }
        scheduled.sequence.truncate(len, &mut self.pool);
        scheduled.state.recompute_end = scheduled.state.recompute_end.min(len);
    }

    /// Whole blocks before the first token whose row is wanted.
    fn num_shareable(&self, scheduled: &Scheduled) -> usize {
        match scheduled.retention {
            Retention::ParkedUncomputed => 0,
            Retention::Removed | Retention::Parked => scheduled.rows_from / self.block_tokens,
        }
    }
}
