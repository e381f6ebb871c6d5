// Products of rows with weights: `out = x * weight^T`, its sum with `out`, or a gated product.
//
// A team of TEAM threads multiplies WEIGHTS rows of the weight with ROWS rows of x. Thread p of a team sums the units p,
// p + TEAM, ... in order, then the sums of the threads are added in a fixed order: the same for every number of rows.
//
// Weights that are integers with scales are multiplied with rows of x as integers of 16 bits with a scale per unit, in two
// bytes: sums of a unit are exact. The teams of a workgroup share them, CHUNK units at a time, a multiple of DEPTH * TEAM.
// Weights in floating point are multiplied with x in f32.

const TEAM: u32 = 32u;
const TEAMS: u32 = LANES / TEAM;
// The sums of a team for one row, without conflicts of banks.
const STRIDE: u32 = TEAM + 1u;

//# if ROWS = 1
var<workgroup> sums: array<f32, TEAMS * WEIGHTS * STRIDE>;
var<workgroup> team_sums: array<f32, TEAMS * WEIGHTS>;
//# else
var<workgroup> sums: array<f32, TEAMS * ROWS * STRIDE>;
//# end

//# if HAS_INTEGERS
var<workgroup> staged_high: array<vec4<u32>, ROWS * CHUNK>;
var<workgroup> staged_low: array<vec4<u32>, ROWS * CHUNK>;
// The scale's bits, and the sum of the integers.
var<workgroup> staged_factors: array<vec2<u32>, ROWS * CHUNK>;
var<workgroup> staged_rows: array<u32, ROWS>;
//# if IS_NORMED
var<workgroup> staged_statistics: array<vec2<f32>, ROWS>;
//# end
//# end

//# each r ROWS
var<private> row_$r: u32;
//# each w OUTPUTS
var<private> sum_$w_$r: f32;
//# if IS_GATED
var<private> up_$w_$r: f32;
//# end
//# end
//# if IS_NORMED
var<private> statistics_$r: vec2<f32>;
//# end
//# end

fn horizontal_sum(values: vec4<f32>) -> f32 {
    return (values.x + values.y) + (values.z + values.w);
}

//# if HAS_FLOATS
// The columns of a unit of a row of x.
fn float_input(row: u32, unit: u32, statistics: vec2<f32>) -> Values {
    let col = unit * 16u;
    let x = Values(x_at(row, col), x_at(row, col + 4u), x_at(row, col + 8u), x_at(row, col + 12u));
//# if IS_NORMED
    return Values(
        normed(x.first, statistics.x, statistics.y, col),
        normed(x.second, statistics.x, statistics.y, col + 4u),
        normed(x.third, statistics.x, statistics.y, col + 8u),
        normed(x.fourth, statistics.x, statistics.y, col + 12u),
    );
//# else
    return x;
//# end
}

fn add_floats(unit: Unit, x: Values, sum: f32) -> f32 {
    var terms = unit.values.first * x.first;
    terms = fma(unit.values.second, x.second, terms);
    terms = fma(unit.values.third, x.third, terms);
    terms = fma(unit.values.fourth, x.fourth, terms);
    return fma(unit.scale, horizontal_sum(terms), sum);
}
//# end

//# if HAS_INTEGERS
fn largest_of(values: vec4<u32>) -> u32 {
    return max(max(values.x, values.y), max(values.z, values.w));
}

// The integers of four columns.
fn integers_of(values: vec4<f32>, factor: f32) -> vec4<i32> {
    return vec4<i32>(round(values * factor));
}

// The upper byte of each integer: with the lower one as a signed byte, 256 times the upper one plus the lower one is the
// integer.
fn upper_bytes(integers: vec4<i32>) -> vec4<i32> {
    return (integers + vec4<i32>(128)) >> vec4<u32>(8u);
}

// Stores the integers of the unit at column `col` of row `r` of the tile.
fn stage_unit(place: u32, r: u32, col: u32) {
    let row = staged_rows[r];
    var first = x_at(row, col);
    var second = x_at(row, col + 4u);
    var third = x_at(row, col + 8u);
    var fourth = x_at(row, col + 12u);
//# if IS_NORMED
    let statistics = staged_statistics[r];
    first = normed(first, statistics.x, statistics.y, col);
    second = normed(second, statistics.x, statistics.y, col + 4u);
    third = normed(third, statistics.x, statistics.y, col + 8u);
    fourth = normed(fourth, statistics.x, statistics.y, col + 12u);
//# end
    // As integers, magnitudes of NaN are above all others.
    let magnitudes = vec4<u32>(0x7fffffffu);
    let largest = max(
        max(largest_of(bitcast<vec4<u32>>(first) & magnitudes), largest_of(bitcast<vec4<u32>>(second) & magnitudes)),
        max(largest_of(bitcast<vec4<u32>>(third) & magnitudes), largest_of(bitcast<vec4<u32>>(fourth) & magnitudes)),
    );
    // Infinity and NaN make the unit NaN; magnitudes below 2^-100 make it zero.
    let is_finite = largest < 0x7f800000u;
    let is_stored = is_finite && largest >= 0x0d800000u;
    let magnitude = bitcast<f32>(select(0x3f800000u, largest, is_stored));
    let factor = select(0.0, 32512.0 / magnitude, is_stored);
    let scale = select(0u, bitcast<u32>(magnitude * (1.0 / 32512.0)), is_stored);
    let a = integers_of(first, factor);
    let b = integers_of(second, factor);
    let c = integers_of(third, factor);
    let d = integers_of(fourth, factor);
    let upper_a = upper_bytes(a);
    let upper_b = upper_bytes(b);
    let upper_c = upper_bytes(c);
    let upper_d = upper_bytes(d);
    let sum = (a + b) + (c + d);
    staged_high[place] = vec4<u32>(pack4xI8(upper_a), pack4xI8(upper_b), pack4xI8(upper_c), pack4xI8(upper_d));
    staged_low[place] = vec4<u32>(
        pack4xI8(a - upper_a * 256),
        pack4xI8(b - upper_b * 256),
        pack4xI8(c - upper_c * 256),
        pack4xI8(d - upper_d * 256),
    );
    staged_factors[place] = vec2<u32>(
        select(0x7fc00000u, scale, is_finite),
        bitcast<u32>((sum.x + sum.y) + (sum.z + sum.w)),
    );
}

