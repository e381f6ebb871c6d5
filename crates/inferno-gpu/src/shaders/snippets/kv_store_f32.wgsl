// Writes rows of the KV cache in F32.
fn store_row(row: CacheRow, lane: u32) {
    for (var word = lane; word < (row.num_components + 3u) / 4u * 4u; word += LANES) {
        store_row_word(row, word, bitcast<u32>(component_of(row, word)));
    }
}
