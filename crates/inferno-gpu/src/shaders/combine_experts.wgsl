struct Params {
    values: u32,
    cols: u32,
    num_used: u32,
    num_slots: u32,
    accumulate: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> routing: array<u32>;
@group(0) @binding(2) var<storage, read> y: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) num_workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = flat_index(workgroup, num_workgroups) * LANES + lane;
    if i >= params.values {
        return;
    }
    let first = i / params.cols * params.num_used;
    let col = i % params.cols;
    var sum = 0.0;
    if params.accumulate != 0u {
        sum = out[i];
    }
    for (var j = 0u; j < params.num_used; j++) {
        let weight = bitcast<f32>(routing[params.num_slots + first + j]);
        sum = fma(weight, y[(first + j) * params.cols + col], sum);
    }
    out[i] = sum;
}
