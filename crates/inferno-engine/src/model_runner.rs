//! A model on a concrete backend, with its KV cache and buffers.

use inferno_backend::{
    Backend, Batch, BlockId, KvBlockPart, KvDType, KvLayout, StateLayout, StateSlot,
};
use inferno_gguf::FileWatch;
use inferno_model::{BatchLimits, CacheLayout, CacheUse, Model, ModelCache, Workspace};

use crate::scheduler::max_num_drafting;
use crate::{EngineError, Fingerprint, Runner, WindowUpdate};

/// Configures a [`ModelRunner`].
#[derive(Debug, Clone, Copy)]
pub struct RunnerOptions {
    /// Maximum number of positions of a sequence; `None` for the model's own context length.
    pub context_length: Option<usize>,
    /// Positions in the KV cache, over all sequences, in whole blocks; `None` for those of one context.
    pub cache_tokens: Option<usize>,
    /// Format of the KV cache; `None` for the [default](inferno_model::ModelSpec::default_kv_dtype) of the model.
    pub kv_dtype: Option<KvDType>,
    /// The largest batch.
    pub limits: BatchLimits,
    /// Maximum number of sequences computed together; `None` for as many as a batch holds. Windows and recurrent states
    /// have memory for them.
    pub max_num_sequences: Option<usize>,
    /// Whether sequences resume from what earlier ones computed, for which checkpoints of recurrent states have memory.
    pub prefix_cache: bool,
    /// Whether tokens are drafted (speculative decoding), for which recurrent states have more memory. Without it, drafts
    /// use that of checkpoints.
    pub speculation: bool,
}

impl RunnerOptions {
    /// Maximum number of sequences computed together.
    pub fn num_sequences(&self) -> usize {
        let BatchLimits { max_num_tokens, max_num_logit_rows } = self.limits;
        let limit = max_num_logit_rows.min(max_num_tokens);
        self.max_num_sequences.map_or(limit, |number| number.min(limit))
    }

    /// What the cache is used for, if sequences have up to `context_length` positions.
    pub fn cache_use(&self, context_length: usize) -> CacheUse {
        CacheUse {
            num_tokens: self.cache_tokens.unwrap_or(context_length),
            dtype: self.kv_dtype,
            max_num_batched_tokens: self.limits.max_num_tokens,
            max_num_sequences: self.num_sequences(),
            max_num_drafting: match self.speculation {
                true => max_num_drafting(self.num_sequences()),
                false => 0,
            },
            prefix_cache: self.prefix_cache,
        }
    }
}

impl Default for RunnerOptions {
    fn default() -> Self {
        Self {
            context_length: None,
            cache_tokens: None,
            kv_dtype: None,
            // Small enough that a cancelled prompt of a small model stops within a second on two cores, large
            // enough that reading and unpacking the weights is a small part of a pass.
            limits: BatchLimits { max_num_tokens: 256, max_num_logit_rows: 1 },
            max_num_sequences: None,
            prefix_cache: true,
            speculation: false,
        }
    }
}

/// A loaded model, its KV cache and the buffers of a forward pass.
pub struct ModelRunner<B: Backend> {
    model: Model<B>,
    cache: ModelCache<B>,
    workspace: Workspace<B>,
    layout: CacheLayout,
    context_length: usize,
    limits: BatchLimits,
    max_num_sequences: usize,
    fingerprint: Fingerprint,
    watch: FileWatch,
}

