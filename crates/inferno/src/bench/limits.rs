//! The limits of the device that computes, and how much of its time it works.

use std::time::Duration;

use inferno_cpu::Roofs;
#[cfg(feature = "gpu")]
use inferno_gpu::GpuRoofs;
use serde_json::{Value, json};

use super::profile::Work;

/// The measured limits of the device that computes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DeviceRoofs {
    /// A processor.
    Cpu(Roofs),
    /// A GPU.
    #[cfg(feature = "gpu")]
    Gpu(GpuRoofs),
}

/// Multiplications and additions of products, by the weights.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProductOps {
    /// With quantized weights.
    pub(super) int8: f64,
    /// With F16 and BF16.
    pub(super) f16: f64,
    /// With other floats.
    pub(super) f32: f64,
}

impl DeviceRoofs {
    /// Size of the memory that was read to measure the bandwidth, in bytes.
    pub fn sweep_bytes(&self) -> usize {
        match self {
            Self::Cpu(roofs) => roofs.sweep_bytes,
            #[cfg(feature = "gpu")]
            Self::Gpu(roofs) => roofs.sweep_bytes,
        }
    }

    /// Bytes read per second.
    pub fn read_bytes_per_second(&self) -> f64 {
        match self {
            Self::Cpu(roofs) => roofs.read_bytes_per_second,
            #[cfg(feature = "gpu")]
            Self::Gpu(roofs) => roofs.read_bytes_per_second,
        }
    }

    /// Seconds that products with weights and other arithmetic in FP32 take at least. A GPU multiplies all weights alike: by
    /// matrices, or else in FP32.
    pub(super) fn seconds(&self, products: ProductOps, other_ops: f64) -> f64 {
        let ProductOps { int8, f16, f32 } = products;
        match self {
            Self::Cpu(roofs) => {
                int8 / roofs.int8_ops_per_second
                    + f16 / roofs.f16_ops_per_second
                    + (f32 + other_ops) / roofs.f32_ops_per_second
            }
            #[cfg(feature = "gpu")]
            Self::Gpu(roofs) => {
                let f32_rate = roofs.f32_ops_per_second;
                let product_rate = roofs.matrix_ops_per_second.unwrap_or(f32_rate);
                (int8 + f16 + f32) / product_rate + other_ops / f32_rate
            }
        }
    }

    /// Seconds that `work` takes at least: its reads, and its arithmetic.
    pub(super) fn least_seconds(&self, work: &Work) -> [f64; 2] {
        let reads = work.bytes as f64 / self.read_bytes_per_second();
        let int16 = work.int16_ops as f64;
        let products = ProductOps {
            int8: work.int8_ops as f64,
            f16: work.f16_ops as f64,
            f32: work.f32_ops as f64,
        };
        let arithmetic = match self {
            Self::Cpu(roofs) => int16 / roofs.int16_ops_per_second + self.seconds(products, 0.0),
            #[cfg(feature = "gpu")]
            Self::Gpu(_) => self.seconds(products, int16),
        };
        [reads, arithmetic]
    }

    /// The kinds of arithmetic of prefill, and their rates in Gop/s.
    pub(super) fn arithmetic(&self) -> (&'static str, String) {
        let giga = |rate: f64| format!("{:.0}", rate / 1e9);
        match self {
            Self::Cpu(roofs) => {
                let rates =
                    [roofs.int8_ops_per_second, roofs.f16_ops_per_second, roofs.f32_ops_per_second];
                let [int8, f16, f32] = rates.map(giga);
                ("INT8, F16 and FP32 arithmetic", format!("{int8}, {f16} and {f32}"))
            }
            #[cfg(feature = "gpu")]
            Self::Gpu(roofs) => match roofs.matrix_ops_per_second {
                Some(matrices) => {
                    let [matrices, f32] = [matrices, roofs.f32_ops_per_second].map(giga);
                    ("F16 matrix and FP32 arithmetic", format!("{matrices} and {f32}"))
                }
                None => ("FP32 arithmetic", giga(roofs.f32_ops_per_second)),
            },
        }
    }

    /// The overhead of a step, as a sentence.
    pub(super) fn step(&self) -> String {
        let (what, seconds) = match self {
            Self::Cpu(roofs) => {
                ("Starting and joining all threads for one step", roofs.step_seconds)
            }
            #[cfg(feature = "gpu")]
            Self::Gpu(roofs) => {
                ("Submitting one kernel to the GPU and waiting for it", roofs.step_seconds)
            }
        };
        format!("{what} takes {:.2} µs.", seconds * 1e6)
    }

    /// The limits of a processor.
    pub(super) fn cpu(&self) -> Option<&Roofs> {
        match self {
            Self::Cpu(roofs) => Some(roofs),
            #[cfg(feature = "gpu")]
            Self::Gpu(_) => None,
        }
    }

