// One workgroup per row.

struct Params {
    rows: u32,
    cols: u32,
    num_deviations: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> x: array<f32>;

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
    var sum = 0.0;
    for (var col = lane; col < params.cols; col += LANES) {
        sum += x[first + col];
    }
    let mean = workgroup_sum(lane, sum) / f32(params.cols);
    var squares = 0.0;
    for (var col = lane; col < params.cols; col += LANES) {
        let difference = x[first + col] - mean;
        squares = fma(difference, difference, squares);
    }
    let variance = workgroup_sum(lane, squares) / f32(params.cols);
    let cutoff = fma(params.num_deviations, sqrt(variance), mean);
    for (var col = lane; col < params.cols; col += LANES) {
        x[first + col] = max(x[first + col] - cutoff, 0.0);
    }
}
