// Rows as f16. A row is multiplied by a power of two that brings its largest magnitude to between 2^14 and 2^15, so that
// no value overflows and small rows keep their precision. Weights are multiplied by 2^4 in `matrix_product`. The sums are
// divided by both: exact, as they are powers of two.

var<workgroup> partial_maxima: array<f32, LANES>;

// The values of four columns of a row, after the norm if there is one.
fn input_at(row: u32, col: u32, statistics: vec2<f32>) -> vec4<f32> {
//# if IS_NORMED
    return normed(x_at(row, col), statistics.x, statistics.y, col);
//# else
    return x_at(row, col);
//# end
}

fn input_statistics(row: u32, thread: u32) -> vec2<f32> {
//# if IS_NORMED
    return row_statistics(row, thread);
//# else
    return vec2<f32>();
//# end
}

// The exponent of the largest magnitude, in the encoding of f32. Control flow must be uniform.
fn largest_exponent(row: u32, statistics: vec2<f32>, thread: u32) -> u32 {
    var largest = 0.0;
    for (var col = 4u * thread; col < 16u * params.units; col += 4u * LANES) {
        let values = abs(input_at(row, col, statistics));
        largest = max(largest, max(max(values.x, values.y), max(values.z, values.w)));
    }
    partial_maxima[thread] = largest;
    workgroupBarrier();
    for (var width = LANES / 2u; width > 0u; width /= 2u) {
        if thread < width {
            partial_maxima[thread] = max(partial_maxima[thread], partial_maxima[thread + width]);
        }
        workgroupBarrier();
    }
    let exponent = (bitcast<u32>(partial_maxima[0]) >> 23u) & 0xffu;
    workgroupBarrier();
    return clamp(exponent, 21u, 255u);
}

// The power of two for values of a row.
fn row_factor(exponent: u32) -> f32 {
    return bitcast<f32>((268u - exponent) << 23u);
}

// The power of two for sums of their products with weights.
fn sum_factor(exponent: u32) -> f32 {
    return bitcast<f32>((exponent - 18u) << 23u);
}
