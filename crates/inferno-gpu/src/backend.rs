//! The [`Backend`] of this crate: an open device.

use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use inferno_backend::{Backend, BackendError, Requirement};

use crate::adapter::GpuAdapter;
use crate::completion::Completion;
use crate::health::Health;
use crate::memory::allocation::{Allocation, Registry};
use crate::memory::routing;
use crate::memory::staging::Staging;
use crate::ops::attention;
use crate::ops::product::algorithm::Matrices;
use crate::options::GpuOptions;
use crate::pass::{GpuPass, PassMemory};
use crate::timing::Timing;
use crate::tuning::Tuning;

/// Computes on a GPU.
///
/// A backend can be shared between threads, but passes are recorded one at a time.
pub struct GpuBackend {
    adapter: GpuAdapter,
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    pub(crate) limits: wgpu::Limits,
    /// The cooperative matrices that products use.
    pub(crate) matrices: Option<Matrices>,
    pub(crate) health: Arc<Health>,
    pub(crate) completion: Completion,
    pub(crate) timing: Option<Timing>,
    pub(crate) registry: Arc<Registry>,
    /// Bound in place of buffers that an operation does not have.
    pub(crate) placeholder: Allocation,
    /// The codebooks of weights, once there is such a weight.
    pub(crate) codebooks: OnceLock<Arc<Allocation>>,
    /// Memory of the host that results are copied to.
    pub(crate) download: Mutex<Option<wgpu::Buffer>>,
    /// Uploads that were not submitted. Locked during a submission.
    pub(crate) staging: Mutex<Staging>,
    /// How long the last [wait](Self::wait) took that was not short, in nanoseconds.
    pub(crate) last_wait: AtomicU64,
    /// Bytes that were written to buffers since the last submission, about.
    pub(crate) unsubmitted_bytes: AtomicUsize,
    /// The error of an operation that cannot report it, for the next pass.
    deferred: Mutex<Option<BackendError>>,
    pass: Mutex<PassMemory>,
    counters: Counters,
}

/// What a backend has done since it was created.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GpuCounters {
    /// Kernels that were started.
    pub dispatches: u64,
    /// Submissions of passes, of which long ones have several.
    pub submissions: u64,
    /// Bytes of weights that kernels have read, counting each product once however many rows it has.
    pub weight_bytes: u64,
    /// Bytes that were copied to the host.
    pub downloaded_bytes: u64,
    /// Time from the submission of passes until the host knew of their completion. The device idles otherwise.
    pub busy: Duration,
}

#[derive(Debug, Default)]
struct Counters {
    dispatches: AtomicU64,
    submissions: AtomicU64,
    weight_bytes: AtomicU64,
    downloaded_bytes: AtomicU64,
    busy_nanoseconds: AtomicU64,
    /// When the first pass was submitted that is not known to be complete.
    submitted: Mutex<Option<Instant>>,
}

impl GpuBackend {
    /// Opens a device with the [options of the environment](GpuOptions::from_environment).
    ///
    /// **Errors**: [`BackendError::InvalidSetting`]; [`BackendError::Unavailable`] if the device cannot be opened or lacks
    /// what every kernel needs.
    pub fn new(adapter: &GpuAdapter) -> Result<Self, BackendError> {
        Self::with_options(adapter, GpuOptions::from_environment()?)
    }

    /// Opens a device. Cooperative matrices are used only if they pass a check.
    ///
    /// **Errors**: as [`new`](Self::new).
    pub fn with_options(adapter: &GpuAdapter, options: GpuOptions) -> Result<Self, BackendError> {
        let matrices = adapter.matrices().filter(|_| options.matrices);
        let tuning = || Tuning::new(adapter, &options);
        // A failed check may have lost the device.
        let backend =
            matrices.and_then(|matrices| Self::open(adapter, Some(matrices), tuning()).ok());
        match backend.filter(Self::multiplies_correctly) {
            Some(backend) => Ok(backend),
            None => Self::open(adapter, None, tuning()),
        }
    }

