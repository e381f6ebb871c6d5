// Weights in floating point, in columns of ascending order.

@group(0) @binding($CODES) var<storage, read> $P_codes: array<vec4<u32>>;

fn $P_stored(row: u32, unit: u32, units: u32, plane: u32) -> StoredUnit {
//# if WIDTH = 32
    let at = 4u * (row * units + unit);
    return StoredUnit($P_codes[at], $P_codes[at + 1u], $P_codes[at + 2u], $P_codes[at + 3u], 0u, vec2<u32>());
//# else
    let at = 2u * (row * units + unit);
    return StoredUnit($P_codes[at], $P_codes[at + 1u], vec4<u32>(), vec4<u32>(), 0u, vec2<u32>());
//# end
}

fn $P_values(stored: StoredUnit) -> Values {
//# if WIDTH = 32
    return Values(
        bitcast<vec4<f32>>(stored.first),
        bitcast<vec4<f32>>(stored.second),
        bitcast<vec4<f32>>(stored.third),
        bitcast<vec4<f32>>(stored.fourth),
    );
//# else
    return Values(
        $P_quad(stored.first.x, stored.first.y),
        $P_quad(stored.first.z, stored.first.w),
        $P_quad(stored.second.x, stored.second.y),
        $P_quad(stored.second.z, stored.second.w),
    );
//# end
}

//# if WIDTH = 16
fn $P_quad(first: u32, second: u32) -> vec4<f32> {
//# if IS_HALF
    return vec4<f32>(unpack2x16float(first), unpack2x16float(second));
//# else
    let bits = vec4<u32>(first << 16u, first & 0xffff0000u, second << 16u, second & 0xffff0000u);
    return bitcast<vec4<f32>>(bits);
//# end
}
//# end

fn $P_plane_words(units: u32) -> u32 {
    return 0u;
}
