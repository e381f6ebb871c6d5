//! Recording dispatches.

mod steps;

use std::collections::HashMap;
use std::mem;
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

use bytemuck::Pod;
use inferno_backend::BackendError;

use crate::adapter::AdapterKind;
use crate::backend::{GpuBackend, GpuCounters};
use crate::kernel::Variant;
use crate::memory::allocation::{Allocation, Binding};
use crate::pipelines::{PARAMS_BYTES, Pipelines};
use crate::timing::{StepWork, Timing};
use crate::tuning::Tuning;
use steps::{PAGE_DISPATCHES, Step, params_page};

/// Multiplications that a submission may have, unless a single operation has more: fractions of a second. Windows resets
/// devices that compute a submission for 2 seconds.
const MAX_MULTIPLICATIONS: f64 = 1e11;

/// Dispatches after which the first ones of a pass are started, so that the device does not wait until all are recorded.
/// Each further part has half more than the one before: while the device computes a part, the host must record the next
/// one, and submit it, which takes as long as several dispatches.
const FIRST_DISPATCHES: usize = 16;

/// Operations that are recorded, and started in parts, the last one by [`submit`](inferno_backend::Pass::submit).
#[derive(Debug)]
pub struct GpuPass<'a> {
    pub(crate) backend: &'a GpuBackend,
    memory: MutexGuard<'a, PassMemory>,
    /// The first error of an operation that cannot report one.
    error: Option<BackendError>,
}

/// State reused by later passes.
#[derive(Debug)]
pub(crate) struct PassMemory {
    pub(crate) tuning: Tuning,
    pipelines: Pipelines,
    steps: Vec<Step>,
    /// The parameters of all steps, [`PARAMS_BYTES`] each.
    params: Vec<u8>,
    /// Buffers for the parameters of [`PAGE_DISPATCHES`] steps each.
    pages: Vec<wgpu::Buffer>,
    scratch: HashMap<(&'static str, usize), Arc<Allocation>, foldhash::fast::RandomState>,
    weight_bytes: u64,
    /// Multiplications of the steps, about, and the number that starts another submission.
    multiplications: f64,
    max_multiplications: f64,
    /// Multiplications of the last operation that has reserved some.
    reserved_multiplications: f64,
    /// The numbers of the buffers that steps use, with repetitions.
    bound: Vec<u64>,
    /// Uploads of the current pass.
    num_uploads: usize,
    /// The number of steps that are started before the next one is recorded.
    max_steps: usize,
}

impl PassMemory {
    pub(crate) fn new(tuning: Tuning) -> Self {
        Self {
            tuning,
            pipelines: Pipelines::default(),
            steps: Vec::new(),
            params: Vec::new(),
            pages: Vec::new(),
            scratch: HashMap::default(),
            weight_bytes: 0,
            multiplications: 0.0,
            max_multiplications: MAX_MULTIPLICATIONS,
            reserved_multiplications: 0.0,
            bound: Vec::new(),
            num_uploads: 0,
            max_steps: usize::MAX,
        }
    }

    /// Removes the steps.
    fn clear(&mut self) {
        self.steps.clear();
        self.params.clear();
        self.bound.clear();
        self.weight_bytes = 0;
        self.multiplications = 0.0;
    }

    /// Bytes of scratch memory.
    pub(crate) fn scratch_bytes(&self) -> usize {
        self.scratch.values().map(|memory| memory.bytes() as usize).sum()
    }
}

impl<'a> GpuPass<'a> {
    pub(crate) fn new(backend: &'a GpuBackend) -> Self {
        let mut memory = backend.pass_memory();
        memory.clear();
        memory.num_uploads = 0;
        // A software device has no time to spare for the host.
        let is_software = backend.adapter().kind() == AdapterKind::Software;
        let is_timed = backend.timing.as_ref().is_some_and(Timing::is_on);
        memory.max_steps = if is_software || is_timed { usize::MAX } else { FIRST_DISPATCHES };
        memory.pipelines.evict(&backend.registry.take_dropped());
        Self { backend, memory, error: None }
    }

