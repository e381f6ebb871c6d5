// Functions of single values. Comparisons of bits keep NaN, which some devices do not distinguish otherwise.

fn is_nan(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}

// exp(x) without overflow.
fn bounded_exp(x: f32) -> f32 {
    return exp(min(x, 88.0));
}

// 1 / (1 + exp(-x)).
fn sigmoid(x: f32) -> f32 {
    return select(1.0 / (1.0 + bounded_exp(-x)), x, is_nan(x));
}

// exp(x) - 1.
fn exp_minus_one(x: f32) -> f32 {
    if abs(x) < 0.3 {
        // The Taylor series.
        var sum = 1.0 / 40320.0;
        sum = fma(sum, x, 1.0 / 5040.0);
        sum = fma(sum, x, 1.0 / 720.0);
        sum = fma(sum, x, 1.0 / 120.0);
        sum = fma(sum, x, 1.0 / 24.0);
        sum = fma(sum, x, 1.0 / 6.0);
        sum = fma(sum, x, 0.5);
        sum = fma(sum, x, 1.0);
        return sum * x;
    }
    return bounded_exp(x) - 1.0;
}

// log(1 + x) for x from 0 to 1, by the series of the inverse hyperbolic tangent of x / (2 + x).
fn log_one_plus(x: f32) -> f32 {
    let ratio = x / (2.0 + x);
    let square = ratio * ratio;
    var sum = 1.0 / 15.0;
    sum = fma(sum, square, 1.0 / 13.0);
    sum = fma(sum, square, 1.0 / 11.0);
    sum = fma(sum, square, 1.0 / 9.0);
    sum = fma(sum, square, 1.0 / 7.0);
    sum = fma(sum, square, 1.0 / 5.0);
    sum = fma(sum, square, 1.0 / 3.0);
    sum = fma(sum, square, 1.0);
    return 2.0 * ratio * sum;
}

// log(1 + exp(x)).
fn softplus(x: f32) -> f32 {
    return max(x, 0.0) + log_one_plus(exp(-abs(x)));
}

// max(x, 0) - |x| / 2 * erfc(|x| / sqrt(2)), where erfc is the rational approximation of Abramowitz and Stegun, Handbook
// of Mathematical Functions, 7.1.26.
fn gelu(x: f32) -> f32 {
    let magnitude = abs(x);
    let z = magnitude * 0.70710678;
    let t = 1.0 / fma(z, 0.3275911, 1.0);
    var series = 1.0614054;
    series = fma(series, t, -1.4531521);
    series = fma(series, t, 1.4214138);
    series = fma(series, t, -0.28449672);
    series = fma(series, t, 0.2548296);
    let complement = series * t * exp(-z * z);
    // In the form of a difference, infinity would become NaN.
    let tail = select(0.5 * magnitude * complement, 0.0, z > 20.0);
    return max(x, 0.0) - tail;
}

// The value of a function of `ops/function.rs` at x.
fn evaluate(kind: u32, parameters: vec4<f32>, x: f32) -> f32 {
    switch kind {
        case 0u: { return parameters.x * x; }
        case 1u: {
            let cap = parameters.x;
            // tanh(y) = 2 sigmoid(2 y) - 1 is inaccurate near zero, tanh itself on some devices far from it.
            let y = x / cap;
            let bounded = clamp(y, -15.0, 15.0);
            return select(cap * tanh(bounded), x, is_nan(x));
        }
        case 2u: { return x * sigmoid(x); }
        case 3u: { return sigmoid(x); }
        case 4u: { return select(gelu(x), x, is_nan(x)); }
        case 5u: {
            // (1 + tanh(y)) / 2 = sigmoid(2 y), where 2 y = 2 sqrt(2 / pi) (x + 0.044715 x^3).
            return x * sigmoid(x * fma(x * x, 0.071354814, 1.595769));
        }
        case 6u: {
            let positive = select(max(x, 0.0), x, is_nan(x));
            return positive * positive;
        }
        case 7u: {
            if x > 0.0 {
                return fma(parameters.x * x, x, parameters.z * x);
            }
            let below = exp_minus_one(min(x, parameters.w)) - x;
            return select(fma(parameters.y, below, parameters.z * x), x, is_nan(x));
        }
        case 9u: { return select(clamp(x, -parameters.x, parameters.x), x, is_nan(x)); }
        case 10u: { return select(max(x, 0.0), x, is_nan(x)); }
        case 11u: { return select(softplus(x), x, is_nan(x)); }
        default: { return x; }
    }
}

// Combines both halves of a gated product.
fn combine(kind: u32, parameters: vec4<f32>, gate: f32, up: f32) -> f32 {
    if kind == 8u {
        let limit = parameters.y;
        let bounded = select(min(gate, limit), gate, is_nan(gate));
        let other = select(clamp(up, -limit, limit), up, is_nan(up));
        return bounded * sigmoid(parameters.x * bounded) * (other + 1.0);
    }
    if kind == 12u {
        let limit = parameters.x;
        let product = gate * sigmoid(gate);
        let bounded = select(min(product, limit), product, is_nan(product));
        return bounded * select(clamp(up, -limit, limit), up, is_nan(up));
    }
    return evaluate(kind, parameters, gate) * up;
}

