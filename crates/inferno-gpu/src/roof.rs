//! The peak rates of a device, which a forward pass is compared with.
//!
//! Reads and copies are timed by sweeps over a buffer that is larger than the caches, arithmetic by loops that keep their
//! sums in registers. All times are those of the host, from a submission to its completion, over enough repetitions that
//! the overhead of a submission does not matter.

use std::time::Instant;

use bytemuck::{Pod, Zeroable};
use inferno_backend::{Backend, BackendError, Pass};

use crate::backend::GpuBackend;
use crate::kernel::{Variant, kernel, snippets};
use crate::memory::allocation::Allocation;
use crate::ops::LANES;
use crate::pass::{GpuPass, fold};

kernel!(SWEEP, "sweep", [snippets::FLAT_INDEX], [Read, ReadWrite]);
kernel!(PEAK, "peak", [], [ReadWrite]);
kernel!(MATRIX_PEAK, "peak", [], [ReadWrite], ["f16", "wgpu_cooperative_matrix"]);

/// Each rate is the best of this many tries, of about this many seconds each.
const TRIES: usize = 5;
const TRY_SECONDS: f64 = 0.02;

/// Maximum size of a sweep, in bytes.
const MAX_SWEEP_BYTES: u64 = 1 << 30;

/// Independent sums of a thread or subgroup.
const CHAINS: u32 = 8;

/// Workgroups of an arithmetic kernel: several for each core of any device.
const WORKGROUPS: u32 = 1024;

/// The peak rates of a GPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GpuRoofs {
    /// Size of the memory that was read, in bytes. The read rate is that of memory if this exceeds the caches.
    pub sweep_bytes: usize,
    /// Bytes read per second.
    pub read_bytes_per_second: f64,
    /// Bytes read and written per second by a copy.
    pub copy_bytes_per_second: f64,
    /// Multiplications and additions in single precision per second.
    pub f32_ops_per_second: f64,
    /// Multiplications and additions of packed 8-bit integers per second.
    pub dot_ops_per_second: f64,
    /// Multiplications and additions of cooperative matrices of f16, summed in f32, per second; `None` if products do not
    /// use them.
    pub matrix_ops_per_second: Option<f64>,
    /// Time to submit a small kernel and to wait for it, in seconds.
    pub step_seconds: f64,
}

/// The arithmetic that is measured, see `shaders/peak.wgsl`.
#[derive(Debug, Clone, Copy)]
enum Arithmetic {
    MultiplyAdd,
    Dot,
    Matrix { size: u32, subgroup: u32 },
}

impl Arithmetic {
    fn variant(self) -> Variant {
        let (kernel, kind, size) = match self {
            Self::MultiplyAdd => (&PEAK, 0, 1),
            Self::Dot => (&PEAK, 1, 1),
            Self::Matrix { size, .. } => (&MATRIX_PEAK, 2, size),
        };
        let variant = Variant::with_lanes(kernel).with("KIND", kind);
        variant.with("CHAINS", CHAINS).with("M", size)
    }

    /// Operations of a workgroup per iteration and chain.
    fn operations(self) -> f64 {
        let operations = match self {
            // Vectors of four.
            Self::MultiplyAdd | Self::Dot => LANES * 4 * 2,
            Self::Matrix { size, subgroup } => LANES / subgroup * size.pow(3) * 2,
        };
        operations.into()
    }
}

#[cfg(test)]
pub(crate) fn variants() -> Vec<Variant> {
    let matrices = [(16, 32), (8, 8)].map(|(size, subgroup)| Arithmetic::Matrix { size, subgroup });
    let kinds = [Arithmetic::MultiplyAdd, Arithmetic::Dot].into_iter().chain(matrices);
    kinds.map(Arithmetic::variant).chain([sweep_variant(false), sweep_variant(true)]).collect()
}

fn sweep_variant(is_copy: bool) -> Variant {
    Variant::with_lanes(&SWEEP).with("IS_COPY", is_copy.into())
}

impl GpuBackend {
    /// Measures the peak rates, with sweeps over about `sweep_bytes` of memory, less if the device cannot bind as much.
    ///
    /// **Errors**: [`BackendError::OutOfMemory`], [`BackendError::DeviceLost`].
    pub fn measure_roofs(&self, sweep_bytes: usize) -> Result<GpuRoofs, BackendError> {
        let limit = self.limits.max_storage_buffer_binding_size.min(MAX_SWEEP_BYTES);
        let sweep_bytes = sweep_bytes.min(usize::try_from(limit).unwrap_or(usize::MAX));
        let source = self.allocate(sweep_bytes, "bandwidth measurement")?;
        let destination = self.allocate(sweep_bytes, "bandwidth measurement")?;
        let sweep = |is_copy: bool| {
            let bytes = sweep_bytes as f64 * if is_copy { 2.0 } else { 1.0 };
            let record = |pass: &mut GpuPass<'_>| sweep(pass, [&source, &destination], is_copy);
            Ok::<_, BackendError>(bytes / self.seconds(&record)?)
        };
        let matrix = self.matrices.map(|matrices| Arithmetic::Matrix {
            size: matrices.size,
            subgroup: matrices.subgroup,
        });
        Ok(GpuRoofs {
            sweep_bytes,
            read_bytes_per_second: sweep(false)?,
            copy_bytes_per_second: sweep(true)?,
            f32_ops_per_second: self.arithmetic_rate(Arithmetic::MultiplyAdd, &destination)?,
            dot_ops_per_second: self.arithmetic_rate(Arithmetic::Dot, &destination)?,
            matrix_ops_per_second: matrix
                .map(|matrix| self.arithmetic_rate(matrix, &destination))
                .transpose()?,
            step_seconds: self.step_seconds(&destination)?,
        })
    }

