//! Functions of single values as parameters of kernels: the snippet `function`.

use bytemuck::{Pod, Zeroable};
use inferno_backend::{Function, Gate};

/// The arguments of `evaluate` and `combine` in the snippet `function`: in a shader's parameters, five values.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
pub(crate) struct FunctionArguments {
    kind: u32,
    parameters: [f32; 4],
}

/// The kind of [`Gate::Clamped`].
const CLAMPED: u32 = 8;

/// The kind of [`Gate::Bounded`]. All others are products with a function.
const BOUNDED: u32 = 12;

impl From<Function> for FunctionArguments {
    fn from(function: Function) -> Self {
        let (kind, parameters) = match function {
            Function::Scale { factor } => (0, [factor, 0.0, 0.0, 0.0]),
            Function::SoftCap { cap } => (1, [cap, 0.0, 0.0, 0.0]),
            Function::Silu => (2, [0.0; 4]),
            Function::Sigmoid => (3, [0.0; 4]),
            Function::Gelu => (4, [0.0; 4]),
            Function::GeluTanh => (5, [0.0; 4]),
            Function::ReluSquared => (6, [0.0; 4]),
            Function::Clamp { limit } => (9, [limit, 0.0, 0.0, 0.0]),
            Function::Relu => (10, [0.0; 4]),
            Function::Softplus => (11, [0.0; 4]),
            Function::Xielu { positive, negative, beta, eps } => {
                (7, [positive, negative, beta, eps])
            }
        };
        Self { kind, parameters }
    }
}

impl From<Gate> for FunctionArguments {
    fn from(gate: Gate) -> Self {
        match gate {
            Gate::Product(function) => function.into(),
            Gate::Clamped { alpha, limit } => {
                Self { kind: CLAMPED, parameters: [alpha, limit, 0.0, 0.0] }
            }
            Gate::Bounded { limit } => Self { kind: BOUNDED, parameters: [limit, 0.0, 0.0, 0.0] },
        }
    }
}
