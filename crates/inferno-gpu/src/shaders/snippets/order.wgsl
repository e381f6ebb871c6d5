// Numbers compared as integers, in which NaN has a place too.

// In ascending order with the number.
fn key_of(value: f32) -> u32 {
    let bits = bitcast<u32>(value);
    return select(bits | 0x80000000u, ~bits, (bits & 0x80000000u) != 0u);
}

// Whether the first of two numbers, with their indices, comes before the second in descending order.
fn is_better(key: u32, index: u32, other_key: u32, other_index: u32) -> bool {
    return key > other_key || (key == other_key && index < other_index);
}