    /// Operations per second.
    fn arithmetic_rate(&self, kind: Arithmetic, out: &Allocation) -> Result<f64, BackendError> {
        const FIRST_ITERATIONS: u32 = 16;
        const MAX_ITERATIONS: f64 = 4096.0;
        let record = |pass: &mut GpuPass<'_>, iterations: u32| {
            pass.dispatch(kind.variant(), [out.into()], &[iterations, 1_u32], [WORKGROUPS, 1, 1]);
        };
        let first = self.seconds(&|pass| record(pass, FIRST_ITERATIONS))?;
        let iterations = f64::from(FIRST_ITERATIONS) * TRY_SECONDS / 4.0 / first;
        let iterations = iterations.clamp(f64::from(FIRST_ITERATIONS), MAX_ITERATIONS) as u32;
        let seconds = self.seconds(&|pass| record(pass, iterations))?;
        let per_chain = f64::from(WORKGROUPS) * f64::from(iterations) * kind.operations();
        Ok(f64::from(CHAINS) * per_chain / seconds)
    }

    /// The time of one small kernel, from its submission until its completion is known.
    fn step_seconds(&self, out: &Allocation) -> Result<f64, BackendError> {
        const STEPS: usize = 20;
        let record = |pass: &mut GpuPass<'_>| {
            let variant = Arithmetic::MultiplyAdd.variant();
            pass.dispatch(variant, [out.into()], &[1_u32, 1], [1, 1, 1]);
        };
        let times = (0..STEPS).map(|_| self.run_repeatedly(&record, 1));
        times.collect::<Result<Vec<_>, _>>().map(|times| times.into_iter().fold(1.0, f64::min))
    }

    /// Seconds of what `record` records: the best of several tries.
    pub(crate) fn seconds(&self, record: &dyn Fn(&mut GpuPass<'_>)) -> Result<f64, BackendError> {
        const MAX_REPETITIONS: f64 = 500.0;
        // The first run compiles the kernels.
        self.run_repeatedly(record, 1)?;
        let once = self.run_repeatedly(record, 1)?;
        let repetitions = (TRY_SECONDS / once).clamp(1.0, MAX_REPETITIONS) as usize;
        let mut best = f64::INFINITY;
        for _ in 0..TRIES {
            best = best.min(self.run_repeatedly(record, repetitions)? / repetitions as f64);
        }
        Ok(best)
    }

    fn run_repeatedly(
        &self,
        record: &dyn Fn(&mut GpuPass<'_>),
        repetitions: usize,
    ) -> Result<f64, BackendError> {
        let mut pass = self.begin();
        pass.start_together();
        (0..repetitions).for_each(|_| record(&mut pass));
        let started = Instant::now();
        pass.submit()?;
        self.wait();
        self.check()?;
        // If the clock did not advance, the time is below its resolution.
        Ok(started.elapsed().as_secs_f64().max(1e-9))
    }
}

/// Records a sweep over `source`.
fn sweep(pass: &mut GpuPass<'_>, [source, destination]: [&Allocation; 2], is_copy: bool) {
    #[repr(C)]
    #[derive(Clone, Copy, Pod, Zeroable)]
    struct Params {
        vectors: u32,
        threads: u32,
    }
    /// Loads of a thread: enough that starting it does not matter.
    const LOADS: usize = 16;
    let vectors = source.bytes() as usize / 16;
    let workgroups = vectors.div_ceil(LOADS * LANES as usize);
    let [x, y, z] = fold(workgroups);
    let params = Params { vectors: vectors as u32, threads: x * y * LANES };
    let bindings = [source.into(), destination.into()];
    pass.dispatch(sweep_variant(is_copy), bindings, &params, [x, y, z]);
}

#[cfg(test)]
mod tests {
    use super::GpuBackend;
    use crate::adapter;

    #[test]
    fn all_rates_are_numbers() {
        let Some(adapter) = adapter::for_tests() else { return };
        let backend = GpuBackend::new(adapter).expect("a device that can be opened");
        let roofs = backend.measure_roofs(4 << 20).expect("memory");
        assert_eq!(roofs.sweep_bytes, 4 << 20);
        let rates = [
            roofs.read_bytes_per_second,
            roofs.copy_bytes_per_second,
            roofs.f32_ops_per_second,
            roofs.dot_ops_per_second,
            roofs.matrix_ops_per_second.unwrap_or(1e9),
        ];
        for rate in rates {
            assert!((1e6..1e17).contains(&rate), "{roofs:?}");
        }
        assert!((1e-9..1.0).contains(&roofs.step_seconds), "{roofs:?}");
    }
}
