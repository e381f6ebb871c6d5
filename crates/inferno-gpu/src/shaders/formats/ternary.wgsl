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

fn $P_words(row: u32, unit: u32, units: u32, plane: u32) -> vec4<u32> {
    let start = (row * (units / 16u) + unit / 16u) * $P_BLOCK_WORDS;
    let within = unit % 16u;
    if (within == 15u) {
        let bytes = $P_codes[start + 12u];
        return vec4<u32>(
            $P_digit_bytes(bytes, 1u),
            $P_digit_bytes(bytes, 3u),
            $P_digit_bytes(bytes, 9u),
            $P_digit_bytes(bytes, 27u),
        );
    }
    // Ten units of 32 bytes, then five of 16 bytes.
    let is_wide = within < 10u;
    let digit = select(within - 10u, within / 2u, is_wide);
    let at = start + select(8u, within % 2u * 4u, is_wide);
    var power = 1u;
    for (var i = 0u; i < digit; i++) {
        power *= 3u;
    }
    return vec4<u32>(
        $P_digit_bytes($P_codes[at], power),
        $P_digit_bytes($P_codes[at + 1u], power),
        $P_digit_bytes($P_codes[at + 2u], power),
        $P_digit_bytes($P_codes[at + 3u], power),
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
