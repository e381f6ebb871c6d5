// Rows of the KV cache in Q8_0: sixteen components per chunk, and a half-precision scale per two chunks.
const CHUNK: u32 = 16u;
const KEY_SCALES: u32 = (KEY_DIM / 32u + 1u) / 2u;
const STORED_VALUE_SCALES: u32 = (STORED_VALUE_DIM / 32u + 1u) / 2u;
