//! What a scheduler is configured with, and what it counts.

use inferno_backend::KvWindow;

use super::speculation::MAX_SPECULATIVE_TOKENS;

/// Configures a [`Scheduler`](super::Scheduler).
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
    /// Whether each prompt is computed in one step, since its tokens attend in both directions. A step must hold the longest
    /// prompt.
    pub whole_prompts: bool,
    /// Slots of recurrent state; 0 if the model has no recurrent layers.
    pub num_state_slots: usize,
    /// The memory of layers with a sliding window, if it is limited: enough for all sequences that run together.
    pub window: Option<KvWindow>,
}

impl SchedulerLimits {
    /// Positions of the whole cache.
    pub(super) fn capacity(&self) -> usize {
        self.num_blocks.saturating_mul(self.block_tokens)
    }
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

impl SchedulerCounts {
    /// Adds the counters of another scheduler.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            prefix_queries: self.prefix_queries + other.prefix_queries,
            prefix_hits: self.prefix_hits + other.prefix_hits,
            preemptions: self.preemptions + other.preemptions,
            drafts: self.drafts + other.drafts,
            drafted_tokens: self.drafted_tokens + other.drafted_tokens,
            accepted_tokens: self.accepted_tokens + other.accepted_tokens,
            accepted_at: std::array::from_fn(|at| self.accepted_at[at] + other.accepted_at[at]),
        }
    }
}
