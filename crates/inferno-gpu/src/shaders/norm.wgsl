// Norms of rows, one workgroup per row.

struct Params {
    rows: u32,
    cols: u32,
    is_layer_norm: u32,
    has_norm_bias: u32,
    eps: f32,
    inverse_cols: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
// Bindings 1 to 3 are those of the snippet `product_rows`.
//# if IS_ALIGNED
@group(0) @binding(4) var<storage, read_write> out: array<vec4<f32>>;
//# else
@group(0) @binding(4) var<storage, read_write> out: array<f32>;
//# end

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) num_workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row = flat_index(workgroup, num_workgroups);
    if row >= params.rows {
        return;
    }
    let statistics = row_statistics(row, lane);
    for (var col = 4u * lane; col < params.cols; col += 4u * LANES) {
        let values = normed(x_at(row, col), statistics.x, statistics.y, col);
        let at = row * params.cols + col;
//# if IS_ALIGNED
        out[at / 4u] = values;
//# else
//# each i 4
        if col + $iu < params.cols {
            out[at + $iu] = values[$i];
        }
//# end
//# end
    }
}
