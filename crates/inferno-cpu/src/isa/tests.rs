//! Every operation of every level against the scalar one, bit for bit, on edge cases and noise.

use super::*;
use crate::lanes::{LANES, Lanes, VECTOR_BYTES};

/// One input of every kind.
struct TestInput {
    a: [f32; LANES],
    b: [f32; LANES],
    c: [f32; LANES],
    bytes: [u8; VECTOR_BYTES],
    more_bytes: [u8; VECTOR_BYTES],
    four: [i8; 4],
    integer: i32,
}

/// The bit patterns of the results of each operation, by name.
type Results = Vec<(&'static str, Vec<u32>)>;

/// Runs each operation once.
struct AllOperations<'a> {
    input: &'a TestInput,
    results: &'a mut Results,
}

impl Kernel for AllOperations<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        float_operations(lanes, self.input, self.results);
        conversions(lanes, self.input, self.results);
        integer_operations(lanes, self.input, self.results);
        byte_operations(lanes, self.input, self.results);
        shuffles(lanes, self.input, self.results);
        dot_products(lanes, self.input, self.results);
        int16_operations(lanes, self.input, self.results);
    }
}

#[inline(always)]
fn push_floats<L: Lanes>(lanes: L, results: &mut Results, name: &'static str, vector: L::F32) {
    let mut out = [0.0; LANES];
    lanes.store(vector, &mut out);
    results.push((name, out.map(pattern).to_vec()));
}

#[inline(always)]
fn push_integers<L: Lanes>(lanes: L, results: &mut Results, name: &'static str, vector: L::I32) {
    push_floats(lanes, results, name, lanes.to_f32(vector));
}

#[inline(always)]
fn push_bytes<L: Lanes>(lanes: L, results: &mut Results, name: &'static str, vector: L::Bytes) {
    let mut out = [0; VECTOR_BYTES];
    lanes.store_bytes(vector, &mut out);
    results.push((name, out.map(u32::from).to_vec()));
}

#[inline(always)]
fn float_operations<L: Lanes>(lanes: L, input: &TestInput, results: &mut Results) {
    let TestInput { a, b, c, .. } = input;
    let (x, y, z) = (lanes.load(a), lanes.load(b), lanes.load(c));
    for (name, vector) in [
        ("splat", lanes.splat(a[0])),
        ("add", lanes.add(x, y)),
        ("sub", lanes.sub(x, y)),
        ("mul", lanes.mul(x, y)),
        ("div", lanes.div(x, y)),
        ("fma", lanes.fma(x, y, z)),
        ("max", lanes.max(x, y)),
        ("min", lanes.min(x, y)),
        ("zero_below", lanes.zero_below(x, y, z)),
        ("pow2", lanes.pow2(x)),
        ("exp", lanes.exp(x)),
        ("larger_magnitude", lanes.larger_magnitude(x, y)),
        ("load_part", lanes.load_part(&a[..5])),
    ] {
        push_floats(lanes, results, name, vector);
    }
    let mut part = [7.0; 5];
    lanes.store_part(x, &mut part);
    results.push(("store_part", part.map(pattern).to_vec()));
    for (name, number) in [
        ("sum", lanes.sum(x)),
        ("max_lane", lanes.max_lane(x)),
        ("max_magnitude", lanes.max_magnitude(x, y)),
    ] {
        results.push((name, vec![pattern(number)]));
    }
}

