//! Functions of single values.

/// A function of single values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Function {
    /// `factor * x`.
    Scale {
        /// The factor.
        factor: f32,
    },
    /// `cap * tanh(x / cap)`.
    SoftCap {
        /// The bound of the result.
        cap: f32,
    },
    /// `x` within `-limit..=limit`.
    Clamp {
        /// The bound of the magnitude.
        limit: f32,
    },
    /// `x / (1 + exp(-x))`.
    Silu,
    /// `1 / (1 + exp(-x))`.
    Sigmoid,
    /// `x * P(X <= x)` for a standard normal `X`.
    ///
    /// **Source**: Hendrycks and Gimpel, Gaussian Error Linear Units.
    Gelu,
    /// The approximation of [`Gelu`](Self::Gelu) by a hyperbolic tangent.
    GeluTanh,
    /// `max(x, 0)`.
    Relu,
    /// `ln(1 + exp(x))`.
    Softplus,
    /// `max(x, 0)^2`.
    ///
    /// **Source**: So et al., Primer: Searching for Efficient Transformers for Language Modeling.
    ReluSquared,
    /// `positive * x^2 + beta * x` above zero, `negative * (exp(min(x, eps)) - 1 - x) + beta * x` below.
    ///
    /// **Source**: Huang and Schlag, Deriving Activation Functions Using Integration.
    Xielu {
        /// Factor on the square of positive inputs.
        positive: f32,
        /// Factor on the exponential of negative inputs.
        negative: f32,
        /// Slope at zero.
        beta: f32,
        /// Upper bound of the exponent.
        eps: f32,
    },
}

/// How a gated product combines its two halves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Gate {
    /// `function(gate) * up`.
    ///
    /// **Source**: Shazeer, GLU Variants Improve Transformer, equation 6.
    Product(Function),
    /// `g / (1 + exp(-alpha g)) * (u + 1)`, where `g` is the gate up to `limit` and `u` is up within
    /// `-limit..=limit`.
    ///
    /// **Source**: OpenAI, gpt-oss-120b & gpt-oss-20b Model Card, section 2.2, and its reference code.
    Clamped {
        /// Factor on the gate in the exponent.
        alpha: f32,
        /// Bound of both halves.
        limit: f32,
    },
    /// SiLU of the gate up to `limit`, times up within `-limit..=limit`.
    ///
    /// **Source**: StepFun, Step 3.5 Flash Technical Report, section 2, and its reference code.
    Bounded {
        /// Bound of both factors.
        limit: f32,
    },
}
