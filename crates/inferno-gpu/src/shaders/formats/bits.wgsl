// Integer codes. Their low bits are in `codes`; the bits above them are in a plane after the scales.

//# if LOW = 8
@group(0) @binding($CODES) var<storage, read> $P_codes: array<vec4<u32>>;

fn $P_low_codes(row: u32, unit: u32, units: u32) -> vec4<u32> {
    return $P_codes[row * units + unit];
}

// Codes of 8 bits are 128 more than the integer, which an exclusive or makes a signed byte.
fn $P_low_words(codes: vec4<u32>, unit: u32) -> vec4<u32> {
    return codes ^ vec4<u32>(0x80808080u);
}
//# end
//# if LOW = 4
@group(0) @binding($CODES) var<storage, read> $P_codes: array<vec2<u32>>;

fn $P_low_codes(row: u32, unit: u32, units: u32) -> vec4<u32> {
    return vec4<u32>($P_codes[row * units + unit], 0u, 0u);
}

fn $P_low_words(codes: vec4<u32>, unit: u32) -> vec4<u32> {
    return (codes.xxyy >> vec4<u32>(0u, 4u, 0u, 4u)) & vec4<u32>(0x0f0f0f0fu);
}
//# end
//# if LOW = 2
@group(0) @binding($CODES) var<storage, read> $P_codes: array<u32>;

fn $P_low_codes(row: u32, unit: u32, units: u32) -> vec4<u32> {
    return vec4<u32>($P_codes[row * units + unit], 0u, 0u, 0u);
}

fn $P_low_words(codes: vec4<u32>, unit: u32) -> vec4<u32> {
    return packed_two_bits(codes.x);
}
//# end
//# if LOW = 1
@group(0) @binding($CODES) var<storage, read> $P_codes: array<u32>;

fn $P_low_codes(row: u32, unit: u32, units: u32) -> vec4<u32> {
    return vec4<u32>($P_codes[(row * units + unit) / 2u], 0u, 0u, 0u);
}

fn $P_low_words(codes: vec4<u32>, unit: u32) -> vec4<u32> {
    return packed_bits(codes.x >> (unit % 2u * 16u));
}
//# end

fn $P_stored(row: u32, unit: u32, units: u32, plane: u32) -> StoredUnit {
    var high = 0u;
//# if HIGH = 1
    high = $P_side[plane + unit / 2u];
//# end
//# if HIGH = 2
    high = $P_side[plane + unit];
//# end
    return stored_codes($P_low_codes(row, unit, units), high);
}

//# if MAPPING = levels
// The levels plus 128, four per word.
fn $P_level(code: u32) -> u32 {
    let words = vec4<u32>($LEVELS);
    let pair = select(words.xy, words.zw, vec2<bool>((code & 8u) != 0u));
    let word = select(pair.x, pair.y, (code & 4u) != 0u);
    return (word >> ((code & 3u) * 8u)) & 0xffu;
}

fn $P_level_bytes(codes: u32) -> u32 {
    let first = $P_level(codes & 0xfu) | ($P_level((codes >> 8u) & 0xfu) << 8u);
    return first | ($P_level((codes >> 16u) & 0xfu) << 16u) | ($P_level((codes >> 24u) & 0xfu) << 24u);
}
//# end

fn $P_words(stored: StoredUnit, unit: u32) -> vec4<u32> {
    var words = $P_low_words(stored.first, unit);
//# if HIGH = 1
    words |= packed_bits(stored.plane >> (unit % 2u * 16u)) << vec4<u32>($LOWu);
//# end
//# if HIGH = 2
    words |= packed_two_bits(stored.plane) << vec4<u32>($LOWu);
//# end
//# if MAPPING = levels
    words = vec4<u32>(
        $P_level_bytes(words.x),
        $P_level_bytes(words.y),
        $P_level_bytes(words.z),
        $P_level_bytes(words.w),
    ) ^ vec4<u32>(0x80808080u);
//# end
    return words;
}

fn $P_integer(products: i32, total: i32) -> i32 {
//# if MAPPING = signs
    return 2 * products - total;
//# else
    return products - $OFFSET * total;
//# end
}

fn $P_numbers(word: u32) -> vec4<f32> {
//# if MAPPING = signs
    // Twice the bits less 1. Drivers may combine constants that are subtracted one after another, and round their sum.
    return signed_numbers(word << 1u, 1.0);
//# else
    return signed_numbers(word, $OFFSET.0);
//# end
}

fn $P_plane_words(units: u32) -> u32 {
    return units * $HIGHu / 2u;
}
