//! The state of the engine, in numbers.

use crate::scheduler::{BlockUsage, SchedulerCounts};

/// What the engine does at one moment, and has done so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EngineSnapshot {
    /// Sequences that hold blocks.
    pub num_running: usize,
    /// Sequences that wait for blocks.
    pub num_waiting: usize,
    /// Where the blocks of the KV cache are.
    pub blocks: BlockUsage,
    /// Positions in a block.
    pub block_tokens: usize,
    /// What the scheduler has done.
    pub scheduler: SchedulerCounts,
    /// Forward passes.
    pub steps: u64,
    /// Forward passes that failed.
    pub failed_steps: u64,
    /// Tokens of the prompts that were begun.
    pub prompt_tokens: u64,
    /// Tokens that were sampled.
    pub generation_tokens: u64,
}

impl EngineSnapshot {
    /// The share of the KV cache that running sequences hold, from 0 to 1.
    pub fn kv_usage(&self) -> f64 {
        match self.blocks.num_blocks {
            0 => 0.0,
            num_blocks => self.blocks.num_in_use() as f64 / num_blocks as f64,
        }
    }
}
