// One workgroup per part of a row that is normalized together.

struct Params {
    parts: u32,
    parts_per_row: u32,
    extent: u32,
    gate_row_len: u32,
    gate_column: u32,
    weight_len: u32,
    is_gate_first: u32,
    eps: f32,
    kind: u32,
    p0: f32,
    p1: f32,
    p2: f32,
    p3: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> gates: array<f32>;
@group(0) @binding(2) var<storage, read> weight: array<f32>;
@group(0) @binding(3) var<storage, read_write> x: array<f32>;

// The factor of a gate.
fn gating(gate: f32) -> f32 {
    return evaluate(params.kind, vec4(params.p0, params.p1, params.p2, params.p3), gate);
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) num_workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let part = flat_index(workgroup, num_workgroups);
    if part >= params.parts {
        return;
    }
    let row = part / params.parts_per_row;
    let first = part * params.extent;
    // Of this part in its row, and in the weight.
    let first_col = part % params.parts_per_row * params.extent;
    let first_gate = row * params.gate_row_len + params.gate_column + first_col;
    let first_weight = first_col % max(params.weight_len, 1u);
    var factor = 1.0;
    if params.weight_len != 0u {
        var squares = 0.0;
        for (var col = lane; col < params.extent; col += LANES) {
            var value = x[first + col];
            if params.is_gate_first != 0u {
                value *= gating(gates[first_gate + col]);
            }
            squares = fma(value, value, squares);
        }
        let mean_square = workgroup_sum(lane, squares) / f32(params.extent);
        factor = 1.0 / sqrt(mean_square + params.eps);
    }
    for (var col = lane; col < params.extent; col += LANES) {
        let factor_of_gate = gating(gates[first_gate + col]);
        var value = x[first + col];
        if params.is_gate_first != 0u {
            value *= factor_of_gate;
        }
        if params.weight_len != 0u {
            value = value * factor * weight[first_weight + col];
        }
        if params.is_gate_first == 0u {
            value *= factor_of_gate;
        }
        x[first + col] = value;
    }
}
