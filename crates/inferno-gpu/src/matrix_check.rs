//! A check of cooperative matrices when a device is opened: drivers may offer them and not compute them as specified.

use inferno_backend::{BackendError, DeviceMemory, Pass, WeightPart};
use inferno_tensor::DType;

use crate::backend::GpuBackend;
use crate::ops::product::algorithm::MAX_TEAM_ROWS;

/// Rows of weights; columns, not a multiple of those of a step; rows of the input, few and many.
const HEIGHT: usize = 80;
const COLS: usize = 616;
const ROWS: [usize; 2] = [MAX_TEAM_ROWS + 4, 150];

/// Bound of the difference from the exact product, relative to the largest result.
const TOLERANCE: f32 = 2e-3;

impl GpuBackend {
    /// Whether products by cooperative matrices are those of the inputs.
    pub(crate) fn multiplies_correctly(&self) -> bool {
        self.sample_products().is_ok_and(|products| {
            let expected = exact_products();
            let largest = expected.iter().fold(0.0, |max: f32, value| max.max(value.abs()));
            let is_near = |(a, b): (&f32, &f32)| (a - b).abs() <= TOLERANCE * largest;
            products.iter().all(|products| expected.iter().zip(products).all(is_near))
        })
    }

    /// The products of few rows and of many.
    fn sample_products(&self) -> Result<[Vec<f32>; 2], BackendError> {
        let bytes = bytemuck::cast_slice(&weights()).to_vec();
        let part = WeightPart::matrix("sample", DType::F32, HEIGHT, COLS, bytes.into())?;
        let weight = self.load_weight(&[part])?;
        let mut x = self.alloc(ROWS[1], COLS)?;
        self.upload(&inputs(), &mut x);
        let products = |rows: usize| {
            let mut out = self.alloc(rows, HEIGHT)?;
            let mut pass = inferno_backend::Backend::begin(self);
            pass.linear(rows, &x, &weight, None, &mut out)?;
            pass.submit()?;
            Ok(self.download(&out, 0..rows * HEIGHT, &mut Vec::new())?.to_vec())
        };
        Ok([products(ROWS[0])?, products(ROWS[1])?])
    }
}

/// Values between -1 and 1 without a pattern.
pub(crate) fn values(count: usize, seed: u32) -> Vec<f32> {
    let value = |i: u32| (i.wrapping_mul(0x9e37_79b9) ^ seed).wrapping_mul(0x85eb_ca6b) >> 8;
    (1..=count as u32).map(|i| value(i) as f32 / (1 << 23) as f32 - 1.0).collect()
}

fn weights() -> Vec<f32> {
    values(HEIGHT * COLS, 1)
}

fn inputs() -> Vec<f32> {
    values(ROWS[1] * COLS, 2)
}

fn exact_products() -> Vec<f32> {
    let (weights, inputs) = (weights(), inputs());
    let dot = |x: &[f32], w: &[f32]| {
        x.iter().zip(w).map(|(x, w)| f64::from(*x) * f64::from(*w)).sum::<f64>() as f32
    };
    let rows = inputs.chunks_exact(COLS);
    rows.flat_map(|x| weights.chunks_exact(COLS).map(move |w| dot(x, w))).collect()
}
