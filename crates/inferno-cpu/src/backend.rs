//! The [`Backend`] of this crate: its settings and threads.

mod memory;
mod operations;

use std::sync::{Mutex, MutexGuard};

use inferno_backend::{Backend, BackendError};

use crate::executor::Executor;
use crate::isa::{Isa, Level};
use crate::memory::Arena;
use crate::ops::attention::AttentionWorkspace;
use crate::ops::candidates::CandidateWorkspace;
use crate::ops::workspace::ProductWorkspace;
use crate::threads::{self, ThreadPool, ThreadUsage};
pub use operations::CpuPass;

/// Settings of a [`CpuBackend`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuOptions {
    /// The instruction set (default: the fastest of this machine).
    pub isa: Option<Isa>,
    /// Number of threads (default: one per processor that is available to this process).
    pub threads: Option<usize>,
}

/// Computes on the CPU.
///
/// Results have the same bits with every number of threads, in every batch, and on every instruction set; except that
/// [`Isa::Amx`] adds products with weights of F16 and BF16 in another order.
///
/// A backend can be shared between threads, but passes run one at a time: they use the backend's thread pool and
/// scratch memory exclusively. To run computations in parallel, create one backend for each, with
/// a share of the processors.
pub struct CpuBackend {
    level: Level,
    pool: ThreadPool,
    populates_kv_cache: bool,
    /// Memory of weights.
    weights: Arena,
    /// Memory of activations: a product of many rows writes to as many pages at a time as it has rows.
    activations: Arena,
    workspace: Mutex<OperationMemory>,
}

/// Memory that operations keep between calls. It grows to what the largest batch needs, independently of the
/// lengths of its sequences.
#[derive(Debug)]
pub(crate) struct OperationMemory {
    product: ProductWorkspace,
    pub(crate) attention: AttentionWorkspace,
    candidates: CandidateWorkspace,
}

impl CpuBackend {
    /// Creates a backend with its own thread pool.
    ///
    /// **Errors**: [`BackendError::Unavailable`] if the machine or this build does not support the instruction
    /// set, or the threads cannot be started.
    pub fn new(options: CpuOptions) -> Result<Self, BackendError> {
        let level = Level::choose(options.isa)?;
        let available = || std::thread::available_parallelism().map_or(1, usize::from);
        let threads = options.threads.unwrap_or_else(available);
        let unavailable = |reason| BackendError::Unavailable {
            what: format!("a pool of {threads} threads"),
            reason,
        };
        if threads == 0 {
            return Err(unavailable("it needs at least one".to_owned()));
        }
        let pool = ThreadPool::new(threads).map_err(|error| unavailable(error.to_string()))?;
        let workspace = OperationMemory {
            product: ProductWorkspace::new(threads),
            attention: AttentionWorkspace::new(threads),
            candidates: CandidateWorkspace::default(),
        };
        Ok(Self {
            level,
            pool,
            populates_kv_cache: false,
            weights: Arena::default(),
            activations: Arena::default(),
            workspace: Mutex::new(workspace),
        })
    }

    /// Sets whether the first 512 MB of a KV cache use memory soon after it is allocated, rather than when they are written, so
    /// that first prompts do not wait for the system to provide it.
    #[must_use]
    pub fn with_populated_kv_cache(mut self, is_on: bool) -> Self {
        self.populates_kv_cache = is_on;
        self
    }

    /// The instruction set in use.
    pub fn isa(&self) -> Isa {
        self.level.isa()
    }

    /// Number of threads.
    pub fn num_threads(&self) -> usize {
        self.pool.num_threads()
    }

    /// Number of steps that ran on several threads since the backend was created. The threads synchronize
    /// between two of them.
    pub fn num_parallel_steps(&self) -> usize {
        self.pool.num_steps()
    }

    /// Starts or stops measuring [`usage`](Self::usage). Operations take slightly longer while it is measured.
    pub fn measure_usage(&self, is_on: bool) {
        self.pool.usage_meter().set_on(is_on);
    }

    /// What the threads did while it was [measured](Self::measure_usage).
    pub fn usage(&self) -> ThreadUsage {
        self.pool.usage_meter().usage()
    }

    /// Bytes of scratch memory that operations have allocated so far. They keep it for later calls.
    pub fn allocated_scratch_bytes(&self) -> usize {
        let workspace = self.workspace();
        let OperationMemory { product, attention, candidates } = &*workspace;
        product.num_bytes() + attention.num_bytes() + candidates.num_bytes()
    }

    pub(crate) fn executor(&self) -> Executor<'_> {
        Executor { level: self.level, pool: &self.pool }
    }

    /// Locks the memory of operations.
    pub(crate) fn workspace(&self) -> MutexGuard<'_, OperationMemory> {
        threads::lock(&self.workspace)
    }
}

impl std::fmt::Debug for CpuBackend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.describe())
    }
}