    fn open(
        adapter: &GpuAdapter,
        matrices: Option<Matrices>,
        tuning: Tuning,
    ) -> Result<Self, BackendError> {
        let (device, queue) = adapter.open(matrices.is_some())?;
        let health = Health::of(&device);
        let limits = device.limits();
        let registry = Arc::<Registry>::default();
        let placeholder = registry.register(device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("placeholder"),
            size: crate::pipelines::PARAMS_BYTES as u64,
            usage: wgpu::BufferUsages::STORAGE,
            mapped_at_creation: false,
        }));
        let completion = Completion::new(&device);
        let timing = Timing::new(&device, &queue);
        health.check()?;
        Ok(Self {
            adapter: adapter.clone(),
            device,
            queue,
            limits,
            matrices,
            health,
            completion,
            timing,
            registry,
            placeholder,
            codebooks: OnceLock::new(),
            download: Mutex::default(),
            staging: Mutex::default(),
            last_wait: AtomicU64::new(0),
            unsubmitted_bytes: AtomicUsize::new(0),
            deferred: Mutex::default(),
            pass: Mutex::new(PassMemory::new(tuning)),
            counters: Counters::default(),
        })
    }

    /// The adapter of the device.
    pub fn adapter(&self) -> &GpuAdapter {
        &self.adapter
    }

    /// Whether products use cooperative matrices, whose inputs are rounded to f16.
    pub fn has_matrices(&self) -> bool {
        self.matrices.is_some()
    }

    /// Whether the fastest of several kernels is measured when a product is first computed.
    pub fn is_tuning(&self) -> bool {
        self.pass_memory().tuning.is_enabled
    }

    /// What was done so far.
    pub fn counters(&self) -> GpuCounters {
        let Counters {
            dispatches,
            submissions,
            weight_bytes,
            downloaded_bytes,
            busy_nanoseconds,
            ..
        } = &self.counters;
        GpuCounters {
            busy: Duration::from_nanos(busy_nanoseconds.load(Ordering::Relaxed)),
            dispatches: dispatches.load(Ordering::Relaxed),
            submissions: submissions.load(Ordering::Relaxed),
            weight_bytes: weight_bytes.load(Ordering::Relaxed),
            downloaded_bytes: downloaded_bytes.load(Ordering::Relaxed),
        }
    }

    /// Bytes of scratch memory that operations have allocated so far. They keep it for later passes.
    pub fn allocated_scratch_bytes(&self) -> usize {
        self.pass_memory().scratch_bytes()
    }

    /// Returns the device's failure, if there was one. Nothing that it computes afterwards is valid.
    ///
    /// **Errors**: [`BackendError::DeviceLost`].
    pub fn check(&self) -> Result<(), BackendError> {
        self.health.check()
    }

    /// Returns the error of an upload that could not report it itself. The next pass would fail with it.
    ///
    /// **Errors**: that error.
    pub fn check_uploads(&self) -> Result<(), BackendError> {
        self.take_deferred().map_or(Ok(()), Err)
    }

    /// Makes the next pass fail with `error`.
    pub(crate) fn defer(&self, error: BackendError) {
        let mut deferred = self.deferred.lock().unwrap_or_else(PoisonError::into_inner);
        deferred.get_or_insert(error);
    }

    /// The error that the next pass has to report.
    pub(crate) fn take_deferred(&self) -> Option<BackendError> {
        self.deferred.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Counts what was done, except for its duration.
    pub(crate) fn count(&self, done: GpuCounters) {
        if done.submissions > 0 {
            self.submitted().get_or_insert_with(Instant::now);
        }
        self.counters.dispatches.fetch_add(done.dispatches, Ordering::Relaxed);
        self.counters.submissions.fetch_add(done.submissions, Ordering::Relaxed);
        self.counters.weight_bytes.fetch_add(done.weight_bytes, Ordering::Relaxed);
        self.counters.downloaded_bytes.fetch_add(done.downloaded_bytes, Ordering::Relaxed);
    }

    /// Counts the time since the first submission that was not known to be complete: all are complete.
    pub(crate) fn count_completion(&self) {
        if let Some(submitted) = self.submitted().take() {
            let nanoseconds = submitted.elapsed().as_nanos() as u64;
            self.counters.busy_nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
        }
    }

    fn submitted(&self) -> MutexGuard<'_, Option<Instant>> {
        self.counters.submitted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the memory of passes.
    pub(crate) fn pass_memory(&self) -> MutexGuard<'_, PassMemory> {
        self.pass.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Backend for GpuBackend {
    type Pass<'a> = GpuPass<'a>;

    fn describe(&self) -> String {
        format!("gpu ({}, {})", self.adapter.name(), self.adapter.api())
    }

    fn unsupported(&self, requirement: &Requirement<'_>) -> Option<String> {
        match requirement {
            Requirement::Attention(heads, dtype) => attention::unsupported(self, heads, *dtype),
            &Requirement::Experts(number) => routing::unsupported(number),
            Requirement::Weight(_)
            | Requirement::LinearAttention(_)
            | Requirement::SelectiveScan(_) => None,
        }
    }

    fn begin(&self) -> GpuPass<'_> {
        GpuPass::new(self)
    }
}

