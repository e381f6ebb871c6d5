// What the kernels of attention read.

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
    // Tile n attends to positions below this plus n times the rows of a tile.
    end: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> batch: array<u32>;
@group(0) @binding(2) var<storage, read> qkv: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;
@group(0) @binding(4) var<storage, read> sinks: array<f32>;
@group(0) @binding(5) var<storage, read> places: array<u32>;
@group(0) @binding(6) var<storage, read> distance_bias: array<f32>;
const CACHE_BINDING: u32 = 7u;

// Tiles of heads that share a key head.
const HEAD_TILES: u32 = (GROUP + HEADS - 1u) / HEADS;
const KEY_PIECES: u32 = KEY_CHUNKS * PIECES;
// The chunks with components of values. The first of those of a key can have components before them.
const VALUE_FIRST: u32 = VALUE_START / CHUNK;
const VALUE_SKIP: u32 = VALUE_START % CHUNK;
const VALUE_CHUNKS: u32 = (VALUE_SKIP + VALUE_DIM + CHUNK - 1u) / CHUNK;
const VALUE_PIECES: u32 = VALUE_CHUNKS * PIECES;
// Maximum and sum, after the values.
const PARTIAL_LEN: u32 = VALUE_DIM + 2u;

// Rows of a sequence, and query heads that read the same key head.
struct Tile {
    row: u32,
    num_rows: u32,
    // The position of the first row.
    position: u32,
    // Number of positions of the sequence, if the mask is bidirectional.
    context: u32,
    // The index of the sequence's first block.
    blocks: u32,
    kv_head: u32,
    first_head: u32,
    num_heads: u32,
}

// Tile `number` of the rows and `heads` of the heads.
fn tile_at(number: u32, heads: u32) -> Tile {
    let head_tile = heads % HEAD_TILES;
    let kv_head = heads / HEAD_TILES;
    var row = number;
    if (ROWS > 1u) {
        row = batch[params.tiles + number];
    }
    let sequence = batch[params.sequences + row];
    let position = batch[params.positions + row];
    let blocks = params.blocks + batch[params.first_blocks + sequence];
    let num_heads = min(HEADS, GROUP - head_tile * HEADS);
    var num_rows = 1u;
    var context = position + 1u;
    if (ROWS > 1u || params.mask_kind == 3u) {
        let end_row = batch[params.first_rows + sequence + 1u];
        num_rows = min(ROWS, end_row - row);
        if (params.mask_kind == 3u) {
            context = batch[params.positions + end_row - 1u] + 1u;
        }
    }
    return Tile(row, num_rows, position, context, blocks, kv_head, kv_head * GROUP + head_tile * HEADS, num_heads);
}

// The address of the block with a position of the tile's sequence.
fn location_of(tile: Tile, position: u32) -> u32 {
    return locate(place_of(batch[tile.blocks + position / BLOCK_TOKENS]));
}

fn cap_score(score: f32) -> f32 {
    if (params.softcap == 0.0) {
        return score;
    }
    let ratio = exp(-2.0 * abs(score / params.softcap));
    return sign(score) * params.softcap * ((1.0 - ratio) / (1.0 + ratio));
}

// The score of the product of a query and a key.
fn score_of(product: f32, own: u32, position: u32, head: u32) -> f32 {
    let score = cap_score(product * params.scale);
    if (BIAS_COLS == 1u) {
        let distance = f32(max(own, position) - min(own, position));
        return fma(-distance_bias[head], distance, score);
    }
    if (BIAS_COLS > 1u) {
        let reach = BIAS_COLS / 2u;
        let column = min(max(position + reach, own) - own, 2u * reach);
        return score + distance_bias[head * BIAS_COLS + column];
    }
    return score;
}

// The scale of chunk `chunk` of a key; `row` is the number of its row among those of a block.
fn key_scale(location: u32, row: u32, chunk: u32) -> f32 {
    return row_scale(location + SCALES_AT, 0u, row, KEY_SCALES, chunk);
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

// The place of the results of query `number`, and of part `part` of them if the parts are merged later.
fn result_at(number: u32, part: u32) -> u32 {
    if (IS_SPLIT == 1u) {
        // A place for the result of all parts follows those of the parts.
        return (number * (params.num_parts + 1u) + part) * PARTIAL_LEN;
    }
    return number * VALUE_DIM;
}

// Writes piece `piece` of the result at `at`.
fn write_piece(at: u32, piece: u32, values: vec4<f32>) {
    //# each i 4
    let component_$i = piece * 4u + $iu;
    if (component_$i >= VALUE_SKIP && component_$i < VALUE_SKIP + VALUE_DIM) {
        out[at + component_$i - VALUE_SKIP] = values[$i];
    }
    //# end
}
