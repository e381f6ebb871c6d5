// Products of rows with weights: `out = x * weight^T`, its sum with `out`, or a gated product.
//
// A team of TEAM threads computes WEIGHTS rows of the weight for ROWS rows of x. Thread p of a team sums the units p,
// p + TEAM, ... in order, then the sums of the threads are added in a fixed order: the same for every number of rows.

// A part of the weight, whose rows have the same format and are in the same buffers.
struct Part {
    // Workgroups.
    num_groups: u32,
    // Rows of one expert.
    num_rows: u32,
    // The first row of the first workgroup, and the end of the rows that are computed.
    offset: u32,
    limit: u32,
    // The rows in the buffers, counted over all experts.
    first_row: u32,
    last_row: u32,
    // The column of the part's first row in `out`.
    column: u32,
    // Gated: rows from a gate to its up projection, if both are in this part.
    up: u32,
}

struct Params {
    rows: u32,
    cols: u32,
    units: u32,
    out_len: u32,
    // Rows of one expert of the whole weight.
    weight_rows: u32,
    first_tile: u32,
    // Slots per row of the input, and of the routing.
    slots_per_row: u32,
    num_slots: u32,
    is_layer_norm: u32,
    has_norm_bias: u32,
    has_scales: u32,
    has_bias: u32,
    is_sum: u32,
    eps: f32,
    gate_kind: u32,
    g0: f32,
    g1: f32,
    g2: f32,
    g3: f32,
    // Structures begin at multiples of 16 bytes.
    padding: u32,
    a: Part,
    b: Part,
}

@group(0) @binding(0) var<uniform> params: Params;
//# if IS_ALIGNED
@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> norm_weight: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> norm_bias: array<vec4<f32>>;
//# else
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> norm_weight: array<f32>;
@group(0) @binding(3) var<storage, read> norm_bias: array<f32>;
//# end
@group(0) @binding(4) var<storage, read> bias: array<f32>;
@group(0) @binding(5) var<storage, read> scales: array<f32>;
// Experts of all slots, their weights, the slots sorted by expert, and tiles of them.
@group(0) @binding(6) var<storage, read> routing: array<u32>;
@group(0) @binding(7) var<storage, read> codebooks: array<u32>;
@group(0) @binding(8) var<storage, read_write> out: array<f32>;

const TEAM: u32 = 32u;
const TEAMS: u32 = LANES / TEAM;
const WEIGHTS: u32 = 2u;
const VALUES: u32 = WEIGHTS * ROWS;
// Sums of a team, without conflicts of banks.
const STRIDE: u32 = TEAM + 1u;
// Outputs of a team per row.
const OUTPUTS: u32 = WEIGHTS / (1u + IS_GATED);

var<workgroup> sums: array<f32, TEAMS * VALUES * STRIDE>;

// Rows of x with the same expert.
struct Tile {
    expert: u32,
    first: u32,
    // Zero for tiles without work.
    count: u32,
}

fn tile_at(number: u32) -> Tile {
//# if TILES = 0
    // Neighboring rows.
    let first = number * ROWS;
    return Tile(0u, first, min(ROWS, params.rows - min(first, params.rows)));
//# end
//# if TILES = 1
    // One slot.
    return Tile(routing[number], number, 1u);
//# end
//# if TILES = 2
    // Slots in the order of their experts.
    let at = 3u * params.num_slots + 3u * number;
    return Tile(routing[at], routing[at + 1u], routing[at + 2u]);
//# end
}

// The row of `out`.
fn output_row(tile: Tile, r: u32) -> u32 {
//# if TILES = 2
    return routing[2u * params.num_slots + tile.first + r];
//# else
    return tile.first + r;
//# end
}

// The row of `x`, also if the tile has fewer.
fn input_row(tile: Tile, r: u32) -> u32 {
    if tile.count == 0u {
        return 0u;
    }
    return output_row(tile, min(r, tile.count - 1u)) / params.slots_per_row;
}

//# if IS_ALIGNED
fn x_at(row: u32, col: u32) -> vec4<f32> {
    return x[(row * params.cols + col) / 4u];
}

fn norm_weight_at(col: u32) -> vec4<f32> {
    return norm_weight[col / 4u];
}

fn norm_bias_at(col: u32) -> vec4<f32> {
    return norm_bias[col / 4u];
}

fn x_value(row: u32, col: u32) -> f32 {
    return x[(row * params.cols + col) / 4u][col % 4u];
}
//# else
fn x_value(row: u32, col: u32) -> f32 {
    return x[row * params.cols + col];
}

