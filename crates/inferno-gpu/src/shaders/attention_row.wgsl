// Attention of single rows over the paged KV cache, with the sums of attention.wgsl: a workgroup computes HEADS query heads
// which read the same key head; all parts of positions, or one of them if IS_SPLIT.
//
// A thread computes the products of a position of a part with all queries; then GROUPS groups of threads compute the sums
// of a span each, VALUES pieces of the values per thread.

const THREADS: u32 = 128u;
const SPANS: u32 = PART / SPAN;
// Threads of a group.
const GROUP_THREADS: u32 = THREADS / GROUPS;
// Threads that compute the maximum of a query.
const LANES: u32 = 8u;
// Values that a thread loads at once.
const BATCH: u32 = 16u;
const SPAN_BATCHES: u32 = SPAN / BATCH;
const PART_BATCHES: u32 = PART / BATCH;
// Pieces of the results of all queries, which the threads merge.
const RESULTS: u32 = HEADS * VALUE_PIECES;

var<workgroup> queries: array<array<vec4<f32>, KEY_PIECES>, HEADS>;
// Scores, then weights, in batches of positions.
var<workgroup> weights: array<array<array<f32, BATCH>, PART_BATCHES>, HEADS>;
// The blocks of the positions.
var<workgroup> locations: array<array<u32, BATCH>, PART_BATCHES>;
var<workgroup> lane_maxima: array<array<f32, LANES>, HEADS>;
var<workgroup> maxima: array<f32, HEADS>;
var<workgroup> span_sums: array<array<f32, SPANS>, HEADS>;
//# if GROUPS = 1
//# else
// The sums of spans.
var<workgroup> group_sums: array<array<vec4<f32>, RESULTS>, GROUPS>;
//# end

