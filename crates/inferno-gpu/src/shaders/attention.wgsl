// Attention over the paged KV cache: a workgroup computes QUERIES queries or fewer, ROWS rows with HEADS query heads each,
// which all read the same key head; all parts of positions, or one of them if IS_SPLIT.
//
// A thread computes the products of 4 queries with 4 * POS_VECS positions of a part, from keys and queries that the
// workgroup has copied; then weights of a query in a span; then sums of 4 queries and VALUE_VECS pieces of the values.

const THREADS: u32 = 128u;
const SPANS: u32 = PART / SPAN;
// Threads with different queries, and those with the same.
const QUERY_THREADS: u32 = QUERIES / 4u;
const COLUMNS: u32 = THREADS / QUERY_THREADS;
// Copies of DIMS components of all keys, and of VALUE_ROWS values.
const KEY_STEPS: u32 = (KEY_PIECES * 4u + DIMS - 1u) / DIMS;
const VALUE_ROWS: u32 = 4u * VALUE_QUADS;
const VALUE_STEPS: u32 = PART / VALUE_ROWS;
const SPAN_STEPS: u32 = SPAN / VALUE_ROWS;

// By component; 4 queries or positions each. Another column avoids conflicts between the threads of a subgroup.
var<workgroup> query_tile: array<array<vec4<f32>, QUERY_THREADS + 1u>, DIMS>;
var<workgroup> key_tile: array<array<vec4<f32>, PART / 4u>, DIMS>;
// By position.
var<workgroup> value_tile: array<array<vec4<f32>, VALUE_PIECES>, VALUE_ROWS>;
// Scores, then weights, by query; 4 positions each. Weights are negative where a row does not attend to.
var<workgroup> weights: array<array<vec4<f32>, PART / 4u + 1u>, QUERIES>;
// The blocks of the positions.
var<workgroup> locations: array<u32, PART>;
var<workgroup> span_maxima: array<array<f32, QUERIES>, SPANS>;
var<workgroup> span_sums: array<array<f32, QUERIES>, SPANS>;
// The softmax of all parts so far, and the factors on the sums of those before and of the last.
var<workgroup> softmaxes: array<Softmax, QUERIES>;
var<workgroup> factors: array<vec2<f32>, QUERIES>;

// The first of the positions in part `part` that a query attends to, and the one after the last, relative to the part.
fn query_range(tile: Tile, query: u32, part: u32) -> vec2<u32> {
    let row = query / HEADS;
    if (row >= tile.num_rows) {
        return vec2<u32>(0u);
    }
    let position = tile.position + row;
    let first = max(first_position(position), part * PART);
    let end = max(first, min(end_position(position, tile.context), (part + 1u) * PART));
    return vec2<u32>(first, end) - vec2<u32>(part * PART);
}

