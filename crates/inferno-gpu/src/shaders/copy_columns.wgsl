struct Params {
    values: u32,
    blocks: u32,
    width: u32,
    from_row_len: u32,
    from_start: u32,
    from_step: u32,
    to_row_len: u32,
    to_start: u32,
    to_step: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) num_workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = flat_index(workgroup, num_workgroups) * LANES + lane;
    if i < params.values {
        let col = i % params.width;
        let block = i / params.width % params.blocks;
        let row = i / params.width / params.blocks;
        let source = row * params.from_row_len + params.from_start + block * params.from_step;
        let place = row * params.to_row_len + params.to_start + block * params.to_step;
        out[place + col] = x[source + col];
    }
}
