// The block of a layer in the KV cache: chunks of 16 bytes and the scales of rows.
//
// Keys of each head come first, [chunk][position], so that neighboring positions are adjacent; then values of each head,
// [position][chunk], unless they are components of the keys; then the scales of the keys and of the values,
// [head][position]. Addresses count chunks.

const KEY_CHUNKS: u32 = (KEY_DIM + CHUNK - 1u) / CHUNK;
const STORED_VALUE_CHUNKS: u32 = (STORED_VALUE_DIM + CHUNK - 1u) / CHUNK;
const VALUES_AT: u32 = KV_HEADS * BLOCK_TOKENS * KEY_CHUNKS;
const SCALES_AT: u32 = VALUES_AT + KV_HEADS * BLOCK_TOKENS * STORED_VALUE_CHUNKS;
const KEY_SCALE_WORDS: u32 = KV_HEADS * BLOCK_TOKENS * KEY_SCALES;
const SCALE_WORDS: u32 = KEY_SCALE_WORDS + KV_HEADS * BLOCK_TOKENS * STORED_VALUE_SCALES;
const BLOCK_CHUNKS: u32 = SCALES_AT + (SCALE_WORDS + 3u) / 4u;

// The address of a chunk of a key, in a block.
fn key_chunk(head: u32, offset: u32, chunk: u32) -> u32 {
    return (head * KEY_CHUNKS + chunk) * BLOCK_TOKENS + offset;
}

// The address of a chunk of a value with a row of its own, in a block.
fn value_chunk(head: u32, offset: u32, chunk: u32) -> u32 {
    return VALUES_AT + (head * BLOCK_TOKENS + offset) * STORED_VALUE_CHUNKS + chunk;
}

// The memory of block `block`: that of its window if the layer has one.
fn place_of(block: u32) -> u32 {
    if (HAS_WINDOWS == 1u) {
        return places[block];
    }
    return block;
}
