// The rows of weights, of `x` and of `out` that the kernels of products share, and what they do with a sum.

// A part of the weight, whose rows have the same format and are in the same buffers.
struct Part {
    // Workgroups.
    num_groups: u32,
    // Rows of one expert.
    num_rows: u32,
    // The first row of the first workgroup, and the end of the rows that are computed.
    offset: u32,
    limit: u32,
    // The rows in the buffers, counted over all experts.
    first_row: u32,
    last_row: u32,
    // The column of the part's first row in `out`.
    column: u32,
    // Gated: rows from a gate to its up projection, if both are in this part.
    up: u32,
}

struct Params {
    rows: u32,
    cols: u32,
    units: u32,
    out_len: u32,
    // Rows of one expert of the whole weight.
    weight_rows: u32,
    first_tile: u32,
    // Slots per row of the input, and of the routing.
    slots_per_row: u32,
    num_slots: u32,
    is_layer_norm: u32,
    has_norm_bias: u32,
    has_scales: u32,
    has_bias: u32,
    is_sum: u32,
    eps: f32,
    inverse_cols: f32,
    gate_kind: u32,
    g0: f32,
    g1: f32,
    g2: f32,
    g3: f32,
    // Whether the tiles of a group of weights are neighbors, rather than the groups of a tile.
    are_tiles_neighbors: u32,
    @align(16) part_0: Part,
    part_1: Part,
}

@group(0) @binding(0) var<uniform> params: Params;
// Bindings 1 to 3 are the rows of x: those of the snippet `product_rows`, or halves.
@group(0) @binding(4) var<storage, read> bias: array<f32>;
@group(0) @binding(5) var<storage, read> scales: array<f32>;
// Experts of all slots, their weights, the slots sorted by expert, and tiles of them.
@group(0) @binding(6) var<storage, read> routing: array<u32>;
@group(0) @binding(7) var<storage, read> codebooks: array<u32>;
@group(0) @binding(8) var<storage, read_write> out: array<f32>;

// Rows of x with the same expert.
struct Tile {
    expert: u32,
    first: u32,
    // Zero for tiles without work.
    count: u32,
}

// The tile of a workgroup, and its group of rows of weights.
fn place_of(workgroup: vec3<u32>, num_workgroups: vec3<u32>) -> vec2<u32> {
    if params.are_tiles_neighbors != 0u {
        return vec2<u32>(workgroup.x, workgroup.z * num_workgroups.y + workgroup.y);
    }
    return vec2<u32>(workgroup.y, workgroup.z * num_workgroups.x + workgroup.x);
}

fn tile_at(number: u32) -> Tile {
//# if TILES = 0
    // Neighboring rows.
    let first = number * ROWS;
    return Tile(0u, first, min(ROWS, params.rows - min(first, params.rows)));
//# end
//# if TILES = 1
    // One slot.
    return Tile(routing[number], number, 1u);
//# end
//# if TILES = 2
    // Slots in the order of their experts.
    let at = 3u * params.num_slots + 3u * number;
    return Tile(routing[at], routing[at + 1u], routing[at + 2u]);
//# end
}

// The row of `out`.
fn output_row(tile: Tile, r: u32) -> u32 {
//# if TILES = 2
    return routing[2u * params.num_slots + tile.first + r];
//# else
    return tile.first + r;
//# end
}

// The row of `x`, also if the tile has fewer.
fn input_row(tile: Tile, r: u32) -> u32 {
    if tile.count == 0u {
        return 0u;
    }
    return output_row(tile, min(r, tile.count - 1u)) / params.slots_per_row;
}

// Whether the dispatch computes the part's row `n` of an expert.
fn has_row(part: Part, expert: u32, n: u32) -> bool {
    let row = expert * part.num_rows + n;
    return n < part.limit && row >= part.first_row && row < part.last_row;
}

// The row in a part's buffers of its row `n` of an expert; any row if it is not there.
fn buffer_row(part: Part, expert: u32, n: u32) -> u32 {
    return clamp(expert * part.num_rows + n, part.first_row, part.last_row - 1u) - part.first_row;
}

// Applies the scale of a row of weights and adds the bias.
fn finish(sum: f32, expert: u32, column: u32) -> f32 {
    let row = expert * params.weight_rows + column;
    var scale = 1.0;
    if params.has_scales != 0u {
        scale = scales[row];
    }
    var added = 0.0;
    if params.has_bias != 0u {
        added = bias[row];
    }
    return fma(sum, scale, added);
}

fn store(at: u32, value: f32) {
    var result = value;
    if params.is_sum != 0u {
        result += out[at];
    }
    out[at] = result;
}
