// Writes rows of the KV cache in I16, as `KvDType::encode_row` does.

// Bits of magnitudes. As integers, those of NaN are above all others.
var<workgroup> magnitudes: array<u32, LANES>;

fn store_row(row: CacheRow, lane: u32) {
    var magnitude = 0u;
    for (var i = lane; i < row.num_components; i += LANES) {
        magnitude = max(magnitude, bitcast<u32>(components[i]) & 0x7fffffffu);
    }
    magnitudes[lane] = magnitude;
    workgroupBarrier();
    for (var i = 0u; i < LANES; i++) {
        magnitude = max(magnitude, magnitudes[i]);
    }
    // Infinity and NaN make the row NaN; a magnitude below 2^-100 makes it zero.
    let is_finite = magnitude < 0x7f800000u;
    let is_stored = is_finite && magnitude >= 0x0d800000u;
    let largest = f32(min(32639u, 0x7fffffffu / 128u / row.num_components));
    var scale = select(0x7fc00000u, 0u, is_finite);
    var factor = 0.0;
    if (is_stored) {
        scale = bitcast<u32>(divide(bitcast<f32>(magnitude), largest));
        factor = divide(largest, bitcast<f32>(magnitude));
    }
    if (lane == 0u) {
        store_row_scale(row, 0u, scale);
    }
    for (var word = lane; word < (row.num_components + 7u) / 8u * 4u; word += LANES) {
        var integers = vec2<i32>(0);
        if (is_stored) {
            let pair = vec2<f32>(component_of(row, 2u * word), component_of(row, 2u * word + 1u));
            integers = vec2<i32>(round(pair * factor));
        }
        let halves = bitcast<vec2<u32>>(integers) & vec2<u32>(0xffffu);
        store_row_word(row, word, halves.x | (halves.y << 16u));
    }
}
