// A unit: 16 columns of a row of weights. A weight is `scale * value - min`.

struct Values {
    first: vec4<f32>,
    second: vec4<f32>,
    third: vec4<f32>,
    fourth: vec4<f32>,
}

struct Unit {
    values: Values,
    scale: f32,
    min: f32,
    // Otherwise the minimum is zero.
    has_min: bool,
}

// A unit as it is stored. Loads and decoding are separate, so that a thread can load units long before it decodes them.
struct StoredUnit {
    // Codes or numbers in floating point: as many words as the format has.
    first: vec4<u32>,
    second: vec4<u32>,
    third: vec4<u32>,
    fourth: vec4<u32>,
    // The word with the unit's bits in the plane after the scales.
    plane: u32,
    // The words with its scale and minimum.
    scales: vec2<u32>,
}

fn bytes_of(word: u32) -> vec4<u32> {
    return (vec4<u32>(word) >> vec4<u32>(0u, 8u, 16u, 24u)) & vec4<u32>(0xffu);
}

fn byte_of(word: u32, index: u32) -> u32 {
    return (word >> (index % 4u * 8u)) & 0xffu;
}

// A stored unit of up to 16 bytes.
fn stored_codes(codes: vec4<u32>, plane: u32) -> StoredUnit {
    return StoredUnit(codes, vec4<u32>(), vec4<u32>(), vec4<u32>(), plane, vec2<u32>());
}

fn half_of(word: u32, index: u32) -> f32 {
    let halves = unpack2x16float(word);
    return select(halves.x, halves.y, index % 2u == 1u);
}

// The integers of 16 columns as signed bytes, four per word, before `offset` is subtracted. A weight is
// `scale * (factor * integer - offset) - min`; the factor and the offset follow from the format.
struct PackedUnit {
    words: vec4<u32>,
    scale: f32,
    min: f32,
}

// 16 columns of a row of x as integers: 256 times the first plus the second, both signed bytes, times `scale`.
struct PackedInput {
    high: vec4<u32>,
    low: vec4<u32>,
    scale: f32,
    // The sum of the integers.
    total: i32,
}

fn byte_products(words: vec4<u32>, others: vec4<u32>) -> i32 {
    let first = dot4I8Packed(words.x, others.x) + dot4I8Packed(words.y, others.y);
    return first + dot4I8Packed(words.z, others.z) + dot4I8Packed(words.w, others.w);
}

// The products of the integers.
fn integer_products(words: vec4<u32>, x: PackedInput) -> i32 {
    return byte_products(words, x.high) * 256 + byte_products(words, x.low);
}

// The lowest four bits as four bytes.
fn spread_bits(bits: u32) -> u32 {
    return ((bits & 0xfu) * 0x00204081u) & 0x01010101u;
}

// Fields of 2 bits: those of columns `4 j` to `4 j + 3` are bits `2 j` and `2 j + 1` of the four bytes.
fn packed_two_bits(word: u32) -> vec4<u32> {
    return (vec4<u32>(word) >> vec4<u32>(0u, 2u, 4u, 6u)) & vec4<u32>(0x03030303u);
}

// Single bits in the order of the columns.
fn packed_bits(bits: u32) -> vec4<u32> {
    return vec4<u32>(spread_bits(bits), spread_bits(bits >> 4u), spread_bits(bits >> 8u), spread_bits(bits >> 12u));
}

// Four signed bytes less `offset`.
fn signed_numbers(word: u32, offset: f32) -> vec4<f32> {
    return integers_less(bytes_of(word ^ 0x80808080u), 128.0 + offset);
}

// Integers below 2^23 less `zero`, exactly: as the fraction of a number from 2^23, which is faster than a conversion
// on most devices.
fn integers_less(integers: vec4<u32>, zero: f32) -> vec4<f32> {
    return bitcast<vec4<f32>>(integers | vec4<u32>(0x4b000000u)) - vec4<f32>(8388608.0 + zero);
}
