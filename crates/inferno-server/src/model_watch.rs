//! Whether a model can still answer requests.

use inferno_engine::{EngineError, EngineHandle};
use inferno_gguf::FileWatch;

/// Notices failures that only a restart repairs: an engine that has stopped, a model file that was overwritten.
#[derive(Debug, Clone)]
pub struct ModelWatch {
    engine: EngineHandle,
    file: FileWatch,
}

impl ModelWatch {
    /// Watches an engine and the file of its model.
    pub fn new(engine: EngineHandle, file: FileWatch) -> Self {
        Self { engine, file }
    }

    /// Returns why no request can succeed any more: [`EngineError::EngineStopped`] or [`EngineError::ModelFileChanged`].
    pub fn failure(&self) -> Option<EngineError> {
        match self.engine.is_alive() {
            true => self.file.check().err().map(EngineError::ModelFileChanged),
            false => Some(EngineError::EngineStopped),
        }
    }

    /// Whether the engine accepts no more requests, since the server stops.
    pub fn is_draining(&self) -> bool {
        self.engine.is_draining()
    }
}
