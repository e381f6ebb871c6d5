//! The layers of a model on one device, with their caches: in this process ([`ModelStage`]) or in another one
//! ([`RemoteStage`]), which serves it to any number of heads ([`StageServer`]).

mod addresses;
mod batch;
mod connection;
mod error;
mod lane;
mod message;
mod remote;
mod server;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use inferno_backend::{Backend, Batch, BlockId, KvBlockPart, StateSlot};
use inferno_model::{
    BatchLimits, CacheLayout, Model, ModelCache, StageOutput, StageRows, Workspace,
};

use crate::{EngineError, WindowUpdate};

pub use addresses::StageAddresses;
pub use connection::StageKey;
pub use error::StageError;
pub(crate) use message::OpenMessage;
pub(crate) use remote::RemoteStage;
pub use server::{StageModel, StageServer};

/// A stage of a model: a batch and the residual stream of the stage before in, rows out.
pub(crate) trait Stage: Send {
    /// The part of the cache that belongs to the stage's layers.
    fn layout(&self) -> &CacheLayout;

    /// Descriptions of the devices.
    fn devices(&self) -> Vec<String>;

    /// Whether keys are rotated by the frequencies for long contexts, as [`Model::has_long_rotary`] returns.
    fn has_long_rotary(&self) -> bool;

    /// Whether its process is lost, and with it the contents of its cache.
    fn is_lost(&self) -> bool {
        false
    }

    /// Tries to replace a lost process, as [`Runner::recover`](crate::Runner::recover) does.
    fn recover(&mut self) -> Result<bool, EngineError> {
        Ok(true)
    }

    /// Starts a pass through the layers; `residual` is that of the stage before, if there is one.
    fn submit(
        &mut self,
        batch: &Batch,
        residual: Option<&[f32]>,
        rows: StageRows,
    ) -> Result<(), EngineError>;

    /// Waits for the pass that was started last, and returns its rows.
    fn wait(&mut self) -> Result<StageOutput<'_>, EngineError>;

    /// Copies neighboring rows of logits of the last pass: `vocab_size` values of each.
    fn read_logits(&self, rows: Range<usize>) -> Result<Vec<f32>, EngineError>;

    /// Returns the hidden states of all tokens of the last pass; empty unless they are captured.
    fn hidden_rows(&mut self) -> Result<&[f32], EngineError> {
        Ok(&[])
    }

    fn update_windows(&mut self, updates: &[WindowUpdate]);

    fn read_kv_block(
        &self,
        block: BlockId,
        part: KvBlockPart,
        bytes: &mut Vec<u8>,
    ) -> Result<(), EngineError>;

    fn write_kv_block(
        &mut self,
        block: BlockId,
        part: KvBlockPart,
        bytes: &[u8],
    ) -> Result<(), EngineError>;

    fn copy_state(&mut self, from: StateSlot, to: StateSlot);

    fn read_state(&self, slot: StateSlot, bytes: &mut Vec<u8>) -> Result<(), EngineError>;

    fn write_state(&mut self, slot: StateSlot, bytes: &[u8]) -> Result<(), EngineError>;
}

/// A stage on a backend.
struct ModelStage<B: Backend> {
    model: Arc<Model<B>>,
    cache: ModelCache<B>,
    workspace: Workspace<B>,
    layout: CacheLayout,
    has_long_rotary: bool,
    /// Tokens of the last pass.
    num_tokens: usize,
}

/// Allocates the cache and the buffers of a stage. `layout` is that of the whole model. The last stage captures hidden states
/// if `captures_hidden` is set.
///
/// **Errors**: a cache format that does not fit the model, out of memory.
pub(crate) fn open<B: Backend>(
    model: Arc<Model<B>>,
    layout: &CacheLayout,
    limits: BatchLimits,
    context_length: usize,
    captures_hidden: bool,
) -> Result<Box<dyn Stage>, EngineError> {
    let layout = model.spec().stage_cache(layout);
    let cache = ModelCache::new(&**model.backend(), &layout.kv, layout.state.as_ref())?;
    let mut workspace = model.workspace(limits)?.with_context_length(context_length);
    if captures_hidden && model.spec().has_output() {
        workspace = workspace.with_hidden_rows(model.backend(), model.spec().hidden_size)?;
    }
    let has_long_rotary = model.has_long_rotary(context_length);
    let num_tokens = 0;
    Ok(Box::new(ModelStage { model, cache, workspace, layout, has_long_rotary, num_tokens }))
}

impl<B: Backend> Stage for ModelStage<B> {
    fn layout(&self) -> &CacheLayout {
        &self.layout
    }

    fn devices(&self) -> Vec<String> {
        self.model.devices()
    }

    fn has_long_rotary(&self) -> bool {
        self.has_long_rotary
    }

    fn submit(
        &mut self,
        batch: &Batch,
        residual: Option<&[f32]>,
        rows: StageRows,
    ) -> Result<(), EngineError> {
        let Self { model, cache, workspace, num_tokens, .. } = self;
        *num_tokens = batch.num_tokens();
        Ok(model.submit(batch, residual, rows, cache, workspace)?)
    }

    fn wait(&mut self) -> Result<StageOutput<'_>, EngineError> {
        Ok(self.model.wait(&mut self.workspace)?)
    }

    fn read_logits(&self, rows: Range<usize>) -> Result<Vec<f32>, EngineError> {
        Ok(self.model.read_logits(rows, &self.workspace)?)
    }

    fn hidden_rows(&mut self) -> Result<&[f32], EngineError> {
        Ok(self.model.hidden_rows(self.num_tokens, &mut self.workspace)?)
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
