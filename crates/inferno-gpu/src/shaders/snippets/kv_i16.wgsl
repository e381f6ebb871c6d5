// Reads rows in I16 of the KV cache.

// The scale of row `row`. The scales at `at` begin with word `first_word`, and each row has `words`.
fn row_scale(at: u32, first_word: u32, row: u32, words: u32, chunk: u32) -> f32 {
    return bitcast<f32>(load_cache_word(at, first_word + row * words));
}

// Components `4 * piece..` of a chunk.
fn decode(words: vec4<u32>, piece: u32, scale: f32) -> vec4<f32> {
    let pair = vec2<i32>(select(words.xy, words.zw, piece == 1u));
    let low = (pair << vec2<u32>(16u)) >> vec2<u32>(16u);
    let high = pair >> vec2<u32>(16u);
    return scale * vec4<f32>(vec4<i32>(low.x, high.x, low.y, high.y));
}
