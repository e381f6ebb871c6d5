// Weights in floating point, in columns of ascending order.

@group(0) @binding($CODES) var<storage, read> $P_codes: array<vec4<u32>>;

fn $P_values(row: u32, unit: u32, units: u32, plane: u32) -> Values {
//# if WIDTH = 32
    let at = 4u * (row * units + unit);
    return Values(
        bitcast<vec4<f32>>($P_codes[at]),
        bitcast<vec4<f32>>($P_codes[at + 1u]),
        bitcast<vec4<f32>>($P_codes[at + 2u]),
        bitcast<vec4<f32>>($P_codes[at + 3u]),
    );
//# else
    let at = 2u * (row * units + unit);
    let low = $P_codes[at];
    let high = $P_codes[at + 1u];
    return Values(
        $P_quad(low.x, low.y),
        $P_quad(low.z, low.w),
        $P_quad(high.x, high.y),
        $P_quad(high.z, high.w),
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
