//! The layout of what a model stores between passes: keys and values, and the state of recurrent layers.

use inferno_backend::{KvDType, KvLayout, KvWindow, StateLayout};

use crate::ModelSpec;

/// Memory for checkpoints of recurrent state.
const CHECKPOINT_BYTES: usize = 512 << 20;

/// The largest number of such checkpoints.
const MAX_NUM_CHECKPOINTS: usize = 1024;

/// The smallest number: that of one conversation.
const MIN_NUM_CHECKPOINTS: usize = 4;

/// What a cache is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheUse {
    /// Positions in the KV cache, over all sequences, in whole blocks.
    pub num_tokens: usize,
    /// Format of the KV cache; `None` for the [default](ModelSpec::default_kv_dtype).
    pub dtype: Option<KvDType>,
    /// Maximum number of tokens of a pass.
    pub max_num_batched_tokens: usize,
    /// Maximum number of sequences that are computed together.
    pub max_num_sequences: usize,
    /// Maximum number of sequences with drafts in a pass, which need another slot of recurrent state each.
    pub max_num_drafting: usize,
    /// Whether sequences resume from what earlier ones computed, which needs checkpoints of recurrent state.
    pub prefix_cache: bool,
}

/// The dimensions of a model's cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheLayout {
    /// Keys and values.
    pub kv: KvLayout,
    /// Recurrent state; `None` if the model has no recurrent layers.
    pub state: Option<StateLayout>,
}

impl ModelSpec {
    /// The dimensions of a cache. Layers with a sliding window have memory for the windows of all sequences and of
    /// one more, if that is less than the whole; recurrent layers have a slot for the state of each sequence, and
    /// others for the states before drafts and for checkpoints.
    pub fn cache_layout(&self, usage: CacheUse) -> CacheLayout {
        let dtype = usage.dtype.unwrap_or_else(|| self.default_kv_dtype());
        let kv = self.kv_layout(usage.num_tokens, dtype);
        match self.has_state() {
            true => CacheLayout { state: self.state_layout_for(usage, kv.num_blocks), kv },
            false => CacheLayout { kv: self.with_window(usage, kv), state: None },
        }
    }

    /// Whether sequences have a recurrent state.
    pub fn has_state(&self) -> bool {
        self.state_layout(0).is_some()
    }

    // Only without a recurrent state: a prompt would have to resume at a block with both a checkpoint and its window.
    fn with_window(&self, usage: CacheUse, layout: KvLayout) -> KvLayout {
        let CacheUse { max_num_sequences, max_num_batched_tokens, .. } = usage;
        let window = self.windows().flatten().max().map(|len| {
            let block_tokens = layout.block_tokens;
            KvWindow::for_sequences(len, block_tokens, max_num_sequences, max_num_batched_tokens)
        });
        KvLayout { window: window.filter(|window| window.num_blocks < layout.num_blocks), ..layout }
    }

    fn state_layout_for(&self, usage: CacheUse, num_blocks: usize) -> Option<StateLayout> {
        let slot_bytes = self.state_layout(1)?.slot_bytes().max(1);
        // Each checkpoint belongs to a block.
        let limit = MAX_NUM_CHECKPOINTS.min(num_blocks).max(MIN_NUM_CHECKPOINTS);
        let num_checkpoints = match usage.prefix_cache {
            true => (CHECKPOINT_BYTES / slot_bytes).clamp(MIN_NUM_CHECKPOINTS, limit),
            false => 0,
        };
        let numbers = [usage.max_num_sequences, usage.max_num_drafting, num_checkpoints];
        self.state_layout(numbers.into_iter().fold(0, usize::saturating_add))
    }
}
