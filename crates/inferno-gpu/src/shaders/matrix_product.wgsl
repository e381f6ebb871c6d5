// Products of many rows with weights by cooperative matrices: `out = x * weight^T`, its sum with `out`, or a gated product.
//
// Inputs are f16, sums are f32. The subgroups of a workgroup share a tile of weights and of rows of x, STEP_UNITS units at a
// time. Each multiplies MT times NT matrices: one of weights is loaded from workgroup memory once per step for NT products,
// one of x for MT. With SPLIT > 1, different subgroups multiply different columns, and their sums are added at the end:
// small products have too few tiles to occupy the device.
//
// Subgroups beyond SUBGROUPS, which exist if the device chooses a smaller size than its largest, repeat the work of others:
// matrices require uniform control flow.

const STEP_UNITS: u32 = 2u;
// Vectors of a row's step: in the buffer, and in workgroup memory with 16-byte addresses without conflicts of banks.
const QUADS: u32 = 4u * STEP_UNITS;
const STRIDE: u32 = QUADS + 2u;
const MATRIX: u32 = M * M;
// Matrices of weights of a subgroup.
const MT: u32 = 2u * PAIRS;
const SUBGROUPS: u32 = SPLIT * SG_OUT * SG_ROWS;
const WEIGHT_ROWS: u32 = SG_OUT * MT * M;
const ROWS: u32 = SG_ROWS * NT * M;
// Rows of weights that are stored: of gated products, every other block of M rows is an up projection.
const GROUP_OUTPUTS: u32 = WEIGHT_ROWS / (1u + IS_GATED);
// Keeps small weights precise, without an overflow of the largest ones of NVFP4, 2,688. The snippet `half_scale` divides
// the sums by it.
const WEIGHT_FACTOR: f32 = 16.0;

var<workgroup> weights: array<vec4<f16>, SPLIT * WEIGHT_ROWS * STRIDE>;
var<workgroup> inputs: array<vec4<f16>, SPLIT * ROWS * STRIDE>;
var<workgroup> results: array<f32, 2 * SUBGROUPS * MATRIX>;

@group(0) @binding(1) var<storage, read> halves: array<vec4<f16>>;
@group(0) @binding(2) var<storage, read> half_factors: array<f32>;

fn scaled(values: vec4<f32>, unit: Unit) -> vec4<f16> {
    return vec4<f16>(fma(values, vec4<f32>(unit.scale * WEIGHT_FACTOR), vec4<f32>(-unit.min * WEIGHT_FACTOR)));
}

// The row of `x` of row `r` of the tile, also if the tile has fewer.
fn tile_row(tile: Tile, r: u32) -> u32 {
    return tile.first + min(r, max(tile.count, 1u) - 1u);
}

// Stores an element of the matrices of a pair of blocks, which are a gate and its up projection if the product is gated.
fn store_element(tile: Tile, part: Part, n: u32, value: f32, up: f32, r: u32) {
    if r >= tile.count || !has_row(part, tile.expert, n) {
        return;
    }
    let column = part.column + n;
    let to = (tile.first + r) * params.out_len + column;
    let factor = half_factors[tile.first + r];
    let result = finish(value * factor, tile.expert, column);
//# if IS_GATED
    let up_result = finish(up * factor, tile.expert, column + params.weight_rows / 2u);
    let arguments = vec4<f32>(params.g0, params.g1, params.g2, params.g3);
    store(to, combine(params.gate_kind, arguments, result, up_result));
//# else
    store(to, result);
//# end
}

// The sum of an element of matrix `matrix` of a round over all splits.
fn sum_of_splits(matrix: u32, element: u32) -> f32 {
    var sum = results[matrix * MATRIX + element];
    for (var s = 1u; s < SPLIT; s++) {
        sum += results[(s * 2u * SG_OUT * SG_ROWS + matrix) * MATRIX + element];
    }
    return sum;
}

//# each p FUNCTIONS
// Loads a unit of a row of weights: of an up projection if `is_up`.
fn load_$p(row: u32, unit: u32, is_up: bool) -> StoredUnit {
//# if UP
    if is_up && IS_GATED == 1u {
        return w$UP_load(row, unit, params.units);
    }
//# end
    return w$p_load(row, unit, params.units);
}

fn expand_$p(stored: StoredUnit, unit: u32, is_up: bool) -> Unit {
//# if UP
    if is_up && IS_GATED == 1u {
        return w$UP_expanded(stored, unit);
    }
//# end
    return w$p_expanded(stored, unit);
}

