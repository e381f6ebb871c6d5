// Vectors of a codebook. A row of `codes` holds the low 8 bits of the indices, then 16 sign bits per unit unless the
// codebook is ternary; the bits of the indices above them, and the sign bit of each ternary vector, are in a plane
// after the scales.

@group(0) @binding($CODES) var<storage, read> $P_codes: array<u32>;

// The first word has the indices of the unit, the second one its signs.
fn $P_stored(row: u32, unit: u32, units: u32, plane: u32) -> StoredUnit {
    // Four bytes per word, one per vector.
    let index_words = units / $VECTOR_WORDSu;
    var codes = vec4<u32>();
//# if IS_TERNARY
    codes.x = $P_codes[row * index_words + unit / $VECTOR_WORDSu];
//# else
    let start = row * (index_words + units / 2u);
    codes.x = $P_codes[start + unit / $VECTOR_WORDSu];
    codes.y = $P_codes[start + index_words + unit / 2u];
//# end
    var high = 0u;
//# if HIGH
    high = $P_side[plane + unit * 4u / $VECTOR_WORDSu * $HIGHu / 32u];
//# end
    return stored_codes(codes, high);
}

// The four elements of word `word` of vector `vector` of the row.
fn $P_elements(stored: StoredUnit, vector: u32, word: u32) -> u32 {
    var index = (stored.first.x >> (vector % 4u * 8u)) & 0xffu;
//# if HIGH
    let high = (stored.plane >> (vector * $HIGHu % 32u)) & ((1u << $HIGHu) - 1u);
//# if IS_TERNARY
    index |= (high & 7u) << 8u;
    let offset = select(7u, 9u, (high & 8u) != 0u);
//# else
    index |= high << 8u;
//# end
//# end
    let elements = codebooks[$CODEBOOKu + index * $VECTOR_WORDSu + word];
//# if IS_TERNARY
    return elements + (128u - offset) * 0x01010101u;
//# else
    return elements;
//# end
}

// Elements as signed bytes. None is zero unless the codebook is ternary, so that no negation carries into the next byte.
fn $P_signed(elements: u32, signs: u32) -> u32 {
//# if IS_TERNARY
    return elements ^ 0x80808080u;
//# else
    let negative = spread_bits(signs);
    return (elements ^ (negative * 255u)) + negative;
//# end
}

fn $P_words(stored: StoredUnit, unit: u32) -> vec4<u32> {
    let signs = stored.first.y >> (unit % 2u * 16u);
    let first = unit * 4u;
    return vec4<u32>(
        $P_signed($P_elements(stored, first / $VECTOR_WORDSu, 0u), signs),
        $P_signed($P_elements(stored, (first + 1u) / $VECTOR_WORDSu, 1u % $VECTOR_WORDSu), signs >> 4u),
        $P_signed($P_elements(stored, (first + 2u) / $VECTOR_WORDSu, 0u), signs >> 8u),
        $P_signed($P_elements(stored, (first + 3u) / $VECTOR_WORDSu, 1u % $VECTOR_WORDSu), signs >> 12u),
    );
}

fn $P_integer(products: i32, total: i32) -> i32 {
    return products;
}

fn $P_numbers(word: u32) -> vec4<f32> {
    return signed_numbers(word, 0.0);
}

fn $P_plane_words(units: u32) -> u32 {
    // Vectors times bits, in words.
    return units * 4u / $VECTOR_WORDSu * $HIGHu / 32u;
}
