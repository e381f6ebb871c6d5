// The largest logits of each row and the sum of exp(logit - largest), in rounds: a workgroup merges as many lists as fit
// its memory into one. In the first round every logit is a list of its own.
//
// A list consists of the sum, 1 if all logits are finite, `width` keys and their ids, in descending order. The last round
// writes `count` logits in place of keys.

struct Params {
    rows: u32,
    // Lists of a row, or its logits; words from a row to the next, and the first row.
    num_inputs: u32,
    input_stride: u32,
    first_input: u32,
    // A power of two, which the lists that are written have, too, except in the last round.
    width: u32,
    count: u32,
    // Lists of a row that are written, and the first one.
    num_lists: u32,
    first_list: u32,
    is_first: u32,
    is_last: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> inputs: array<u32>;
@group(0) @binding(2) var<storage, read_write> lists: array<u32>;

const HEADER: u32 = 2u;

var<workgroup> keys: array<u32, ENTRIES>;
var<workgroup> ids: array<u32, ENTRIES>;
var<workgroup> num_not_finite: atomic<u32>;

// The bits of the number with this key.
fn bits_of(key: u32) -> u32 {
    return select(~key, key & 0x7fffffffu, (key & 0x80000000u) != 0u);
}

fn value_of(key: u32) -> f32 {
    return bitcast<f32>(bits_of(key));
}

// exp(x) for x up to 0, within 2 units in the last place; 0 below -87.
fn exp_of_negative(x: f32) -> f32 {
    let n = round(max(x, -87.0) * 1.44269504);
    // The logarithm of 2, its first bits and the rest.
    let r = fma(n, 2.12194440e-4, fma(n, -0.693359375, max(x, -87.0)));
    var sum = 1.0 / 5040.0;
    sum = fma(sum, r, 1.0 / 720.0);
    sum = fma(sum, r, 1.0 / 120.0);
    sum = fma(sum, r, 1.0 / 24.0);
    sum = fma(sum, r, 1.0 / 6.0);
    sum = fma(sum, r, 0.5);
    sum = fma(sum, r, 1.0);
    sum = fma(sum, r, 1.0);
    let power = bitcast<f32>(u32(i32(n) + 127) << 23u);
    return select(0.0, sum * power, x > -87.0);
}

// The lists that a workgroup merges.
fn lists_per_group() -> u32 {
    return select(ENTRIES / params.width, ENTRIES, params.is_first != 0u);
}

// Where a list of the round before begins.
fn list_at(row: u32, list: u32) -> u32 {
    return row * params.input_stride + list * (HEADER + 2u * params.width);
}

fn load_logits(row: u32, first: u32, lane: u32) {
    for (var i = lane; i < ENTRIES; i += LANES) {
        keys[i] = 0u;
        ids[i] = 0xffffffffu;
        if first + i < params.num_inputs {
            let bits = inputs[row * params.input_stride + first + i];
            if (bits & 0x7f800000u) == 0x7f800000u {
                atomicAdd(&num_not_finite, 1u);
            }
            // Both zeros are equal.
            keys[i] = key_of(bitcast<f32>(select(bits, 0u, bits == 0x80000000u)));
            ids[i] = first + i;
        }
    }
}

fn load_lists(row: u32, first: u32, lane: u32) {
    for (var i = lane; i < ENTRIES; i += LANES) {
        keys[i] = 0u;
        ids[i] = 0xffffffffu;
        let list = first + i / params.width;
        if list < params.num_inputs {
            let at = list_at(row, list) + HEADER + i % params.width;
            keys[i] = inputs[at];
            ids[i] = inputs[at + params.width];
        }
    }
}

// Orders the pairs of entries at a distance, up to `num_entries`: descending, or in blocks of `size` entries alternately.
fn order_pairs(lane: u32, num_entries: u32, size: u32, distance: u32) {
    for (var pair = lane; pair < num_entries / 2u; pair += LANES) {
        let a = pair / distance * distance * 2u + pair % distance;
        let b = a + distance;
        let is_descending = size == params.width || (a & size) == 0u;
        if is_better(keys[b], ids[b], keys[a], ids[a]) == is_descending {
            let key = keys[a];
            let id = ids[a];
            keys[a] = keys[b];
            ids[a] = ids[b];
            keys[b] = key;
            ids[b] = id;
        }
    }
}

// A thread's part of the sum of exp(logit - largest).
fn partial_sum(row: u32, first: u32, lane: u32, largest: f32) -> f32 {
    var sum = 0.0;
    for (var i = first + lane; i < min(first + lists_per_group(), params.num_inputs); i += LANES) {
        if params.is_first != 0u {
            let logit = bitcast<f32>(inputs[row * params.input_stride + i]);
            sum += exp_of_negative(logit - largest);
        } else {
            let at = list_at(row, i);
            let factor = exp_of_negative(value_of(inputs[at + HEADER]) - largest);
            sum = fma(bitcast<f32>(inputs[at]), factor, sum);
            if inputs[at + 1u] == 0u {
                atomicAdd(&num_not_finite, 1u);
            }
        }
    }
    return sum;
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) num_workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, num_workgroups);
    if index >= params.rows * params.num_lists {
        return;
    }
    let row = params.first_input + index / params.num_lists;
    let first = index % params.num_lists * lists_per_group();
    if lane == 0u {
        atomicStore(&num_not_finite, 0u);
    }
    workgroupBarrier();
    if params.is_first != 0u {
        load_logits(row, first, lane);
        workgroupBarrier();
        for (var size = 2u; size <= params.width; size *= 2u) {
            for (var distance = size / 2u; distance > 0u; distance /= 2u) {
                order_pairs(lane, ENTRIES, size, distance);
                workgroupBarrier();
            }
        }
    } else {
        load_lists(row, first, lane);
        workgroupBarrier();
    }
    // The better half of two sorted blocks, one of them reversed, is bitonic.
    for (var num_blocks = ENTRIES / params.width / 2u; num_blocks > 0u; num_blocks /= 2u) {
        let num_entries = num_blocks * params.width;
        for (var i = lane; i < num_entries; i += LANES) {
            let other = 2u * num_entries - 1u - i;
            if is_better(keys[other], ids[other], keys[i], ids[i]) {
                keys[i] = keys[other];
                ids[i] = ids[other];
            }
        }
        workgroupBarrier();
        for (var distance = params.width / 2u; distance > 0u; distance /= 2u) {
            order_pairs(lane, num_entries, params.width, distance);
            workgroupBarrier();
        }
    }
    let sum = workgroup_sum(lane, partial_sum(row, first, lane, value_of(keys[0])));
    let at = (params.first_list + index) * (HEADER + 2u * params.count);
    for (var i = lane; i < params.count; i += LANES) {
        lists[at + HEADER + i] = select(keys[i], bits_of(keys[i]), params.is_last != 0u);
        lists[at + HEADER + params.count + i] = ids[i];
    }
    if lane == 0u {
        lists[at] = bitcast<u32>(sum);
        lists[at + 1u] = u32(atomicLoad(&num_not_finite) == 0u);
    }
}
