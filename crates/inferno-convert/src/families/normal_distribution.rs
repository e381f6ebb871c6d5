//! Quantiles of the normal distribution, which thresholds of sparse activations are computed from.

/// The standard deviations below which a share of a normal distribution lies, by bisection of [`normal_share`].
pub(super) fn normal_quantile(share: f64) -> f32 {
    if share <= 0.0 {
        return f32::NEG_INFINITY;
    }
    if share >= 1.0 {
        return f32::INFINITY;
    }
    // As the reference: the inverse error function of a single-precision number, times the root of 2.
    let argument = 2.0 * share as f32 - 1.0;
    let share = (f64::from(argument) + 1.0) / 2.0;
    let (mut low, mut high) = (-40.0_f64, 40.0_f64);
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        match normal_share(middle) < share {
            true => low = middle,
            false => high = middle,
        }
    }
    let root = std::f64::consts::SQRT_2;
    ((low + high) / 2.0 / root) as f32 * root as f32
}

/// The share of a normal distribution below `x`, by its continued fraction or series.
fn normal_share(x: f64) -> f64 {
    let density = (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    if x.abs() < 6.0 {
        let (mut term, mut sum, mut n) = (x, x, 1.0);
        while f64::abs(term) > 1e-18 * f64::abs(sum).max(1e-300) && n < 1000.0 {
            n += 2.0;
            term *= x * x / n;
            sum += term;
        }
        return 0.5 + density * sum;
    }
    let mut fraction = 0.0;
    for n in (1..60).rev() {
        fraction = f64::from(n) / (x.abs() + fraction);
    }
    let tail = density / (x.abs() + fraction);
    if x < 0.0 { tail } else { 1.0 - tail }
}