    /// Records a dispatch: `workgroups` are its dimensions, see [`fold`]. Nothing happens if one of them is zero.
    ///
    /// `params` has the layout of the shader's uniform. The bindings follow the order of the kernel's accesses.
    pub(crate) fn dispatch<'b>(
        &mut self,
        variant: impl Into<Variant>,
        bindings: impl AsRef<[Binding<'b>]>,
        params: &impl Pod,
        workgroups: [u32; 3],
    ) {
        let (variant, bindings) = (variant.into(), bindings.as_ref());
        debug_assert_eq!(bindings.len(), variant.kernel.access.len(), "{}", variant.label());
        if workgroups.contains(&0) {
            return;
        }
        if self.memory.steps.len() >= self.memory.max_steps && self.error.is_none() {
            match self.start() {
                Ok(()) => {
                    let max_steps = &mut self.memory.max_steps;
                    *max_steps = max_steps.saturating_add(max_steps.div_ceil(2));
                    // Those of this dispatch follow.
                    self.memory.multiplications = self.memory.reserved_multiplications;
                }
                Err(error) => self.fail(error),
            }
        }
        let device = &self.backend.device;
        let memory = &mut *self.memory;
        let page = memory.steps.len() / PAGE_DISPATCHES;
        if memory.pages.len() == page {
            match params_page(self.backend) {
                Ok(page) => memory.pages.push(page),
                Err(error) => return self.fail(error),
            }
        }
        let buffer = (page as u64, &memory.pages[page]);
        let (pipeline, bind_group) = match memory.pipelines.bind(device, &variant, buffer, bindings)
        {
            Ok(bound) => bound,
            Err(error) => return self.fail(error),
        };
        let bytes = bytemuck::bytes_of(params);
        assert!(bytes.len() <= PARAMS_BYTES, "{} bytes of parameters", bytes.len());
        memory.params.extend_from_slice(bytes);
        memory.bound.extend(bindings.iter().map(|binding| binding.key()[0]));
        let is_timed = self.backend.timing.as_ref().is_some_and(Timing::is_on);
        let label = is_timed.then(|| {
            let workgroups = workgroups.into_iter().map(u64::from).product::<u64>();
            let plural = if workgroups == 1 { "" } else { "s" };
            format!("{}, {workgroups} workgroup{plural}", variant.kernel.name.replace('_', " "))
        });
        let work = StepWork::default();
        memory.steps.push(Step { pipeline, bind_group, workgroups, label, work });
        memory.params.resize(memory.steps.len() * PARAMS_BYTES, 0);
    }

    /// The choices of divisions of products.
    pub(crate) fn tuning(&mut self) -> &mut Tuning {
        &mut self.memory.tuning
    }

    /// Runs the steps that `record` records before those of this pass, waits for them and returns their duration.
    ///
    /// **Errors**: those of `record`, [`BackendError::DeviceLost`].
    pub(crate) fn run_before(
        &mut self,
        record: impl FnOnce(&mut Self) -> Result<(), BackendError>,
    ) -> Result<Duration, BackendError> {
        let memory = &mut *self.memory;
        let (steps, params) = (mem::take(&mut memory.steps), mem::take(&mut memory.params));
        let (weight_bytes, earlier) = (memory.weight_bytes, self.error.take());
        let (bound, multiplications) = (mem::take(&mut memory.bound), memory.multiplications);
        let max_steps = mem::replace(&mut memory.max_steps, usize::MAX);
        let recorded = record(self);
        let recorded = recorded.and(self.error.take().map_or(Ok(()), Err));
        let started = Instant::now();
        let submitted = recorded.and_then(|()| self.backend.submit_steps(&self.memory));
        if submitted.is_ok() {
            self.backend.wait();
        }
        let duration = started.elapsed();
        let memory = &mut *self.memory;
        (memory.steps, memory.params, memory.weight_bytes) = (steps, params, weight_bytes);
        (memory.bound, memory.multiplications) = (bound, multiplications);
        memory.max_steps = max_steps;
        self.error = earlier;
        submitted.and_then(|()| self.backend.check()).map(|()| duration)
    }

