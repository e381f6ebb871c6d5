// Writes rows of the KV cache in Q8_0, as `KvDType::encode_row` does: a block of 32 values becomes NaN if its scale would
// not be finite.

// The scale of block `block` and the bits of its half-precision number.
fn block_scale(block: u32) -> vec2<u32> {
    // As integers, the bits of NaN are above all others.
    var magnitude = 0u;
    for (var i = 0u; i < 32u; i++) {
        magnitude = max(magnitude, bitcast<u32>(components[block * 32u + i]) & 0x7fffffffu);
    }
    if (magnitude >= 0x7f800000u) {
        return vec2<u32>(0u, 0x7e00u);
    }
    let scale = divide(bitcast<f32>(magnitude), 127.0);
    let half = half_bits(scale);
    if (half == 0x7c00u) {
        return vec2<u32>(0u, 0x7e00u);
    }
    return vec2<u32>(bitcast<u32>(scale), half);
}

// The nearest integer; of two, the one farther from zero.
fn nearest(value: f32) -> i32 {
    let whole = trunc(value);
    let rest = value - whole;
    return i32(whole) + select(0, 1, rest >= 0.5) - select(0, 1, rest <= -0.5);
}

fn store_row(row: CacheRow, lane: u32) {
    let num_blocks = row.num_components / 32u;
    for (var word = lane; word < (num_blocks + 1u) / 2u; word += LANES) {
        var halves = block_scale(2u * word).y;
        if (2u * word + 1u < num_blocks) {
            halves |= block_scale(2u * word + 1u).y << 16u;
        }
        store_row_scale(row, word, halves);
    }
    for (var word = lane; word < num_blocks * 8u; word += LANES) {
        let scale = bitcast<f32>(block_scale(word / 8u).x);
        var codes = 0u;
        // The reciprocals of smaller scales are infinite.
        if (scale > 2.938736e-39) {
            let inverse = divide(1.0, scale);
            for (var i = 0u; i < 4u; i++) {
                let value = clamp(components[4u * word + i] * inverse, -127.0, 127.0);
                codes |= (bitcast<u32>(nearest(value)) & 0xffu) << (8u * i);
            }
        }
        store_row_word(row, word, codes);
    }
}
