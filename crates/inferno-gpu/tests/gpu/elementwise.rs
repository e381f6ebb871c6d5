//! Norms, functions, rotary embedding, lookups and copies of rows.

use inferno_backend::{Function, ReferenceBackend};
use inferno_conformance::cases::{Random, relative_error};
use inferno_conformance::elementwise::{add_and_gate, apply, layer_norm, rms_norm};

use crate::device::adapter;

/// Computes with both backends; checks that the results agree.
macro_rules! check {
    ($backend:expr, $what:expr, $compute:ident($($argument:expr),*)) => {{
        let reference = $compute(&ReferenceBackend::new(), $($argument),*);
        let found = $compute($backend, $($argument),*);
        let error = relative_error(&found, &reference);
        assert!(error < 2e-6, "{:?}: {error}", $what);
    }};
}

const SIZES: [(usize, usize); 6] = [(0, 16), (1, 1), (2, 31), (3, 64), (5, 1000), (300, 200)];

#[test]
fn rms_norm_agrees() {
    let Some(backend) = adapter() else { return };
    let mut random = Random::new(1);
    for (rows, cols) in SIZES {
        let (x, weight) = (random.values(rows * cols), random.values(cols));
        check!(backend, (rows, cols), rms_norm(rows, &x, &weight));
    }
}

#[test]
fn layer_norm_agrees() {
    let Some(backend) = adapter() else { return };
    let mut random = Random::new(2);
    for (rows, cols) in SIZES.into_iter().filter(|&(_, cols)| cols > 1) {
        let (x, weight) = (random.values(rows * cols), random.values(cols));
        let x: Vec<f32> = x.into_iter().map(|x| x + 0.7).collect();
        check!(backend, (rows, cols), layer_norm(rows, &x, &weight));
    }
}

#[test]
fn functions_agree() {
    let Some(backend) = adapter() else { return };
    let mut random = Random::new(3);
    let xielu = Function::Xielu { positive: 0.8, negative: 0.9, beta: 0.5, eps: -1e-6 };
    for function in [
        Function::Scale { factor: 0.3 },
        Function::SoftCap { cap: 5.0 },
        Function::Silu,
        Function::Sigmoid,
        Function::Gelu,
        Function::GeluTanh,
        Function::ReluSquared,
        xielu,
    ] {
        for (rows, cols) in SIZES.into_iter().filter(|&(_, cols)| cols > 16) {
            for scale in [0.5, 4.0, 200.0] {
                let x: Vec<f32> = random.values(rows * cols).iter().map(|x| scale * x).collect();
                check!(backend, (function, rows, cols, scale), apply(rows, function, &x));
            }
        }
        assert!(apply(backend, 1, function, &[f32::NAN])[0].is_nan(), "{function:?}");
    }
}

#[test]
fn scaled_sums_and_gates_of_columns_or_of_rows_agree() {
    let Some(backend) = adapter() else { return };
    let mut random = Random::new(4);
    for (rows, cols) in SIZES {
        for gate_cols in [cols, 1] {
            let (x, gate) = (random.values(rows * cols), random.values(rows * gate_cols));
            for function in [Function::Sigmoid, Function::GeluTanh] {
                let case = (rows, cols, gate_cols, function);
                let size = (rows, cols);
                check!(backend, case, add_and_gate(function, size, gate_cols, &x, &gate));
            }
        }
    }
}
