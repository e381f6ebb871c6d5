//! Products with weights: plain, gated, and of normalized rows.

use inferno_backend::{Backend, LinearInput, Norm, Pass, WeightPart};
use inferno_tensor::DType;

use crate::cases::{SILU, matrix, read, run};

/// Multiples of the format's block size, from the smallest; odd widths if it has no blocks.
pub fn widths(dtype: DType) -> &'static [usize] {
    match dtype.block_len() {
        1 => &[1, 33, 100],
        32 => &[32, 96, 288],
        64 => &[64, 192, 320],
        128 => &[128, 384],
        _ => &[256, 512],
    }
}

/// Products of rows with stacked parts.
pub fn linear<B: Backend>(
    backend: &B,
    rows: usize,
    x: &[f32],
    parts: &[WeightPart],
    bias: Option<&[f32]>,
) -> Vec<f32> {
    let cols = parts[0].cols();
    let out_cols = parts.iter().map(WeightPart::rows).sum();
    let weight = backend.load_weight(parts).expect("weights that stack");
    let x = matrix(backend, rows, cols, x);
    let bias = bias.map(|bias| matrix(backend, 1, out_cols, bias));
    let mut out = backend.alloc(rows, out_cols).expect("memory");
    run(backend, |pass| pass.linear(rows, &x, &weight, bias.as_ref(), &mut out)).expect("memory");
    read(backend, &out, rows * out_cols)
}

/// Gated products of rows with a gate and an up projection.
pub fn linear_gated<B: Backend>(
    backend: &B,
    rows: usize,
    x: &[f32],
    parts: &[WeightPart],
    bias: Option<&[f32]>,
) -> Vec<f32> {
    let (out_cols, cols) = (parts[0].rows(), parts[0].cols());
    let weight = backend.load_weight(parts).expect("weights that stack");
    let x = matrix(backend, rows, cols, x);
    let bias = bias.map(|bias| matrix(backend, 1, 2 * out_cols, bias));
    let mut out = backend.alloc(rows, out_cols).expect("memory");
    run(backend, |pass| pass.linear_gated(rows, &x, &weight, bias.as_ref(), SILU, &mut out))
        .expect("memory");
    read(backend, &out, rows * out_cols)
}

/// Added to mean squares by [`normed`].
pub const EPS: f32 = 1e-5;

/// A product and a gated product of `x` after the norm: in one operation, or in two.
pub fn normed<B: Backend>(
    backend: &B,
    [x, norm]: [&[f32]; 2],
    parts: &[WeightPart; 2],
    at_once: bool,
) -> [Vec<f32>; 2] {
    let (cols, out_cols) = (norm.len(), parts[0].rows());
    let rows = x.len() / cols;
    let weight = backend.load_weight(parts).expect("weights that stack");
    let (x, norm) = (matrix(backend, rows, cols, x), matrix(backend, 1, cols, norm));
    let mut rows_after = backend.alloc(rows, cols).expect("memory");
    run(backend, |pass| pass.norm(rows, &x, Norm::rms(&norm, EPS), &mut rows_after));
    let input = || match at_once {
        true => LinearInput::Normed { x: &x, norm: Norm::rms(&norm, EPS) },
        false => LinearInput::Plain(&rows_after),
    };
    [2 * out_cols, out_cols].map(|cols| {
        let mut out = backend.alloc(rows, cols).expect("memory");
        match cols == out_cols {
            true => {
                run(backend, |pass| pass.linear_gated(rows, input(), &weight, None, SILU, &mut out))
                    .expect("memory")
            }
            false => run(backend, |pass| pass.linear(rows, input(), &weight, None, &mut out))
                .expect("memory"),
        }
        read(backend, &out, rows * cols)
    })
}
