struct Params {
    values: u32,
    width: u32,
    in_blocks: u32,
    out_blocks: u32,
    factor_row_step: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> factors: array<f32>;
@group(0) @binding(2) var<storage, read> x: array<f32>;
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
    let col = i % params.width;
    let block = i / params.width % params.out_blocks;
    let row = i / params.width / params.out_blocks;
    let first_factor = row * params.factor_row_step + block * params.in_blocks;
    let first = row * params.in_blocks * params.width + col;
    var sum = 0.0;
    for (var j = 0u; j < params.in_blocks; j++) {
        sum = fma(factors[first_factor + j], x[first + j * params.width], sum);
    }
    out[i] += sum;
}
