// One workgroup per block of the result.

struct Params {
    blocks: u32,
    blocks_per_row: u32,
    width: u32,
    minimum: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) num_workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let block = flat_index(workgroup, num_workgroups);
    if block >= params.blocks {
        return;
    }
    let first = block * params.width;
    let first_of_row = block / params.blocks_per_row * params.width;
    var target_squares = 0.0;
    var squares = 0.0;
    for (var col = lane; col < params.width; col += LANES) {
        let wanted = x[first_of_row + col];
        target_squares = fma(wanted, wanted, target_squares);
        let value = out[first + col];
        squares = fma(value, value, squares);
    }
    let wanted = workgroup_sum(lane, target_squares) / f32(params.width);
    let found = workgroup_sum(lane, squares) / f32(params.width);
    let factor = sqrt(wanted / max(found, params.minimum));
    for (var col = lane; col < params.width; col += LANES) {
        out[first + col] *= factor;
    }
}
