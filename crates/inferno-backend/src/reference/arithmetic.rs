//! Allocation, sums, norms and activation functions by their definitions, with sums in `f64`.

use inferno_tensor::Tensor;

use crate::{BackendError, Function, Gate, NormKind};

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

/// Normalizes a row in place; its weight and bias are `weight` and `bias`.
pub(super) fn normalize(
    x: &mut [f32],
    kind: NormKind,
    weight: &[f32],
    bias: Option<&[f32]>,
    eps: f32,
) {
    let count = x.len() as f64;
    if kind == NormKind::Layer {
        let mean = (x.iter().map(|&x| f64::from(x)).sum::<f64>() / count) as f32;
        x.iter_mut().for_each(|x| *x -= mean);
    }
    let mean_square = dot(x, x) / count;
    let factor = (1.0 / (mean_square + f64::from(eps)).sqrt()) as f32;
    x.iter_mut().zip(weight).for_each(|(x, weight)| *x = *x * factor * weight);
    if let Some(bias) = bias {
        add(bias, x);
    }
}

pub(super) fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

pub(super) fn softplus(x: f32) -> f32 {
    let x = f64::from(x);
    (x.max(0.0) + (-x.abs()).exp().ln_1p()) as f32
}

pub(super) fn soft_cap(x: f64, cap: f64) -> f64 {
    cap * (x / cap).tanh()
}

/// The value of `function` at `x`.
pub(super) fn evaluate(function: Function, x: f32) -> f32 {
    match function {
        Function::Scale { factor } => factor * x,
        Function::SoftCap { cap } => soft_cap(x.into(), cap.into()) as f32,
        Function::Clamp { limit } => x.clamp(-limit, limit),
        Function::Silu => x * sigmoid(x),
        Function::Sigmoid => sigmoid(x),
        Function::Gelu => {
            x * (0.5 * libm::erfc(f64::from(-x) * std::f64::consts::FRAC_1_SQRT_2)) as f32
        }
        Function::GeluTanh => {
            let (x, root) = (f64::from(x), (2.0 / std::f64::consts::PI).sqrt());
            (0.5 * x * (1.0 + (root * (x + 0.044715 * x * x * x)).tanh())) as f32
        }
        Function::Relu if x < 0.0 => 0.0,
        Function::Relu => x,
        Function::Softplus => softplus(x),
        Function::ReluSquared if x < 0.0 => 0.0,
        Function::ReluSquared => x * x,
        Function::Xielu { positive, beta, .. } if x > 0.0 => positive * x * x + beta * x,
        Function::Xielu { negative, beta, eps, .. } => {
            negative * (x.min(eps).exp_m1() - x) + beta * x
        }
    }
}

/// Combines both halves of a gated product.
pub(super) fn combine(gate: Gate, x: f32, up: f32) -> f32 {
    match gate {
        Gate::Product(function) => evaluate(function, x) * up,
        Gate::Clamped { alpha, limit } => {
            let (x, up) = (x.min(limit), up.clamp(-limit, limit));
            x * sigmoid(alpha * x) * (up + 1.0)
        }
        Gate::Bounded { limit } => evaluate(Function::Silu, x).min(limit) * up.clamp(-limit, limit),
    }
}

/// Probabilities of `scores`, which must not be empty.
pub(super) fn softmax(scores: &[f64]) -> Vec<f64> {
    let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let exps: Vec<f64> = scores.iter().map(|score| (score - max).exp()).collect();
    let sum: f64 = exps.iter().sum();
    exps.into_iter().map(|exp| exp / sum).collect()
}
