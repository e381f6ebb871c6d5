// Merges the parts of attention, in order: a workgroup per row and head.

struct Params {
    positions: u32,
    sequences: u32,
    first_rows: u32,
    // 0 for causal attention, 1 with a sliding and 2 with a chunked window; 3 for bidirectional attention.
    mask_kind: u32,
    // Of the window, or the largest distance.
    mask_len: u32,
    num_rows: u32,
    num_heads: u32,
    // The first of the parts of each row that are merged, and the number of places for parts. A place for the result of
    // all parts follows them.
    first_part: u32,
    num_parts: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> batch: array<u32>;
@group(0) @binding(2) var<storage, read_write> partials: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;
@group(0) @binding(4) var<storage, read> sinks: array<f32>;

const PARTIAL_LEN: u32 = VALUE_DIM + 2u;
const VALUES_PER_THREAD: u32 = (VALUE_DIM + PART - 1u) / PART;

fn softmax_at(at: u32) -> Softmax {
    return Softmax(partials[at + VALUE_DIM], partials[at + VALUE_DIM + 1u]);
}

@compute @workgroup_size(128)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) num_workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = workgroup.y * num_workgroups.x + workgroup.x;
    if (index >= params.num_rows * params.num_heads) {
        return;
    }
    let row = index / params.num_heads;
    let position = batch[params.positions + row];
    let last_row = batch[params.first_rows + batch[params.sequences + row] + 1u] - 1u;
    let end_of_row = end_position(position, batch[params.positions + last_row] + 1u);
    let num_parts = (end_of_row - 1u) / PART - first_position(position) / PART + 1u;
    // Rows without these parts only take part in the barrier.
    let is_active = num_parts > params.first_part;
    let start = index * (params.num_parts + 1u) * PARTIAL_LEN;
    let result = start + params.num_parts * PARTIAL_LEN;
    let end = min(max(num_parts, params.first_part) - params.first_part, params.num_parts);

    var softmax = Softmax(LOWEST, 0.0);
    if (params.first_part > 0u) {
        softmax = softmax_at(result);
    }
    var totals: array<f32, VALUES_PER_THREAD>;
    for (var number = 0u; number < VALUES_PER_THREAD; number++) {
        let component = lane + number * PART;
        if (params.first_part > 0u && component < VALUE_DIM) {
            totals[number] = partials[result + component];
        }
    }
    for (var part = 0u; part < end; part++) {
        let at = start + part * PARTIAL_LEN;
        let merged = merge(softmax, softmax_at(at));
        softmax = merged.softmax;
        for (var number = 0u; number < VALUES_PER_THREAD; number++) {
            let component = lane + number * PART;
            if (component < VALUE_DIM) {
                let sum = partials[at + component];
                totals[number] = fma(totals[number], merged.factors.x, sum * merged.factors.y);
            }
        }
    }
    let is_complete = num_parts <= params.first_part + params.num_parts;
    let factor = final_factor(softmax, index % params.num_heads);
    for (var number = 0u; number < VALUES_PER_THREAD; number++) {
        let component = lane + number * PART;
        if (is_active && component < VALUE_DIM) {
            if (is_complete) {
                out[index * VALUE_DIM + component] = totals[number] * factor;
            } else {
                partials[result + component] = totals[number];
            }
        }
    }
    // All threads have read the softmax so far.
    storageBarrier();
    workgroupBarrier();
    if (!is_complete && lane == 0u) {
        partials[result + VALUE_DIM] = softmax.maximum;
        partials[result + VALUE_DIM + 1u] = softmax.sum;
    }
}