// The first component of a query; that of the last one of the tile if there are fewer.
fn query_at(tile: Tile, query: u32) -> u32 {
    let row = tile.row + min(query / HEADS, tile.num_rows - 1u);
    let head = tile.first_head + min(query % HEADS, tile.num_heads - 1u);
    return row * params.row_len + head * KEY_DIM;
}

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
    // The last rows, which attend to the most positions, are computed first.
    let number = params.num_tiles - 1u - index % num_tiles / (HEAD_TILES * KV_HEADS);
    let tile = tile_at(number, index % (HEAD_TILES * KV_HEADS));
    let last_position = tile.position + tile.num_rows - 1u;
    let tile_first = first_position(tile.position);
    let tile_end = end_position(last_position, tile.context);
    // Some compilers accept barriers in a loop only if its end is a parameter: parts after the last change nothing.
    var num_steps = min(params.max_parts, (params.end + number * ROWS + PART - 1u) / PART);
    var first_part = tile_first / PART;
    if (IS_SPLIT == 1u) {
        num_steps = 1u;
        first_part += params.first_part + index / num_tiles;
    }
    // The queries and the columns of the thread.
    let query_thread = lane / COLUMNS;
    let column = lane % COLUMNS;
    let is_used = 4u * query_thread / HEADS < tile.num_rows;
    // The positions of which the thread copies a piece of the key, and the number of this piece.
    let copied = lane % (PART / 4u);
    let copied_piece = lane / (PART / 4u);
    //# each i 4
    let query_at_$i = query_at(tile, min(4u * (lane / DIMS) + $iu, QUERIES - 1u));
    //# each j VALUE_VECS
    var total_$i_$j = vec4<f32>(0.0);
    //# end
    //# end
    if (lane < QUERIES) {
        softmaxes[lane] = Softmax(LOWEST, 0.0);
    }
    for (var step = 0u; step < num_steps; step++) {
        let part = first_part + step;
        // The positions that any row attends to.
        let first = max(tile_first, part * PART);
        let end = max(first, min(tile_end, (part + 1u) * PART));
        let is_active = first < end;
        // Whether all rows attend to all positions of the part.
        let is_inner = first_position(last_position) <= part * PART
            && (part + 1u) * PART <= end_position(tile.position, tile.context);
        if (is_active) {
            locations[lane] = location_of(tile, clamp(part * PART + lane, first, end - 1u));
        }
        workgroupBarrier();

        //# each k 4
        var key_at_$k = 0u;
        var key_row_$k = 0u;
        if (is_active) {
            let offset = clamp(part * PART + 4u * copied + $ku, first, end - 1u) % BLOCK_TOKENS;
            key_at_$k = locations[4u * copied + $ku];
            key_row_$k = tile.kv_head * BLOCK_TOKENS + offset;
        }
        var words_$k = vec4<u32>(0u);
        var scale_$k = 0.0;
        var component_$k = 0.0;
        //# end
        //# each i 4
        //# each j POS_VECS
        var product_$i_$j = vec4<f32>(0.0);
        //# end
        //# end
        // In each step, the next components are loaded, and those that were copied before are multiplied.
        for (var key_step = 0u; key_step <= KEY_STEPS; key_step++) {
            let piece = key_step * (DIMS / 4u) + copied_piece;
            let component = key_step * DIMS + lane % DIMS;
            if (is_active && key_step < KEY_STEPS) {
                if (copied_piece < DIMS / 4u && piece < KEY_PIECES) {
                    let chunk = piece / PIECES;
                    //# each k 4
                    let at_$k = key_at_$k + key_chunk(tile.kv_head, key_row_$k % BLOCK_TOKENS, chunk);
                    words_$k = load_cache(at_$k);
                    //# end
                    //# each k 4
                    scale_$k = key_scale(key_at_$k, key_row_$k, chunk);
                    //# end
                }
                if (lane < QUERY_THREADS * DIMS && component < KEY_DIM) {
                    //# each k 4
                    component_$k = qkv[query_at_$k + component];
                    //# end
                }
            }
            if (is_active && is_used && key_step > 0u) {
                //# each d DIMS
                {
                    let query = query_tile[$d][query_thread];
                    //# each j POS_VECS
                    let key_$j = key_tile[$d][column + $ju * COLUMNS];
                    //# each i 4
                    product_$i_$j = fma(vec4<f32>(query[$i]), key_$j, product_$i_$j);
                    //# end
                    //# end
                }
                //# end
            }
            workgroupBarrier();
            if (is_active && key_step < KEY_STEPS) {
                if (copied_piece < DIMS / 4u) {
                    //# each k 4
                    var key_$k = vec4<f32>(0.0);
                    //# end
                    if (piece < KEY_PIECES) {
                        //# each k 4
                        key_$k = decode(words_$k, piece % PIECES, scale_$k);
                        //# end
                    }
                    //# each d 4
                    key_tile[copied_piece * 4u + $du][copied] = vec4<f32>(key_0[$d], key_1[$d], key_2[$d], key_3[$d]);
                    //# end
                }
                if (lane < QUERY_THREADS * DIMS) {
                    let query = vec4<f32>(component_0, component_1, component_2, component_3);
                    query_tile[lane % DIMS][lane / DIMS] = select(vec4<f32>(0.0), query, component < KEY_DIM);
                }
            }
            workgroupBarrier();
        }
        if (is_active && is_used) {
            //# each i 4
            {
                let query = 4u * query_thread + $iu;
                let own = tile.position + query / HEADS;
                let head = tile.first_head + min(query % HEADS, tile.num_heads - 1u);
                //# each j POS_VECS
                {
                    let place = column + $ju * COLUMNS;
                    let position = part * PART + 4u * place;
                    //# each k 4
                    let score_$k = score_of(product_$i_$j[$k], own, position + $ku, head);
                    //# end
                    weights[query][place] = vec4<f32>(score_0, score_1, score_2, score_3);
                }
                //# end
            }
            //# end
        }
        workgroupBarrier();

        // The softmax of a query in a span.
        let query = lane % QUERIES;
        let span = lane / QUERIES;
        let range = query_range(tile, query, part);
        //# each k 8
        var score_$k = vec4<f32>(0.0);
        let place_$k = vec4<u32>(span * SPAN + 4u * $ku) + vec4<u32>(0u, 1u, 2u, 3u);
        let is_seen_$k = (place_$k >= vec4<u32>(range.x)) & (place_$k < vec4<u32>(range.y));
        //# end
        if (is_active && span < SPANS) {
            var maxima = vec4<f32>(LOWEST);
            //# each k 8
            score_$k = weights[query][span * (SPAN / 4u) + $ku];
            maxima = max(maxima, select(vec4<f32>(LOWEST), score_$k, is_seen_$k));
            //# end
            span_maxima[span][query] = max(max(maxima.x, maxima.y), max(maxima.z, maxima.w));
        }
        workgroupBarrier();
        if (is_active && span < SPANS) {
            var maximum = LOWEST;
            for (var i = 0u; i < SPANS; i++) {
                maximum = max(maximum, span_maxima[i][query]);
            }
            var sum = 0.0;
            //# each k 8
            let weight_$k = exp(score_$k - maximum);
            let added_$k = select(vec4<f32>(0.0), weight_$k, is_seen_$k);
            sum = (((sum + added_$k.x) + added_$k.y) + added_$k.z) + added_$k.w;
            weights[query][span * (SPAN / 4u) + $ku] = select(vec4<f32>(-1.0), weight_$k, is_seen_$k);
            //# end
            span_sums[span][query] = sum;
        }
        workgroupBarrier();
        if (is_active && lane < QUERIES) {
            var softmax = Softmax(LOWEST, 0.0);
            for (var i = 0u; i < SPANS; i++) {
                softmax.maximum = max(softmax.maximum, span_maxima[i][lane]);
                softmax.sum += span_sums[i][lane];
            }
            if (IS_SPLIT == 1u) {
                softmaxes[lane] = softmax;
            } else if (range.x < range.y) {
                let merged = merge(softmaxes[lane], softmax);
                softmaxes[lane] = merged.softmax;
                factors[lane] = merged.factors;
            }
        }

        //# each i 4
        //# each j VALUE_VECS
        var part_$i_$j = vec4<f32>(0.0);
        var sum_$i_$j = vec4<f32>(0.0);
        //# end
        //# end
        //# each k VALUE_LOADS
        var value_words_$k = vec4<u32>(0u);
        var scale_of_value_$k = 0.0;
        //# end
        // In each step, the next values are loaded, and those that were copied before are added.
        for (var value_step = 0u; value_step <= VALUE_STEPS; value_step++) {
            let next = part * PART + value_step * VALUE_ROWS;
            let is_next = value_step < VALUE_STEPS && next < end && next + VALUE_ROWS > first;
            if (is_next) {
                //# each k VALUE_LOADS
                {
                    let number = lane + $ku * THREADS;
                    if (number < VALUE_ROWS * VALUE_CHUNKS) {
                        let place = value_step * VALUE_ROWS + number / VALUE_CHUNKS;
                        let offset = clamp(part * PART + place, first, end - 1u) % BLOCK_TOKENS;
                        let chunk = number % VALUE_CHUNKS;
                        let row = tile.kv_head * BLOCK_TOKENS + offset;
                        value_words_$k = load_value(locations[place], tile.kv_head, offset, chunk);
                        scale_of_value_$k = value_scale(locations[place], row, chunk);
                    }
                }
                //# end
            }
            if (is_used && value_step > 0u && next < end + VALUE_ROWS && next > first) {
                let place = (value_step - 1u) * VALUE_QUADS;
                //# each edge 2
                if (is_inner == ($edgeu == 0u)) {
                    //# each p VALUE_QUADS
                    {
                        //# each i 4
                        let weight_$i = weights[4u * query_thread + $iu][place + $pu];
                        //# end
                        //# each k 4
                        {
                            //# each j VALUE_VECS
                            let value_$j = value_tile[4u * $pu + $ku][min(column + $ju * COLUMNS, VALUE_PIECES - 1u)];
                            //# each i 4
                            //# if edge
                            let next_$i_$j = fma(vec4<f32>(weight_$i[$k]), value_$j, sum_$i_$j);
                            sum_$i_$j = select(next_$i_$j, sum_$i_$j, weight_$i[$k] < 0.0);
                            //# else
                            sum_$i_$j = fma(vec4<f32>(weight_$i[$k]), value_$j, sum_$i_$j);
                            //# end
                            //# end
                            //# end
                        }
                        //# end
                    }
                    //# end
                }
                //# end
            }
            if (value_step > 0u && value_step % SPAN_STEPS == 0u) {
                //# each i 4
                //# each j VALUE_VECS
                part_$i_$j += sum_$i_$j;
                sum_$i_$j = vec4<f32>(0.0);
                //# end
                //# end
            }
            workgroupBarrier();
            if (is_next) {
                //# each k VALUE_LOADS
                {
                    let number = lane + $ku * THREADS;
                    if (number < VALUE_ROWS * VALUE_CHUNKS) {
                        let piece = number % VALUE_CHUNKS * PIECES;
                        //# each j PIECES
                        value_tile[number / VALUE_CHUNKS][piece + $ju] = decode(value_words_$k, $ju, scale_of_value_$k);
                        //# end
                    }
                }
                //# end
            }
            workgroupBarrier();
        }
        if (is_active) {
            //# each i 4
            {
                let query = 4u * query_thread + $iu;
                let range = query_range(tile, query, part);
                if (IS_SPLIT == 1u) {
                    //# each j VALUE_VECS
                    total_$i_$j = part_$i_$j;
                    //# end
                } else if (range.x < range.y) {
                    let merged = factors[query];
                    //# each j VALUE_VECS
                    total_$i_$j = fma(total_$i_$j, vec4<f32>(merged.x), part_$i_$j * merged.y);
                    //# end
                }
            }
            //# end
        }
    }
    if (first_part * PART >= tile_end) {
        return;
    }
    //# each i 4
    {
        let query = 4u * query_thread + $iu;
        let row = query / HEADS;
        let head = query % HEADS;
        if (row < tile.num_rows && head < tile.num_heads) {
            let at = result_at((tile.row + row) * KV_HEADS * GROUP + tile.first_head + head, index / num_tiles);
            var factor = 1.0;
            if (IS_SPLIT == 1u) {
                if (column == 0u) {
                    out[at + VALUE_DIM] = softmaxes[query].maximum;
                    out[at + VALUE_DIM + 1u] = softmaxes[query].sum;
                }
            } else {
                factor = final_factor(softmaxes[query], tile.first_head + head);
            }
            //# each j VALUE_VECS
            write_piece(at, column + $ju * COLUMNS, total_$i_$j * factor);
            //# end
        }
    }
    //# end
}