    /// Starts the dispatches of this pass together, after the last one was recorded.
    pub(crate) fn start_together(&mut self) {
        self.memory.max_steps = usize::MAX;
    }

    /// Whether a dispatch of this pass that was not started reads or writes `allocation`.
    pub(crate) fn uses(&self, allocation: &Allocation) -> bool {
        self.memory.bound.contains(&allocation.id())
    }

    /// Scratch memory of at least `bytes` bytes for the purpose `what`, number `number`. Its contents are unspecified
    /// except that those of one operation remain until the next one that uses the same memory.
    ///
    /// **Errors**: [`BackendError::OutOfMemory`].
    pub(crate) fn scratch(
        &mut self,
        what: &'static str,
        number: usize,
        bytes: usize,
    ) -> Result<Arc<Allocation>, BackendError> {
        let known = self.memory.scratch.get(&(what, number));
        if let Some(memory) = known.filter(|memory| memory.bytes() >= bytes as u64) {
            return Ok(Arc::clone(memory));
        }
        let memory = Arc::new(self.backend.allocate(bytes, what)?);
        self.memory.scratch.insert((what, number), Arc::clone(&memory));
        Ok(memory)
    }

    /// Copies `bytes` to scratch memory that this pass does not use otherwise.
    ///
    /// **Errors**: [`BackendError::OutOfMemory`], [`BackendError::DeviceLost`].
    pub(crate) fn upload(&mut self, bytes: &[u8]) -> Result<Arc<Allocation>, BackendError> {
        let number = self.memory.num_uploads;
        self.memory.num_uploads += 1;
        let memory = self.scratch("uploads", number, bytes.len())?;
        self.backend.write(&memory, 0, bytes)?;
        Ok(memory)
    }

    /// Counts the multiplications of the next operation. Starts the operations before it if one submission would have too
    /// many.
    ///
    /// **Errors**: as [`start`](Self::start).
    pub(crate) fn reserve(&mut self, multiplications: f64) -> Result<(), BackendError> {
        let total = self.memory.multiplications + multiplications;
        if total > self.memory.max_multiplications {
            self.start()?;
        }
        self.memory.multiplications += multiplications;
        self.memory.reserved_multiplications = multiplications;
        Ok(())
    }

    /// Names the last dispatch in profiles, instead of its kernel.
    pub(crate) fn name_last(&mut self, name: impl FnOnce() -> String) {
        let steps = &mut self.memory.steps;
        if let Some(label) = steps.last_mut().and_then(|step| step.label.as_mut()) {
            *label = name();
        }
    }

    /// Counts what the last dispatches read and compute.
    pub(crate) fn count_work(&mut self, work: StepWork) {
        self.memory.weight_bytes += work.weight_bytes;
        if let Some(step) = self.memory.steps.last_mut() {
            step.work = work;
        }
    }

    /// Records an error that [`start`](Self::start) returns.
    pub(crate) fn fail(&mut self, error: BackendError) {
        self.error.get_or_insert(error);
    }

    /// Bound in place of a buffer that an operation does not have.
    pub(crate) fn placeholder(&self) -> Binding<'a> {
        (&self.backend.placeholder).into()
    }

