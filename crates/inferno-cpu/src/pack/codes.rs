//! The integers of quantized weights, 32 columns of 16 rows at a time.
//!
//! An unpacked group is eight vectors of 64 bytes: byte `4 * row + j` of vector `v` belongs to column `4 * v + j`.
//! This is `[k / 4][16 rows][4]`, the operand of every dot product instruction. Codes of less than 8 bits are split
//! into planes of 4, 2 and 1 bits, one for each set bit of their width (5 = 4 + 1, 6 = 4 + 2, 3 = 2 + 1), lowest bits
//! first, so that they need no padding. In a plane of `p` bits, vector `v` is stored in the bits from `p * (v / p)`
//! of the plane's vector `v % p`.

use std::marker::PhantomData;

use inferno_tensor::quant::{IQ4_LEVELS, MXFP4_LEVELS};

use crate::lanes::{LANES, Lanes, VECTOR_BYTES};

/// Columns of a group, whose weights share one or two scales.
pub(crate) const GROUP_COLS: usize = 32;

/// Groups of a chunk, whose scales and codes are stored together.
pub(crate) const CHUNK_GROUPS: usize = 8;

/// Columns of a chunk.
pub(crate) const CHUNK_COLS: usize = CHUNK_GROUPS * GROUP_COLS;

/// Vectors in an unpacked group.
pub(crate) const GROUP_VECTORS: usize = GROUP_COLS / 4;

/// The integers of a group, row by row.
pub(super) type Quants = [[i8; GROUP_COLS]; LANES];

/// How the integers of a group are stored.
pub(crate) trait CodeLayout: Copy + Send + Sync + 'static {
    /// Bytes of a group.
    const BYTES: usize;
    /// Whether codes are signed bytes; otherwise they are from 0 to 127.
    const SIGNED: bool = false;
    /// Their range.
    const RANGE: CodeRange;

    /// The codes of vector `v` of a group.
    fn vector<L: Lanes>(lanes: L, group: &[u8], v: usize) -> L::Bytes;
}

/// A layout of integers without other structure.
pub(crate) trait PackedCodes: CodeLayout {
    /// Stores a group.
    fn pack(quants: &Quants, group: &mut [u8]);
}

/// The range of codes, counted from 0, or from -128 if they are signed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CodeRange {
    /// The code of zero, in formats without minimums.
    pub(crate) zero: i32,
    /// The largest code.
    pub(crate) last: i32,
}

impl CodeRange {
    /// The largest magnitude of weights without minimums, in scales.
    pub(crate) fn reach(self) -> i32 {
        self.zero.max(self.last - self.zero)
    }
}

/// Signed bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SignedCodes;

/// Codes of `WIDTH` bits; `ZERO` is the code of zero.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnsignedCodes<const WIDTH: u32, const ZERO: i32>;

/// Indices into the levels of `T`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LevelCodes<T, const WIDTH: u32 = 4>(PhantomData<T>);

/// The levels of codes of at most 4 bits.
pub(crate) trait Levels: Copy + Send + Sync + 'static {
    /// The level of each code.
    const LEVELS: [i8; 16];
    /// The level of zero.
    const ZERO: i8 = 0;
    /// The first code of each level, by the level's bits; zero for other bytes.
    const CODES: [u8; 256] = {
        let mut codes = [0; 256];
        let mut code = Self::LEVELS.len();
        while code > 0 {
            code -= 1;
            codes[Self::LEVELS[code] as u8 as usize] = code as u8;
        }
        codes
    };
}

/// Those of IQ4_NL and IQ4_XS.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Iq4Levels;

impl Levels for Iq4Levels {
    const LEVELS: [i8; 16] = IQ4_LEVELS;
}

/// Those of MXFP4 and NVFP4, increased so that none is negative.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fp4Levels;

impl Levels for Fp4Levels {
    const LEVELS: [i8; 16] = {
        let mut levels = MXFP4_LEVELS;
        let mut code = 0;
        while code < levels.len() {
            levels[code] += Self::ZERO;
            code += 1;
        }
        levels
    };
    const ZERO: i8 = 12;
}

/// Those of Q1_0, -1 and 1, increased likewise.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SignLevels;

impl Levels for SignLevels {
    const LEVELS: [i8; 16] = [0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    const ZERO: i8 = 1;
}

impl PackedCodes for SignedCodes {
    fn pack(quants: &Quants, group: &mut [u8]) {
        for (v, vector) in group.chunks_exact_mut(VECTOR_BYTES).enumerate() {
            for (row, out) in quants.iter().zip(vector.chunks_exact_mut(4)) {
                out.copy_from_slice(bytemuck::cast_slice(&row[4 * v..4 * v + 4]));
            }
        }
    }
}

impl CodeLayout for SignedCodes {
    const BYTES: usize = GROUP_VECTORS * VECTOR_BYTES;
    const SIGNED: bool = true;
    const RANGE: CodeRange = CodeRange { zero: 128, last: 255 };

