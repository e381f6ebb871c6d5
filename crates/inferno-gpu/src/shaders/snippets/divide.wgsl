// a / b, rounded to nearest on devices with a less precise division. Requires that the quotient is finite.
fn divide(a: f32, b: f32) -> f32 {
    let quotient = a / b;
    return fma(fma(-quotient, b, a), 1.0 / b, quotient);
}