@compute @workgroup_size(128)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) num_workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = workgroup.y * num_workgroups.x + workgroup.x;
    let num_tiles = params.num_tiles * HEAD_TILES * KV_HEADS;
    if (index >= num_tiles * params.num_parts) {
        return;
    }
    let tile = tile_at(index % num_tiles / (HEAD_TILES * KV_HEADS), index % (HEAD_TILES * KV_HEADS));
    let row_first = first_position(tile.position);
    let row_end = end_position(tile.position, tile.context);
    var num_steps = params.max_parts;
    var first_part = row_first / PART;
    if (IS_SPLIT == 1u) {
        num_steps = 1u;
        first_part += params.first_part + index / num_tiles;
    }
    for (var i = lane; i < HEADS * KEY_PIECES; i += THREADS) {
        let head = min(i / KEY_PIECES, tile.num_heads - 1u);
        let component = i % KEY_PIECES * 4u;
        let at = tile.row * params.row_len + (tile.first_head + head) * KEY_DIM + component;
        var piece = vec4<f32>(0.0);
        //# each k 4
        if (component + $ku < KEY_DIM) {
            piece[$k] = qkv[at + $ku];
        }
        //# end
        queries[i / KEY_PIECES][i % KEY_PIECES] = piece;
    }
    // The group of the thread, and its thread in it.
    let group = lane / GROUP_THREADS;
    let column = lane % GROUP_THREADS;
    //# if GROUPS = 1
    //# each h HEADS
    var softmax_$h = Softmax(LOWEST, 0.0);
    //# each n VALUES
    var total_$h_$n = vec4<f32>(0.0);
    //# end
    //# end
    //# else
    //# each n RESULTS_PER_THREAD
    var total_$n = vec4<f32>(0.0);
    var softmax_$n = Softmax(LOWEST, 0.0);
    //# end
    //# end
    for (var step = 0u; step < num_steps; step++) {
        let part = first_part + step;
        let first = max(row_first, part * PART);
        let end = max(first, min(row_end, (part + 1u) * PART));
        let is_active = first < end;
        let position = part * PART + lane;
        let is_seen = position >= first && position < end;
        var location = 0u;
        if (is_active) {
            location = location_of(tile, clamp(position, first, end - 1u));
            locations[lane / BATCH][lane % BATCH] = location;
        }
        // Queries are complete in the first step.
        workgroupBarrier();
        if (is_active) {
            //# each h HEADS
            var product_$h = 0.0;
            //# end
            if (is_seen) {
                let row = tile.kv_head * BLOCK_TOKENS + position % BLOCK_TOKENS;
                let key_at = location + key_chunk(tile.kv_head, position % BLOCK_TOKENS, 0u);
                //# if KEY_BATCHES = 1
                let chunk = 0u;
                //# else
                for (var chunk = 0u; chunk < KEY_CHUNKS; chunk += KEY_CHUNKS / KEY_BATCHES) {
                //# end
                //# each c KEY_BATCH
                let words_$c = load_cache(key_at + (chunk + $cu) * BLOCK_TOKENS);
                //# end
                //# each c KEY_BATCH
                let scale_$c = key_scale(location, row, chunk + $cu);
                //# end
                //# each c KEY_BATCH
                //# each p PIECES
                {
                    let key = decode(words_$c, $pu, scale_$c);
                    //# each h HEADS
                    let query_$h = queries[$h][(chunk + $cu) * PIECES + $pu];
                    product_$h = fma(query_$h.x, key.x, product_$h);
                    product_$h = fma(query_$h.y, key.y, product_$h);
                    product_$h = fma(query_$h.z, key.z, product_$h);
                    product_$h = fma(query_$h.w, key.w, product_$h);
                    //# end
                }
                //# end
                //# end
                //# if KEY_BATCHES = 1
                //# else
                }
                //# end
            }
            //# each h HEADS
            {
                let head = tile.first_head + min($hu, tile.num_heads - 1u);
                let score = score_of(product_$h, tile.position, position, head);
                weights[$h][lane / BATCH][lane % BATCH] = select(LOWEST, score, is_seen);
            }
            //# end
        }
        workgroupBarrier();

        // A batch of values of a piece of the thread. Positions that the row does not attend to are replaced by others.
        //# each c 16
        var words_$c = vec4<u32>(0u);
        var scale_$c = 0.0;
        //# end
        let first_piece = min(column, VALUE_PIECES - 1u);
        let first_place = group * SPAN;
        if (part * PART + first_place < end && part * PART + first_place + BATCH > first) {
            //# each c 16
            {
                let place = first_place + $cu;
                let offset = clamp(part * PART + place, first, end - 1u) % BLOCK_TOKENS;
                let block = locations[first_place / BATCH][$c];
                words_$c = load_value(block, tile.kv_head, offset, first_piece / PIECES);
                scale_$c = value_scale(block, tile.kv_head * BLOCK_TOKENS + offset, first_piece / PIECES);
            }
            //# end
        }
        // The softmax of the part.
        if (is_active && lane < HEADS * LANES) {
            let head = lane / LANES;
            var maximum = LOWEST;
            //# each c 16
            maximum = max(maximum, weights[head][lane % LANES][$c]);
            //# end
            lane_maxima[head][lane % LANES] = maximum;
        }
        workgroupBarrier();
        //# each h HEADS
        var maximum_$h = LOWEST;
        //# end
        if (is_active) {
            //# each h HEADS
            //# each k 8
            maximum_$h = max(maximum_$h, lane_maxima[$h][$k]);
            //# end
            if (lane == 0u) {
                maxima[$h] = maximum_$h;
            }
            if (is_seen) {
                weights[$h][lane / BATCH][lane % BATCH] = exp(weights[$h][lane / BATCH][lane % BATCH] - maximum_$h);
            }
            //# end
        }
        workgroupBarrier();

        //# each h HEADS
        var sum_$h = vec4<f32>(0.0);
        var weight_sum_$h = 0.0;
        //# if GROUPS = 1
        var part_sum_$h = 0.0;
        //# each n VALUES
        var part_$h_$n = vec4<f32>(0.0);
        //# end
        //# end
        //# end
        //# if GROUPS = 1
        //# else
        //# each n RESULTS_PER_THREAD
        var part_$n = vec4<f32>(0.0);
        //# end
        //# end
        // For each span of the group, and for each piece of the thread, the batches of the span.
        for (var unit = 0u; unit < SPANS / GROUPS * VALUES * SPAN_BATCHES; unit++) {
            let span = unit / (VALUES * SPAN_BATCHES) * GROUPS + group;
            let number = unit / SPAN_BATCHES % VALUES;
            let piece = min(column + number * GROUP_THREADS, VALUE_PIECES - 1u);
            let start = span * SPAN + unit % SPAN_BATCHES * BATCH;
            if (part * PART + start < end && part * PART + start + BATCH > first) {
                //# each c 16
                if (part * PART + start + $cu >= first && part * PART + start + $cu < end) {
                    let value = decode(words_$c, piece % PIECES, scale_$c);
                    //# each h HEADS
                    let weight_$h = weights[$h][start / BATCH][$c];
                    weight_sum_$h += weight_$h;
                    sum_$h = fma(vec4<f32>(weight_$h), value, sum_$h);
                    //# end
                }
                //# end
            }
            let next = unit + 1u;
            let next_piece = min(column + next / SPAN_BATCHES % VALUES * GROUP_THREADS, VALUE_PIECES - 1u);
            let next_span = next / (VALUES * SPAN_BATCHES) * GROUPS + group;
            let next_start = next_span * SPAN + next % SPAN_BATCHES * BATCH;
            let is_next_seen = part * PART + next_start < end && part * PART + next_start + BATCH > first;
            if (next_span < SPANS && is_next_seen) {
                //# each c 16
                {
                    let place = next_start + $cu;
                    let offset = clamp(part * PART + place, first, end - 1u) % BLOCK_TOKENS;
                    let block = locations[next_start / BATCH][$c];
                    words_$c = load_value(block, tile.kv_head, offset, next_piece / PIECES);
                    scale_$c = value_scale(block, tile.kv_head * BLOCK_TOKENS + offset, next_piece / PIECES);
                }
                //# end
            }
            if (next % SPAN_BATCHES == 0u) {
                //# if GROUPS = 1
                //# each h HEADS
                //# each n VALUES
                if (number == $nu) {
                    part_$h_$n += sum_$h;
                }
                //# end
                if (number == 0u) {
                    part_sum_$h += weight_sum_$h;
                }
                //# end
                //# else
                //# each h HEADS
                if (column < VALUE_PIECES) {
                    group_sums[group][$hu * VALUE_PIECES + column] = sum_$h;
                }
                if (column == 0u) {
                    span_sums[$h][span] = weight_sum_$h;
                }
                //# end
                workgroupBarrier();
                //# each n RESULTS_PER_THREAD
                if (lane + $nu * THREADS < RESULTS) {
                    //# each g GROUPS
                    part_$n += group_sums[$g][lane + $nu * THREADS];
                    //# end
                }
                //# end
                //# if GROUPS = 2
                workgroupBarrier();
                //# end
                //# end
                //# each h HEADS
                sum_$h = vec4<f32>(0.0);
                weight_sum_$h = 0.0;
                //# end
            }
        }
        //# if GROUPS = 1
        // Before the next part replaces locations and weights.
        workgroupBarrier();
        //# end
        if (is_active) {
            //# if GROUPS = 1
            //# each h HEADS
            if (IS_SPLIT == 1u) {
                softmax_$h = Softmax(maximum_$h, part_sum_$h);
                //# each n VALUES
                total_$h_$n = part_$h_$n;
                //# end
            } else {
                let merged = merge(softmax_$h, Softmax(maximum_$h, part_sum_$h));
                softmax_$h = merged.softmax;
                //# each n VALUES
                total_$h_$n = fma(total_$h_$n, vec4<f32>(merged.factors.x), part_$h_$n * merged.factors.y);
                //# end
            }
            //# end
            //# else
            //# each n RESULTS_PER_THREAD
            {
                let head = min((lane + $nu * THREADS) / VALUE_PIECES, HEADS - 1u);
                var sum = 0.0;
                //# each k 4
                sum += span_sums[head][$k];
                //# end
                let softmax = Softmax(maxima[head], sum);
                if (IS_SPLIT == 1u) {
                    softmax_$n = softmax;
                    total_$n = part_$n;
                } else {
                    let merged = merge(softmax_$n, softmax);
                    softmax_$n = merged.softmax;
                    total_$n = fma(total_$n, vec4<f32>(merged.factors.x), part_$n * merged.factors.y);
                }
            }
            //# end
            //# end
        }
    }
    if (first_part * PART >= row_end) {
        return;
    }
    let result_part = index / num_tiles;
    let first_result = tile.row * KV_HEADS * GROUP + tile.first_head;
    //# if GROUPS = 1
    //# each h HEADS
    if ($hu < tile.num_heads) {
        //# each n VALUES
        write_result(first_result + $hu, result_part, tile.first_head + $hu, lane + $nu * THREADS, softmax_$h, total_$h_$n);
        //# end
    }
    //# end
    //# else
    //# each n RESULTS_PER_THREAD
    {
        let head = (lane + $nu * THREADS) / VALUE_PIECES;
        let piece = (lane + $nu * THREADS) % VALUE_PIECES;
        if (head < tile.num_heads) {
            write_result(first_result + head, result_part, tile.first_head + head, piece, softmax_$n, total_$n);
        }
    }
    //# end
    //# end
}

// Writes a piece of the result of query `number`, or of its part `part`.
fn write_result(number: u32, part: u32, head: u32, piece: u32, softmax: Softmax, total: vec4<f32>) {
    let at = result_at(number, part);
    var factor = 1.0;
    if (IS_SPLIT == 1u) {
        if (piece == 0u) {
            out[at + VALUE_DIM] = softmax.maximum;
            out[at + VALUE_DIM + 1u] = softmax.sum;
        }
    } else {
        factor = final_factor(softmax, head);
    }
    write_piece(at, piece, total * factor);
}
