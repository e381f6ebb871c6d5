// Products of rows with weights: `out = x * weight^T`, its sum with `out`, or a gated product.
//
// A team of TEAM threads multiplies WEIGHTS rows of the weight with ROWS rows of x. Thread p of a team sums the units p,
// p + TEAM, ... in order, then the sums of the threads are added in a fixed order: the same for every number of rows.
// IS_STAGED: the teams of a workgroup share a copy of the rows of x, TEAM units at a time.

const TEAM: u32 = 32u;
const TEAMS: u32 = LANES / TEAM;
// The sums of a team for one row, without conflicts of banks.
const STRIDE: u32 = TEAM + 1u;

var<workgroup> sums: array<f32, TEAMS * ROWS * STRIDE>;

//# if IS_STAGED
// Vectors of a unit, without conflicts of banks.
const UNIT_STRIDE: u32 = 5u;

var<workgroup> staged: array<vec4<f32>, ROWS * TEAM * UNIT_STRIDE>;
var<workgroup> staged_rows: array<u32, ROWS>;
//# end

//# each r ROWS
var<private> row_$r: u32;
//# each w WEIGHTS
var<private> sum_$w_$r: f32;
//# end
//# if IS_NORMED
var<private> mean_$r: f32;
var<private> factor_$r: f32;
//# end
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

// Adds the products of a unit of all rows of weights. `x` is in the workgroup's memory or in that of the device.
fn accumulate(
//# each w WEIGHTS
    unit_$w: Unit,
//# end
    unit: u32,
) {
    let col = unit * 16u;
//# each r ROWS
    {
//# if IS_STAGED
        let at = ($ru * TEAM + unit % TEAM) * UNIT_STRIDE;
        let x = Values(staged[at], staged[at + 1u], staged[at + 2u], staged[at + 3u]);
//# else
        var x = Values(
            x_at(row_$r, col),
            x_at(row_$r, col + 4u),
            x_at(row_$r, col + 8u),
            x_at(row_$r, col + 12u),
        );
//# end
//# if IS_NORMED
        x.first = normed(x.first, mean_$r, factor_$r, col);
        x.second = normed(x.second, mean_$r, factor_$r, col + 4u);
        x.third = normed(x.third, mean_$r, factor_$r, col + 8u);
        x.fourth = normed(x.fourth, mean_$r, factor_$r, col + 12u);
//# end
        let total = horizontal_sum((x.first + x.second) + (x.third + x.fourth));
//# each w WEIGHTS
        sum_$w_$r = add_unit(unit_$w, x, total, sum_$w_$r);
//# end
    }
//# end
}

// Whether it computes any of the rows of a team from `n` on.
fn has_rows(part: Part, expert: u32, n: u32) -> bool {
    var result = false;
//# each w OUTPUTS
    result |= has_row(part, expert, n + $wu);
//# end
    return result;
}

//# if IS_STAGED
// Copies TEAM units of the rows, from unit `first` on.
fn stage(first: u32, thread: u32) {
    workgroupBarrier();
    for (var i = thread; i < ROWS * TEAM * 4u; i += LANES) {
        let r = i / (TEAM * 4u);
        let quad = i % (TEAM * 4u);
        let col = 16u * first + 4u * quad;
        if col < 16u * params.units {
            staged[(r * TEAM + quad / 4u) * UNIT_STRIDE + quad % 4u] = x_at(staged_rows[r], col);
        }
    }
    workgroupBarrier();
}
//# end

//# each p FUNCTIONS
// Multiplies the part's rows from `n` on. Gated: and their up projections.
fn multiply_$p(tile: Tile, n: u32, thread: u32) {
//# each w OUTPUTS
    let row_$w = buffer_row(params.part_$p, tile.expert, n + $wu);
//# if IS_GATED
    let up_$w = buffer_row(params.part_$UP, tile.expert, n + $wu + params.part_$UP.up);
//# end
//# end
    let has_work = tile.count > 0u && has_rows(params.part_$p, tile.expert, n);
    // Some compilers accept barriers in a loop only if its end is a parameter.
    for (var first = 0u; first < params.units; first += TEAM) {
//# if IS_STAGED
        stage(first, thread);
//# end
        let unit = first + thread % TEAM;
        if unit < params.units && has_work {
            accumulate(
//# each w OUTPUTS
                w$p_unit(row_$w, unit, params.units),
//# end
//# if IS_GATED
//# each w OUTPUTS
                w$UP_unit(up_$w, unit, params.units),
//# end
//# end
                unit,
            );
        }
    }
}
//# end

// The sum of a team's threads for row `r`.
fn team_sum(team: u32, r: u32) -> f32 {
    let at = (team * ROWS + r) * STRIDE;
    var terms = vec4<f32>(sums[at], sums[at + 1u], sums[at + 2u], sums[at + 3u]);
    for (var i = 4u; i < TEAM; i += 4u) {
        terms += vec4<f32>(sums[at + i], sums[at + i + 1u], sums[at + i + 2u], sums[at + i + 3u]);
    }
    return horizontal_sum(terms);
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
//# each w WEIGHTS
    sum_$w_$r = 0.0;
//# end
//# if IS_NORMED
    let statistics_$r = row_statistics(row_$r, thread);
    mean_$r = statistics_$r.x;
    factor_$r = statistics_$r.y;
//# end
//# if IS_STAGED
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

    // One thread per team and row adds the sums of the threads, one row of weights after another.
    let r = thread % ROWS;
    let owner = thread / ROWS;
    var totals: array<f32, WEIGHTS>;
//# each w WEIGHTS
    workgroupBarrier();
//# each r ROWS
    sums[(team * ROWS + $ru) * STRIDE + thread % TEAM] = sum_$w_$r;
//# end
    workgroupBarrier();
    if owner < TEAMS {
        totals[$w] = team_sum(owner, r);
    }
//# end
    if owner >= TEAMS || r >= tile.count {
        return;
    }
    let first = output_row(tile, r) * params.out_len;
//# each w OUTPUTS
    {
        let n = part.offset + (group * TEAMS + owner) * OUTPUTS + $wu;
        if has_row(part, tile.expert, n) {
            let column = part.column + n;
            let value = finish(totals[$w], tile.expert, column);
//# if IS_GATED
            let up = finish(totals[$w + OUTPUTS], tile.expert, column + params.weight_rows / 2u);
            let arguments = vec4<f32>(params.g0, params.g1, params.g2, params.g3);
            store(first + column, combine(params.gate_kind, arguments, value, up));
//# else
            store(first + column, value);
//# end
        }
    }
//# end
}
