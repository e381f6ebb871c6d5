// TQ1_0: five ternary digits per byte, in the order of the file. A byte is a fraction of 256: its digits are those
// after the point in base 3.

@group(0) @binding($CODES) var<storage, read> $P_codes: array<u32>;

const $P_BLOCK_WORDS: u32 = 13u;

// One digit of four bytes, of which the even and the odd ones are multiplied together: a byte times 3 is below 2^16.
fn $P_digit_bytes(bytes: u32, power: u32) -> u32 {
    let even = (((bytes & 0x00ff00ffu) * power) & 0x00ff00ffu) * 3u;
    let odd = ((((bytes >> 8u) & 0x00ff00ffu) * power) & 0x00ff00ffu) * 3u;
    return ((even >> 8u) & 0x00ff00ffu) | (odd & 0xff00ff00u);
}

// Ten units of a block are digits of 32 bytes, five of 16 bytes, and the last one has four digits of 4 bytes.
fn $P_stored(row: u32, unit: u32, units: u32, plane: u32) -> StoredUnit {
    let start = (row * (units / 16u) + unit / 16u) * $P_BLOCK_WORDS;
    let within = unit % 16u;
    let at = start + select(select(8u, 9u, within == 15u), within % 2u * 4u, within < 10u);
    return stored_codes(vec4<u32>($P_codes[at], $P_codes[at + 1u], $P_codes[at + 2u], $P_codes[at + 3u]), 0u);
}

fn $P_words(stored: StoredUnit, unit: u32) -> vec4<u32> {
    let within = unit % 16u;
    if (within == 15u) {
        let bytes = stored.first.w;
        return vec4<u32>(
            $P_digit_bytes(bytes, 1u),
            $P_digit_bytes(bytes, 3u),
            $P_digit_bytes(bytes, 9u),
            $P_digit_bytes(bytes, 27u),
        );
    }
    let digit = select(within - 10u, within / 2u, within < 10u);
    var power = 1u;
    for (var i = 0u; i < digit; i++) {
        power *= 3u;
    }
    return vec4<u32>(
        $P_digit_bytes(stored.first.x, power),
        $P_digit_bytes(stored.first.y, power),
        $P_digit_bytes(stored.first.z, power),
        $P_digit_bytes(stored.first.w, power),
    );
}

fn $P_integer(products: i32, total: i32) -> i32 {
    return products - total;
}

fn $P_numbers(word: u32) -> vec4<f32> {
    return signed_numbers(word, 1.0);
}

fn $P_plane_words(units: u32) -> u32 {
    return 0u;
}
