// Rows of the KV cache in I16: eight components per chunk, and a scale per row.
const CHUNK: u32 = 8u;
const KEY_SCALES: u32 = 1u;
const STORED_VALUE_SCALES: u32 = min(STORED_VALUE_DIM, 1u);
