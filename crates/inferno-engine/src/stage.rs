//! The layers of a model on one device, with their caches.

use inferno_backend::{Backend, Batch, BlockId, KvBlockPart, StateSlot};
use inferno_model::{
    BatchLimits, CacheLayout, Model, ModelCache, StageOutput, StageRows, Workspace,
};

use crate::{EngineError, WindowUpdate};

/// A stage of a model: a batch and the residual stream of the stage before in, rows out.
pub(crate) trait Stage: Send {
    /// The part of the cache that belongs to the stage's layers.
    fn layout(&self) -> &CacheLayout;

    /// Descriptions of the devices.
    fn devices(&self) -> Vec<String>;

    /// Starts a pass through the layers; `residual` is that of the stage before, if there is one.
    fn submit(
        &mut self,
        batch: &Batch,
        residual: Option<&[f32]>,
        rows: StageRows,
    ) -> Result<(), EngineError>;

    /// Waits for the pass that was started last, and returns its rows.
    fn wait(&mut self) -> Result<StageOutput<'_>, EngineError>;

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
    model: Model<B>,
    cache: ModelCache<B>,
    workspace: Workspace<B>,
    layout: CacheLayout,
}

/// Allocates the cache and the buffers of a stage. `layout` is that of the whole model.
///
/// **Errors**: a cache format that does not fit the model, out of memory.
pub(crate) fn open<B: Backend>(
    model: Model<B>,
    layout: &CacheLayout,
    limits: BatchLimits,
    context_length: usize,
) -> Result<Box<dyn Stage>, EngineError> {
    let layout = model.spec().stage_cache(layout);
    let cache = ModelCache::new(&**model.backend(), &layout.kv, layout.state.as_ref())?;
    let workspace = model.workspace(limits)?.with_context_length(context_length);
    Ok(Box::new(ModelStage { model, cache, workspace, layout }))
}

impl<B: Backend> Stage for ModelStage<B> {
    fn layout(&self) -> &CacheLayout {
        &self.layout
    }

    fn devices(&self) -> Vec<String> {
        self.model.devices()
    }

    fn submit(
        &mut self,
        batch: &Batch,
        residual: Option<&[f32]>,
        rows: StageRows,
    ) -> Result<(), EngineError> {
        let Self { model, cache, workspace, .. } = self;
        Ok(model.submit(batch, residual, rows, cache, workspace)?)
    }

    fn wait(&mut self) -> Result<StageOutput<'_>, EngineError> {
        Ok(self.model.wait(&mut self.workspace)?)
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
