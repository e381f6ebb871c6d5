//! Functions of single values, 16 at a time.
//!
//! **Accuracy.** Relative to the largest value in their neighborhood, all of them are within a few units in the last
//! place. A hyperbolic tangent is `1 - 2 / (exp(2 x) + 1)`. The error function is the rational approximation of
//! Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26, with an absolute error of at most 1.5e-7.

use inferno_backend::{Function, Gate};

use crate::lanes::{LANES, Lanes};

/// `function(x)`.
#[inline(always)]
pub(crate) fn evaluate<L: Lanes>(lanes: L, function: Function, x: L::F32) -> L::F32 {
    let zero = lanes.splat(0.0);
    match function {
        Function::Scale { factor } => lanes.mul(lanes.splat(factor), x),
        Function::SoftCap { cap } => soft_cap(lanes, cap, x),
        Function::Clamp { limit } => {
            lanes.max(lanes.splat(-limit), lanes.min(lanes.splat(limit), x))
        }
        Function::Silu => {
            let exp = lanes.exp(lanes.sub(zero, x));
            lanes.div(x, lanes.add(lanes.splat(1.0), exp))
        }
        Function::Sigmoid => sigmoid(lanes, x),
        Function::Gelu => gelu(lanes, x),
        Function::GeluTanh => {
            // (1 + tanh(y)) / 2 = sigmoid(2 y), where 2 y = 2 sqrt(2 / pi) (x + 0.044715 x^3).
            const LINEAR: f32 = 1.595_769;
            const CUBIC: f32 = 0.071_354_814;
            let slope = lanes.fma(lanes.mul(x, x), lanes.splat(CUBIC), lanes.splat(LINEAR));
            lanes.mul(x, sigmoid(lanes, lanes.mul(x, slope)))
        }
        Function::Relu => lanes.max(zero, x),
        Function::Softplus => softplus(lanes, x),
        Function::ReluSquared => {
            let positive = lanes.max(zero, x);
            lanes.mul(positive, positive)
        }
        Function::Xielu { positive, negative, beta, eps } => {
            let above = lanes.max(zero, x);
            let exp = lanes.exp(lanes.min(lanes.splat(eps), x));
            let below = lanes.sub(lanes.sub(exp, lanes.splat(1.0)), x);
            let below = lanes.zero_below(lanes.sub(zero, x), zero, below);
            let result = lanes.mul(lanes.splat(beta), x);
            let result = lanes.fma(lanes.splat(negative), below, result);
            lanes.fma(lanes.mul(lanes.splat(positive), above), above, result)
        }
    }
}

/// Combines both halves of a gated product.
#[inline(always)]
pub(crate) fn combine<L: Lanes>(lanes: L, gate: Gate, x: L::F32, up: L::F32) -> L::F32 {
    match gate {
        Gate::Product(function) => lanes.mul(evaluate(lanes, function, x), up),
        Gate::Clamped { alpha, limit } => {
            let (low, high) = (lanes.splat(-limit), lanes.splat(limit));
            let (x, up) = (lanes.min(high, x), lanes.max(low, lanes.min(high, up)));
            let swish = lanes.mul(x, sigmoid(lanes, lanes.mul(lanes.splat(alpha), x)));
            lanes.mul(swish, lanes.add(up, lanes.splat(1.0)))
        }
        Gate::Bounded { limit } => {
            let (low, high) = (lanes.splat(-limit), lanes.splat(limit));
            let x = lanes.min(high, evaluate(lanes, Function::Silu, x));
            lanes.mul(x, lanes.max(low, lanes.min(high, up)))
        }
    }
}

/// `1 / (1 + exp(-x))`.
#[inline(always)]
pub(crate) fn sigmoid<L: Lanes>(lanes: L, x: L::F32) -> L::F32 {
    let exp = lanes.exp(lanes.sub(lanes.splat(0.0), x));
    lanes.div(lanes.splat(1.0), lanes.add(lanes.splat(1.0), exp))
}

/// `max(x, 0) + ln(1 + exp(-|x|))`.
#[inline(always)]
pub(crate) fn softplus<L: Lanes>(lanes: L, x: L::F32) -> L::F32 {
    let zero = lanes.splat(0.0);
    let mut values = [0.0; LANES];
    lanes.store(lanes.exp(lanes.min(x, lanes.sub(zero, x))), &mut values);
    for value in &mut values {
        *value = libm::log1pf(*value);
    }
    lanes.add(lanes.max(x, zero), lanes.load(&values))
}

/// `cap * tanh(x / cap)`.
#[inline(always)]
pub(crate) fn soft_cap<L: Lanes>(lanes: L, cap: f32, x: L::F32) -> L::F32 {
    let exp = lanes.exp(lanes.mul(x, lanes.splat(2.0 / cap)));
    let rest = lanes.div(lanes.splat(2.0 * cap), lanes.add(exp, lanes.splat(1.0)));
    lanes.sub(lanes.splat(cap), rest)
}

/// `max(x, 0) - |x| / 2 * erfc(|x| / sqrt(2))`.
#[inline(always)]
fn gelu<L: Lanes>(lanes: L, x: L::F32) -> L::F32 {
    const SLOPE: f32 = 0.327_591_1;
    const SERIES: [f32; 5] = [1.061_405_4, -1.453_152_1, 1.421_413_8, -0.284_496_72, 0.254_829_6];
    let (zero, one) = (lanes.splat(0.0), lanes.splat(1.0));
    let magnitude = lanes.max(x, lanes.sub(zero, x));
    let z = lanes.mul(magnitude, lanes.splat(std::f32::consts::FRAC_1_SQRT_2));
    let t = lanes.div(one, lanes.fma(z, lanes.splat(SLOPE), one));
    let mut series = lanes.splat(SERIES[0]);
    let mut term = 1;
    while term < SERIES.len() {
        series = lanes.fma(series, t, lanes.splat(SERIES[term]));
        term += 1;
    }
    let exp = lanes.exp(lanes.mul(lanes.sub(zero, z), z));
    let complement = lanes.mul(lanes.mul(series, t), exp);
    let half = lanes.mul(magnitude, lanes.splat(0.5));
    lanes.sub(lanes.max(zero, x), lanes.mul(half, complement))
}
