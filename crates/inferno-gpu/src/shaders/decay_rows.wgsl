// Replaces the steps of components by the factors on the rows of the matrices.

struct Params {
    values: u32,
    // Of a row.
    steps: u32,
    key_dim: u32,
    min_step: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> rates: array<f32>;
@group(0) @binding(2) var<storage, read> step_bias: array<f32>;
@group(0) @binding(3) var<storage, read_write> steps: array<f32>;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) num_workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = flat_index(workgroup, num_workgroups) * LANES + lane;
    if i < params.values {
        let component = i % params.steps;
        let step = softplus(steps[i] + step_bias[component]);
        let activated = select(step, params.min_step, step < params.min_step);
        steps[i] = exp(rates[component / params.key_dim] * activated);
    }
}
