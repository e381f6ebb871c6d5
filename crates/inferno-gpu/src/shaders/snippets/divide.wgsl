// The upper 12 bits of the mantissa of x.
fn upper_half(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) & 0xfffff000u);
}

// a / b, rounded to nearest on devices with a less precise division. Requires that the quotient is finite.
//
// The remainder is computed without `fma`, which rounds twice on some devices: products of halves are exact (Dekker, A
// Floating-Point Technique for Extending the Available Precision).
fn divide(a: f32, b: f32) -> f32 {
    let quotient = a / b;
    let product = quotient * b;
    let halves = vec4<f32>(upper_half(quotient), upper_half(b), quotient, b);
    let q = vec2<f32>(halves.x, halves.z - halves.x);
    let d = vec2<f32>(halves.y, halves.w - halves.y);
    let error = ((q.x * d.x - product) + q.x * d.y + q.y * d.x) + q.y * d.y;
    return quotient + ((a - product) - error) / b;
}
