//! Slots of recurrent state, between sequences and checkpoints of the prefix cache.
//!
//! A checkpoint is the state after the tokens of a block of the prefix cache, and is found by that block. Prompts
//! resume from the last block that has one. Invariant: a slot is free, one sequence's, or one checkpoint.

use std::collections::HashMap;

use inferno_backend::StateSlot;

use crate::prefix_cache::PrefixNode;

/// How the slots of recurrent state are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StateUsage {
    /// Slots in all; 0 for models without recurrent layers.
    pub num_slots: usize,
    /// Free slots.
    pub num_free: usize,
    /// Checkpoints of the prefix cache.
    pub num_checkpoints: usize,
}

impl StateUsage {
    /// Adds the slots of another cache.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            num_slots: self.num_slots + other.num_slots,
            num_free: self.num_free + other.num_free,
            num_checkpoints: self.num_checkpoints + other.num_checkpoints,
        }
    }
}

/// All slots of a model with recurrent layers, or none.
#[derive(Debug)]
pub(super) struct StateSlots {
    num_slots: usize,
    free: Vec<StateSlot>,
    checkpoints: HashMap<PrefixNode, Checkpoint>,
    num_uses: u64,
}

#[derive(Debug)]
struct Checkpoint {
    slot: StateSlot,
    last_use: u64,
}

impl StateSlots {
    pub(super) fn new(num_slots: usize) -> Self {
        let end = u32::try_from(num_slots).expect("a slot has 32 bits");
        let free = (0..end).rev().map(StateSlot).collect();
        Self { num_slots, free, checkpoints: HashMap::new(), num_uses: 0 }
    }

    /// Whether sequences have a state.
    pub(super) fn are_needed(&self) -> bool {
        self.num_slots > 0
    }

    pub(super) fn usage(&self) -> StateUsage {
        StateUsage {
            num_slots: self.num_slots,
            num_free: self.free.len(),
            num_checkpoints: self.checkpoints.len(),
        }
    }

    /// Whether [`allocate`](Self::allocate) finds a slot.
    pub(super) fn can_allocate(&self) -> bool {
        !self.free.is_empty() || !self.checkpoints.is_empty()
    }

    /// Allocates a free slot, or that of the least recently used checkpoint.
    pub(super) fn allocate(&mut self) -> Option<StateSlot> {
        if let Some(slot) = self.free.pop() {
            return Some(slot);
        }
        let oldest = self.checkpoints.iter().min_by_key(|(_, checkpoint)| checkpoint.last_use);
        let node = oldest.map(|(&node, _)| node)?;
        self.checkpoints.remove(&node).map(|checkpoint| checkpoint.slot)
    }

    pub(super) fn release(&mut self, slot: StateSlot) {
        self.free.push(slot);
    }

    /// Whether block `node` has a checkpoint.
    pub(super) fn has_checkpoint(&self, node: PrefixNode) -> bool {
        self.checkpoints.contains_key(&node)
    }

    /// The checkpoint of block `node`, which becomes the most recently used one.
    pub(super) fn use_checkpoint(&mut self, node: PrefixNode) -> Option<StateSlot> {
        self.num_uses += 1;
        let checkpoint = self.checkpoints.get_mut(&node)?;
        checkpoint.last_use = self.num_uses;
        Some(checkpoint.slot)
    }

    /// Makes `slot` the checkpoint of block `node`. If it has one, that holds the same bits and stays.
    pub(super) fn attach(&mut self, node: PrefixNode, slot: StateSlot) {
        match self.use_checkpoint(node) {
            Some(_) => self.release(slot),
            None => {
                let checkpoint = Checkpoint { slot, last_use: self.num_uses };
                self.checkpoints.insert(node, checkpoint);
            }
        }
    }

    /// Removes the checkpoint of block `node`, if it has one.
    pub(super) fn detach(&mut self, node: PrefixNode) {
        if let Some(checkpoint) = self.checkpoints.remove(&node) {
            self.release(checkpoint.slot);
        }
    }

    /// Every checkpoint.
    pub(super) fn checkpoints(&self) -> impl Iterator<Item = (PrefixNode, StateSlot)> + '_ {
        self.checkpoints.iter().map(|(&node, checkpoint)| (node, checkpoint.slot))
    }
}
