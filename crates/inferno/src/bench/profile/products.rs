//! Products on their own, with weights in the caches and from memory.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use inferno_backend::{Backend, DeviceMemory, Pass, WeightPart};
use inferno_cpu::{CpuBackend, CpuBuffer, CpuWeight, Roofs};
use inferno_gguf::{Gguf, TensorInfo};
use inferno_tensor::DType;

use super::recorder::Split;
use crate::Error;

/// Numbers of rows that are measured.
const NUM_ROWS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

/// Elements of the weight that stays in the caches: with 8 bits each, both halves fit in the second-level caches of two cores.
const CACHED_ELEMENTS: usize = 1 << 20;

/// Elements of each of the weights that are read from memory one after the other, as in a model.
const STREAMED_ELEMENTS: usize = 3 << 20;

/// Each measurement is the best of this many tries, unless they take longer than [`TIME_LIMIT`].
const TRIES: usize = 5;

/// Minimum duration of a try with cached weights.
const TRY_TIME: Duration = Duration::from_millis(5);

const TIME_LIMIT: Duration = Duration::from_millis(300);

/// Rows and outputs of a tile, and its columns: the unit of the matrix unit with 8-bit integers, and of vectors of 16 lanes.
const TILE: [usize; 3] = [16, 16, 32];

/// The speed of products, by format and number of rows.
#[derive(Debug, Clone)]
pub struct ProductProfile {
    /// One entry for each format of the model's matrices and each number of rows.
    pub speeds: Vec<ProductSpeed>,
}

/// The speed of products of some rows with weights in a format, while threads compute: starting and joining them and
/// converting inputs do not count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProductSpeed {
    /// The format of the weights.
    pub dtype: DType,
    /// Number of rows.
    pub num_rows: usize,
    /// Bytes of weights per second, with weights in the caches.
    pub cached_bytes_per_second: f64,
    /// Multiplications and additions per second, with weights in the caches.
    pub cached_ops_per_second: f64,
    /// Bytes of weights per second, from memory.
    pub streamed_bytes_per_second: f64,
    /// Multiplications and additions per second, with weights from memory.
    pub streamed_ops_per_second: f64,
    /// Share of the roof that products with weights from memory reach: that of reads or of arithmetic, whichever is lower.
    pub share: f64,
    /// How well reads and arithmetic overlap: the longer of reading at the measured bandwidth and multiplying cached weights,
    /// divided by the time of multiplying weights from memory.
    pub overlap: f64,
    /// Cycles of a core per tile of 16 outputs, 32 columns and 16 rows, or fewer if there are fewer, with cached weights;
    /// `None` if the clock rate is not known.
    pub cycles_per_tile: Option<f64>,
    /// The same at the measured peak.
    pub least_cycles_per_tile: Option<f64>,
}

/// Bytes and time of a measurement.
struct Timed {
    bytes: usize,
    ops: f64,
    seconds: f64,
}

impl ProductSpeed {
    fn new(
        dtype: DType,
        num_rows: usize,
        [cached, streamed]: [Timed; 2],
        (roofs, num_threads): (&Roofs, usize),
    ) -> Self {
        let peak = match dtype {
            DType::F16 | DType::BF16 => roofs.f16_ops_per_second,
            _ if dtype.is_float() => roofs.f32_ops_per_second,
            _ => roofs.int8_ops_per_second,
        };
        let rates = |timed: &Timed| (timed.bytes as f64 / timed.seconds, timed.ops / timed.seconds);
        let (cached_bytes_per_second, cached_ops_per_second) = rates(&cached);
        let (streamed_bytes_per_second, streamed_ops_per_second) = rates(&streamed);
        let read_share = streamed_bytes_per_second / roofs.read_bytes_per_second;
        let compute_share = streamed_ops_per_second / cached_ops_per_second;
        let [rows, outputs, cols] = TILE;
        let tile_ops = (2 * rows.min(num_rows) * outputs * cols) as f64;
        let cycles = |ops_per_second: f64| {
            let tiles_per_second = ops_per_second / num_threads as f64 / tile_ops;
            roofs.cycles_per_second.map(|cycles| cycles / tiles_per_second)
        };
        Self {
            dtype,
            num_rows,
            cached_bytes_per_second,
            cached_ops_per_second,
            streamed_bytes_per_second,
            streamed_ops_per_second,
            share: read_share.max(streamed_ops_per_second / peak),
            overlap: read_share.max(compute_share),
            cycles_per_tile: cycles(cached_ops_per_second),
            least_cycles_per_tile: cycles(peak),
        }
    }
}

