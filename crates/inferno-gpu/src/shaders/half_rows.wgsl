// Converts rows of x, after a norm if IS_NORMED, to f16: the input of `matrix_product` for many rows.

struct Params {
    rows: u32,
    cols: u32,
    units: u32,
    is_layer_norm: u32,
    has_norm_bias: u32,
    eps: f32,
    inverse_cols: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
// Bindings 1 to 3 are those of the snippet `product_rows`. Columns are padded with zeros to whole units.
@group(0) @binding(4) var<storage, read_write> halves: array<vec4<f16>>;
// Of each row, the factor of its sums.
@group(0) @binding(5) var<storage, read_write> factors: array<f32>;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) num_workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let row = flat_index(workgroup, num_workgroups);
    if row >= params.rows {
        return;
    }
    let statistics = input_statistics(row, thread);
    let exponent = largest_exponent(row, statistics, thread);
    for (var quad = thread; quad < 4u * params.units; quad += LANES) {
        let values = input_at(row, 4u * quad, statistics) * row_factor(exponent);
        halves[4u * params.units * row + quad] = vec4<f16>(values);
    }
    if thread == 0u {
        factors[row] = sum_factor(exponent);
    }
}
