// Writes rows of the KV cache in F16. Values that are too large become infinite.
fn store_row(row: CacheRow, lane: u32) {
    for (var word = lane; word < (row.num_components + 7u) / 8u * 4u; word += LANES) {
        let low = half_bits(component_of(row, 2u * word));
        let high = half_bits(component_of(row, 2u * word + 1u));
        store_row_word(row, word, low | (high << 16u));
    }
}
