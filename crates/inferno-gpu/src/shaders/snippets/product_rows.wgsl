// The rows of x that a product reads, after a norm if IS_NORMED.

//# if IS_ALIGNED
@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> norm_weight: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> norm_bias: array<vec4<f32>>;
//# else
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> norm_weight: array<f32>;
@group(0) @binding(3) var<storage, read> norm_bias: array<f32>;
//# end

//# if IS_ALIGNED
fn x_at(row: u32, col: u32) -> vec4<f32> {
    return x[(row * params.cols + col) / 4u];
}

fn norm_weight_at(col: u32) -> vec4<f32> {
    return norm_weight[col / 4u];
}

fn norm_bias_at(col: u32) -> vec4<f32> {
    return norm_bias[col / 4u];
}
//# else
// Zero beyond the last column, whatever the buffer holds there.
fn x_at(row: u32, col: u32) -> vec4<f32> {
    var values = vec4<f32>();
//# each i 4
    if col + $iu < params.cols {
        values[$i] = x[row * params.cols + col + $iu];
    }
//# end
    return values;
}

fn norm_weight_at(col: u32) -> vec4<f32> {
    var values = vec4<f32>();
//# each i 4
    if col + $iu < params.cols {
        values[$i] = norm_weight[col + $iu];
    }
//# end
    return values;
}

fn norm_bias_at(col: u32) -> vec4<f32> {
    var values = vec4<f32>();
//# each i 4
    if col + $iu < params.cols {
        values[$i] = norm_bias[col + $iu];
    }
//# end
    return values;
}
//# end

//# if IS_NORMED
// As `x_at`, but also zero for columns after the row.
fn x_in_row(row: u32, col: u32) -> vec4<f32> {
    if col < params.cols {
        return x_at(row, col);
    }
    return vec4<f32>();
}

// Less the mean, and zero after the row.
fn centered(values: vec4<f32>, mean: f32, col: u32) -> vec4<f32> {
    let is_in_row = vec4<u32>(col) + vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(params.cols);
    return select(vec4<f32>(), values - vec4<f32>(mean), is_in_row);
}

// The mean of a row, zero for RMS norms, and the factor of its values. Each thread sums four neighboring columns at
// distances of 4 LANES, in order. The loads of four turns precede the sum of squares.
fn row_statistics(row: u32, lane: u32) -> vec2<f32> {
    var mean = 0.0;
    if params.is_layer_norm != 0u {
        var sum = 0.0;
        for (var col = 4u * lane; col < params.cols; col += 4u * LANES) {
            let values = x_at(row, col);
            // Columns beyond the last one are zero.
            sum = (((sum + values.x) + values.y) + values.z) + values.w;
        }
        mean = workgroup_sum(lane, sum) * params.inverse_cols;
    }
    var squares = 0.0;
    for (var col = 4u * lane; col < params.cols; col += 16u * LANES) {
//# each i 4
        let values_$i = x_in_row(row, col + $iu * 4u * LANES);
//# end
//# each i 4
        {
            let values = centered(values_$i, mean, col + $iu * 4u * LANES);
//# each k 4
            squares = fma(values[$k], values[$k], squares);
//# end
        }
//# end
    }
    return vec2<f32>(mean, inverseSqrt(fma(workgroup_sum(lane, squares), params.inverse_cols, params.eps)));
}

// A compiler cannot contract the result of an explicit `fma` with what follows.
fn normed(values: vec4<f32>, mean: f32, factor: f32, col: u32) -> vec4<f32> {
    var added = vec4<f32>();
    if params.has_norm_bias != 0u {
        added = norm_bias_at(col);
    }
    return fma((values - vec4<f32>(mean)) * factor, norm_weight_at(col), added);
}
//# end
