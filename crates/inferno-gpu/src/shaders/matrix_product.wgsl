// Products of rows with weights by cooperative matrices: `out = x * weight^T`, its sum with `out`, or a gated product.
//
// Inputs are f16, sums are f32. A row of weights is divided into parts of PART columns; the sum of a part is accumulated by
// M columns at a time, in order, and the sums of the parts are added in order. Every variant has this order, for one row
// of x and for many. Variants differ in what a workgroup computes:
//
// - Tiles (SPLIT = 1): its subgroups share a tile of weights and rows of x. Each computes MT times NT matrices over all
//   columns. A matrix of weights is loaded from workgroup memory NT times per step, one of x MT times.
// - Few rows (SPLIT > 1): SPLIT parts are multiplied at the same time by different subgroups, since few rows have too few
//   matrices to occupy the device.
//
// Subgroups beyond SUBGROUPS, which exist if the device chooses a smaller size than its largest, repeat the work of others:
// matrices require uniform control flow.

const PART_UNITS: u32 = 16u;
const STEP_UNITS: u32 = 2u;
// Vectors of a row's step in workgroup memory: 16-byte addresses without conflicts of banks.
const STRIDE: u32 = 10u;
const MATRIX: u32 = M * M;
// Matrices of weights of a subgroup, in pairs if HALVES = 2.
const MT: u32 = PAIRS * HALVES;
const SUBGROUPS: u32 = SPLIT * SG_OUT * SG_ROWS;
// Blocks of M rows of weights in a workgroup.
const BLOCKS: u32 = SG_OUT * MT;
const WEIGHT_ROWS: u32 = BLOCKS * M;
const ROWS: u32 = SG_ROWS * NT * M;
// Rows of weights that are stored: of gated products, every other block is an up projection.
const GROUP_OUTPUTS: u32 = WEIGHT_ROWS / (1u + IS_GATED);

// Matrices of results in workgroup memory.
//# if SPLIT = 1
const RESULTS: u32 = 2u * SUBGROUPS;
//# else
const RESULTS: u32 = SPLIT * BLOCKS * NT;
//# end
// Keeps small weights precise, without an overflow of the largest ones of NVFP4, 2,688. The snippet `half_scale` divides
// the sums by it.
const WEIGHT_FACTOR: f32 = 16.0;

var<workgroup> weights: array<vec4<f16>, SPLIT * WEIGHT_ROWS * STRIDE>;
var<workgroup> inputs: array<vec4<f16>, SPLIT * ROWS * STRIDE>;
var<workgroup> results: array<f32, RESULTS * MATRIX>;
var<workgroup> input_rows: array<u32, ROWS>;
var<workgroup> sum_factors: array<f32, ROWS>;
//# if IS_FUSED
var<workgroup> row_factors: array<f32, ROWS>;
var<workgroup> row_norms: array<vec2<f32>, ROWS>;
//# else
@group(0) @binding(1) var<storage, read> halves: array<vec4<f16>>;
@group(0) @binding(2) var<storage, read> half_factors: array<f32>;
//# end

// Four columns of a row of x, from `quad` on.
fn half_input(tile: Tile, r: u32, quad: u32) -> vec4<f16> {
    if r >= tile.count || quad >= 4u * params.units {
        return vec4<f16>();
    }
//# if IS_FUSED
    return vec4<f16>(input_at(input_rows[r], 4u * quad, row_norms[r]) * row_factors[r]);
//# else
    return halves[4u * params.units * input_rows[r] + quad];
//# end
}

fn load_inputs(tile: Tile, first: u32, thread: u32) {
    for (var i = thread; i < SPLIT * ROWS * STEP_UNITS * 4u; i += LANES) {
        let quad = i % (STEP_UNITS * 4u);
        let r = i / (STEP_UNITS * 4u) % ROWS;
        let slot = i / (STEP_UNITS * 4u * ROWS);
        let at = 4u * (first + slot * PART_UNITS) + quad;
        inputs[(slot * ROWS + r) * STRIDE + quad] = half_input(tile, r, at);
    }
}

fn scaled(values: vec4<f32>, unit: Unit) -> vec4<f16> {
    return vec4<f16>(fma(values, vec4<f32>(unit.scale * WEIGHT_FACTOR), vec4<f32>(-unit.min * WEIGHT_FACTOR)));
}

