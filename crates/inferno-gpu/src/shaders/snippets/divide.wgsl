// The mantissa of a positive number, from 2^23 on, and its exponent.
fn mantissa_and_exponent(x: f32) -> vec2<u32> {
    let bits = bitcast<u32>(x);
    if (bits < 0x800000u) {
        // Exponents of subnormal numbers are zero or negative: all are 32 higher.
        let shift = countLeadingZeros(bits) - 8u;
        return vec2<u32>(bits << shift, 33u - shift);
    }
    return vec2<u32>((bits & 0x7fffffu) | 0x800000u, (bits >> 23u) + 32u);
}

// a / b, rounded to nearest on devices with a less precise division. Requires that `a` is not negative, that `b` is
// positive, and that both and the quotient are finite.
//
// The quotient of the mantissas is estimated and then corrected with integers: compilers may change what they compute with
// floating-point numbers.
fn divide(a: f32, b: f32) -> f32 {
    if (bitcast<u32>(a) == 0u) {
        return 0.0;
    }
    let x = mantissa_and_exponent(a);
    let y = mantissa_and_exponent(b);
    let divisor = i32(y.x);
    // At least 25 bits. The remainder of the estimate is small: its upper bits are not needed.
    var quotient = i32(f32(x.x) / f32(y.x) * 33554432.0);
    var remainder = bitcast<i32>((x.x << 25u) - bitcast<u32>(quotient) * y.x);
    let correction = i32(floor(f32(remainder) / f32(divisor)));
    quotient += correction;
    remainder -= correction * divisor;
    if (remainder < 0) {
        quotient -= 1;
        remainder += divisor;
    }
    if (remainder >= divisor) {
        quotient += 1;
        remainder -= divisor;
    }
    // The bits that are rounded: two, or one if the quotient is less than one; more if the result is subnormal.
    let is_less = quotient < 33554432;
    let exponent = i32(x.y) - i32(y.y) + select(127, 126, is_less);
    let normal_exponent = max(exponent, 1);
    let num_rounded = u32(min(select(2, 1, is_less) + normal_exponent - exponent, 30));
    let bits = bitcast<u32>(quotient);
    let mantissa = bits >> num_rounded;
    let rest = bits & ((1u << num_rounded) - 1u);
    let middle = 1u << (num_rounded - 1u);
    let is_up = rest > middle || (rest == middle && (remainder != 0 || (mantissa & 1u) == 1u));
    return bitcast<f32>((u32(normal_exponent - 1) << 23u) + mantissa + select(0u, 1u, is_up));
}
