//! The search for the scales of the K and IQ4 formats: least weighted squared error.
//!
//! Both searches go the same way. Each group tries a range of starting scales; for each the values are rounded,
//! the scale that fits those codes best is solved for in closed form, and the trial with the smallest error wins.
//! The group scales are then quantized themselves, trying the neighbours of each rounded scale, and the scale of the
//! super-block is solved for once more while that lowers the error.
//!
//! The error of a weight counts `rms + |weight|`, with the root mean square of its super-block: large weights move
//! the output most, and none is ignored.

pub(super) mod affine;
pub(super) mod levels;
pub(super) mod symmetric;

/// How often the scale of a super-block is solved for anew at most; two rounds find nearly all there is.
const MAX_NUM_REFITS: usize = 3;

/// How much the error of each weight counts.
fn importance<const N: usize>(values: &[f32]) -> [f32; N] {
    let mean_square = values.iter().map(|value| value * value).sum::<f32>() / N as f32;
    let rms = mean_square.sqrt();
    std::array::from_fn(|i| rms + values[i].abs())
}

fn inverse(scale: f32) -> f32 {
    if scale == 0.0 { 0.0 } else { 1.0 / scale }
}
