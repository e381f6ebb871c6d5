// The scales and minimums of units of 16 columns, at the start of a row of `side`: `$P_scales_of` loads the words that have
// them, and `$P_factors` decodes these.

@group(0) @binding($SIDE) var<storage, read> $P_side: array<u32>;

//# if SCALES = none
fn $P_scale_words(units: u32) -> u32 {
    return 0u;
}

fn $P_scales_of(row: u32, unit: u32, units: u32) -> vec2<u32> {
    return vec2<u32>(0u, 0u);
}

fn $P_factors(words: vec2<u32>, unit: u32) -> vec2<f32> {
    return vec2<f32>(1.0, 0.0);
}
//# end
//# if SCALES = row
fn $P_scale_words(units: u32) -> u32 {
    return 1u;
}

fn $P_scales_of(row: u32, unit: u32, units: u32) -> vec2<u32> {
    return vec2<u32>($P_side[row], 0u);
}

fn $P_factors(words: vec2<u32>, unit: u32) -> vec2<f32> {
    return vec2<f32>(bitcast<f32>(words.x), 0.0);
}
//# end
//# if SCALES = float
fn $P_scale_words(units: u32) -> u32 {
    return units / 16u;
}

fn $P_scales_of(row: u32, unit: u32, units: u32) -> vec2<u32> {
    return vec2<u32>($P_side[row + unit / 16u], 0u);
}

fn $P_factors(words: vec2<u32>, unit: u32) -> vec2<f32> {
    return vec2<f32>(bitcast<f32>(words.x), 0.0);
}
//# end
//# if SCALES = half
fn $P_scale_words(units: u32) -> u32 {
    return (units / $UNITSu + 1u) / 2u;
}

fn $P_scales_of(row: u32, unit: u32, units: u32) -> vec2<u32> {
    return vec2<u32>($P_side[row + unit / (2u * $UNITSu)], 0u);
}

fn $P_factors(words: vec2<u32>, unit: u32) -> vec2<f32> {
    return vec2<f32>(half_of(words.x, unit / $UNITSu), 0.0);
}
//# end
//# if SCALES = half_min
fn $P_scale_words(units: u32) -> u32 {
    return units / 2u;
}

fn $P_scales_of(row: u32, unit: u32, units: u32) -> vec2<u32> {
    return vec2<u32>($P_side[row + unit / 2u], 0u);
}

fn $P_factors(words: vec2<u32>, unit: u32) -> vec2<f32> {
    return unpack2x16float(words.x) * vec2<f32>(1.0, -1.0);
}
//# end
//# if SCALES = power
fn $P_scale_words(units: u32) -> u32 {
    return (units / 2u + 3u) / 4u;
}

fn $P_scales_of(row: u32, unit: u32, units: u32) -> vec2<u32> {
    return vec2<u32>($P_side[row + unit / 8u], 0u);
}

fn $P_factors(words: vec2<u32>, unit: u32) -> vec2<f32> {
    let exponent = byte_of(words.x, unit / 2u);
    // The two smallest powers are subnormal.
    let bits = select((exponent - 1u) << 23u, 0x00200000u << exponent, exponent < 2u);
    return vec2<f32>(bitcast<f32>(bits), 0.0);
}
//# end
//# if SCALES = small_float
fn $P_scale_words(units: u32) -> u32 {
    return units / 4u;
}

fn $P_scales_of(row: u32, unit: u32, units: u32) -> vec2<u32> {
    return vec2<u32>($P_side[row + unit / 4u], 0u);
}

// Half of a number of 4 exponent bits (bias 7) and 3 fraction bits.
fn $P_factors(words: vec2<u32>, unit: u32) -> vec2<f32> {
    let bits = byte_of(words.x, unit);
    let normal = bitcast<f32>((bits << 20u) + (119u << 23u));
    return vec2<f32>(select(normal, f32(bits) * 0x1p-10f, bits < 8u), 0.0);
}
//# end
//# if SCALES = affine_groups
fn $P_scale_words(units: u32) -> u32 {
    return units / 16u * 5u;
}

// Per block, two halves; then per group of 32 columns, a scale and a minimum of 8 bits.
fn $P_scales_of(row: u32, unit: u32, units: u32) -> vec2<u32> {
    return vec2<u32>($P_side[row + unit / 16u], $P_side[row + units / 16u + unit / 4u]);
}

