// One workgroup per row and head of queries or keys, and one per row for the steps of heads and the strengths.

struct Params {
    rows: u32,
    num_key_heads: u32,
    key_dim: u32,
    queries: u32,
    keys: u32,
    num_heads: u32,
    has_steps: u32,
    steps: u32,
    strengths: u32,
    projected_len: u32,
    convolved_len: u32,
    min_step: f32,
    query_scale: f32,
    eps: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> step_bias: array<f32>;
@group(0) @binding(2) var<storage, read_write> projected: array<f32>;
@group(0) @binding(3) var<storage, read_write> convolved: array<f32>;

fn activate_steps(row: u32, lane: u32) {
    let first = row * params.projected_len;
    for (var head = lane; head < params.num_heads; head += LANES) {
        if params.has_steps != 0u {
            let gate = first + params.steps + head;
            let step = softplus(projected[gate] + step_bias[head]);
            projected[gate] = select(step, params.min_step, step < params.min_step);
        }
        if params.num_key_heads != 0u {
            let strength = first + params.strengths + head;
            projected[strength] = sigmoid(projected[strength]);
        }
    }
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) num_workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let units = 2u * params.num_key_heads + 1u;
    let index = flat_index(workgroup, num_workgroups);
    let row = index / units;
    let unit = index % units;
    if row >= params.rows {
        return;
    }
    if unit == 2u * params.num_key_heads {
        activate_steps(row, lane);
        return;
    }
    let is_query = unit < params.num_key_heads;
    let head = select(unit - params.num_key_heads, unit, is_query);
    let first_head = select(params.keys, params.queries, is_query);
    let first = row * params.convolved_len + first_head + head * params.key_dim;
    var squares = 0.0;
    for (var i = lane; i < params.key_dim; i += LANES) {
        squares = fma(convolved[first + i], convolved[first + i], squares);
    }
    let scale = select(1.0, params.query_scale, is_query);
    let factor = scale / sqrt(workgroup_sum(lane, squares) + params.eps);
    for (var i = lane; i < params.key_dim; i += LANES) {
        convolved[first + i] *= factor;
    }
}
