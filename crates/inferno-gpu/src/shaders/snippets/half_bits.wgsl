// The bits of the half-precision number that is nearest to x; of two, the even one. Implemented here because the rounding
// of `pack2x16float` depends on the device.
fn half_bits(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    let sign = (bits >> 16u) & 0x8000u;
    let magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) {
        return sign | 0x7e00u;
    }
    // From 65520 on, which lies between the largest number and the one that would follow.
    if (magnitude >= 0x477ff000u) {
        return sign | 0x7c00u;
    }
    if (magnitude >= 0x38800000u) {
        let rounded = magnitude + 0xfffu + ((magnitude >> 13u) & 1u);
        return sign | ((rounded - 0x38000000u) >> 13u);
    }
    // Multiples of 2^-24.
    let exponent = magnitude >> 23u;
    if (exponent < 102u) {
        return sign;
    }
    let mantissa = (magnitude & 0x7fffffu) | 0x800000u;
    let shift = 126u - exponent;
    let rounded = mantissa + (1u << (shift - 1u)) - 1u + ((mantissa >> shift) & 1u);
    return sign | (rounded >> shift);
}
