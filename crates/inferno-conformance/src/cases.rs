//! Random inputs, transfers and comparisons.

use inferno_backend::{Backend, Function, Gate, Pass, WeightPart};
use inferno_tensor::{DType, quant};

/// Runs operations as one pass.
pub fn run<B: Backend, T>(backend: &B, operations: impl FnOnce(&mut B::Pass<'_>) -> T) -> T {
    let mut pass = backend.begin();
    let result = operations(&mut pass);
    pass.submit().expect("a device that works");
    result
}

/// A small generator of repeatable numbers (xorshift64*).
pub struct Random(u64);

impl Random {
    /// A generator that always returns the same numbers for `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Uniform between -1 and 1.
    pub fn value(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / (1 << 23) as f32 - 1.0
    }

    /// Values between -1 and 1.
    pub fn values(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.value()).collect()
    }

    /// A block of random bits whose largest value is between 0.2 and 2.
    fn block(&mut self, dtype: DType, block: &mut [u8]) {
        let mut values = vec![0.0; dtype.block_len()];
        loop {
            block.fill_with(|| (self.bits() >> 32) as u8);
            quant::decode_row(dtype, block, &mut values).expect("a block");
            let largest = values.iter().fold(0.0, |largest: f32, value| largest.max(value.abs()));
            if values.iter().all(|value| value.is_finite()) && (0.2..2.0).contains(&largest) {
                return;
            }
        }
    }

    /// A weight whose rows are random values, encoded as `dtype`; random blocks if it cannot be encoded.
    pub fn weight(&mut self, dtype: DType, experts: usize, rows: usize, cols: usize) -> WeightPart {
        let row_bytes = dtype.row_bytes(cols).expect("whole blocks");
        let mut bytes = vec![0; experts * rows * row_bytes];
        for row in bytes.chunks_exact_mut(row_bytes.max(1)) {
            if !dtype.needs_importance() {
                quant::encode_row(dtype, &self.values(cols), row).expect("finite values");
            } else {
                row.chunks_exact_mut(dtype.block_bytes())
                    .for_each(|block| self.block(dtype, block));
            }
        }
        WeightPart::experts(format!("{dtype}"), dtype, experts, rows, cols, bytes.into())
            .expect("the size is right")
    }
}

/// Allocates a matrix and fills it with `values`.
pub fn matrix<B: Backend>(backend: &B, rows: usize, cols: usize, values: &[f32]) -> B::Buffer {
    let mut buffer = backend.alloc(rows, cols).expect("memory");
    backend.upload(values, &mut buffer);
    buffer
}

/// The first `count` values of a matrix.
pub fn read<B: Backend>(backend: &B, buffer: &B::Buffer, count: usize) -> Vec<f32> {
    backend.download(buffer, 0..count, &mut Vec::new()).expect("memory can be read").to_vec()
}

/// The bit patterns of `values`, with all NaNs mapped to one.
pub fn bits(values: &[f32]) -> Vec<u32> {
    let pattern = |x: &f32| {
        if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() }
    };
    values.iter().map(pattern).collect()
}

/// The usual gate of feed-forward blocks.
pub const SILU: Gate = Gate::Product(Function::Silu);

/// The norm of the difference relative to the norm of the expected values.
pub fn relative_error(found: &[f32], expected: &[f32]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let norm = |x: &mut dyn Iterator<Item = f64>| x.map(|x| x * x).sum::<f64>().sqrt();
    let pairs = found.iter().zip(expected);
    let difference = norm(&mut pairs.map(|(&a, &b)| f64::from(a) - f64::from(b)));
    difference / norm(&mut expected.iter().map(|&x| f64::from(x))).max(1e-30)
}