// Zero beyond the last column, whatever the buffer holds there.
fn x_at(row: u32, col: u32) -> vec4<f32> {
    var values = vec4<f32>();
//# each i 4
    if col + $iu < params.cols {
        values[$i] = x[row * params.cols + col + $iu];
    }
//# end
    return values;
}

fn norm_weight_at(col: u32) -> vec4<f32> {
    var values = vec4<f32>();
//# each i 4
    if col + $iu < params.cols {
        values[$i] = norm_weight[col + $iu];
    }
//# end
    return values;
}

fn norm_bias_at(col: u32) -> vec4<f32> {
    var values = vec4<f32>();
//# each i 4
    if col + $iu < params.cols {
        values[$i] = norm_bias[col + $iu];
    }
//# end
    return values;
}
//# end

//# each r ROWS
var<private> row_$r: u32;
//# each w 2
var<private> sum_$w_$r: f32;
//# end
//# if IS_NORMED
var<private> mean_$r: f32;
var<private> factor_$r: f32;
//# end
//# end

//# if IS_NORMED
// The statistics of a row as the kernel `norm` computes them.
fn row_statistics(row: u32, lane: u32) -> vec2<f32> {
    var mean = 0.0;
    if params.is_layer_norm != 0u {
        var sum = 0.0;
        for (var col = lane; col < params.cols; col += LANES) {
            sum += x_value(row, col);
        }
        mean = workgroup_sum(lane, sum) / f32(params.cols);
    }
    var squares = 0.0;
    for (var col = lane; col < params.cols; col += LANES) {
        let value = x_value(row, col) - mean;
        squares = fma(value, value, squares);
    }
    let mean_square = workgroup_sum(lane, squares) / f32(params.cols);
    return vec2<f32>(mean, 1.0 / sqrt(mean_square + params.eps));
}

fn normed(values: vec4<f32>, mean: f32, factor: f32, col: u32) -> vec4<f32> {
    var result = (values - vec4<f32>(mean)) * factor * norm_weight_at(col);
    if params.has_norm_bias != 0u {
        result += norm_bias_at(col);
    }
    return result;
}
//# end

fn horizontal_sum(values: vec4<f32>) -> f32 {
    return (values.x + values.y) + (values.z + values.w);
}

fn add_unit(unit: Unit, x: Values, total: f32, sum: f32) -> f32 {
    var terms = unit.values.first * x.first;
    terms = fma(unit.values.second, x.second, terms);
    terms = fma(unit.values.third, x.third, terms);
    terms = fma(unit.values.fourth, x.fourth, terms);
    let scaled = fma(unit.scale, horizontal_sum(terms), sum);
    if unit.has_min {
        return fma(-unit.min, total, scaled);
    }
    return scaled;
}

// Adds the products of a unit of both rows of weights.
fn accumulate(unit_0: Unit, unit_1: Unit, unit: u32) {
    let col = unit * 16u;
//# each r ROWS
    {
        var x = Values(
            x_at(row_$r, col),
            x_at(row_$r, col + 4u),
            x_at(row_$r, col + 8u),
            x_at(row_$r, col + 12u),
        );
//# if IS_NORMED
        x.first = normed(x.first, mean_$r, factor_$r, col);
        x.second = normed(x.second, mean_$r, factor_$r, col + 4u);
        x.third = normed(x.third, mean_$r, factor_$r, col + 8u);
        x.fourth = normed(x.fourth, mean_$r, factor_$r, col + 12u);
//# end
        let total = horizontal_sum((x.first + x.second) + (x.third + x.fourth));
        sum_0_$r = add_unit(unit_0, x, total, sum_0_$r);
        sum_1_$r = add_unit(unit_1, x, total, sum_1_$r);
    }
//# end
}

// Whether the dispatch computes the part's row `n` of an expert.
fn has_row(part: Part, expert: u32, n: u32) -> bool {
    let row = expert * part.num_rows + n;
    return n < part.limit && row >= part.first_row && row < part.last_row;
}

// The row in a part's buffers of its row `n` of an expert; any row if it is not there.
fn buffer_row(part: Part, expert: u32, n: u32) -> u32 {
    return clamp(expert * part.num_rows + n, part.first_row, part.last_row - 1u) - part.first_row;
}