impl<B: Backend> ModelRunner<B> {
    /// Allocates the KV cache and buffers of `model`. `fingerprint` is that of the file it was loaded from.
    ///
    /// **Errors**: [`EngineError::ContextTooLong`] when `options` exceed the model's context length; a cache
    /// format that does not fit the model; no memory.
    pub fn new(
        model: Model<B>,
        fingerprint: Fingerprint,
        options: RunnerOptions,
    ) -> Result<Self, EngineError> {
        let limit = model.spec().context_length;
        let context_length = options.context_length.unwrap_or(limit);
        if context_length == 0 || context_length > limit {
            return Err(EngineError::ContextTooLong { asked_for: context_length, limit });
        }
        let layout = model.spec().cache_layout(options.cache_use(context_length));
        let cache = ModelCache::new(&**model.backend(), &layout.kv, layout.state.as_ref())?;
        let workspace = model.workspace(options.limits)?.with_context_length(context_length);
        Ok(Self {
            fingerprint: fingerprint
                .with_kv_layout(&layout.kv)
                .with_long_rotary(model.has_long_rotary(context_length)),
            limits: options.limits,
            max_num_sequences: options.num_sequences(),
            model,
            cache,
            workspace,
            layout,
            context_length,
            watch: FileWatch::default(),
        })
    }

    /// Checks before each forward pass that the files of the model have not changed. Some weights, such as
    /// embeddings, are read from the mapped files.
    pub fn with_watch(mut self, watch: FileWatch) -> Self {
        self.watch = watch;
        self
    }

    /// Returns the model.
    pub fn model(&self) -> &Model<B> {
        &self.model
    }
}

impl<B: Backend> Runner for ModelRunner<B> {
    fn vocab_size(&self) -> usize {
        self.model.spec().vocab_size
    }

    fn hidden_size(&self) -> usize {
        self.model.spec().hidden_size
    }

    fn context_length(&self) -> usize {
        self.context_length
    }

    fn limits(&self) -> BatchLimits {
        self.limits
    }

    fn max_num_sequences(&self) -> usize {
        self.max_num_sequences.min(self.limits.max_num_tokens.saturating_sub(1).max(1))
    }

    fn kv_layout(&self) -> &KvLayout {
        &self.layout.kv
    }

    fn state_layout(&self) -> Option<&StateLayout> {
        self.layout.state.as_ref()
    }

    fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    fn run(&mut self, batch: &Batch) -> Result<&[f32], EngineError> {
        self.watch.check().map_err(EngineError::ModelFileChanged)?;
        Ok(self.model.forward(batch, &mut self.cache, &mut self.workspace)?)
    }

    fn run_hidden(&mut self, batch: &Batch) -> Result<&[f32], EngineError> {
        self.watch.check().map_err(EngineError::ModelFileChanged)?;
        Ok(self.model.forward_hidden(batch, &mut self.cache, &mut self.workspace)?)
    }

    fn update_windows(&mut self, updates: &[WindowUpdate]) {
        let (backend, cache) = (self.model.backend(), &mut self.cache.kv);
        for &update in updates {
            match update {
                WindowUpdate::Release(block) => backend.release_kv_window(cache, block),
                WindowUpdate::Move(from, to) => backend.move_kv_window(cache, from, to),
            }
        }
    }

    fn read_kv_block(
        &self,
        block: BlockId,
        part: KvBlockPart,
        bytes: &mut Vec<u8>,
    ) -> Result<(), EngineError> {
        Ok(self.model.backend().read_kv_block(&self.cache.kv, block, part, bytes)?)
    }

    fn write_kv_block(
        &mut self,
        block: BlockId,
        part: KvBlockPart,
        bytes: &[u8],
    ) -> Result<(), EngineError> {
        Ok(self.model.backend().write_kv_block(&mut self.cache.kv, block, part, bytes)?)
    }

    fn copy_state(&mut self, from: StateSlot, to: StateSlot) {
        if let Some(state) = &mut self.cache.state {
            self.model.backend().copy_state(state, from, to);
        }
    }

    fn read_state(&self, slot: StateSlot, bytes: &mut Vec<u8>) -> Result<(), EngineError> {
        match &self.cache.state {
            Some(state) => Ok(self.model.backend().read_state(state, slot, bytes)?),
            None => Ok(()),
        }
    }

    fn write_state(&mut self, slot: StateSlot, bytes: &[u8]) -> Result<(), EngineError> {
        match &mut self.cache.state {
            Some(state) => Ok(self.model.backend().write_state(state, slot, bytes)?),
            None => Ok(()),
        }
    }
}