#[inline(always)]
fn conversions<L: Lanes>(lanes: L, input: &TestInput, results: &mut Results) {
    let TestInput { a, bytes, integer, .. } = input;
    for (name, vector) in [
        ("load_f32", lanes.load_f32(bytes)),
        ("load_f16", lanes.load_f16(bytes.first_chunk().expect("32 bytes"))),
        ("load_bf16", lanes.load_bf16(bytes.first_chunk().expect("32 bytes"))),
        ("load_i8", lanes.load_i8(bytes.first_chunk().expect("16 bytes"))),
        ("load_u4 low", lanes.load_u4(bytes.first_chunk().expect("16 bytes"), 0)),
        ("load_u4 high", lanes.load_u4(bytes.first_chunk().expect("16 bytes"), 4)),
        ("to_f32", lanes.to_f32(lanes.splat_i32(*integer))),
    ] {
        push_floats(lanes, results, name, vector);
    }
    let x = lanes.load(a);
    let mut halves = [0; 2 * LANES];
    lanes.store_f16(x, &mut halves);
    let halves = halves.chunks_exact(2).map(|half| half::f16::from_le_bytes([half[0], half[1]]));
    results.push(("store_f16", halves.map(|half| pattern(half.to_f32())).collect()));
    let mut halves = [0; 2 * LANES];
    lanes.store_bf16(x, &mut halves);
    let halves = halves.chunks_exact(2).map(|half| half::bf16::from_le_bytes([half[0], half[1]]));
    results.push(("store_bf16", halves.map(|half| pattern(half.to_f32())).collect()));
    push_floats(lanes, results, "round_bf16", lanes.round_bf16(x));
    let mut halves = [0; 4 * LANES];
    lanes.store_upper_halves(x, lanes.load_f32(bytes), &mut halves);
    results.push(("store_upper_halves", halves.map(u32::from).to_vec()));
    let mut rounded = [0; LANES];
    lanes.store_i8(x, &mut rounded);
    results.push(("store_i8", rounded.map(|q| q as u32).to_vec()));
    let mut rounded = [0; LANES];
    let within = lanes.min(lanes.max(x, lanes.splat(-32639.0)), lanes.splat(32639.0));
    lanes.store_i16(within, &mut rounded);
    results.push(("store_i16", rounded.map(|q| q as u32).to_vec()));
    let (mut high, mut low) = ([0; 4 * LANES], [0; 4 * LANES]);
    let half = lanes.mul(within, lanes.splat(0.5));
    let zero = lanes.splat(0.0);
    let four = [within, half, lanes.sub(zero, within), lanes.sub(zero, half)];
    lanes.store_i16_halves(four, &mut high, &mut low);
    results.push(("store_i16_halves high", high.map(|q| q as u32).to_vec()));
    results.push(("store_i16_halves low", low.map(|q| q as u32).to_vec()));
    results.push(("round_i32", rounded_integers(lanes, a).map(|q| q as u32).to_vec()));
}

/// `numbers` clamped to a range that `i32` holds, and rounded.
#[inline(always)]
fn rounded_integers<L: Lanes>(lanes: L, numbers: &[f32; LANES]) -> [i32; LANES] {
    let x = lanes.load(numbers);
    let wide = lanes.min(lanes.max(x, lanes.splat(-4e6)), lanes.splat(4e6));
    let mut rounded = [0; LANES];
    lanes.store_i32(lanes.round_i32(wide), &mut rounded);
    rounded
}

/// Integers of all magnitudes.
#[inline(always)]
fn integers<L: Lanes>(lanes: L, input: &TestInput) -> L::I32 {
    lanes.load_i32(&std::array::from_fn(|i| input.integer.wrapping_mul(i as i32)))
}

#[inline(always)]
fn integer_operations<L: Lanes>(lanes: L, input: &TestInput, results: &mut Results) {
    let integer = input.integer;
    let integers = integers(lanes, input);
    let rounded = lanes.load_i32(&rounded_integers(lanes, &input.a));
    for (name, vector) in [
        ("load_i32", lanes.load_i32(&std::array::from_fn(|i| integer ^ i as i32))),
        ("add_i32", lanes.add_i32(integers, lanes.splat_i32(integer))),
        ("mul_i32", lanes.mul_i32(integers, rounded)),
        ("shl8", lanes.shl8(integers)),
        ("shr8", lanes.shr8(integers)),
    ] {
        push_integers(lanes, results, name, vector);
    }
}

#[inline(always)]
fn byte_operations<L: Lanes>(lanes: L, input: &TestInput, results: &mut Results) {
    let w = lanes.load_bytes(&input.bytes);
    let nibbles = lanes.bits(w, 4, 4);
    let more = lanes.bits(lanes.load_bytes(&input.more_bytes), 3, 2);
    for (name, vector) in [
        ("load_bytes", w),
        ("bits 0 4", lanes.bits(w, 0, 4)),
        ("bits 4 4", nibbles),
        ("bits 2 2", lanes.bits(w, 2, 2)),
        ("bits 6 2", lanes.bits(w, 6, 2)),
        ("bits 0 1", lanes.bits(w, 0, 1)),
        ("bits 7 1", lanes.bits(w, 7, 1)),
        ("join", lanes.join(nibbles, more, 4)),
        ("lookup", lanes.lookup(&std::array::from_fn(|i| (i * 37) as i8), nibbles)),
    ] {
        push_bytes(lanes, results, name, vector);
    }
}

