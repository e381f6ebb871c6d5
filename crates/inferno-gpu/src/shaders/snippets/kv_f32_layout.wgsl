// Rows of the KV cache in F32: four components per chunk.
const CHUNK: u32 = 4u;
const KEY_SCALES: u32 = 0u;
const STORED_VALUE_SCALES: u32 = 0u;
