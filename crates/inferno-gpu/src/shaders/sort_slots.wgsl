// Sorts slots by expert, and divides those of each expert into tiles of at most TILE_ROWS: an expert, the first of its
// sorted slots, and their number. One workgroup. The order of an expert's slots varies, which no result depends on.

struct Params {
    slots: u32,
    num_experts: u32,
    num_slots: u32,
    num_tiles: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> routing: array<u32>;

var<workgroup> counts: array<atomic<u32>, EXPERTS>;
var<workgroup> first_slots: array<u32, EXPERTS>;
var<workgroup> first_tiles: array<u32, EXPERTS>;
var<workgroup> used_tiles: u32;

@compute @workgroup_size(LANES)
fn main(@builtin(local_invocation_index) lane: u32) {
    for (var expert = lane; expert < params.num_experts; expert += LANES) {
        atomicStore(&counts[expert], 0u);
    }
    workgroupBarrier();
    for (var slot = lane; slot < params.slots; slot += LANES) {
        atomicAdd(&counts[routing[slot]], 1u);
    }
    workgroupBarrier();
    if lane == 0u {
        var slot = 0u;
        var tile = 0u;
        for (var expert = 0u; expert < params.num_experts; expert++) {
            first_slots[expert] = slot;
            first_tiles[expert] = tile;
            let count = atomicLoad(&counts[expert]);
            slot += count;
            tile += (count + TILE_ROWS - 1u) / TILE_ROWS;
        }
        used_tiles = tile;
    }
    workgroupBarrier();
    let tiles = 3u * params.num_slots;
    for (var expert = lane; expert < params.num_experts; expert += LANES) {
        let count = atomicLoad(&counts[expert]);
        for (var done = 0u; done < count; done += TILE_ROWS) {
            let at = tiles + 3u * (first_tiles[expert] + done / TILE_ROWS);
            routing[at] = expert;
            routing[at + 1u] = first_slots[expert] + done;
            routing[at + 2u] = min(TILE_ROWS, count - done);
        }
        atomicStore(&counts[expert], 0u);
    }
    for (var tile = used_tiles + lane; tile < params.num_tiles; tile += LANES) {
        let at = tiles + 3u * tile;
        routing[at] = 0u;
        routing[at + 1u] = 0u;
        routing[at + 2u] = 0u;
    }
    workgroupBarrier();
    for (var slot = lane; slot < params.slots; slot += LANES) {
        let expert = routing[slot];
        let at = first_slots[expert] + atomicAdd(&counts[expert], 1u);
        routing[2u * params.num_slots + at] = slot;
    }
}
