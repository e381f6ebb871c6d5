// Reads rows in Q8_0 of the KV cache.

// The scale of a chunk of row `row`. The scales at `at` begin with word `first_word`, and each row has `words`.
fn row_scale(at: u32, first_word: u32, row: u32, words: u32, chunk: u32) -> f32 {
    let pair = unpack2x16float(load_cache_word(at, first_word + row * words + chunk / 4u));
    return select(pair.x, pair.y, (chunk / 2u) % 2u == 1u);
}

// Components `4 * piece..` of a chunk.
fn decode(words: vec4<u32>, piece: u32, scale: f32) -> vec4<f32> {
    let word = vec4<i32>(bitcast<i32>(words[piece]));
    return scale * vec4<f32>((word << vec4<u32>(24u, 16u, 8u, 0u)) >> vec4<u32>(24u));
}
