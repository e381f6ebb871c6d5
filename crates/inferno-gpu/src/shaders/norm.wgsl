// One workgroup per row. Each thread sums four neighboring columns at distances of 4 LANES, in order.

struct Params {
    rows: u32,
    cols: u32,
    is_layer: u32,
    has_bias: u32,
    eps: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> weight: array<f32>;
@group(0) @binding(3) var<storage, read> bias: array<f32>;
@group(0) @binding(4) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) num_workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row = flat_index(workgroup, num_workgroups);
    if row >= params.rows {
        return;
    }
    let first = row * params.cols;
    var mean = 0.0;
    if params.is_layer != 0u {
        var sum = 0.0;
        for (var col = 4u * lane; col < params.cols; col += 4u * LANES) {
//# each i 4
            if col + $iu < params.cols {
                sum += x[first + col + $iu];
            }
//# end
        }
        mean = workgroup_sum(lane, sum) / f32(params.cols);
    }
    var squares = 0.0;
    for (var col = 4u * lane; col < params.cols; col += 4u * LANES) {
//# each i 4
        if col + $iu < params.cols {
            let value_$i = x[first + col + $iu] - mean;
            squares = fma(value_$i, value_$i, squares);
        }
//# end
    }
    let mean_square = workgroup_sum(lane, squares) / f32(params.cols);
    let factor = 1.0 / sqrt(mean_square + params.eps);
    for (var col = lane; col < params.cols; col += LANES) {
        var added = 0.0;
        if params.has_bias != 0u {
            added = bias[col];
        }
        out[first + col] = fma((x[first + col] - mean) * factor, weight[col], added);
    }
}