// Stores CHUNK units of the rows, from unit `first` on.
fn stage(first: u32, thread: u32) {
    workgroupBarrier();
    for (var i = thread; i < ROWS * CHUNK; i += LANES) {
        let unit = first + i % CHUNK;
        if unit < params.units {
            stage_unit(i, i / CHUNK, 16u * unit);
        }
    }
    workgroupBarrier();
}

fn packed_input(place: u32) -> PackedInput {
    let factors = staged_factors[place];
    return PackedInput(staged_high[place], staged_low[place], bitcast<f32>(factors.x), bitcast<i32>(factors.y));
}
//# end

// Whether it computes any of the rows of a team from `n` on.
fn has_rows(part: Part, expert: u32, n: u32) -> bool {
    var result = false;
//# each w OUTPUTS
    result |= has_row(part, expert, n + $wu);
//# end
    return result;
}

//# each p FUNCTIONS
// Multiplies the part's rows from `n` on. Gated: and their up projections.
fn multiply_$p(tile: Tile, n: u32, thread: u32) {
//# each w OUTPUTS
    let row_of_$w = buffer_row(params.part_$p, tile.expert, n + $wu);
//# if IS_GATED
    let up_row_of_$w = buffer_row(params.part_$UP, tile.expert, n + $wu + params.part_$UP.up);
//# end
//# end
    let has_work = tile.count > 0u && has_rows(params.part_$p, tile.expert, n);
    // A thread has DEPTH units of each row in flight. The first ones are loaded before rows of x are.
    let last = max(params.units, 1u) - 1u;
//# each d DEPTH
    let first_$d = min(thread % TEAM + $du * TEAM, last);
//# each w OUTPUTS
    var unit_$w_$d = w$p_load(row_of_$w, first_$d, params.units);
//# if IS_GATED
    var up_unit_$w_$d = w$UP_load(up_row_of_$w, first_$d, params.units);
//# end
//# end
//# end
//# if IS_NORMED
//# each r ROWS
    statistics_$r = row_statistics(row_$r, thread);
//# if HAS_INTEGERS
    if thread == $ru {
        staged_statistics[$r] = statistics_$r;
    }
//# end
//# end
//# end
    // Some compilers accept barriers in a loop only if its end is a parameter.
    for (var first = 0u; first < params.units; first += CHUNK) {
//# if HAS_INTEGERS
        stage(first, thread);
//# end
        let end = select(0u, min(first + CHUNK, params.units), has_work);
        for (var turn = first + thread % TEAM; turn < end; turn += DEPTH * TEAM) {
//# each d DEPTH
            {
                let unit = turn + $du * TEAM;
                let next = unit + DEPTH * TEAM;
//# each w OUTPUTS
                let stored_$w = unit_$w_$d;
//# if IS_GATED
                let up_stored_$w = up_unit_$w_$d;
//# end
//# end
                if next <= last {
//# each w OUTPUTS
                    unit_$w_$d = w$p_load(row_of_$w, next, params.units);
//# if IS_GATED
                    up_unit_$w_$d = w$UP_load(up_row_of_$w, next, params.units);
//# end
//# end
                }
                if unit < end {
//# each w OUTPUTS
//# if IS_FLOAT_$p
                    let unit_$w = w$p_expanded(stored_$w, unit);
//# else
                    let unit_$w = w$p_packed(stored_$w, unit);
//# end
//# if IS_GATED
//# if IS_FLOAT_$UP
                    let up_unit_$w = w$UP_expanded(up_stored_$w, unit);
//# else
                    let up_unit_$w = w$UP_packed(up_stored_$w, unit);
//# end
//# end
//# end
//# each r ROWS
                    {
//# if HAS_FLOATS
//# if IS_NORMED
                        let floats = float_input(row_$r, unit, statistics_$r);
//# else
                        let floats = float_input(row_$r, unit, vec2<f32>());
//# end
//# end
//# if HAS_INTEGERS
                        let integers = packed_input($ru * CHUNK + unit - first);
//# end
//# each w OUTPUTS
//# if IS_FLOAT_$p
                        sum_$w_$r = add_floats(unit_$w, floats, sum_$w_$r);
//# else
                        sum_$w_$r = w$p_add(unit_$w, integers, sum_$w_$r);
//# end
//# end
//# if IS_GATED
//# each w OUTPUTS
//# if IS_FLOAT_$UP
                        up_$w_$r = add_floats(up_unit_$w, floats, up_$w_$r);
//# else
                        up_$w_$r = w$UP_add(up_unit_$w, integers, up_$w_$r);
//# end
//# end
//# end
                    }
//# end
                }
            }
//# end
        }
    }
}
//# end