//# if IS_GATED
// `n` is the row of the gate.
fn multiply(tile: Tile, n: u32, thread: u32) {
    let row_0 = buffer_row(params.a, tile.expert, n);
//# if HAS_B
    let row_1 = buffer_row(params.b, tile.expert, n);
//# else
    let row_1 = buffer_row(params.a, tile.expert, n + params.a.up);
//# end
    let has_work = tile.count > 0u && has_row(params.a, tile.expert, n);
    let units = select(0u, params.units, has_work);
    for (var unit = thread % TEAM; unit < units; unit += TEAM) {
        let unit_0 = a_unit(row_0, unit, params.units);
//# if HAS_B
        let unit_1 = b_unit(row_1, unit, params.units);
//# else
        let unit_1 = a_unit(row_1, unit, params.units);
//# end
        accumulate(unit_0, unit_1, unit);
    }
}
//# else
// `n` and the row after it.
fn multiply_a(tile: Tile, n: u32, thread: u32) {
    let row_0 = buffer_row(params.a, tile.expert, n);
    let row_1 = buffer_row(params.a, tile.expert, n + 1u);
    let has_work = has_row(params.a, tile.expert, n) || has_row(params.a, tile.expert, n + 1u);
    let units = select(0u, params.units, has_work && tile.count > 0u);
    for (var unit = thread % TEAM; unit < units; unit += TEAM) {
        accumulate(a_unit(row_0, unit, params.units), a_unit(row_1, unit, params.units), unit);
    }
}
//# if HAS_B
fn multiply_b(tile: Tile, n: u32, thread: u32) {
    let row_0 = buffer_row(params.b, tile.expert, n);
    let row_1 = buffer_row(params.b, tile.expert, n + 1u);
    let has_work = has_row(params.b, tile.expert, n) || has_row(params.b, tile.expert, n + 1u);
    let units = select(0u, params.units, has_work && tile.count > 0u);
    for (var unit = thread % TEAM; unit < units; unit += TEAM) {
        accumulate(b_unit(row_0, unit, params.units), b_unit(row_1, unit, params.units), unit);
    }
}
//# end
//# end

// The sum of a team's threads: number `value` of its VALUES, with the scale of the weight's row and the bias.
fn team_sum(team: u32, value: u32, expert: u32, column: u32) -> f32 {
    let at = (team * VALUES + value) * STRIDE;
    var terms = vec4<f32>(sums[at], sums[at + 1u], sums[at + 2u], sums[at + 3u]);
    for (var i = 4u; i < TEAM; i += 4u) {
        terms += vec4<f32>(sums[at + i], sums[at + i + 1u], sums[at + i + 2u], sums[at + i + 3u]);
    }
    var sum = horizontal_sum(terms);
    let row = expert * params.weight_rows + column;
    if params.has_scales != 0u {
        sum *= scales[row];
    }
    if params.has_bias != 0u {
        sum += bias[row];
    }
    return sum;
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) num_workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let tile = tile_at(params.first_tile + workgroup.y);
    let team = thread / TEAM;
//# each r ROWS
    row_$r = input_row(tile, $ru);
    sum_0_$r = 0.0;
    sum_1_$r = 0.0;
//# if IS_NORMED
    let statistics_$r = row_statistics(row_$r, thread);
    mean_$r = statistics_$r.x;
    factor_$r = statistics_$r.y;
//# end
//# end
    var group = workgroup.z * num_workgroups.x + workgroup.x;
    var part = params.a;
//# if IS_GATED
    multiply(tile, part.offset + (group * TEAMS + team) * OUTPUTS, thread);
//# else
//# if HAS_B
    if group < params.a.num_groups {
        multiply_a(tile, part.offset + (group * TEAMS + team) * OUTPUTS, thread);
    } else {
        group -= params.a.num_groups;
        part = params.b;
        multiply_b(tile, part.offset + (group * TEAMS + team) * OUTPUTS, thread);
    }
//# else
    multiply_a(tile, part.offset + (group * TEAMS + team) * OUTPUTS, thread);
//# end
//# end
//# each r ROWS
//# each w 2
    sums[(team * VALUES + $wu * ROWS + $ru) * STRIDE + thread % TEAM] = sum_$w_$r;
//# end
//# end
    workgroupBarrier();

    // One thread per value.
    let r = thread % ROWS;
    let output = thread / ROWS % OUTPUTS;
    let owner = thread / (ROWS * OUTPUTS);
    let n = part.offset + (group * TEAMS + owner) * OUTPUTS + output;
    if owner >= TEAMS || r >= tile.count || !has_row(part, tile.expert, n) {
        return;
    }
    let at = output_row(tile, r) * params.out_len + part.column + n;
//# if IS_GATED
    let gate = team_sum(owner, r, tile.expert, n);
    let up = team_sum(owner, ROWS + r, tile.expert, params.weight_rows / 2u + n);
    var value = combine(params.gate_kind, vec4<f32>(params.g0, params.g1, params.g2, params.g3), gate, up);
//# else
    var value = team_sum(owner, output * ROWS + r, tile.expert, part.column + n);
//# end
    if params.is_sum != 0u {
        value += out[at];
    }
    out[at] = value;
}
