//! Allocation, sums, norms and activation functions by their definitions, with sums in `f64`.

use inferno_tensor::Tensor;

use crate::BackendError;

/// A tensor of zeros.
///
/// **Errors**: [`BackendError::OutOfMemory`].
pub(super) fn zeros<T: Clone + Default>(
    dims: &[usize],
    what: &'static str,
) -> Result<Tensor<T>, BackendError> {
    Tensor::full(dims, T::default()).map_err(|_| {
        let bytes = dims.iter().copied().fold(size_of::<T>(), usize::saturating_mul);
        BackendError::OutOfMemory { what, bytes }
    })
}

pub(super) fn add(term: &[f32], out: &mut [f32]) {
    out.iter_mut().zip(term).for_each(|(out, term)| *out += term);
}

pub(super) fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
}

/// RMS norm in place.
pub(super) fn normalize(x: &mut [f32], weight: &[f32], eps: f32) {
    let mean_square = dot(x, x) / x.len() as f64;
    let factor = (1.0 / (mean_square + f64::from(eps)).sqrt()) as f32;
    x.iter_mut().zip(weight).for_each(|(x, weight)| *x = *x * factor * weight);
}

pub(super) fn silu(x: f32) -> f32 {
    x / (1.0 + (-x).exp())
}

/// Probabilities of `scores`, which must not be empty.
pub(super) fn softmax(scores: &[f64]) -> Vec<f64> {
    let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let exps: Vec<f64> = scores.iter().map(|score| (score - max).exp()).collect();
    let sum: f64 = exps.iter().sum();
    exps.into_iter().map(|exp| exp / sum).collect()
}