// The sum of the TEAM values of a team that begin at `at`.
fn sum_of_team(at: u32) -> f32 {
    var terms = vec4<f32>(sums[at], sums[at + 1u], sums[at + 2u], sums[at + 3u]);
    for (var i = 4u; i < TEAM; i += 4u) {
        terms += vec4<f32>(sums[at + i], sums[at + i + 1u], sums[at + i + 2u], sums[at + i + 3u]);
    }
    return horizontal_sum(terms);
}

// Stores output `column` of the row of `out` that begins at `first`.
fn store_output(tile: Tile, first: u32, column: u32, total: f32, up_total: f32) {
    let value = finish(total, tile.expert, column);
//# if IS_GATED
    let up = finish(up_total, tile.expert, column + params.weight_rows / 2u);
    let arguments = vec4<f32>(params.g0, params.g1, params.g2, params.g3);
    store(first + column, combine(params.gate_kind, arguments, value, up));
//# else
    store(first + column, value);
//# end
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) num_workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let place = place_of(workgroup, num_workgroups);
    let tile = tile_at(params.first_tile + place.x);
    let team = thread / TEAM;
//# each r ROWS
    row_$r = input_row(tile, $ru);
//# each w OUTPUTS
    sum_$w_$r = 0.0;
//# if IS_GATED
    up_$w_$r = 0.0;
//# end
//# end
//# if HAS_INTEGERS
    if thread == $ru {
        staged_rows[$r] = row_$r;
    }
//# end
//# end
    var group = place.y;
    var part = params.part_0;
//# if FUNCTIONS = 2
    if group >= params.part_0.num_groups {
        group -= params.part_0.num_groups;
        part = params.part_1;
        multiply_1(tile, part.offset + (group * TEAMS + team) * OUTPUTS, thread);
    } else {
        multiply_0(tile, part.offset + (group * TEAMS + team) * OUTPUTS, thread);
    }
//# else
    multiply_0(tile, part.offset + (group * TEAMS + team) * OUTPUTS, thread);
//# end

//# if ROWS = 1
    // One thread per row of weights adds the sums of a team.
//# each w OUTPUTS
    sums[(team * WEIGHTS + $wu) * STRIDE + thread % TEAM] = sum_$w_0;
//# if IS_GATED
    sums[(team * WEIGHTS + OUTPUTS + $wu) * STRIDE + thread % TEAM] = up_$w_0;
//# end
//# end
    workgroupBarrier();
    if thread < TEAMS * WEIGHTS {
        team_sums[thread] = sum_of_team(thread * STRIDE);
    }
    workgroupBarrier();
    if thread >= TEAMS * OUTPUTS || tile.count == 0u {
        return;
    }
    let first = output_row(tile, 0u) * params.out_len;
    let n = part.offset + group * TEAMS * OUTPUTS + thread;
    if has_row(part, tile.expert, n) {
        let at = thread / OUTPUTS * WEIGHTS + thread % OUTPUTS;
        store_output(tile, first, part.column + n, team_sums[at], team_sums[at + WEIGHTS - OUTPUTS]);
    }
//# else
    // One thread per team and row adds the sums of the threads, one row of weights after another.
    let r = thread % ROWS;
    let owner = thread / ROWS;
//# each w OUTPUTS
    var total_$w = 0.0;
    var up_total_$w = 0.0;
    workgroupBarrier();
//# each r ROWS
    sums[(team * ROWS + $ru) * STRIDE + thread % TEAM] = sum_$w_$r;
//# end
    workgroupBarrier();
    if owner < TEAMS {
        total_$w = sum_of_team((owner * ROWS + r) * STRIDE);
    }
//# if IS_GATED
    workgroupBarrier();
//# each r ROWS
    sums[(team * ROWS + $ru) * STRIDE + thread % TEAM] = up_$w_$r;
//# end
    workgroupBarrier();
    if owner < TEAMS {
        up_total_$w = sum_of_team((owner * ROWS + r) * STRIDE);
    }
//# end
//# end
    if owner >= TEAMS || r >= tile.count {
        return;
    }
    let first = output_row(tile, r) * params.out_len;
//# each w OUTPUTS
    {
        let n = part.offset + (group * TEAMS + owner) * OUTPUTS + $wu;
        if has_row(part, tile.expert, n) {
            store_output(tile, first, part.column + n, total_$w, up_total_$w);
        }
    }
//# end
//# end
}