/// Measures products with the formats of the matrices in a file. Weights from memory are half as large as the memory that the
/// bandwidth was measured with.
///
/// **Errors**: no memory.
pub(in crate::bench) fn profile_products(
    backend: &CpuBackend,
    checkpoint: &Gguf,
    roofs: &Roofs,
) -> Result<ProductProfile, Error> {
    let mut speeds = Vec::new();
    for (dtype, tensor) in largest_matrices(checkpoint).into_values() {
        let [cols, _] = *tensor.dims() else { continue };
        let cached = [load(backend, checkpoint, dtype, tensor, CACHED_ELEMENTS)?];
        let mut streamed = Vec::new();
        let mut streamed_bytes = 0;
        while streamed_bytes < roofs.sweep_bytes / 2 {
            let weight = load(backend, checkpoint, dtype, tensor, STREAMED_ELEMENTS)?;
            streamed_bytes += weight.bytes;
            streamed.push(weight);
        }
        let most_rows = NUM_ROWS.into_iter().max().unwrap_or(1);
        let mut input = backend.alloc(most_rows, cols)?;
        let values: Vec<f32> =
            (0..most_rows * cols).map(|i| (i % 61) as f32 / 30.0 - 1.0).collect();
        backend.upload(&values, &mut input);
        for num_rows in NUM_ROWS {
            let cached = time(backend, &cached, &input, num_rows, TRY_TIME)?;
            let streamed = time(backend, &streamed, &input, num_rows, Duration::ZERO)?;
            let machine = (roofs, backend.num_threads());
            speeds.push(ProductSpeed::new(dtype, num_rows, [cached, streamed], machine));
        }
    }
    Ok(ProductProfile { speeds })
}

/// The largest matrix in each format, by the format's name.
fn largest_matrices(checkpoint: &Gguf) -> BTreeMap<&'static str, (DType, &TensorInfo)> {
    let mut largest: BTreeMap<&'static str, (DType, &TensorInfo)> = BTreeMap::new();
    for tensor in checkpoint.tensors() {
        let Some(dtype) = DType::from_ggml_id(tensor.ggml_type().id()) else { continue };
        if !matches!(tensor.dims(), [(1..), (1..)]) {
            continue;
        }
        let entry = largest.entry(dtype.name()).or_insert((dtype, tensor));
        if entry.1.num_elements() < tensor.num_elements() {
            *entry = (dtype, tensor);
        }
    }
    largest
}

/// A weight and its size.
struct Loaded {
    weight: CpuWeight,
    rows: usize,
    cols: usize,
    bytes: usize,
}

/// Loads a matrix of about `num_elements` elements that consists of rows of `tensor`, repeated if it has too few.
///
/// **Errors**: no memory.
fn load(
    backend: &CpuBackend,
    checkpoint: &Gguf,
    dtype: DType,
    tensor: &TensorInfo,
    num_elements: usize,
) -> Result<Loaded, Error> {
    let [cols, tensor_rows] = *tensor.dims() else { unreachable!("a matrix") };
    // A multiple of the outputs of a tile.
    let rows = (num_elements / cols).next_multiple_of(TILE[1]).max(TILE[1]);
    let row_bytes = tensor.num_bytes() / tensor_rows;
    let some = checkpoint.part(tensor, 0..row_bytes * rows.min(tensor_rows));
    let bytes: Vec<u8> = some.iter().copied().cycle().take(row_bytes * rows).collect();
    let part = WeightPart::matrix(tensor.name(), dtype, rows, cols, bytes.into())?;
    let weight = backend.load_weight(&[part])?;
    let bytes = backend.weight_bytes(dtype, 1, rows, cols);
    Ok(Loaded { weight, rows, cols, bytes })
}

