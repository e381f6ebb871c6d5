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

const THREADS: u32 = 128u;
const PARTIAL_LEN: u32 = VALUE_DIM + 2u;

// Of THREADS parts: their maxima and sums; the maxima of all parts up to each; the factors on the sums of the parts before
// each, and on its own.
var<workgroup> softmaxes: array<Softmax, THREADS>;
var<workgroup> running_maxima: array<f32, THREADS>;
var<workgroup> factors: array<vec2<f32>, THREADS>;

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
    var context = position + 1u;
    if (params.mask_kind == 3u) {
        let last_row = batch[params.first_rows + batch[params.sequences + row] + 1u] - 1u;
        context = batch[params.positions + last_row] + 1u;
    }
    let num_parts = (end_position(position, context) - 1u) / PART - first_position(position) / PART + 1u;
    // Rows without these parts only take part in the barriers.
    let is_active = num_parts > params.first_part;
    let start = index * (params.num_parts + 1u) * PARTIAL_LEN;
    let result = start + params.num_parts * PARTIAL_LEN;
    let end = min(max(num_parts, params.first_part) - params.first_part, params.num_parts);

    var softmax = Softmax(LOWEST, 0.0);
    //# each n VALUES
    var total_$n = 0.0;
    let component_$n = min(lane + $nu * THREADS, VALUE_DIM - 1u);
    //# end
    if (params.first_part > 0u) {
        softmax = softmax_at(result);
        //# each n VALUES
        total_$n = partials[result + component_$n];
        //# end
    }
    for (var first = 0u; first < params.num_parts; first += THREADS) {
        // No more than the maxima before; they and the sums of other parts are not used.
        var own = Softmax(LOWEST, 0.0);
        if (first + lane < end) {
            own = softmax_at(start + (first + lane) * PARTIAL_LEN);
        }
        softmaxes[lane] = own;
        var maximum = own.maximum;
        for (var distance = 1u; distance < THREADS; distance *= 2u) {
            running_maxima[lane] = maximum;
            workgroupBarrier();
            if (lane >= distance) {
                maximum = max(maximum, running_maxima[lane - distance]);
            }
            workgroupBarrier();
        }
        maximum = max(maximum, softmax.maximum);
        running_maxima[lane] = maximum;
        workgroupBarrier();
        var before = softmax.maximum;
        if (lane > 0u) {
            before = running_maxima[lane - 1u];
        }
        factors[lane] = vec2<f32>(exp(before - maximum), exp(own.maximum - maximum));
        workgroupBarrier();
        let count = min(max(end, first) - first, THREADS);
        for (var i = 0u; i < count; i += LOADED) {
            //# each k LOADED
            let part_$k = min(i + $ku, count - 1u);
            let at_$k = start + (first + part_$k) * PARTIAL_LEN;
            //# each n VALUES
            let value_$k_$n = partials[at_$k + component_$n];
            //# end
            //# end
            //# each k LOADED
            if (i + $ku < count) {
                let merging = factors[part_$k];
                softmax.sum = fma(softmax.sum, merging.x, softmaxes[part_$k].sum * merging.y);
                //# each n VALUES
                total_$n = fma(total_$n, merging.x, value_$k_$n * merging.y);
                //# end
            }
            //# end
        }
        if (count > 0u) {
            softmax.maximum = running_maxima[count - 1u];
        }
        // Before the next parts replace these.
        workgroupBarrier();
    }
    let is_complete = num_parts <= params.first_part + params.num_parts;
    let factor = final_factor(softmax, index % params.num_heads);
    //# each n VALUES
    if (is_active && lane + $nu * THREADS < VALUE_DIM) {
        if (is_complete) {
            out[index * VALUE_DIM + component_$n] = total_$n * factor;
        } else {
            partials[result + component_$n] = total_$n;
        }
    }
    //# end
    // All threads have read the softmax so far.
    storageBarrier();
    workgroupBarrier();
    if (!is_complete && lane == 0u) {
        partials[result + VALUE_DIM] = softmax.maximum;
        partials[result + VALUE_DIM + 1u] = softmax.sum;
    }
}
