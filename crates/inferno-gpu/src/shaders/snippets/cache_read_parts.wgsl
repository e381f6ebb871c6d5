// A layer of the KV cache in up to four buffers of `params.part_blocks` blocks. The upper two bits of an address are the
// number of the buffer.
@group(0) @binding(CACHE_BINDING) var<storage, read> cache_0: array<vec4<u32>>;
@group(0) @binding(CACHE_BINDING + 1u) var<storage, read> cache_1: array<vec4<u32>>;
@group(0) @binding(CACHE_BINDING + 2u) var<storage, read> cache_2: array<vec4<u32>>;
@group(0) @binding(CACHE_BINDING + 3u) var<storage, read> cache_3: array<vec4<u32>>;

// The address of a block.
fn locate(place: u32) -> u32 {
    let part = place / params.part_blocks;
    return (part << 30u) | ((place - part * params.part_blocks) * BLOCK_CHUNKS);
}

fn load_cache(at: u32) -> vec4<u32> {
    let index = at & 0x3fffffffu;
    switch (at >> 30u) {
        case 0u: { return cache_0[index]; }
        case 1u: { return cache_1[index]; }
        case 2u: { return cache_2[index]; }
        default: { return cache_3[index]; }
    }
}

// Word `word` of the region at `at`.
fn load_cache_word(at: u32, word: u32) -> u32 {
    return load_cache(at + word / 4u)[word % 4u];
}
