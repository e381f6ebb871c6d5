// Writes rows of the KV cache in Q8_0, as `KvDType::encode_row` does: a block of 32 values becomes NaN if its scale would
// not be finite.

// The factor on the values of each block, and the bits of its scale in half precision.
var<workgroup> block_factors: array<f32, (max(KEY_DIM, STORED_VALUE_DIM) + 31u) / 32u>;
var<workgroup> block_scales: array<u32, (max(KEY_DIM, STORED_VALUE_DIM) + 31u) / 32u>;

// Computes the scale and the factor of a block.
fn scale_block(block: u32) {
    // As integers, the bits of NaN are above all others.
    var magnitude = 0u;
    for (var i = 0u; i < 32u; i++) {
        magnitude = max(magnitude, bitcast<u32>(components[block * 32u + i]) & 0x7fffffffu);
    }
    var scale = 0.0;
    var bits = 0x7e00u;
    if (magnitude < 0x7f800000u) {
        scale = divide(bitcast<f32>(magnitude), 127.0);
        bits = half_bits(scale);
    }
    block_scales[block] = select(bits, 0x7e00u, bits == 0x7c00u);
    var factor = 0.0;
    // The reciprocals of smaller scales are infinite.
    if (scale > 2.938736e-39 && bits != 0x7c00u) {
        factor = divide(1.0, scale);
    }
    block_factors[block] = factor;
}

// The nearest integer; of two, the one farther from zero.
fn nearest(value: f32) -> i32 {
    let whole = trunc(value);
    let rest = value - whole;
    return i32(whole) + select(0, 1, rest >= 0.5) - select(0, 1, rest <= -0.5);
}

fn store_row(row: CacheRow, lane: u32) {
    let num_blocks = row.num_components / 32u;
    for (var block = lane; block < num_blocks; block += LANES) {
        scale_block(block);
    }
    workgroupBarrier();
    for (var word = lane; word < (num_blocks + 1u) / 2u; word += LANES) {
        var halves = block_scales[2u * word];
        if (2u * word + 1u < num_blocks) {
            halves |= block_scales[2u * word + 1u] << 16u;
        }
        store_row_scale(row, word, halves);
    }
    for (var word = lane; word < num_blocks * 8u; word += LANES) {
        let factor = block_factors[word / 8u];
        var codes = 0u;
        // Infinity and NaN are not converted.
        if (factor != 0.0) {
            for (var i = 0u; i < 4u; i++) {
                let value = clamp(components[4u * word + i] * factor, -127.0, 127.0);
                codes |= (bitcast<u32>(nearest(value)) & 0xffu) << (8u * i);
            }
        }
        store_row_word(row, word, codes);
    }
}