//# each p FUNCTIONS
// Loads STEP_UNITS units of each part, from `first` on, of the rows from `n` on and of their up projections.
fn load_weights_$p(tile: Tile, n: u32, first: u32, thread: u32) {
    for (var i = thread; i < SPLIT * WEIGHT_ROWS * STEP_UNITS; i += LANES) {
        let r = i / STEP_UNITS % WEIGHT_ROWS;
        let slot = i / (STEP_UNITS * WEIGHT_ROWS);
        let unit_at = first + slot * PART_UNITS + i % STEP_UNITS;
        let at = (slot * WEIGHT_ROWS + r) * STRIDE + i % STEP_UNITS * 4u;
        if unit_at >= params.units {
//# each q 4
            weights[at + $qu] = vec4<f16>();
//# end
            continue;
        }
        var unit: Unit;
//# if IS_GATED
        let up_n = n + r / (2u * M) * M + r % M;
        if r / M % 2u == 1u {
            unit = w$UP_unit(buffer_row(params.part_$UP, tile.expert, up_n + params.part_$UP.up), unit_at, params.units);
        } else {
            unit = w$p_unit(buffer_row(params.part_$p, tile.expert, up_n), unit_at, params.units);
        }
//# else
        unit = w$p_unit(buffer_row(params.part_$p, tile.expert, n + r), unit_at, params.units);
//# end
        weights[at] = scaled(unit.values.first, unit);
        weights[at + 1u] = scaled(unit.values.second, unit);
        weights[at + 2u] = scaled(unit.values.third, unit);
        weights[at + 3u] = scaled(unit.values.fourth, unit);
    }
}
//# end