impl fmt::Debug for GpuBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe())
    }
}

#[cfg(test)]
mod tests {
    use inferno_backend::{
        BatchBuilder, BlockId, DeviceMemory, Function, LogitRows, Pass, SequenceChunk,
    };

    use super::*;
    use crate::adapter;
    use crate::kernel::Kernel;

    #[test]
    fn a_failed_allocation_fails_one_pass() {
        let Some(adapter) = adapter::for_tests() else { return };
        let mut backend = GpuBackend::new(adapter).expect("a device that can be opened");
        let mut x = backend.alloc(2, 4).expect("memory");
        let mut out = backend.alloc(1, 4).expect("memory");
        backend.upload(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], &mut x);
        let mut builder = BatchBuilder::new(16);
        let chunk = SequenceChunk {
            tokens: &[1, 2],
            start: 0,
            block_table: &[BlockId(0)],
            logits: LogitRows::Last,
            second_segment: None,
        };
        builder.push(&chunk).expect("a block");
        let (built, mut batch) = (builder.build(), backend.alloc_batch());
        let mut gather = |backend: &GpuBackend| {
            backend.upload_batch(&built, &mut batch);
            let mut pass = backend.begin();
            pass.gather_logit_rows(&batch, &x, &mut out);
            pass.submit()?;
            backend.download(&out, 0..4, &mut Vec::new()).map(<[f32]>::to_vec)
        };
        let largest = std::mem::replace(&mut backend.limits.max_buffer_size, 64);
        let failed = gather(&backend);
        assert!(matches!(failed, Err(BackendError::OutOfMemory { .. })), "{failed:?}");
        backend.limits.max_buffer_size = largest;
        assert_eq!(gather(&backend).expect("memory"), [5.0, 6.0, 7.0, 8.0]);
        backend.check().expect("nothing else failed");
    }

    #[test]
    fn a_kernel_that_cannot_be_compiled_fails_one_pass() {
        static BROKEN: Kernel = Kernel {
            name: "broken",
            source: "@compute @workgroup_size(1) fn main() { undefined(); }",
            snippets: &[],
            access: &[],
            extensions: &[],
        };
        let Some(adapter) = adapter::for_tests() else { return };
        let backend = GpuBackend::new(adapter).expect("a device that can be opened");
        for _ in 0..2 {
            let mut pass = backend.begin();
            pass.dispatch(&BROKEN, [], &[0_u32], [1, 1, 1]);
            let failure = pass.submit();
            assert!(matches!(failure, Err(BackendError::Kernel { .. })), "{failure:?}");
        }
        let mut x = backend.alloc(1, 2).expect("memory");
        let mut pass = backend.begin();
        pass.apply(1, Function::Silu, &mut x);
        pass.submit().expect("a device that works");
        backend.check().expect("nothing else failed");
    }

    #[test]
    fn a_device_that_does_not_complete_its_work_is_lost() {
        let Some(adapter) = adapter::for_tests() else { return };
        let backend = GpuBackend::new(adapter).expect("a device that can be opened");
        let mut x = backend.alloc(1 << 10, 1 << 12).expect("memory");
        let mut pass = backend.begin();
        for _ in 0..20 {
            pass.apply(1 << 10, Function::Gelu, &mut x);
        }
        pass.submit().expect("a device that works");
        backend.wait_at_most(Some(Duration::from_nanos(1)));
        let failure = backend.check();
        assert!(matches!(failure, Err(BackendError::DeviceLost { .. })), "{failure:?}");
        // The test ends once the work has.
        backend.wait_at_most(None);
    }

    #[test]
    fn a_lost_device_fails_passes_and_downloads() {
        let Some(adapter) = adapter::for_tests() else { return };
        let backend = GpuBackend::new(adapter).expect("a device that can be opened");
        let mut x = backend.alloc(3, 4).expect("memory");
        backend.upload(&[1.0; 12], &mut x);
        let run = |x: &mut _| {
            let mut pass = backend.begin();
            pass.apply(3, Function::Silu, x);
            pass.submit()
        };
        run(&mut x).expect("a device that works");
        backend.device.destroy();
        let failure =
            run(&mut x).and_then(|()| backend.download(&x, 0..12, &mut Vec::new()).map(|_| ()));
        assert!(matches!(failure, Err(BackendError::DeviceLost { .. })), "{failure:?}");
        assert!(matches!(run(&mut x), Err(BackendError::DeviceLost { .. })));
        assert!(matches!(backend.check(), Err(BackendError::DeviceLost { .. })));
        // Neither allocations nor uploads panic.
        if let Ok(mut other) = backend.alloc(2, 2) {
            backend.upload(&[1.0; 4], &mut other);
        }
    }

    #[test]
    fn a_submission_that_did_not_run_loses_the_device() {
        let Some(adapter) = adapter::for_tests() else { return };
        let backend = GpuBackend::new(adapter).expect("a device that can be opened");
        let mut x = backend.alloc(1, 2).expect("memory");
        backend.upload(&[1.0, 2.0], &mut x);
        let mut download = || {
            let mut pass = backend.begin();
            pass.apply(1, Function::Scale { factor: 2.0 }, &mut x);
            pass.submit()?;
            backend.download(&x, 0..2, &mut Vec::new()).map(<[f32]>::to_vec)
        };
        for factor in [2.0, 4.0] {
            assert_eq!(download().expect("a device that works"), [factor, 2.0 * factor]);
        }
        // Commands without the dispatch that counts them, as if they had been aborted.
        backend.submit_commands(|_| ());
        let failure = download();
        assert!(matches!(failure, Err(BackendError::DeviceLost { .. })), "{failure:?}");
        assert!(matches!(backend.check(), Err(BackendError::DeviceLost { .. })));
    }

    #[test]
    fn more_memory_than_the_device_has_is_an_error() {
        let Some(adapter) = adapter::for_tests() else { return };
        let backend = GpuBackend::new(adapter).expect("a device that can be opened");
        for (rows, cols) in [(1 << 40, 1 << 20), (1 << 20, 1 << 20), (usize::MAX, 2)] {
            let failure = backend.alloc(rows, cols).err();
            assert!(matches!(failure, Some(BackendError::OutOfMemory { .. })), "{failure:?}");
        }
        backend.check().expect("the device works");
    }
}
