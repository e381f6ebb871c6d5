//! What the engine's thread and its handles share, and the messages between them.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use tokio::sync::Semaphore;

use super::EngineOptions;
use crate::core::SequenceTask;
use crate::{GenerationCore, RowRequest};

/// What the engine's thread and its handles share.
pub(super) struct Shared {
    pub(super) core: GenerationCore,
    pub(super) options: EngineOptions,
    /// Places for requests that wait.
    pub(super) queue: Arc<Semaphore>,
    /// Identifies the engine's requests; held by each choice that has not ended, and here.
    pub(super) engine: Arc<()>,
    pub(super) is_draining: AtomicBool,
}

impl Shared {
    /// Whether every request that was submitted has ended.
    pub(super) fn is_idle(&self) -> bool {
        Arc::strong_count(&self.engine) == 1
    }
}

/// A message to the thread.
pub(super) enum Message {
    Submit(Submission),
    ShutDown,
}

/// A request that was checked.
pub(super) struct Submission {
    pub(super) prompt: Vec<u32>,
    pub(super) rows: RowRequest,
    pub(super) priority: i32,
    pub(super) deadline: Option<Instant>,
    /// One for each choice.
    pub(super) tasks: Vec<SequenceTask>,
}
