//! A model on concrete devices, with its KV cache and buffers.

use std::sync::Arc;

use inferno_backend::{
    Backend, BackendError, Batch, BlockId, KvBlockPart, KvDType, KvLayout, StateLayout, StateSlot,
};
use inferno_gguf::FileWatch;
use inferno_model::{
    BatchLimits, CacheLayout, CacheUse, Model, ModelError, ModelSpec, PooledHead, StageRows,
};

use crate::scheduler::max_num_drafting;
use crate::stage::{self, OpenMessage, RemoteStage, Stage, StageAddresses, StageError};
use crate::{EngineError, Fingerprint, PassRows, Rows, Runner, WindowUpdate};

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
    /// Whether the hidden states of all tokens of a pass can be read, as a prediction head needs.
    pub captures_hidden: bool,
}

impl RunnerOptions {
    /// Maximum number of sequences computed together.
    pub fn num_sequences(&self) -> usize {
        let BatchLimits { max_num_tokens, max_num_logit_rows } = self.limits;
        let limit = max_num_logit_rows.min(max_num_tokens);
        self.max_num_sequences.map_or(limit, |number| number.min(limit))
    }

    /// The maximum number of positions of a sequence, and the dimensions of the cache.
    ///
    /// **Errors**: [`EngineError::ContextTooLong`]; a cache format that does not fit the model.
    pub(crate) fn layout(&self, spec: &ModelSpec) -> Result<(usize, CacheLayout), EngineError> {
        let limit = spec.context_length;
        let context_length = self.context_length.unwrap_or(limit);
        if context_length == 0 || context_length > limit {
            return Err(EngineError::ContextTooLong { asked_for: context_length, limit });
        }
        let layout = spec.cache_layout(self.cache_use(context_length));
        layout.kv.block_bytes()?;
        Ok((context_length, layout))
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
            captures_hidden: false,
        }
    }
}

/// A loaded model, its KV cache and the buffers of a forward pass, on one device or divided between several.
pub struct ModelRunner {
    stages: Vec<Box<dyn Stage>>,
    /// Rows on their way from one stage to the next.
    residual: Vec<f32>,
    /// Number of values of a whole row of the last pass.
    row_len: usize,
    vocab_size: usize,
    hidden_size: usize,
    layout: CacheLayout,
    context_length: usize,
    limits: BatchLimits,
    max_num_sequences: usize,
    fingerprint: Fingerprint,
    is_causal: bool,
    has_logits: bool,
    pooled_head: Arc<PooledHead>,
    watch: FileWatch,
    captures_hidden: bool,
    /// Whether it is a prediction head itself.
    reads_hidden: bool,
    prediction_head: Option<Box<dyn Runner>>,
}

impl ModelRunner {
    /// Allocates the KV cache and buffers of `model`. `fingerprint` is that of the file it was loaded from.
    ///
    /// **Errors**: [`EngineError::ContextTooLong`] when `options` exceed the model's context length; a cache
    /// format that does not fit the model; no memory.
    pub fn new<B: Backend>(
        model: Model<B>,
        fingerprint: Fingerprint,
        options: RunnerOptions,
    ) -> Result<Self, EngineError> {
        let spec = model.spec().clone();
        Self::divided(&spec, fingerprint, options)?.with_stage(model)
    }

    /// A runner of a model that is divided into [stages](ModelSpec::stage), which
    /// [`with_stage`](Self::with_stage) adds. `spec` is the description of the whole model.
    ///
    /// **Errors**: as [`new`](Self::new).
    pub fn divided(
        spec: &ModelSpec,
        fingerprint: Fingerprint,
        options: RunnerOptions,
    ) -> Result<Self, EngineError> {
        let (context_length, layout) = options.layout(spec)?;
        Ok(Self {
            stages: Vec::new(),
            residual: Vec::new(),
            row_len: spec.vocab_size,
            vocab_size: spec.vocab_size,
            hidden_size: spec.hidden_size,
            fingerprint: fingerprint.with_kv_layout(&layout.kv),
            limits: options.limits,
            max_num_sequences: options.num_sequences(),
            layout,
            context_length,
            is_causal: spec.is_causal,
            has_logits: spec.has_logits(),
            pooled_head: Arc::default(),
            watch: FileWatch::default(),
            captures_hidden: options.captures_hidden,
            reads_hidden: spec.is_prediction_head(),
            prediction_head: None,
        })
    }

