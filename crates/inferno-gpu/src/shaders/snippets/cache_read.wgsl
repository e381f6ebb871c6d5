// A layer of the KV cache in one buffer.
@group(0) @binding(CACHE_BINDING) var<storage, read> cache: array<vec4<u32>>;

// The address of a block.
fn locate(place: u32) -> u32 {
    return place * BLOCK_CHUNKS;
}

fn load_cache(at: u32) -> vec4<u32> {
    return cache[at];
}

// Word `word` of the region at `at`.
fn load_cache_word(at: u32, word: u32) -> u32 {
    return cache[at + word / 4u][word % 4u];
}