#[inline(always)]
fn shuffles<L: Lanes>(lanes: L, input: &TestInput, results: &mut Results) {
    let (a, b) = (lanes.load_bytes(&input.bytes), lanes.load_bytes(&input.more_bytes));
    let [low, high] = lanes.interleave_u32(a, b);
    let [even, odd] = lanes.interleave_u64(a, b);
    let [first, second, third, fourth] = lanes.transpose_quarters([a, b, low, odd]);
    for (name, vector) in [
        ("interleave_u32 low", low),
        ("interleave_u32 high", high),
        ("interleave_u64 low", even),
        ("interleave_u64 high", odd),
        ("transpose_quarters 0", first),
        ("transpose_quarters 1", second),
        ("transpose_quarters 2", third),
        ("transpose_quarters 3", fourth),
        ("exchange_middle_u16", lanes.exchange_middle_u16(a)),
    ] {
        push_bytes(lanes, results, name, vector);
    }
}

#[inline(always)]
fn dot_products<L: Lanes>(lanes: L, input: &TestInput, results: &mut Results) {
    let TestInput { bytes, four, integer, .. } = input;
    let w = lanes.load_bytes(bytes);
    let start = -L::BYTE_OFFSET * four.iter().map(|&a| i32::from(a)).sum::<i32>();
    let seven = lanes.bits(w, 0, 7);
    for (name, vector) in [
        ("dot_i8", lanes.dot_i8(lanes.splat_i32(start), lanes.operand_i8(w), *four)),
        ("dot_u7", lanes.dot_u7(lanes.splat_i32(integer % 65536), seven, *four)),
    ] {
        push_integers(lanes, results, name, vector);
    }
    // Each row holds the four activations twice, so its start is twice as large.
    let [a, b, c, d] = *four;
    let rows = [[a, b, c, d, c, a, d, b], [d, c, b, a, b, d, a, c]];
    let operands = [lanes.operand_i8(w), lanes.operand_i8(lanes.load_bytes(&input.more_bytes))];
    let sums = [lanes.splat_i32(2 * start); 2];
    let sums = lanes.dot_pair(sums, lanes.pair_operands(operands), rows);
    let [first, second] = lanes.pair_sums(sums);
    push_integers(lanes, results, "dot_pair of the first row", first);
    push_integers(lanes, results, "dot_pair of the second row", second);
}

#[inline(always)]
fn int16_operations<L: Lanes>(lanes: L, input: &TestInput, results: &mut Results) {
    let TestInput { bytes, more_bytes, four, integer, .. } = input;
    let w = lanes.load_bytes(bytes);
    let first = lanes.load_bytes(&bytes.map(|byte| byte.min(0x7e)));
    let second = lanes.load_bytes(&more_bytes.map(|byte| byte.min(0x7e) | (byte & 0x80)));
    let factor = lanes.splat_i32(i32::from(four[0]) + 128);
    let factors = lanes.pair_i16(factor, factor);
    let halves = lanes.halves(first, second);
    let scaled = lanes.scaled_bytes(w, factors, second);
    let signed = lanes.scaled_signed_bytes(w, factors);
    for (name, vector) in [
        ("pair_i16", lanes.pair_i16(lanes.splat_i32(*integer), factor)),
        ("high halves", halves[0]),
        ("low halves", halves[1]),
        ("high scaled bytes", scaled[0]),
        ("low scaled bytes", scaled[1]),
        ("high scaled signed bytes", signed[0]),
        ("low scaled signed bytes", signed[1]),
    ] {
        push_bytes(lanes, results, name, vector);
    }
    let pair = [i16::from(four[0]) * 256 + i16::from(four[1]), i16::from(four[2])];
    push_integers(lanes, results, "dot_i16", lanes.dot_i16(integers(lanes, input), w, pair));
    let first = bytes.first_chunk().expect("16 bytes");
    push_integers(lanes, results, "load_u8", lanes.load_u8(first));
}

/// The bits of a number, all NaNs made one.
fn pattern(x: f32) -> u32 {
    if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() }
}

fn results(level: Level, input: &TestInput) -> Results {
    let mut results = Vec::new();
    level.run(AllOperations { input, results: &mut results });
    results
}