fn $P_factors(words: vec2<u32>, unit: u32) -> vec2<f32> {
    let factors = unpack2x16float(words.x);
    let pair = words.y >> (unit / 2u % 2u * 16u);
    return factors * vec2<f32>(f32(pair & 0xffu), f32((pair >> 8u) & 0xffu));
}
//# end
//# if SCALES = affine_units
fn $P_scale_words(units: u32) -> u32 {
    return units / 16u * 5u;
}

// Per block, two halves; then per unit, a scale and a minimum of 4 bits.
fn $P_scales_of(row: u32, unit: u32, units: u32) -> vec2<u32> {
    return vec2<u32>($P_side[row + unit / 16u], $P_side[row + units / 16u + unit / 4u]);
}

fn $P_factors(words: vec2<u32>, unit: u32) -> vec2<f32> {
    let factors = unpack2x16float(words.x);
    let pair = byte_of(words.y, unit);
    return factors * vec2<f32>(f32(pair & 0xfu), f32(pair >> 4u));
}
//# end
//# if SCALES = signed
// Per $UNITS units, a scale of 8 bits plus 128; then per block, a half.
fn $P_scale_words(units: u32) -> u32 {
    return units / (4u * $UNITSu) + (units / 16u + 1u) / 2u;
}

fn $P_scales_of(row: u32, unit: u32, units: u32) -> vec2<u32> {
    return vec2<u32>($P_side[row + unit / (4u * $UNITSu)], $P_side[row + units / (4u * $UNITSu) + unit / 32u]);
}

fn $P_factors(words: vec2<u32>, unit: u32) -> vec2<f32> {
    let scale = f32(byte_of(words.x, unit / $UNITSu)) - 128.0;
    return vec2<f32>(half_of(words.y, unit / 16u) * scale, 0.0);
}
//# end
//# if SCALES = odd
// Per $UNITS units, a code of 4 bits; then per block, a half.
fn $P_scale_words(units: u32) -> u32 {
    return units / (8u * $UNITSu) + (units / 16u + 1u) / 2u;
}

fn $P_scales_of(row: u32, unit: u32, units: u32) -> vec2<u32> {
    return vec2<u32>($P_side[row + unit / (8u * $UNITSu)], $P_side[row + units / (8u * $UNITSu) + unit / 32u]);
}

fn $P_factors(words: vec2<u32>, unit: u32) -> vec2<f32> {
    let code = (words.x >> (unit / $UNITSu % 8u * 4u)) & 0xfu;
    let factor = half_of(words.y, unit / 16u) * $MULTIPLIER;
    return vec2<f32>(factor * f32(2u * code + 1u), 0.0);
}
//# end

// Loads unit `unit` of row `row`, of `units` units per row.
fn $P_load(row: u32, unit: u32, units: u32) -> StoredUnit {
    let scale_words = $P_scale_words(units);
    let side = row * (scale_words + $P_plane_words(units));
    var stored = $P_stored(row, unit, units, side + scale_words);
    stored.scales = $P_scales_of(side, unit, units);
    return stored;
}

//# if IS_FLOAT
// The unit in floating point; `unit` is its number.
fn $P_expanded(stored: StoredUnit, unit: u32) -> Unit {
    let factors = $P_factors(stored.scales, unit);
    return Unit($P_values(stored), factors.x, factors.y, $HAS_MIN);
}
//# else
// The unit as integers; `unit` is its number.
fn $P_packed(stored: StoredUnit, unit: u32) -> PackedUnit {
    let factors = $P_factors(stored.scales, unit);
    return PackedUnit($P_words(stored, unit), factors.x, factors.y);
}

// The unit in floating point.
fn $P_expanded(stored: StoredUnit, unit: u32) -> Unit {
    let packed = $P_packed(stored, unit);
    let values = Values(
        $P_numbers(packed.words.x),
        $P_numbers(packed.words.y),
        $P_numbers(packed.words.z),
        $P_numbers(packed.words.w),
    );
    return Unit(values, packed.scale, packed.min, $HAS_MIN);
}

// Adds the product of a unit with 16 columns of x to `sum`.
fn $P_add(unit: PackedUnit, x: PackedInput, sum: f32) -> f32 {
    let products = $P_integer(integer_products(unit.words, x), x.total);
    let scaled = fma(unit.scale * x.scale, f32(products), sum);
    if $HAS_MIN {
        return fma(-unit.min * x.scale, f32(x.total), scaled);
    }
    return scaled;
}
//# end