// Stores the sums of `block` of the tile for the rows of x from `first_row` on, or of a gate and its up projection, which
// begin at `at` in `results`.
fn store_element(tile: Tile, part: Part, n: u32, at: u32, first_row: u32, element: u32) {
    let r = first_row + element / M;
    let row = n + element % M;
    if r >= tile.count || !has_row(part, tile.expert, row) {
        return;
    }
    let column = part.column + row;
    let to = output_row(tile, r) * params.out_len + column;
    let value = finish(results[at + element] * sum_factors[r], tile.expert, column);
//# if IS_GATED
    let up = finish(results[at + MATRIX + element] * sum_factors[r], tile.expert, column + params.weight_rows / 2u);
    let arguments = vec4<f32>(params.g0, params.g1, params.g2, params.g3);
    store(to, combine(params.gate_kind, arguments, value, up));
//# else
    store(to, value);
//# end
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) num_workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
    @builtin(subgroup_id) subgroup: u32,
) {
    let place = place_of(workgroup, num_workgroups);
    let tile = tile_at(params.first_tile + place.x);
    for (var r = thread; r < ROWS; r += LANES) {
        input_rows[r] = input_row(tile, r);
//# if IS_FUSED
//# else
        sum_factors[r] = half_factors[input_rows[r]];
//# end
    }
//# if IS_FUSED
    workgroupBarrier();
    for (var r = 0u; r < tile.count; r++) {
        let statistics = input_statistics(input_rows[r], thread);
        let exponent = largest_exponent(input_rows[r], statistics, thread);
        if thread == 0u {
            row_norms[r] = statistics;
            row_factors[r] = row_factor(exponent);
            sum_factors[r] = sum_factor(exponent);
        }
    }
//# end
    var group = place.y;
    var part = params.part_0;
//# if FUNCTIONS = 2
    let is_second = group >= params.part_0.num_groups;
    if is_second {
        group -= params.part_0.num_groups;
        part = params.part_1;
    }
//# end
    let n = part.offset + group * GROUP_OUTPUTS;
    let worker = subgroup % SUBGROUPS;
    let slot = worker / (SG_OUT * SG_ROWS);
    let first_block = worker / SG_ROWS % SG_OUT * MT;
    let first_row = worker % SG_ROWS * NT * M;
//# each i PAIRS
//# each h HALVES
//# each j NT
    var total_$i_$h_$j = coop_mat$Mx$M<f32, C>();
//# end
//# end
//# end
//# each q OWNED
    var owned_$q = 0.0;
//# end

    for (var first = 0u; first < params.units; first += SPLIT * PART_UNITS) {
//# each i PAIRS
//# each h HALVES
//# each j NT
        var sum_$i_$h_$j = coop_mat$Mx$M<f32, C>();
//# end
//# end
//# end
        let end = min(first + PART_UNITS, params.units);
        for (var step = first; step < end; step += STEP_UNITS) {
            workgroupBarrier();
            load_inputs(tile, step, thread);
//# if FUNCTIONS = 2
            if is_second {
                load_weights_1(tile, n, step, thread);
            } else {
                load_weights_0(tile, n, step, thread);
            }
//# else
            load_weights_0(tile, n, step, thread);
//# end
            workgroupBarrier();
//# each k K_STEPS
            {
//# each i PAIRS
//# each h HALVES
                let weights_$i_$h = coopLoadT<coop_mat$Mx$M<f16, A>>(
                    &weights[(slot * WEIGHT_ROWS + (first_block + $iu * HALVES + $hu) * M) * STRIDE + $ku * M / 4u],
                    STRIDE,
                );
//# end
//# end
//# each j NT
                let inputs_$j = coopLoad<coop_mat$Mx$M<f16, B>>(
                    &inputs[(slot * ROWS + first_row + $ju * M) * STRIDE + $ku * M / 4u],
                    STRIDE,
                );
//# end
//# each i PAIRS
//# each h HALVES
//# each j NT
                sum_$i_$h_$j = coopMultiplyAdd(weights_$i_$h, inputs_$j, sum_$i_$h_$j);
//# end
//# end
//# end
            }
//# end
        }
//# if SPLIT = 1
//# each i PAIRS
//# each h HALVES
//# each j NT
        total_$i_$h_$j = total_$i_$h_$j + sum_$i_$h_$j;
//# end
//# end
//# end
//# else
        workgroupBarrier();
//# each i PAIRS
//# each h HALVES
//# each j NT
        coopStore(
            sum_$i_$h_$j,
            &results[((slot * BLOCKS + first_block + $iu * HALVES + $hu) * NT + $ju) * MATRIX],
            M,
        );
//# end
//# end
//# end
        workgroupBarrier();
//# each q OWNED
        for (var s = 0u; s < SPLIT; s++) {
            let element = thread + LANES * $qu;
            if element < BLOCKS * NT * MATRIX {
                owned_$q += results[s * BLOCKS * NT * MATRIX + element];
            }
        }
//# end
//# end
    }

//# if SPLIT = 1
    // Pairs of matrices, which are a gate and its up projection if the product is gated.
//# each i PAIRS
//# each j NT
    workgroupBarrier();
    coopStore(total_$i_0_$j, &results[2u * worker * MATRIX], M);
    coopStore(total_$i_1_$j, &results[(2u * worker + 1u) * MATRIX], M);
    workgroupBarrier();
    for (var e = thread; e < SUBGROUPS * MATRIX * (2u - IS_GATED); e += LANES) {
        let matrix = e / MATRIX * (1u + IS_GATED);
        let owner = matrix / 2u;
        let block = owner / SG_ROWS * MT + 2u * $iu + matrix % 2u;
        let row = owner % SG_ROWS * NT * M + $ju * M;
        store_element(tile, part, n + block / (1u + IS_GATED) * M, matrix * MATRIX, row, e % MATRIX);
    }
//# end
//# end
//# else
    workgroupBarrier();
//# each q OWNED
    if thread + LANES * $qu < BLOCKS * NT * MATRIX {
        // The matrices of a row of x are neighbors, so that those of a gate and its up projection are.
        let element = thread + LANES * $qu;
        let matrix = element / MATRIX;
        results[(matrix % NT * BLOCKS + matrix / NT) * MATRIX + element % MATRIX] = owned_$q;
    }
//# end
    workgroupBarrier();
    for (var e = thread; e < NT * BLOCKS * MATRIX / (1u + IS_GATED); e += LANES) {
        let matrix = e / MATRIX * (1u + IS_GATED);
        let block = matrix % BLOCKS;
        store_element(tile, part, n + block / (1u + IS_GATED) * M, matrix * MATRIX, matrix / BLOCKS * M, e % MATRIX);
    }
//# end
}