/// Numbers at the borders of rounding, range and kind.
const EDGES: [f32; 32] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    1.5,
    2.5,
    -0.5,
    -1.5,
    126.5,
    127.0,
    127.5,
    -127.5,
    128.0,
    1e9,
    -1e9,
    f32::MIN_POSITIVE,
    1e-45,
    -1e-45,
    1e-40,
    f32::MAX,
    f32::MIN,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
    f32::EPSILON,
    87.3,
    -87.3,
    -87.4,
    88.3,
    88.8,
    -104.0,
];

fn inputs() -> Vec<TestInput> {
    let mut state = 0x1234_5678_9abc_def1u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..2000)
        .map(|round| {
            let mut number = |lane: usize| {
                let bits = next();
                match round % 4 {
                    0 => EDGES[bits as usize % EDGES.len()],
                    1 => f32::from_bits(bits as u32),
                    2 => {
                        ((bits >> 40) as f32 / 65536.0 - 128.0)
                            * if lane % 2 == 0 { 1.0 } else { 1e-3 }
                    }
                    _ => (bits >> 56) as f32 / 2.0 - 64.0,
                }
            };
            let (a, b, c) = (
                std::array::from_fn(&mut number),
                std::array::from_fn(&mut number),
                std::array::from_fn(&mut number),
            );
            let bytes = std::array::from_fn(|_| if round % 8 == 0 { 0x80 } else { next() as u8 });
            let more_bytes = std::array::from_fn(|_| next() as u8);
            let four = std::array::from_fn(|_| match round % 8 {
                0 => -127,
                1 => 127,
                _ => (next() as i8).max(-127),
            });
            TestInput { a, b, c, bytes, more_bytes, four, integer: next() as i32 }
        })
        .collect()
}

#[test]
fn every_operation_has_the_same_bits_on_every_level() {
    for input in inputs() {
        let expected = results(Level::Scalar(Scalar), &input);
        for isa in Isa::available() {
            let found = results(Level::new(isa).expect("available"), &input);
            for (found, expected) in found.iter().zip(&expected) {
                assert_eq!(found, expected, "{isa} of {:?} {:?} {:?}", input.a, input.b, input.c);
            }
        }
    }
}

/// The exponentials of some numbers.
struct Exp<'a>(&'a mut [f32; LANES]);

impl Kernel for Exp<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let result = lanes.exp(lanes.load(self.0));
        lanes.store(result, self.0);
    }
}

fn exp(x: f32) -> f32 {
    let mut values = [x; LANES];
    Level::Scalar(Scalar).run(Exp(&mut values));
    values[0]
}

#[test]
fn exp_is_within_two_units_in_the_last_place() {
    let mut worst = 0.0f64;
    for step in 0..400_000 {
        let x = -87.2 + step as f32 * (175.2 / 400_000.0);
        let exact = f64::from(x).exp();
        let unit = f64::from(f32::from_bits((exact as f32).to_bits() + 1) - exact as f32);
        worst = worst.max((f64::from(exp(x)) - exact).abs() / unit);
    }
    assert!(worst < 2.0, "{worst}");
}

#[test]
fn exp_knows_its_limits() {
    assert_eq!(exp(0.0), 1.0);
    assert_eq!(exp(-0.0), 1.0);
    assert_eq!(exp(-88.0), 0.0);
    assert_eq!(exp(f32::NEG_INFINITY), 0.0);
    assert!(exp(88.37).is_finite());
    assert_eq!(exp(88.38), f32::INFINITY);
    assert_eq!(exp(89.0), f32::INFINITY);
    assert_eq!(exp(f32::INFINITY), f32::INFINITY);
    assert!(exp(f32::NAN).is_nan());
}

#[test]
fn an_instruction_set_that_is_missing_is_refused_with_what_there_is() {
    for isa in Isa::ALL {
        match Level::choose(Some(isa)) {
            Ok(level) => assert_eq!(level.isa(), isa),
            Err(error) => {
                assert!(!Isa::available().contains(&isa));
                let text = error.to_string();
                assert!(text.contains(isa.name()) && text.contains("scalar"), "{text}");
            }
        }
    }
    assert_eq!(Some(Level::choose(None).expect("some level").isa()), Isa::available().pop());
}

#[test]
fn names_of_instruction_sets_are_read_in_any_case() {
    for isa in Isa::ALL {
        assert_eq!(isa.name().to_uppercase().parse::<Isa>().expect("a name"), isa);
    }
    let error = "sse9".parse::<Isa>().expect_err("no such name").to_string();
    assert!(error.contains("sse9") && error.contains("avx2"), "{error}");
}
