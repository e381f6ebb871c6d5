struct Params {
    values: u32,
    cols: u32,
    rows_at: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> batch: array<u32>;
@group(0) @binding(2) var<storage, read> x: array<u32>;
@group(0) @binding(3) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) num_workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = flat_index(workgroup, num_workgroups) * LANES + lane;
    if i < params.values {
        out[i] = x[batch[params.rows_at + i / params.cols] * params.cols + i % params.cols];
    }
}