/// Times products of `num_rows` rows with all of `weights`, repeated until a try takes `least`. The result is that of one
/// repetition in the fastest try.
///
/// **Errors**: no memory.
fn time(
    backend: &CpuBackend,
    weights: &[Loaded],
    input: &CpuBuffer,
    num_rows: usize,
    least: Duration,
) -> Result<Timed, Error> {
    let most_outputs = weights.iter().map(|weight| weight.rows).max().unwrap_or(1);
    let mut out = backend.alloc(num_rows, most_outputs)?;
    let products: usize = weights.iter().map(|weight| weight.rows * weight.cols).sum();
    let mut seconds = f64::INFINITY;
    let begun = Instant::now();
    backend.measure_usage(true);
    for number in 0..TRIES {
        if number > 0 && begun.elapsed() > TIME_LIMIT {
            break;
        }
        let (started, before) = (Instant::now(), backend.usage());
        let mut num_repetitions = 0;
        while num_repetitions == 0 || started.elapsed() < least {
            let mut pass = backend.begin();
            for weight in weights {
                pass.linear(num_rows, input, &weight.weight, None, &mut out)?;
            }
            pass.submit()?;
            num_repetitions += 1;
        }
        let usage = backend.usage().since(&before);
        let Split { own, sharers, .. } =
            Split::new(started.elapsed(), &usage, backend.num_threads());
        seconds = seconds.min(own.busy.as_secs_f64() / f64::from(sharers * num_repetitions));
    }
    backend.measure_usage(false);
    Ok(Timed {
        bytes: weights.iter().map(|weight| weight.bytes).sum(),
        ops: 2.0 * products as f64 * num_rows as f64,
        seconds: seconds.max(1e-9),
    })
}

#[cfg(test)]
mod tests {
    use inferno_cpu::CpuOptions;

    use super::super::tests::CPU_ROOFS;
    use super::*;

    #[test]
    fn cycles_are_those_of_one_core() {
        // 2 threads compute 4000 operations in a second: with 1 GHz, a tile of 4 rows takes 2.048 s of a core.
        let timed = |seconds| Timed { bytes: 500, ops: 4000.0, seconds };
        let speed = ProductSpeed::new(DType::Q8_0, 4, [timed(1.0), timed(2.0)], (&CPU_ROOFS, 2));
        let close = |found: Option<f64>, expected: f64| {
            found.is_some_and(|found| (found / expected - 1.0).abs() < 1e-9)
        };
        assert!(close(speed.cycles_per_tile, 2.048e9), "{speed:?}");
        assert!(close(speed.least_cycles_per_tile, 1.024e9), "{speed:?}");
        // A quarter of both roofs; half as fast as from the caches, and reads would take a quarter of the time.
        assert_eq!((speed.share, speed.overlap), (0.25, 0.5));
    }

    #[test]
    fn every_format_of_the_file_is_measured_once() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/qwen3.gguf");
        let checkpoint = Gguf::open(path).expect("a fixture");
        let options = CpuOptions { threads: Some(2), ..CpuOptions::default() };
        let backend = CpuBackend::new(options).expect("threads");
        let roofs = Roofs { sweep_bytes: 1 << 20, ..CPU_ROOFS };
        let profile = profile_products(&backend, &checkpoint, &roofs).expect("memory");
        let rows: Vec<usize> = profile.speeds.iter().map(|speed| speed.num_rows).collect();
        let formats = largest_matrices(&checkpoint).len();
        assert!(formats > 0 && rows.len() == formats * NUM_ROWS.len(), "{rows:?}");
        assert!(profile.speeds.iter().all(|speed| speed.cached_ops_per_second > 1e6));
    }
}