    /// A runner of a model whose stages run in other processes, at these addresses. `spec` is the description of the whole
    /// model, and `fingerprint` that of its file.
    ///
    /// **Errors**: as [`new`](Self::new); a [`StageError`] if a stage cannot be reached or computes other layers.
    pub fn remote(
        spec: &ModelSpec,
        fingerprint: Fingerprint,
        options: RunnerOptions,
        addresses: &StageAddresses,
    ) -> Result<Self, EngineError> {
        let mut runner = Self::divided(spec, fingerprint, options)?;
        let mut num_layers = 0;
        for index in 0..addresses.len() {
            let message = OpenMessage::new(fingerprint, &options);
            let layout = &runner.layout;
            let stage = RemoteStage::open(addresses, index, message, spec, layout, num_layers)?;
            num_layers = stage.layers().end;
            runner = runner.with(Box::new(stage));
        }
        let expected = spec.num_layers();
        match num_layers == expected {
            true => Ok(runner),
            false => Err(StageError::MissingLayers { expected, found: num_layers }.into()),
        }
    }

    /// Adds the next stage, and allocates its part of the cache and its buffers.
    ///
    /// **Errors**: a cache format that does not fit the model; no memory.
    pub fn with_stage<B: Backend>(self, model: Model<B>) -> Result<Self, EngineError> {
        let Self { limits, context_length, captures_hidden, .. } = self;
        let model = Arc::new(model);
        let stage = stage::open(model, &self.layout, limits, context_length, captures_hidden)?;
        Ok(self.with(stage))
    }

    fn with(mut self, stage: Box<dyn Stage>) -> Self {
        if self.stages.is_empty() {
            self.fingerprint = self.fingerprint.with_long_rotary(stage.has_long_rotary());
        }
        self.stages.push(stage);
        self
    }

    /// Adds the prediction head of the model, which [`take_prediction_head`](Runner::take_prediction_head) returns.
    pub fn with_prediction_head(self, head: Option<Self>) -> Self {
        let prediction_head = head.map(|head| Box::new(head) as Box<dyn Runner>);
        Self { prediction_head, ..self }
    }

    /// Checks before each forward pass that the files of the model have not changed. Some weights, such as
    /// embeddings, are read from the mapped files.
    pub fn with_watch(mut self, watch: FileWatch) -> Self {
        self.watch = watch;
        self
    }

    /// Sets what follows the pooling of hidden states.
    pub fn with_pooled_head(mut self, head: PooledHead) -> Self {
        self.pooled_head = Arc::new(head);
        self
    }

    /// For each stage, the sizes of its layers without a window and of those with one in a part of a block.
    fn block_parts(&self, part: KvBlockPart) -> Result<Vec<[usize; 2]>, EngineError> {
        let sizes = self.stages.iter().map(|stage| {
            let layout = &stage.layout().kv;
            let unwindowed = KvBlockPart::Unwindowed.num_bytes(layout)?;
            Ok([unwindowed, part.num_bytes(layout)? - unwindowed])
        });
        sizes.collect()
    }
}

impl Runner for ModelRunner {
    fn vocab_size(&self) -> usize {
        self.vocab_size
    }

    fn hidden_size(&self) -> usize {
        self.hidden_size
    }

    fn is_causal(&self) -> bool {
        self.is_causal
    }

    fn has_logits(&self) -> bool {
        self.has_logits
    }

