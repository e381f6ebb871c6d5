// One workgroup per sequence, head and block of COLUMNS columns of its matrix. PARTS threads share a column: they hold
// its rows at distances of PARTS, and the sums over rows add their parts in order.

struct Params {
    arrays: BatchArrays,
    sequences: u32,
    num_heads: u32,
    num_key_heads: u32,
    key_dim: u32,
    value_dim: u32,
    queries: u32,
    keys: u32,
    values: u32,
    are_grouped: u32,
    steps: u32,
    is_delta: u32,
    strengths: u32,
    has_skip: u32,
    projected_len: u32,
    convolved_len: u32,
    // Rows of the longest sequence: the bound of loops with barriers.
    max_rows: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> batch: array<u32>;
@group(0) @binding(2) var<storage, read> rates: array<f32>;
@group(0) @binding(3) var<storage, read> skip: array<f32>;
@group(0) @binding(4) var<storage, read> projected: array<f32>;
@group(0) @binding(5) var<storage, read> convolved: array<f32>;
// Factors on the rows of matrices, or nothing.
@group(0) @binding(6) var<storage, read> row_decays: array<f32>;
@group(0) @binding(7) var<storage, read_write> matrices: array<f32>;
@group(0) @binding(8) var<storage, read_write> out: array<f32>;

// Two arrays that alternate: one barrier per sum.
var<workgroup> sums: array<f32, 2u * LANES>;

// The sum of the parts of each column.
fn column_sum(which: u32, lane: u32, value: f32) -> f32 {
    sums[which * LANES + lane] = value;
    workgroupBarrier();
    let first = which * LANES + lane % COLUMNS;
    var sum = sums[first];
    for (var part = 1u; part < PARTS; part++) {
        sum += sums[first + part * COLUMNS];
    }
    return sum;
}

// The part of a column that a thread holds.
var<private> cells: array<f32, KEYS_PER_PART>;

// The index of the first value of a column in a slot.
fn column_at(slot: u32, head: u32, column: u32) -> u32 {
    return (slot * params.num_heads + head) * params.key_dim * params.value_dim + column;
}

fn store(slot: u32, head: u32, column: u32, part: u32) {
    let first = column_at(slot, head, column);
    for (var i = 0u; i < KEYS_PER_PART; i++) {
        let row = i * PARTS + part;
        if row < params.key_dim && column < params.value_dim {
            matrices[first + row * params.value_dim] = cells[i];
        }
    }
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) num_workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let blocks = (params.value_dim + COLUMNS - 1u) / COLUMNS;
    let index = flat_index(workgroup, num_workgroups);
    let head = index / blocks % params.num_heads;
    let number = index / blocks / params.num_heads;
    if number >= params.sequences {
        return;
    }
    let column = index % blocks * COLUMNS + lane % COLUMNS;
    let part = lane / COLUMNS;
    let is_column = column < params.value_dim;
    let sequence = sequence_state(params.arrays, number);
    let first_cell = column_at(sequence.slot, head, column);
    for (var i = 0u; i < KEYS_PER_PART; i++) {
        let row = i * PARTS + part;
        cells[i] = 0.0;
        if row < params.key_dim && is_column && !sequence.is_new {
            cells[i] = matrices[first_cell + row * params.value_dim];
        }
    }
    var key_head = head % params.num_key_heads;
    if params.are_grouped != 0u {
        key_head = head / (params.num_heads / params.num_key_heads);
    }
    var which = 0u;
    for (var done = 0u; done < params.max_rows; done++) {
        // Beyond the last row, threads only take part in barriers.
        let is_row = done < sequence.num_rows;
        let row = sequence.first_row + done;
        let convolved_row = row * params.convolved_len;
        let first_query = convolved_row + params.queries + key_head * params.key_dim;
        let first_key = convolved_row + params.keys + key_head * params.key_dim;
        var keys: array<f32, KEYS_PER_PART>;
        var value = 0.0;
        var step = 0.0;
        var part_sum = 0.0;
        if is_row {
            //# if HAS_ROW_DECAYS
            let first_decay = (row * params.num_heads + head) * params.key_dim;
            //# else
            step = projected[row * params.projected_len + params.steps + head];
            let decay = exp(rates[head] * step);
            //# end
            if is_column {
                value = convolved[convolved_row + params.values + head * params.value_dim + column];
            }
            for (var i = 0u; i < KEYS_PER_PART; i++) {
                let key = i * PARTS + part;
                keys[i] = 0.0;
                if key < params.key_dim {
                    keys[i] = convolved[first_key + key];
                    //# if HAS_ROW_DECAYS
                    cells[i] *= row_decays[first_decay + key];
                    //# end
                }
                //# if HAS_ROW_DECAYS
                //# else
                cells[i] *= decay;
                //# end
                part_sum = fma(cells[i], keys[i], part_sum);
            }
        }
        var written = step * value;
        if params.is_delta != 0u {
            let old = column_sum(which, lane, part_sum);
            which = 1u - which;
            if is_row {
                let strength = projected[row * params.projected_len + params.strengths + head];
                written = strength * (value - old);
            }
        }
        part_sum = 0.0;
        if is_row {
            for (var i = 0u; i < KEYS_PER_PART; i++) {
                let key = i * PARTS + part;
                cells[i] = fma(keys[i], written, cells[i]);
                if key < params.key_dim {
                    part_sum = fma(cells[i], convolved[first_query + key], part_sum);
                }
            }
        }
        var result = column_sum(which, lane, part_sum);
        which = 1u - which;
        if is_row && part == 0u && is_column {
            if params.has_skip != 0u {
                result = fma(skip[head], value, result);
            }
            out[(row * params.num_heads + head) * params.value_dim + column] = result;
        }
        if done + 1u == sequence.checkpoint_rows {
            store(sequence.checkpoint_slot, head, column, part);
        }
    }
    store(sequence.slot, head, column, part);
}
