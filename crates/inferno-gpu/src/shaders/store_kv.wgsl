// Writes keys and values to the KV cache, one workgroup per row and head. If the query heads are included, they and the
// keys are normalized and rotated before.

struct Params {
    slots: u32,
    num_rows: u32,
    // Values of a row of `qkv`.
    row_len: u32,
    num_heads: u32,
    // The first head of a row that is computed: the first query head or the first key head.
    first_head: u32,
    part_blocks: u32,
    // 0 without a norm, 1 for RMS norms and 2 for layer norms.
    norm_kind: u32,
    is_norm_last: u32,
    eps: f32,
    // Number of weights of the norms; 0 if keys are not normalized.
    query_weights: u32,
    key_weights: u32,
    // Number of pairs of components that are rotated.
    num_pairs: u32,
    is_interleaved: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> batch: array<u32>;
@group(0) @binding(2) var<storage, read_write> qkv: array<f32>;
@group(0) @binding(3) var<storage, read> places: array<u32>;
@group(0) @binding(4) var<storage, read> angles: array<f32>;
@group(0) @binding(5) var<storage, read> query_norm: array<f32>;
@group(0) @binding(6) var<storage, read> key_norm: array<f32>;
const CACHE_BINDING: u32 = 7u;

// The components of the workgroup's head.
var<workgroup> components: array<f32, max(KEY_DIM, STORED_VALUE_DIM)>;

// A row of the cache.
struct CacheRow {
    location: u32,
    is_value: bool,
    head: u32,
    offset: u32,
    num_components: u32,
}

// Component `index` of the workgroup's head, or a zero after the last.
fn component_of(row: CacheRow, index: u32) -> f32 {
    if (index < row.num_components) {
        return components[index];
    }
    return 0.0;
}

// Writes word `word` of the chunks of a row.
fn store_row_word(row: CacheRow, word: u32, value: u32) {
    var chunk = key_chunk(row.head, row.offset, word / 4u);
    if (row.is_value) {
        chunk = value_chunk(row.head, row.offset, word / 4u);
    }
    store_cache_word(row.location + chunk, word % 4u, value);
}

// Writes word `word` of the scales of a row.
fn store_row_scale(row: CacheRow, word: u32, value: u32) {
    let number = row.head * BLOCK_TOKENS + row.offset;
    var at = number * KEY_SCALES + word;
    if (row.is_value) {
        at = KEY_SCALE_WORDS + number * STORED_VALUE_SCALES + word;
    }
    store_cache_word(row.location + SCALES_AT, at, value);
}

fn normalize(lane: u32, first_weight: u32, is_key: bool) {
    var mean = 0.0;
    if (params.norm_kind == 2u) {
        var sum = 0.0;
        for (var i = lane; i < KEY_DIM; i += LANES) {
            sum += components[i];
        }
        mean = workgroup_sum(lane, sum) / f32(KEY_DIM);
    }
    var squares = 0.0;
    for (var i = lane; i < KEY_DIM; i += LANES) {
        let value = components[i] - mean;
        squares = fma(value, value, squares);
    }
    let mean_square = workgroup_sum(lane, squares) / f32(KEY_DIM);
    let factor = 1.0 / sqrt(mean_square + params.eps);
    for (var i = lane; i < KEY_DIM; i += LANES) {
        var weight = query_norm[first_weight + i];
        if (is_key) {
            weight = key_norm[first_weight + i];
        }
        components[i] = (components[i] - mean) * factor * weight;
    }
    workgroupBarrier();
}

fn rotate(lane: u32, row: u32) {
    let first = row * 2u * params.num_pairs;
    for (var pair = lane; pair < params.num_pairs; pair += LANES) {
        var i = pair;
        var j = pair + params.num_pairs;
        if (params.is_interleaved == 1u) {
            i = 2u * pair;
            j = i + 1u;
        }
        let cosine = angles[first + pair];
        let sine = angles[first + params.num_pairs + pair];
        let a = components[i];
        let b = components[j];
        components[i] = fma(a, cosine, -(b * sine));
        components[j] = fma(a, sine, b * cosine);
    }
    workgroupBarrier();
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) num_workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, num_workgroups);
    let num_value_heads = select(KV_HEADS, 0u, STORED_VALUE_DIM == 0u);
    let num_heads = params.num_heads + KV_HEADS + num_value_heads - params.first_head;
    if (index >= params.num_rows * num_heads) {
        return;
    }
    let row = index / num_heads;
    let head = index % num_heads + params.first_head;
    let is_query = head < params.num_heads;
    let is_value = head >= params.num_heads + KV_HEADS;
    let num_components = select(KEY_DIM, STORED_VALUE_DIM, is_value);
    var at = row * params.row_len + head * KEY_DIM;
    if (is_value) {
        let key_heads = params.num_heads + KV_HEADS;
        at = row * params.row_len + key_heads * KEY_DIM + (head - key_heads) * STORED_VALUE_DIM;
    }
    for (var i = lane; i < num_components; i += LANES) {
        components[i] = qkv[at + i];
    }
    workgroupBarrier();

    if (params.first_head == 0u && !is_value) {
        var num_weights = params.query_weights;
        var first_weight = head * KEY_DIM;
        if (!is_query) {
            num_weights = params.key_weights;
            first_weight = (head - params.num_heads) * KEY_DIM;
        }
        let is_normed = params.norm_kind != 0u && num_weights > 0u;
        if (is_normed && params.is_norm_last == 0u) {
            normalize(lane, first_weight % num_weights, !is_query);
        }
        rotate(lane, row);
        if (is_normed && params.is_norm_last == 1u) {
            normalize(lane, first_weight % num_weights, !is_query);
        }
    }
    if (is_query) {
        for (var i = lane; i < KEY_DIM; i += LANES) {
            qkv[at + i] = components[i];
        }
        return;
    }
    let slot = batch[params.slots + row];
    let location = locate(place_of(slot / BLOCK_TOKENS));
    let kv_head = (head - params.num_heads) % KV_HEADS;
    store_row(CacheRow(location, is_value, kv_head, slot % BLOCK_TOKENS, num_components), lane);
}