    fn pooled_head(&self) -> Arc<PooledHead> {
        Arc::clone(&self.pooled_head)
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

    fn devices(&self) -> Vec<String> {
        self.stages.iter().flat_map(|stage| stage.devices()).collect()
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

    /// Runs all stages but the last, which it starts.
    fn submit(&mut self, batch: &Batch, rows: PassRows) -> Result<(), EngineError> {
        self.watch.check().map_err(EngineError::ModelFileChanged)?;
        let (max, found) = (self.limits.max_num_logit_rows, batch.logit_rows().len());
        if rows != PassRows::Hidden && found > max {
            // Before a stage changes its cache.
            return Err(ModelError::BatchTooLarge { what: "logit rows", max, found }.into());
        }
        let Self { stages, residual, row_len, .. } = self;
        let (last, others) = stages.split_last_mut().expect("a runner has stages");
        let has_others = !others.is_empty();
        for (index, stage) in others.iter_mut().enumerate() {
            let input = (index > 0).then_some(&residual[..]);
            stage.submit(batch, input, StageRows::Residual)?;
            let output = stage.wait()?.into_values();
            residual.clear();
            residual.extend_from_slice(output);
        }
        *row_len = match rows {
            PassRows::Logits | PassRows::Candidates(_) => self.vocab_size,
            PassRows::Hidden => self.hidden_size,
        };
        last.submit(batch, has_others.then_some(&residual[..]), rows.into())
    }

    fn submit_after(
        &mut self,
        batch: &Batch,
        hidden: &[f32],
        rows: PassRows,
    ) -> Result<(), EngineError> {
        self.watch.check().map_err(EngineError::ModelFileChanged)?;
        let [stage] = &mut self.stages[..] else { return Err(EngineError::NoHiddenRows) };
        if !self.reads_hidden || hidden.len() != batch.num_tokens() * self.hidden_size {
            return Err(EngineError::NoHiddenRows);
        }
        self.row_len = self.vocab_size;
        stage.submit(batch, Some(hidden), rows.into())
    }

    fn reads_hidden_rows(&self) -> bool {
        self.reads_hidden
    }

    fn hidden_rows(&mut self) -> Result<&[f32], EngineError> {
        let last = self.stages.last_mut().expect("a runner has stages");
        last.hidden_rows()
    }

    fn take_prediction_head(&mut self) -> Option<Box<dyn Runner>> {
        self.prediction_head.take()
    }

    fn wait(&mut self) -> Result<Rows<'_>, EngineError> {
        let last = self.stages.last_mut().expect("a runner has stages");
        Ok(Rows::new(last.wait()?, self.row_len))
    }

    fn is_lost(&self) -> bool {
        self.stages.iter().any(|stage| stage.is_lost())
    }

    fn recover(&mut self) -> Result<bool, EngineError> {
        let mut has_recovered = true;
        for stage in &mut self.stages {
            has_recovered &= stage.recover()?;
        }
        Ok(has_recovered)
    }

    fn update_windows(&mut self, updates: &[WindowUpdate]) {
        self.stages.iter_mut().for_each(|stage| stage.update_windows(updates));
    }

    fn read_kv_block(
        &self,
        block: BlockId,
        part: KvBlockPart,
        bytes: &mut Vec<u8>,
    ) -> Result<(), EngineError> {
        if let [stage] = &self.stages[..] {
            return stage.read_kv_block(block, part, bytes);
        }
        let (mut windowed, mut whole) = (Vec::new(), Vec::new());
        for (stage, [num_unwindowed, _]) in self.stages.iter().zip(self.block_parts(part)?) {
            whole.clear();
            stage.read_kv_block(block, part, &mut whole)?;
            let (unwindowed, rest) = whole.split_at(num_unwindowed);
            bytes.extend_from_slice(unwindowed);
            windowed.extend_from_slice(rest);
        }
        bytes.append(&mut windowed);
        Ok(())
    }

    fn write_kv_block(
        &mut self,
        block: BlockId,
        part: KvBlockPart,
        bytes: &[u8],
    ) -> Result<(), EngineError> {
        if let [stage] = &mut self.stages[..] {
            return stage.write_kv_block(block, part, bytes);
        }
        let parts = self.block_parts(part)?;
        let expected = parts.iter().flatten().sum();
        if bytes.len() != expected {
            return Err(BackendError::KvBlockSize { expected, found: bytes.len() }.into());
        }
        let num_unwindowed = parts.iter().map(|[unwindowed, _]| unwindowed).sum();
        let (mut unwindowed, mut windowed) = bytes.split_at(num_unwindowed);
        for (stage, sizes) in self.stages.iter_mut().zip(parts) {
            let of_stage = [&mut unwindowed, &mut windowed].into_iter().zip(sizes);
            let of_stage: Vec<u8> = of_stage
                .flat_map(|(bytes, size)| bytes.split_off(..size).unwrap_or_default())
                .copied()
                .collect();
            stage.write_kv_block(block, part, &of_stage)?;
        }
        Ok(())
    }

    fn copy_state(&mut self, from: StateSlot, to: StateSlot) {
        self.stages.iter_mut().for_each(|stage| stage.copy_state(from, to));
    }

    fn read_state(&self, slot: StateSlot, bytes: &mut Vec<u8>) -> Result<(), EngineError> {
        self.stages.iter().try_for_each(|stage| stage.read_state(slot, bytes))
    }

    fn write_state(&mut self, slot: StateSlot, bytes: &[u8]) -> Result<(), EngineError> {
        let expected = self.layout.state.as_ref().map_or(0, StateLayout::slot_bytes);
        if bytes.len() != expected {
            return Err(BackendError::StateSize { expected, found: bytes.len() }.into());
        }
        let mut rest = bytes;
        for stage in &mut self.stages {
            let size = stage.layout().state.as_ref().map_or(0, StateLayout::slot_bytes);
            let of_stage = rest.split_off(..size).unwrap_or_default();
            stage.write_state(slot, of_stage)?;
        }
        Ok(())
    }
}
