// Rows of the KV cache in F16: eight components per chunk.
const CHUNK: u32 = 8u;
const KEY_SCALES: u32 = 0u;
const STORED_VALUE_SCALES: u32 = 0u;
