// A layer of the KV cache in one buffer, for writing.
@group(0) @binding(CACHE_BINDING) var<storage, read_write> cache: array<u32>;

// The address of a block.
fn locate(place: u32) -> u32 {
    return place * BLOCK_CHUNKS;
}

// Writes word `word` of the region at `at`.
fn store_cache_word(at: u32, word: u32, value: u32) {
    cache[4u * at + word] = value;
}