    /// The limits as the fields of a JSON object.
    pub(super) fn json(&self) -> Value {
        match self {
            Self::Cpu(roofs) => json!({
                "sweep_bytes": roofs.sweep_bytes,
                "read_bytes_per_second": roofs.read_bytes_per_second,
                "int8_ops_per_second": roofs.int8_ops_per_second,
                "int16_ops_per_second": roofs.int16_ops_per_second,
                "f16_ops_per_second": roofs.f16_ops_per_second,
                "f32_ops_per_second": roofs.f32_ops_per_second,
                "cycles_per_second": roofs.cycles_per_second,
                "step_seconds": roofs.step_seconds,
            }),
            #[cfg(feature = "gpu")]
            Self::Gpu(roofs) => json!({
                "sweep_bytes": roofs.sweep_bytes,
                "read_bytes_per_second": roofs.read_bytes_per_second,
                "copy_bytes_per_second": roofs.copy_bytes_per_second,
                "f32_ops_per_second": roofs.f32_ops_per_second,
                "dot_ops_per_second": roofs.dot_ops_per_second,
                "matrix_ops_per_second": roofs.matrix_ops_per_second,
                "step_seconds": roofs.step_seconds,
            }),
        }
    }
}

/// What a GPU has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GpuWork {
    /// Kernels that were started.
    pub dispatches: u64,
    /// Submissions of kernels.
    pub submissions: u64,
    /// Bytes of weights that kernels have read.
    pub weight_bytes: u64,
    /// Time from submissions until the host knew of their completion.
    pub busy: Duration,
}

/// What a GPU did during the passes of a measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GpuPhase {
    /// Kernels per pass.
    pub dispatches: f64,
    /// Submissions per pass.
    pub submissions: f64,
    /// Bytes of weights read per pass.
    pub weight_bytes: f64,
    /// Share of the time in which the GPU had nothing to do, as seen by the host.
    pub idle_share: f64,
}

impl GpuWork {
    /// Adds what was done between `before` and `after`.
    pub(super) fn add_difference(&mut self, before: Self, after: Self) {
        self.dispatches += after.dispatches - before.dispatches;
        self.submissions += after.submissions - before.submissions;
        self.weight_bytes += after.weight_bytes - before.weight_bytes;
        self.busy += after.busy.saturating_sub(before.busy);
    }

    /// The averages of `num_passes` passes, which took `elapsed` together.
    pub(super) fn per_pass(self, num_passes: usize, elapsed: Duration) -> GpuPhase {
        let average = |sum: u64| sum as f64 / num_passes.max(1) as f64;
        let busy_share = self.busy.as_secs_f64() / elapsed.as_secs_f64().max(1e-9);
        GpuPhase {
            dispatches: average(self.dispatches),
            submissions: average(self.submissions),
            weight_bytes: average(self.weight_bytes),
            idle_share: (1.0 - busy_share).clamp(0.0, 1.0),
        }
    }
}

impl GpuPhase {
    pub(super) fn json(&self) -> Value {
        json!({
            "dispatches_per_pass": self.dispatches,
            "submissions_per_pass": self.submissions,
            "weight_bytes_per_pass": self.weight_bytes,
            "idle_share": self.idle_share,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_averaged_over_passes() {
        let work = |count: u64, busy: u64| GpuWork {
            dispatches: 10 * count,
            submissions: count,
            weight_bytes: 100 * count,
            busy: Duration::from_millis(busy),
        };
        let mut sum = GpuWork::default();
        sum.add_difference(work(1, 5), work(3, 9));
        sum.add_difference(work(4, 20), work(6, 26));
        let phase = sum.per_pass(4, Duration::from_millis(40));
        assert_eq!((phase.dispatches, phase.submissions, phase.weight_bytes), (10.0, 1.0, 100.0));
        assert!((phase.idle_share - 0.75).abs() < 1e-9, "{phase:?}");
    }

    #[cfg(feature = "gpu")]
    #[test]
    fn a_gpu_multiplies_all_weights_alike() {
        let gpu = |matrix_ops_per_second| {
            DeviceRoofs::Gpu(GpuRoofs {
                sweep_bytes: 1,
                read_bytes_per_second: 1.0,
                copy_bytes_per_second: 1.0,
                f32_ops_per_second: 10.0,
                dot_ops_per_second: 1.0,
                matrix_ops_per_second,
                step_seconds: 1.0,
            })
        };
        let products = ProductOps { int8: 300.0, f16: 60.0, f32: 40.0 };
        assert_eq!(gpu(Some(100.0)).seconds(products, 20.0), 6.0);
        assert_eq!(gpu(None).seconds(products, 20.0), 42.0);
        assert_eq!(gpu(None).arithmetic(), ("FP32 arithmetic", "0".to_owned()));
    }
}
