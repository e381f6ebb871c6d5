// A layer of the KV cache in up to four buffers of `params.part_blocks` blocks, for writing. The upper two bits of an
// address are the number of the buffer.
@group(0) @binding(CACHE_BINDING) var<storage, read_write> cache_0: array<u32>;
@group(0) @binding(CACHE_BINDING + 1u) var<storage, read_write> cache_1: array<u32>;
@group(0) @binding(CACHE_BINDING + 2u) var<storage, read_write> cache_2: array<u32>;
@group(0) @binding(CACHE_BINDING + 3u) var<storage, read_write> cache_3: array<u32>;

// The address of a block.
fn locate(place: u32) -> u32 {
    let part = place / params.part_blocks;
    return (part << 30u) | ((place - part * params.part_blocks) * BLOCK_CHUNKS);
}

// Writes word `word` of the region at `at`.
fn store_cache_word(at: u32, word: u32, value: u32) {
    let index = 4u * (at & 0x3fffffffu) + word;
    switch (at >> 30u) {
        case 0u: { cache_0[index] = value; }
        case 1u: { cache_1[index] = value; }
        case 2u: { cache_2[index] = value; }
        default: { cache_3[index] = value; }
    }
}