    #[inline(always)]
    fn vector<L: Lanes>(lanes: L, group: &[u8], v: usize) -> L::Bytes {
        load(lanes, group, v)
    }
}

impl<const WIDTH: u32, const ZERO: i32> PackedCodes for UnsignedCodes<WIDTH, ZERO> {
    fn pack(quants: &Quants, group: &mut [u8]) {
        pack_planes::<WIDTH>(quants, group, |quant| (i32::from(quant) + ZERO) as u8);
    }
}

impl<const WIDTH: u32, const ZERO: i32> CodeLayout for UnsignedCodes<WIDTH, ZERO> {
    const BYTES: usize = WIDTH as usize * VECTOR_BYTES;
    const RANGE: CodeRange = CodeRange { zero: ZERO, last: (1 << WIDTH) - 1 };

    #[inline(always)]
    fn vector<L: Lanes>(lanes: L, group: &[u8], v: usize) -> L::Bytes {
        planes::<L, WIDTH>(lanes, group, v)
    }
}

impl<T: Levels, const WIDTH: u32> PackedCodes for LevelCodes<T, WIDTH> {
    fn pack(quants: &Quants, group: &mut [u8]) {
        // Rows that pad the last panel are zeros, which may not be a level; their scale is zero too.
        let code = |quant: i8| T::CODES[usize::from((quant + T::ZERO) as u8)];
        pack_planes::<WIDTH>(quants, group, code);
    }
}

impl<T: Levels, const WIDTH: u32> CodeLayout for LevelCodes<T, WIDTH> {
    const BYTES: usize = WIDTH as usize * VECTOR_BYTES;
    const SIGNED: bool = {
        let signed = smallest_and_largest(&T::LEVELS)[0] < 0;
        assert!(!signed || T::ZERO == 0, "signed levels are the weights themselves");
        signed
    };
    const RANGE: CodeRange = {
        let first = if Self::SIGNED { i8::MIN as i32 } else { 0 };
        let [_, largest] = smallest_and_largest(&T::LEVELS);
        CodeRange { zero: T::ZERO as i32 - first, last: largest - first }
    };

    #[inline(always)]
    fn vector<L: Lanes>(lanes: L, group: &[u8], v: usize) -> L::Bytes {
        lanes.lookup(&T::LEVELS, planes::<L, WIDTH>(lanes, group, v))
    }
}

/// The smallest and the largest level, which need not be the first and the last.
const fn smallest_and_largest(levels: &[i8; 16]) -> [i32; 2] {
    let (mut smallest, mut largest, mut code) = (levels[0], levels[0], 0);
    while code < levels.len() {
        if levels[code] < smallest {
            smallest = levels[code];
        }
        if levels[code] > largest {
            largest = levels[code];
        }
        code += 1;
    }
    [smallest as i32, largest as i32]
}

/// The width of each plane of codes of `WIDTH` bits, and its first vector, which is also its lowest bit.
const fn plane_widths<const WIDTH: u32>() -> [(u32, u32); 3] {
    [(WIDTH & 4, 0), (WIDTH & 2, WIDTH & 4), (WIDTH & 1, WIDTH & 6)]
}

fn pack_planes<const WIDTH: u32>(quants: &Quants, group: &mut [u8], code: impl Fn(i8) -> u8) {
    let mut vectors = [0; SignedCodes::BYTES];
    SignedCodes::pack(quants, &mut vectors);
    group.fill(0);
    for (width, base) in plane_widths::<WIDTH>().into_iter().filter(|&(width, _)| width > 0) {
        let planes = &mut group[base as usize * VECTOR_BYTES..][..width as usize * VECTOR_BYTES];
        for (v, vector) in vectors.chunks_exact(VECTOR_BYTES).enumerate() {
            let (field, at) = (v as u32 / width, v % width as usize);
            let plane = &mut planes[at * VECTOR_BYTES..][..VECTOR_BYTES];
            for (out, &quant) in plane.iter_mut().zip(vector) {
                let bits = (code(quant as i8) >> base) & ((1 << width) - 1);
                *out |= bits << (field * width);
            }
        }
    }
}

#[inline(always)]
fn planes<L: Lanes, const WIDTH: u32>(lanes: L, group: &[u8], v: usize) -> L::Bytes {
    let [widest, middle, last] = const { plane_widths::<WIDTH>() };
    let mut codes = None;
    if widest.0 > 0 {
        codes = Some(plane(lanes, group, v, widest));
    }
    if middle.0 > 0 {
        let bits = plane(lanes, group, v, middle);
        codes = Some(join(lanes, codes, bits, middle.1));
    }
    if last.0 > 0 {
        let bits = plane(lanes, group, v, last);
        codes = Some(join(lanes, codes, bits, last.1));
    }
    codes.expect("codes have at least one bit")
}

#[inline(always)]
fn plane<L: Lanes>(lanes: L, group: &[u8], v: usize, (width, base): (u32, u32)) -> L::Bytes {
    let vector = load(lanes, group, base as usize + v % width as usize);
    lanes.bits(vector, v as u32 / width * width, width)
}

#[inline(always)]
fn join<L: Lanes>(lanes: L, low: Option<L::Bytes>, high: L::Bytes, shift: u32) -> L::Bytes {
    match low {
        Some(low) => lanes.join(low, high, shift),
        None => high,
    }
}

#[inline(always)]
fn load<L: Lanes>(lanes: L, group: &[u8], vector: usize) -> L::Bytes {
    let bytes = group[vector * VECTOR_BYTES..].first_chunk();
    lanes.load_bytes(bytes.expect("a group holds whole vectors"))
}
