// Reads rows in F32 of the KV cache.

fn row_scale(at: u32, first_word: u32, row: u32, words: u32, chunk: u32) -> f32 {
    return 1.0;
}

// Components `4 * piece..` of a chunk.
fn decode(words: vec4<u32>, piece: u32, scale: f32) -> vec4<f32> {
    return bitcast<vec4<f32>>(words);
}
