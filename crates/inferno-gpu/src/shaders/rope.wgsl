// One workgroup per unit: a head, or all heads of a part. Each thread reads and writes the same values in every step: the
// two of a rotated pair, or one of the others.

struct Params {
    rows: u32,
    row_len: u32,
    q_units: u32,
    k_units: u32,
    v_units: u32,
    q_heads: u32,
    k_heads: u32,
    v_heads: u32,
    q_head_len: u32,
    k_head_len: u32,
    v_head_len: u32,
    q_weight_len: u32,
    k_weight_len: u32,
    v_weight_len: u32,
    q_pairs: u32,
    k_pairs: u32,
    v_pairs: u32,
    is_interleaved: u32,
    has_factors: u32,
    is_layer: u32,
    after_rotation: u32,
    eps: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> q_weight: array<f32>;
@group(0) @binding(2) var<storage, read> k_weight: array<f32>;
@group(0) @binding(3) var<storage, read> v_weight: array<f32>;
@group(0) @binding(4) var<storage, read> angles: array<f32>;
@group(0) @binding(5) var<storage, read> factors: array<f32>;
@group(0) @binding(6) var<storage, read_write> qkv: array<f32>;

const QUERIES = 0u;
const KEYS = 1u;

// The values of one unit.
struct Unit {
    part: u32,
    first: u32,
    heads: u32,
    head_len: u32,
    pairs: u32,
    // Of the weight: 0 if there is none, and the index of its first value.
    weight_len: u32,
    first_weight: u32,
}

fn unit_of(row: u32, number: u32) -> Unit {
    var unit: Unit;
    unit.first = row * params.row_len;
    var index = number;
    if index < params.q_units {
        unit.heads = params.q_heads;
        unit.head_len = params.q_head_len;
        unit.pairs = params.q_pairs;
        unit.weight_len = params.q_weight_len;
    } else if index < params.q_units + params.k_units {
        index -= params.q_units;
        unit.part = KEYS;
        unit.first += params.q_units * params.q_heads * params.q_head_len;
        unit.heads = params.k_heads;
        unit.head_len = params.k_head_len;
        unit.pairs = params.k_pairs;
        unit.weight_len = params.k_weight_len;
    } else {
        index -= params.q_units + params.k_units;
        unit.part = 2u;
        unit.first += params.q_units * params.q_heads * params.q_head_len;
        unit.first += params.k_units * params.k_heads * params.k_head_len;
        unit.heads = params.v_heads;
        unit.head_len = params.v_head_len;
        unit.pairs = params.v_pairs;
        unit.weight_len = params.v_weight_len;
    }
    let len = unit.heads * unit.head_len;
    unit.first += index * len;
    if unit.weight_len > len {
        unit.first_weight = index * len % unit.weight_len;
    }
    return unit;
}

fn weight_at(part: u32, i: u32) -> f32 {
    switch part {
        case QUERIES: { return q_weight[i]; }
        case KEYS: { return k_weight[i]; }
        default: { return v_weight[i]; }
    }
}

// The places of an item in its unit: a pair, or one value twice.
fn places(unit: Unit, item: u32) -> vec2<u32> {
    let items = unit.head_len - unit.pairs;
    let first = item / items * unit.head_len;
    let i = item % items;
    if i >= unit.pairs {
        return vec2(first + unit.pairs + i);
    }
    if params.is_interleaved != 0u {
        return vec2(first + 2u * i, first + 2u * i + 1u);
    }
    return vec2(first + i, first + i + unit.pairs);
}

// The mean (0 for an RMS norm) and the factor of the norm of a unit.
fn statistics(unit: Unit, lane: u32) -> vec2<f32> {
    let items = unit.heads * (unit.head_len - unit.pairs);
    let count = f32(unit.heads * unit.head_len);
    var mean = 0.0;
    if params.is_layer != 0u {
        var sum = 0.0;
        for (var item = lane; item < items; item += LANES) {
            let at = places(unit, item);
            sum += qkv[unit.first + at.x];
            if at.x != at.y {
                sum += qkv[unit.first + at.y];
            }
        }
        mean = workgroup_sum(lane, sum) / count;
    }
    var squares = 0.0;
    for (var item = lane; item < items; item += LANES) {
        let at = places(unit, item);
        let a = qkv[unit.first + at.x] - mean;
        squares = fma(a, a, squares);
        if at.x != at.y {
            let b = qkv[unit.first + at.y] - mean;
            squares = fma(b, b, squares);
        }
    }
    let mean_square = workgroup_sum(lane, squares) / count;
    return vec2(mean, 1.0 / sqrt(mean_square + params.eps));
}

fn normalized(unit: Unit, at: vec2<u32>, values: vec2<f32>, statistics: vec2<f32>) -> vec2<f32> {
    let weights = vec2(
        weight_at(unit.part, unit.first_weight + at.x),
        weight_at(unit.part, unit.first_weight + at.y),
    );
    return (values - statistics.x) * statistics.y * weights;
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) num_workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let units = params.q_units + params.k_units + params.v_units;
    let index = flat_index(workgroup, num_workgroups);
    let row = index / units;
    if row >= params.rows {
        return;
    }
    let unit = unit_of(row, index % units);
    let items = unit.heads * (unit.head_len - unit.pairs);
    let is_value = unit.part > KEYS;
    let is_normed = unit.weight_len != 0u;
    let is_normed_first = is_normed && (is_value || params.after_rotation == 0u);
    var before = vec2(0.0, 1.0);
    if is_normed_first {
        before = statistics(unit, lane);
    }
    let has_factor = params.has_factors != 0u && unit.part == QUERIES;
    for (var item = lane; item < items; item += LANES) {
        let at = places(unit, item);
        var values = vec2(qkv[unit.first + at.x], qkv[unit.first + at.y]);
        if is_normed_first {
            values = normalized(unit, at, values, before);
        }
        if at.x != at.y {
            let pair = item % (unit.head_len - unit.pairs);
            let first_angle = row * 2u * unit.pairs + pair;
            let cosine = angles[first_angle];
            let sine = angles[first_angle + unit.pairs];
            values = vec2(
                fma(values.x, cosine, -(values.y * sine)),
                fma(values.x, sine, values.y * cosine),
            );
        }
        if has_factor {
            values *= factors[row];
        }
        qkv[unit.first + at.x] = values.x;
        if at.x != at.y {
            qkv[unit.first + at.y] = values.y;
        }
    }
    if is_normed && !is_normed_first {
        let after = statistics(unit, lane);
        for (var item = lane; item < items; item += LANES) {
            let at = places(unit, item);
            let values = vec2(qkv[unit.first + at.x], qkv[unit.first + at.y]);
            let result = normalized(unit, at, values, after);
            qkv[unit.first + at.x] = result.x;
            if at.x != at.y {
                qkv[unit.first + at.y] = result.y;
            }
        }
    }
}
