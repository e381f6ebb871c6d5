struct Params {
    values: u32,
    cols: u32,
    gate_row_step: u32,
    gate_col_step: u32,
    kind: u32,
    p0: f32,
    p1: f32,
    p2: f32,
    p3: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> gates: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) num_workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = flat_index(workgroup, num_workgroups) * LANES + lane;
    if i < params.values {
        let gate = gates[i / params.cols * params.gate_row_step + i % params.cols * params.gate_col_step];
        let parameters = vec4(params.p0, params.p1, params.p2, params.p3);
        out[i] *= evaluate(params.kind, parameters, gate);
    }
}
