//! What the engine's threads and its handles share, and the messages between them.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use tokio::sync::Semaphore;

use super::EngineOptions;
use crate::core::SequenceTask;
use crate::{GenerationCore, RowRequest};

/// The share of the requests of the least busy lane, as a divisor, that another one may have in addition and still
/// receive the prompts whose beginning it may have cached.
const LOAD_TOLERANCE_DIVISOR: usize = 8;

/// What the engine's threads and its handles share.
pub(super) struct Shared {
    /// At least one.
    pub(super) lanes: Vec<Lane>,
    pub(super) options: EngineOptions,
    /// Places for requests that wait.
    pub(super) queue: Arc<Semaphore>,
    pub(super) is_draining: AtomicBool,
}

/// A core that the engine steps on a thread of its own.
pub(super) struct Lane {
    pub(super) core: GenerationCore,
    /// Identifies the engine's requests; held by each choice that has not ended, and here.
    pub(super) engine: Arc<()>,
}

impl Lane {
    pub(super) fn new(core: &GenerationCore) -> Self {
        Self { core: core.clone(), engine: Arc::new(()) }
    }

    /// Number of choices that have not ended.
    fn num_requests(&self) -> usize {
        Arc::strong_count(&self.engine) - 1
    }

    /// Whether every request that was submitted to it has ended.
    pub(super) fn is_idle(&self) -> bool {
        self.num_requests() == 0
    }
}

impl Shared {
    /// Returns the index of the lane for a prompt: one that depends on its first `block_tokens` tokens, since it may have
    /// cached them, unless another one is less busy.
    pub(super) fn lane_for(&self, prompt: &[u32], block_tokens: usize) -> usize {
        let loads = self.lanes.iter().map(Lane::num_requests);
        let (least_busy, least) = (0..).zip(loads).min_by_key(|&(_, load)| load).unwrap_or((0, 0));
        let mut hasher = DefaultHasher::new();
        prompt[..prompt.len().min(block_tokens)].hash(&mut hasher);
        let preferred = (hasher.finish() % self.lanes.len() as u64) as usize;
        let limit = least + least / LOAD_TOLERANCE_DIVISOR;
        if self.lanes[preferred].num_requests() <= limit { preferred } else { least_busy }
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
    pub(super) second_segment: Option<usize>,
    pub(super) rows: RowRequest,
    pub(super) priority: i32,
    pub(super) deadline: Option<Instant>,
    /// One for each choice.
    pub(super) tasks: Vec<SequenceTask>,
}
