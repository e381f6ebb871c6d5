// Causal attention over the paged KV cache. A workgroup computes the rows of a tile, HEADS query heads each, which all
// read the same key head; all parts of positions, or one of them if IS_SPLIT.
//
// A part: each thread computes the scores of one position with all queries; then LANES threads per query compute its
// softmax; then GROUPS threads per chunk of the values sum up every GROUPS-th position. Every sum has a fixed order.

struct Params {
    positions: u32,
    sequences: u32,
    first_rows: u32,
    first_blocks: u32,
    blocks: u32,
    tiles: u32,
    num_tiles: u32,
    // Values of a row of `qkv`.
    row_len: u32,
    scale: f32,
    // 0 without a cap.
    softcap: f32,
    // 0 for causal attention, 1 with a sliding and 2 with a chunked window; 3 for bidirectional attention.
    mask_kind: u32,
    // Of the window, or the largest distance.
    mask_len: u32,
    part_blocks: u32,
    // The first of the parts of each row that are computed, and their number.
    first_part: u32,
    num_parts: u32,
    // The largest number of parts that a workgroup computes.
    max_parts: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> batch: array<u32>;
@group(0) @binding(2) var<storage, read> qkv: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;
@group(0) @binding(4) var<storage, read> sinks: array<f32>;
@group(0) @binding(5) var<storage, read> places: array<u32>;
@group(0) @binding(6) var<storage, read> distance_slopes: array<f32>;
const CACHE_BINDING: u32 = 7u;

// Tiles of heads that share a key head.
const HEAD_TILES: u32 = (GROUP + HEADS - 1u) / HEADS;
const QUERIES: u32 = ROWS * HEADS;
const PIECES: u32 = CHUNK / 4u;
const KEY_PIECES: u32 = KEY_CHUNKS * PIECES;
const LANES: u32 = 16u;
// The chunks with components of values. The first of those of a key can have components before them.
const VALUE_FIRST: u32 = VALUE_START / CHUNK;
const VALUE_SKIP: u32 = VALUE_START % CHUNK;
const VALUE_CHUNKS: u32 = (VALUE_SKIP + VALUE_DIM + CHUNK - 1u) / CHUNK;
const GROUPS: u32 = max(PART / VALUE_CHUNKS, 1u);
const CHUNKS_PER_THREAD: u32 = (VALUE_CHUNKS + PART - 1u) / PART;
const THREAD_PIECES: u32 = CHUNKS_PER_THREAD * PIECES;
const GROUP_VALUES: u32 = VALUE_CHUNKS * CHUNK;
const VALUES_PER_THREAD: u32 = (VALUE_DIM + PART - 1u) / PART;
// Maximum and sum, after the values.
const PARTIAL_LEN: u32 = VALUE_DIM + 2u;

// Pieces of the queries.
var<workgroup> queries: array<vec4<f32>, QUERIES * KEY_PIECES>;
// Scores and weights of each query, then the sums of each group of threads.
var<workgroup> scratch: array<f32, max(QUERIES * PART, GROUPS * GROUP_VALUES)>;
// The blocks of the positions of a part.
var<workgroup> locations: array<u32, PART>;
var<workgroup> lane_maxima: array<f32, QUERIES * LANES>;
var<workgroup> lane_sums: array<f32, QUERIES * LANES>;
// The softmax of all parts so far, and the factors on the sums of those before and of the last.
var<workgroup> softmaxes: array<Softmax, QUERIES>;
var<workgroup> factors: array<vec2<f32>, QUERIES>;

struct Tile {
    row: u32,
    num_rows: u32,
    // The position of the first row.
    position: u32,
    // Number of positions of the sequence.
    context: u32,
    // The index of the sequence's first block.
    blocks: u32,
    kv_head: u32,
    first_head: u32,
    num_heads: u32,
}

fn tile_at(index: u32) -> Tile {
    let head_tile = index % HEAD_TILES;
    let kv_head = index / HEAD_TILES % KV_HEADS;
    let number = index / (HEAD_TILES * KV_HEADS);
    var row = number;
    if (ROWS > 1u) {
        row = batch[params.tiles + number];
    }
    let sequence = batch[params.sequences + row];
    var num_rows = 1u;
    let end_row = batch[params.first_rows + sequence + 1u];
    if (ROWS > 1u) {
        num_rows = min(ROWS, end_row - row);
    }
    let blocks = params.blocks + batch[params.first_blocks + sequence];
    let num_heads = min(HEADS, GROUP - head_tile * HEADS);
    return Tile(
        row,
        num_rows,
        batch[params.positions + row],
        batch[params.positions + end_row - 1u] + 1u,
        blocks,
        kv_head,
        kv_head * GROUP + head_tile * HEADS,
        num_heads,
    );
}

// The first position of part `part` that row `row` of the tile attends to, and the one after the last.
fn row_range(tile: Tile, row: u32, part: u32) -> vec2<u32> {
    if (row >= tile.num_rows) {
        return vec2<u32>(0u);
    }
    let position = tile.position + row;
    let first = max(first_position(position), part * PART);
    return vec2<u32>(first, min(end_position(position, tile.context), (part + 1u) * PART));
}

// Whether row `row` of the tile attends to `position`.
fn attends_to(tile: Tile, row: u32, position: u32) -> bool {
    let own = tile.position + row;
    let end = end_position(own, tile.context);
    return row < tile.num_rows && position < end && position >= first_position(own);
}

fn load_queries(tile: Tile, lane: u32) {
    for (var i = lane; i < QUERIES * KEY_PIECES; i += PART) {
        let query = i / KEY_PIECES;
        let row = query / HEADS;
        let head = query % HEADS;
        var piece = vec4<f32>(0.0);
        if (row < tile.num_rows && head < tile.num_heads) {
            let at = (tile.row + row) * params.row_len + (tile.first_head + head) * KEY_DIM;
            for (var j = 0u; j < 4u; j++) {
                let component = i % KEY_PIECES * 4u + j;
                if (component < KEY_DIM) {
                    piece[j] = qkv[at + component];
                }
            }
        }
        queries[i] = piece;
    }
}

// Computes the scores of the position `position` with all queries.
fn compute_scores(tile: Tile, position: u32, lane: u32) {
    let block = batch[tile.blocks + position / BLOCK_TOKENS];
    let offset = position % BLOCK_TOKENS;
    let location = locate(place_of(block));
    locations[lane] = location;
    let row = tile.kv_head * BLOCK_TOKENS + offset;
    var sums: array<vec4<f32>, QUERIES>;
    for (var chunk = 0u; chunk < KEY_CHUNKS; chunk++) {
        let words = load_cache(location + key_chunk(tile.kv_head, offset, chunk));
        let scale = row_scale(location + SCALES_AT, 0u, row, KEY_SCALES, chunk);
        for (var piece = 0u; piece < PIECES; piece++) {
            let key = decode(words, piece, scale);
            for (var query = 0u; query < QUERIES; query++) {
                let factor = queries[query * KEY_PIECES + chunk * PIECES + piece];
                sums[query] = fma(factor, key, sums[query]);
            }
        }
    }
    for (var query = 0u; query < QUERIES; query++) {
        let sum = sums[query];
        var score = cap_score(((sum.x + sum.y) + (sum.z + sum.w)) * params.scale);
        if (HAS_SLOPES == 1u) {
            let own = tile.position + query / HEADS;
            let distance = f32(max(own, position) - min(own, position));
            let head = min(query % HEADS, tile.num_heads - 1u);
            score = fma(-distance_slopes[tile.first_head + head], distance, score);
        }
        scratch[query * PART + lane] = score;
    }
}

fn cap_score(score: f32) -> f32 {
    if (params.softcap == 0.0) {
        return score;
    }
    let ratio = exp(-2.0 * abs(score / params.softcap));
    return sign(score) * params.softcap * ((1.0 - ratio) / (1.0 + ratio));
}

// Replaces scores by weights, and leaves their maxima and sums in `lane_maxima` and `lane_sums`.
fn compute_weights(tile: Tile, part: u32, lane: u32) {
    let query = lane / LANES;
    let range = row_range(tile, query / HEADS, part);
    if (query < QUERIES) {
        var maximum = LOWEST;
        for (var i = lane % LANES; i < PART; i += LANES) {
            if (part * PART + i >= range.x && part * PART + i < range.y) {
                maximum = max(maximum, scratch[query * PART + i]);
            }
        }
        lane_maxima[lane] = maximum;
    }
    workgroupBarrier();
    if (query < QUERIES) {
        var maximum = LOWEST;
        for (var i = 0u; i < LANES; i++) {
            maximum = max(maximum, lane_maxima[query * LANES + i]);
        }
        var sum = 0.0;
        for (var i = lane % LANES; i < PART; i += LANES) {
            if (part * PART + i >= range.x && part * PART + i < range.y) {
                let weight = exp(scratch[query * PART + i] - maximum);
                sum += weight;
                scratch[query * PART + i] = weight;
            }
        }
        lane_sums[lane] = sum;
    }
    workgroupBarrier();
    if (lane < QUERIES) {
        let range = row_range(tile, lane / HEADS, part);
        var softmax = Softmax(LOWEST, 0.0);
        for (var i = 0u; i < LANES; i++) {
            softmax.maximum = max(softmax.maximum, lane_maxima[lane * LANES + i]);
            softmax.sum += lane_sums[lane * LANES + i];
        }
        if (IS_SPLIT == 1u) {
            softmaxes[lane] = softmax;
        } else if (range.x < range.y) {
            let merged = merge(softmaxes[lane], softmax);
            softmaxes[lane] = merged.softmax;
            factors[lane] = merged.factors;
        }
    }
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
    let tile = tile_at(index % num_tiles);
    let last_position = tile.position + tile.num_rows - 1u;
    let tile_end = end_position(last_position, tile.context);
    var first_part = first_position(tile.position) / PART;
    if (IS_SPLIT == 1u) {
        first_part += params.first_part + index / num_tiles;
    }
    load_queries(tile, lane);
    if (lane < QUERIES) {
        softmaxes[lane] = Softmax(LOWEST, 0.0);
    }
    var totals: array<f32, QUERIES * VALUES_PER_THREAD>;
    workgroupBarrier();
    // Some compilers accept barriers in a loop only if its end is a parameter: parts after the last change nothing.
    for (var step = 0u; step < params.max_parts; step++) {
        let part = first_part + step;
        // The positions that any row attends to.
        let first = max(first_position(tile.position), part * PART);
        let end = max(first, min(tile_end, (part + 1u) * PART));
        let position = part * PART + lane;
        if (position >= first && position < end) {
            compute_scores(tile, position, lane);
        }
        workgroupBarrier();
        compute_weights(tile, part, lane);

        let group = lane / min(VALUE_CHUNKS, PART);
        var sums: array<vec4<f32>, QUERIES * THREAD_PIECES>;
        if (group < GROUPS) {
            // Whether all rows attend to all these positions.
            let is_inner = first_position(last_position) <= first && end <= end_position(tile.position, tile.context);
            // The first position of the group from `first` on.
            let skipped = first - part * PART;
            for (var i = skipped + (group + GROUPS - skipped % GROUPS) % GROUPS; i < end - part * PART; i += GROUPS) {
                let offset = (part * PART + i) % BLOCK_TOKENS;
                let row = tile.kv_head * BLOCK_TOKENS + offset;
                for (var number = 0u; number < CHUNKS_PER_THREAD; number++) {
                    let chunk = lane % min(VALUE_CHUNKS, PART) + number * PART;
                    if (CHUNKS_PER_THREAD > 1u && chunk >= VALUE_CHUNKS) {
                        break;
                    }
                    let words = load_value(locations[i], tile.kv_head, offset, chunk);
                    let scale = value_scale(locations[i], row, chunk);
                    for (var piece = 0u; piece < PIECES; piece++) {
                        let value = decode(words, piece, scale);
                        for (var query = 0u; query < QUERIES; query++) {
                            if (ROWS > 1u && !is_inner && !attends_to(tile, query / HEADS, part * PART + i)) {
                                continue;
                            }
                            let at = query * THREAD_PIECES + number * PIECES + piece;
                            sums[at] = fma(vec4<f32>(scratch[query * PART + i]), value, sums[at]);
                        }
                    }
                }
            }
        }
        // Weights are no longer needed.
        workgroupBarrier();
        for (var query = 0u; query < QUERIES; query++) {
            if (group < GROUPS) {
                for (var number = 0u; number < CHUNKS_PER_THREAD; number++) {
                    let chunk = lane % min(VALUE_CHUNKS, PART) + number * PART;
                    if (CHUNKS_PER_THREAD > 1u && chunk >= VALUE_CHUNKS) {
                        break;
                    }
                    for (var piece = 0u; piece < PIECES; piece++) {
                        let sum = sums[query * THREAD_PIECES + number * PIECES + piece];
                        let at = group * GROUP_VALUES + chunk * CHUNK + piece * 4u;
                        for (var j = 0u; j < 4u; j++) {
                            scratch[at + j] = sum[j];
                        }
                    }
                }
            }
            workgroupBarrier();
            let range = row_range(tile, query / HEADS, part);
            for (var number = 0u; number < VALUES_PER_THREAD; number++) {
                let component = lane + number * PART;
                if (component < VALUE_DIM) {
                    var sum = 0.0;
                    for (var i = 0u; i < GROUPS; i++) {
                        sum += scratch[i * GROUP_VALUES + VALUE_SKIP + component];
                    }
                    let at = query * VALUES_PER_THREAD + number;
                    if (IS_SPLIT == 1u) {
                        totals[at] = sum;
                    } else if (range.x < range.y) {
                        totals[at] = fma(totals[at], factors[query].x, sum * factors[query].y);
                    }
                }
            }
            workgroupBarrier();
        }
    }
    if (first_part * PART >= tile_end) {
        return;
    }
    for (var query = 0u; query < QUERIES; query++) {
        let row = query / HEADS;
        let head = query % HEADS;
        if (row >= tile.num_rows || head >= tile.num_heads) {
            continue;
        }
        let number = (tile.row + row) * KV_HEADS * GROUP + tile.first_head + head;
        var at = number * VALUE_DIM;
        var factor = 1.0;
        if (IS_SPLIT == 1u) {
            // A place for the result of all parts follows those of the parts.
            at = (number * (params.num_parts + 1u) + index / num_tiles) * PARTIAL_LEN;
            if (lane == 0u) {
                out[at + VALUE_DIM] = softmaxes[query].maximum;
                out[at + VALUE_DIM + 1u] = softmaxes[query].sum;
            }
        } else {
            factor = final_factor(softmaxes[query], tile.first_head + head);
        }
        for (var i = 0u; i < VALUES_PER_THREAD; i++) {
            let component = lane + i * PART;
            if (component < VALUE_DIM) {
                out[at + component] = totals[query * VALUES_PER_THREAD + i] * factor;
            }
        }
    }
}

// Chunk `chunk` of a value.
fn load_value(location: u32, head: u32, offset: u32, chunk: u32) -> vec4<u32> {
    if (STORED_VALUE_DIM == 0u) {
        return load_cache(location + key_chunk(head, offset, VALUE_FIRST + chunk));
    }
    return load_cache(location + value_chunk(head, offset, chunk));
}

// The scale of chunk `chunk` of a value; `row` is the number of its row among those of a block.
fn value_scale(location: u32, row: u32, chunk: u32) -> f32 {
    if (STORED_VALUE_DIM == 0u) {
        return row_scale(location + SCALES_AT, 0u, row, KEY_SCALES, VALUE_FIRST + chunk);
    }
    return row_scale(location + SCALES_AT, KEY_SCALE_WORDS, row, STORED_VALUE_SCALES, chunk);
}