fn multiply_$p(tile: Tile, n: u32, thread: u32, subgroup: u32) {
    let worker = subgroup % SUBGROUPS;
    let slot = worker / (SG_OUT * SG_ROWS);
    let first_block = worker / SG_ROWS % SG_OUT * MT;
    let first_row = worker % SG_ROWS * NT * M;
//# each l INPUT_LOADS
    let input_at_$l = thread + $lu * LANES;
    let input_quad_$l = input_at_$l / (ROWS * QUADS) * QUADS + input_at_$l % QUADS;
    let input_row_$l = 4u * params.units * tile_row(tile, input_at_$l / QUADS % ROWS);
    let input_to_$l = input_at_$l / QUADS * STRIDE + input_at_$l % QUADS;
//# end
//# each l WEIGHT_LOADS
    let weight_at_$l = thread + $lu * LANES;
    let weight_unit_$l = weight_at_$l / (WEIGHT_ROWS * STEP_UNITS) * STEP_UNITS + weight_at_$l % STEP_UNITS;
    let weight_row_$l = weight_at_$l / STEP_UNITS % WEIGHT_ROWS;
//# if IS_GATED
    let block_row_$l = n + weight_row_$l / (2u * M) * M + weight_row_$l % M;
    let is_up_$l = weight_row_$l / M % 2u == 1u;
    let gate_from_$l = buffer_row(params.part_$p, tile.expert, block_row_$l);
    let up_from_$l = buffer_row(params.part_$UP, tile.expert, block_row_$l + params.part_$UP.up);
    let weight_from_$l = select(gate_from_$l, up_from_$l, is_up_$l);
//# else
    let is_up_$l = false;
    let weight_from_$l = buffer_row(params.part_$p, tile.expert, n + weight_row_$l);
//# end
    let weight_to_$l = weight_at_$l / STEP_UNITS * STRIDE + weight_at_$l % STEP_UNITS * 4u;
//# end
//# each i PAIRS
//# each h 2
//# each j NT
    var sum_$i_$h_$j = coop_mat$Mx$M<f32, C>();
//# end
//# end
//# end
    let last_unit = max(params.units, 1u) - 1u;
    let last_quad = 4u * last_unit + 3u;
    // The loads of a step are in flight while the matrices of the one before it are multiplied.
//# each l INPUT_LOADS
    var input_$l = halves[input_row_$l + min(input_quad_$l, last_quad)];
//# end
//# each l WEIGHT_LOADS
    var unit_$l = load_$p(weight_from_$l, min(weight_unit_$l, last_unit), is_up_$l);
//# end
    for (var step = 0u; step < params.units; step += SPLIT * STEP_UNITS) {
        workgroupBarrier();
//# each l INPUT_LOADS
//# if SPLIT = 1
        inputs[input_to_$l] = input_$l;
//# else
        inputs[input_to_$l] = select(vec4<f16>(), input_$l, 4u * step + input_quad_$l <= last_quad);
//# end
//# end
//# each l WEIGHT_LOADS
        {
            let unit = expand_$p(unit_$l, min(step + weight_unit_$l, last_unit), is_up_$l);
            weights[weight_to_$l] = scaled(unit.values.first, unit);
            weights[weight_to_$l + 1u] = scaled(unit.values.second, unit);
            weights[weight_to_$l + 2u] = scaled(unit.values.third, unit);
            weights[weight_to_$l + 3u] = scaled(unit.values.fourth, unit);
        }
//# end
        let next = step + SPLIT * STEP_UNITS;
//# each l INPUT_LOADS
        input_$l = halves[input_row_$l + min(4u * next + input_quad_$l, last_quad)];
//# end
//# each l WEIGHT_LOADS
        unit_$l = load_$p(weight_from_$l, min(next + weight_unit_$l, last_unit), is_up_$l);
//# end
        // Threads may have diverged in the loads; matrices require uniform control flow.
        workgroupBarrier();
//# each k K_STEPS
        {
//# each i PAIRS
//# each h 2
            let weights_$i_$h = coopLoadT<coop_mat$Mx$M<f16, A>>(
                &weights[(slot * WEIGHT_ROWS + (first_block + $iu * 2u + $hu) * M) * STRIDE + $ku * M / 4u],
                STRIDE,
            );
//# end
//# end
//# each j NT
            let inputs_$j = coopLoad<coop_mat$Mx$M<f16, B>>(
                &inputs[(slot * ROWS + first_row + $ju * M) * STRIDE + $ku * M / 4u],
                STRIDE,
            );
//# each i PAIRS
//# each h 2
            sum_$i_$h_$j = coopMultiplyAdd(weights_$i_$h, inputs_$j, sum_$i_$h_$j);
//# end
//# end
//# end
        }
//# end
    }
    // The matrices of a pair of blocks and of a block of rows of x at a time.
    let part = params.part_$p;
//# each i PAIRS
//# each j NT
    workgroupBarrier();
    coopStore(sum_$i_0_$j, &results[2u * worker * MATRIX], M);
    coopStore(sum_$i_1_$j, &results[(2u * worker + 1u) * MATRIX], M);
    workgroupBarrier();
    for (var e = thread; e < SG_OUT * SG_ROWS * MATRIX * (2u - IS_GATED); e += LANES) {
        let matrix = e / MATRIX * (1u + IS_GATED);
        let element = e % MATRIX;
        let owner = matrix / 2u;
        let block = owner / SG_ROWS * MT + 2u * $iu + matrix % 2u;
        let row = n + block / (1u + IS_GATED) * M + element % M;
        let value = sum_of_splits(matrix, element);
//# if IS_GATED
        let up = sum_of_splits(matrix + 1u, element);
//# else
        let up = 0.0;
//# end
        store_element(tile, part, row, value, up, owner % SG_ROWS * NT * M + $ju * M + element / M);
    }
//# end
//# end
}
//# end

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) num_workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
    @builtin(subgroup_id) subgroup: u32,
) {
    let place = place_of(workgroup, num_workgroups);
    let tile = tile_at(params.first_tile + place.x);
    let group = place.y;
//# if FUNCTIONS = 2
    if group >= params.part_0.num_groups {
        multiply_1(tile, params.part_1.offset + (group - params.part_0.num_groups) * GROUP_OUTPUTS, thread, subgroup);
    } else {
        multiply_0(tile, params.part_0.offset + group * GROUP_OUTPUTS, thread, subgroup);
    }
//# else
    multiply_0(tile, params.part_0.offset + group * GROUP_OUTPUTS, thread, subgroup);
//# end
}