    /// Binds a buffer, or the [placeholder](Self::placeholder).
    pub(crate) fn optional<'b, T>(&self, buffer: Option<&'b T>) -> Binding<'b>
    where
        'a: 'b,
        Binding<'b>: From<&'b T>,
    {
        buffer.map_or_else(|| self.placeholder(), Binding::from)
    }

    /// Starts the dispatches that were recorded since the last start.
    ///
    /// **Errors**: that of an operation, [`BackendError::OutOfMemory`], [`BackendError::DeviceLost`].
    pub(crate) fn start(&mut self) -> Result<(), BackendError> {
        let Self { backend, memory, error } = self;
        backend.check()?;
        error.take().or_else(|| backend.take_deferred()).map_or(Ok(()), Err)?;
        if memory.steps.is_empty() {
            return Ok(());
        }
        match backend.timing.as_ref().filter(|timing| timing.is_on()) {
            Some(timing) => backend.submit_timed(memory, timing)?,
            None => backend.submit_steps(memory)?,
        }
        backend.count(GpuCounters {
            dispatches: memory.steps.len() as u64 + 1,
            submissions: 1,
            weight_bytes: memory.weight_bytes,
            ..GpuCounters::default()
        });
        memory.clear();
        backend.health.check()
    }
}

impl GpuBackend {
    /// Releases the memory of buffers that were dropped, as a pass does when it begins. What was recorded and not started is
    /// discarded.
    pub fn release_dropped(&self) {
        drop(GpuPass::new(self));
        self.wait();
    }
}

/// Number of workgroups that every device accepts in one dimension.
pub(crate) const MAX_WORKGROUPS: usize = 65_535;

/// Dimensions of at least `count` workgroups. Shaders compute the number of theirs with the snippet `flat_index` and
/// ignore those from `count` on.
pub(crate) fn fold(count: usize) -> [u32; 3] {
    let y = count.div_ceil(MAX_WORKGROUPS);
    // Even rows of workgroups leave less than one row without work.
    let x = count.div_ceil(y.max(1));
    [x as u32, y as u32, u32::from(count > 0)]
}

#[cfg(test)]
mod tests {
    use inferno_backend::{Backend, DeviceMemory, Pass};
    use inferno_conformance::cases::{Random, bits, matrix, read};
    use inferno_tensor::DType;

    use crate::adapter;
    use crate::backend::GpuBackend;

    #[test]
    fn long_passes_are_several_submissions_with_the_same_results() {
        const ROWS: usize = 20;
        const COLS: usize = 64;
        const NUM_PRODUCTS: usize = 6;
        let Some(adapter) = adapter::for_tests() else { return };
        let backend = GpuBackend::new(adapter).expect("a device that can be opened");
        let mut random = Random::new(1);
        let weight = backend.load_weight(&[random.weight(DType::Q8_0, 1, COLS, COLS)]);
        let weight = weight.expect("memory");
        let x = matrix(&backend, ROWS, COLS, &random.values(ROWS * COLS));
        let mut out = backend.alloc(ROWS, COLS).expect("memory");
        let mut run = |max_multiplications: f64, max_steps: usize| {
            backend.pass_memory().max_multiplications = max_multiplications;
            let before = backend.counters().submissions;
            let mut pass = backend.begin();
            pass.memory.max_steps = max_steps;
            pass.linear(ROWS, &x, &weight, None, &mut out).expect("memory");
            for _ in 1..NUM_PRODUCTS {
                pass.linear_add(ROWS, &x, &weight, None, &mut out).expect("memory");
            }
            pass.submit().expect("a device that works");
            let values = bits(&read(&backend, &out, ROWS * COLS));
            (backend.counters().submissions - before, values)
        };
        let product = (ROWS * COLS * COLS) as f64;
        let (one, expected) = run(NUM_PRODUCTS as f64 * product, usize::MAX);
        assert_eq!(one, 1);
        assert_eq!(run(2.0 * product, usize::MAX), (3, expected.clone()));
        let (parts, values) = run(NUM_PRODUCTS as f64 * product, 1);
        assert!((3..=5).contains(&parts), "{parts} parts");
        assert_eq!(values, expected);
        assert_eq!(run(0.5 * product, usize::MAX), (6, expected), "an operation is not divided");
    }
}
