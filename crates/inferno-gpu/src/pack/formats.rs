//! The table of weight formats.
//!
//! **To add a format**: add its entry to [`FORMATS`], with a new kind of [`Codes`] or [`Scales`] and its WGSL if none of
//! the existing ones fits. The tests run over all formats.

use std::hash::{Hash, Hasher};

use inferno_tensor::DType;
use inferno_tensor::quant::{
    BlockFormat, CodebookBlock, IQ4_LEVELS, Int8Row, Iq1MBlock, Iq1SBlock, Iq2SBlock, Iq2XsBlock,
    Iq2XxsBlock, Iq3SBlock, Iq3XxsBlock, Iq4NlBlock, Iq4XsBlock, MXFP4_LEVELS, Mxfp4Block,
    Nvfp4Block, Q1_0Block, Q2KBlock, Q3KBlock, Q4_0Block, Q4_1Block, Q4KBlock, Q5_0Block,
    Q5_1Block, Q5KBlock, Q6KBlock, Q8_0Block, Q8KBlock, Tq1_0Block, Tq2_0Block, blocks,
};

use super::codebooks::codebook_start;
use super::codes::{self, Field};
use super::scales;

/// How weights of one type are packed.
#[derive(Debug)]
pub(crate) struct WeightFormat {
    pub(crate) dtype: DType,
    codes: Codes,
    scales: Scales,
    pack: fn(&[u8], PackedRow<'_>),
}

/// The codes of a row.
#[derive(Debug, Clone, Copy)]
enum Codes {
    /// Floating-point numbers of 16 or 32 bits; `is_half` if they have 5 exponent bits.
    Float { width: u32, is_half: bool },
    /// Unsigned integers of `low + high` bits, `zero` more than the value.
    Integer { low: u32, high: u32, zero: u8 },
    /// One bit: 1 if it is set, otherwise -1.
    Signs,
    /// 4-bit numbers of levels.
    Levels(&'static [i8; 16]),
    /// Five ternary digits per byte.
    Ternary,
    /// Vectors of `4 * vector_words` weights of a codebook; `high` bits of each are in a separate plane.
    Codebook { vector_words: u32, high: u32, is_ternary: bool },
}

/// The scales of a row. Numbers of units are those with a scale in common.
#[derive(Debug, Clone, Copy)]
enum Scales {
    None,
    Row,
    Float,
    Half(u32),
    HalfMin,
    Power,
    SmallFloat,
    AffineGroups,
    AffineUnits,
    Signed(u32),
    /// Odd numbers of 4 bits, and the factor of a block's scale.
    Odd(u32, f32),
}

/// The places of a row.
struct PackedRow<'a> {
    format: &'a WeightFormat,
    codes: &'a mut [u32],
    scales: &'a mut [u32],
    plane: &'a mut [u32],
}

impl PackedRow<'_> {
    /// Writes the codes of integers, signs or levels.
    fn write_codes<B: BlockFormat>(&mut self, blocks: &[B]) {
        let (low, high) = self.format.codes.fields();
        let planes = [(low, &mut *self.codes), (high, &mut *self.plane)];
        match self.format.codes {
            Codes::Levels(levels) => {
                let code =
                    |quant| levels.iter().position(|&level| level == quant).unwrap_or(0) as u8;
                codes::blocks(blocks, code, planes);
            }
            Codes::Signs => codes::blocks(blocks, |quant| u8::from(quant > 0), planes),
            Codes::Integer { zero, .. } => {
                codes::blocks(blocks, |quant| zero.wrapping_add(quant as u8), planes);
            }
            _ => unreachable!("blocks of integers, signs or levels"),
        }
    }

    fn write_digits(&mut self, blocks: &[Tq1_0Block]) {
        let digits = blocks.iter().flat_map(|block| bytemuck::bytes_of(block)[..52].iter());
        codes::words(digits.copied(), self.codes);
    }

    fn write_vectors<B: CodebookBlock>(&mut self, blocks: &[B]) {
        codes::vectors(blocks, self.codes, self.plane);
    }
}

impl Codes {
    /// The low and the high bits of integers.
    fn fields(self) -> (Field, Field) {
        let (low, high) = match self {
            Self::Integer { low, high, .. } => (low, high),
            Self::Levels(_) => (4, 0),
            Self::Signs => (1, 0),
            _ => (0, 0),
        };
        (Field { width: low, shift: 0 }, Field { width: high, shift: low })
    }

    fn code_words(self, units: usize) -> usize {
        match self {
            Self::Float { width, .. } => units * width as usize / 2,
            Self::Integer { .. } | Self::Signs | Self::Levels(_) => {
                self.fields().0.plane_words(units)
            }
            Self::Ternary => units / 16 * 13,
            Self::Codebook { vector_words, is_ternary, .. } => {
                units / vector_words as usize + if is_ternary { 0 } else { units / 2 }
            }
        }
    }

    fn plane_words(self, units: usize) -> usize {
        match self {
            Self::Codebook { vector_words, high, .. } => {
                units * 4 / vector_words as usize * high as usize / 32
            }
            _ => self.fields().1.plane_words(units),
        }
    }

    fn source(self) -> &'static str {
        match self {
            Self::Float { .. } => include_str!("../shaders/formats/float.wgsl"),
            Self::Integer { .. } | Self::Signs | Self::Levels(_) => {
                include_str!("../shaders/formats/bits.wgsl")
            }
            Self::Ternary => include_str!("../shaders/formats/ternary.wgsl"),
            Self::Codebook { .. } => include_str!("../shaders/formats/codebook.wgsl"),
        }
    }

    /// The values of the names in the source.
    fn values(self, dtype: DType) -> Vec<(&'static str, String)> {
        let number = |number: u32| number.to_string();
        let flag = |flag: bool| u32::from(flag).to_string();
        match self {
            Self::Float { width, is_half } => {
                vec![("WIDTH", number(width)), ("IS_HALF", flag(is_half))]
            }
            Self::Integer { low, high, zero } => vec![
                ("LOW", number(low)),
                ("HIGH", number(high)),
                ("MAPPING", "integers".to_owned()),
                // Codes of 8 bits become signed bytes.
                ("OFFSET", if low == 8 { 0 } else { zero }.to_string()),
            ],
            Self::Signs => {
                vec![("LOW", number(1)), ("HIGH", number(0)), ("MAPPING", "signs".to_owned())]
            }
            Self::Levels(levels) => vec![
                ("LOW", number(4)),
                ("HIGH", number(0)),
                ("MAPPING", "levels".to_owned()),
                ("LEVELS", level_words(levels)),
                ("OFFSET", number(0)),
            ],
            Self::Ternary => Vec::new(),
            Self::Codebook { vector_words, high, is_ternary } => vec![
                ("VECTOR_WORDS", number(vector_words)),
                ("HIGH", number(high)),
                ("IS_TERNARY", flag(is_ternary)),
                ("CODEBOOK", codebook_start(dtype).to_string()),
            ],
        }
    }
}

/// Levels plus 128, four per word.
fn level_words(levels: &[i8; 16]) -> String {
    let word = |levels: &[i8]| {
        let bytes = levels.iter().rev().map(|&level| u32::from(level as u8 ^ 0x80));
        format!("{}u", bytes.fold(0, |word, byte| word << 8 | byte))
    };
    levels.chunks(4).map(word).collect::<Vec<_>>().join(", ")
}

impl Scales {
    fn words(self, units: usize) -> usize {
        match self {
            Self::None => 0,
            Self::Row => 1,
            Self::Float => units / 16,
            Self::Half(shared) => (units / shared as usize).div_ceil(2),
            Self::HalfMin => units / 2,
            Self::Power => (units / 2).div_ceil(4),
            Self::SmallFloat => units / 4,
            Self::AffineGroups | Self::AffineUnits => units / 16 * 5,
            Self::Signed(shared) => units / (4 * shared as usize) + (units / 16).div_ceil(2),
            Self::Odd(shared, _) => units / (8 * shared as usize) + (units / 16).div_ceil(2),
        }
    }

    /// The values of the names in `scales.wgsl`.
    fn values(self) -> [(&'static str, String); 4] {
        let (name, shared, multiplier) = match self {
            Self::None => ("none", 1, 1.0),
            Self::Row => ("row", 1, 1.0),
            Self::Float => ("float", 16, 1.0),
            Self::Half(shared) => ("half", shared, 1.0),
            Self::HalfMin => ("half_min", 2, 1.0),
            Self::Power => ("power", 2, 1.0),
            Self::SmallFloat => ("small_float", 1, 1.0),
            Self::AffineGroups => ("affine_groups", 2, 1.0),
            Self::AffineUnits => ("affine_units", 1, 1.0),
            Self::Signed(shared) => ("signed", shared, 1.0),
            Self::Odd(shared, multiplier) => ("odd", shared, multiplier),
        };
        let has_min = matches!(self, Self::HalfMin | Self::AffineGroups | Self::AffineUnits);
        [
            ("SCALES", name.to_owned()),
            ("UNITS", shared.to_string()),
            ("MULTIPLIER", format!("{multiplier:?}")),
            ("HAS_MIN", has_min.to_string()),
        ]
    }
}

impl PartialEq for WeightFormat {
    fn eq(&self, other: &Self) -> bool {
        self.dtype == other.dtype
    }
}

impl Eq for WeightFormat {}

impl Hash for WeightFormat {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.dtype.hash(state);
    }
}

const SCALES_SOURCE: &str = include_str!("../shaders/formats/scales.wgsl");

impl WeightFormat {
    /// The format of weights of type `dtype`.
    pub(crate) fn of(dtype: DType) -> &'static Self {
        FORMATS.iter().find(|format| format.dtype == dtype).expect("an entry for every type")
    }

    /// Words of a row's codes.
    pub(crate) fn code_words(&self, units: usize) -> usize {
        self.codes.code_words(units)
    }

    /// Words of a row's scales and of the further bits of its codes.
    pub(crate) fn side_words(&self, units: usize) -> usize {
        self.scales.words(units) + self.codes.plane_words(units)
    }

    /// Whether kernels read the codebooks.
    pub(crate) fn has_codebook(&self) -> bool {
        matches!(self.codes, Codes::Codebook { .. })
    }

    /// Packs a row with `units` units into zeroed words: [`code_words`](Self::code_words) and
    /// [`side_words`](Self::side_words).
    pub(crate) fn pack(&self, row: &[u8], units: usize, codes: &mut [u32], side: &mut [u32]) {
        let (scales, plane) = side.split_at_mut(self.scales.words(units));
        (self.pack)(row, PackedRow { format: self, codes, scales, plane });
    }

    /// Whether weights are floating-point numbers rather than integers with scales.
    pub(crate) fn is_float(&self) -> bool {
        matches!(self.codes, Codes::Float { .. })
    }

    /// The WGSL of `PREFIX_load(row, unit, units)`, of `PREFIX_expanded(stored, unit)` and, for integers, of
    /// `PREFIX_packed(stored, unit)` and `PREFIX_add(unit, x, sum)`. The buffers are at `binding` and after it.
    pub(crate) fn source(&self, prefix: &str, binding: u32) -> String {
        let mut values = vec![
            ("P", prefix.to_owned()),
            ("CODES", binding.to_string()),
            ("SIDE", (binding + 1).to_string()),
            ("IS_FLOAT", u32::from(self.is_float()).to_string()),
        ];
        values.extend(self.codes.values(self.dtype));
        values.extend(self.scales.values());
        [self.codes.source(), SCALES_SOURCE]
            .map(|source| crate::template::expand(source, &values))
            .concat()
    }
}

const fn integer(low: u32, high: u32, zero: u8) -> Codes {
    Codes::Integer { low, high, zero }
}

const fn vectors<B: CodebookBlock>() -> Codes {
    let vector_words = B::VECTOR_LEN as u32 / 4;
    Codes::Codebook { vector_words, high: codes::high_bits::<B>(), is_ternary: B::IS_TERNARY }
}

/// Views a row as blocks.
fn row<B: BlockFormat>(bytes: &[u8]) -> &[B] {
    blocks(bytes).expect("the size was checked")
}

fn float(bytes: &[u8], to: PackedRow<'_>) {
    codes::words(bytes.iter().copied(), to.codes);
}

fn int8(bytes: &[u8], to: PackedRow<'_>) {
    let row = Int8Row::read(bytes);
    to.scales[0] = row.scale.to_bits();
    codes::words(row.quants.iter().map(|quant| quant ^ 0x80), to.codes);
}

/// A function that packs blocks `B`: codes with a method of [`PackedRow`], scales with a function.
macro_rules! pack {
    ($block:ident, $codes:ident, $scales:expr) => {
        |bytes, mut to| {
            let blocks = row::<$block>(bytes);
            to.$codes(blocks);
            $scales(blocks, to.scales);
        }
    };
}

macro_rules! entry {
    ($dtype:ident, $codes:expr, $scales:expr, $pack:expr) => {
        WeightFormat { dtype: DType::$dtype, codes: $codes, scales: $scales, pack: $pack }
    };
    ($dtype:ident, $codes:expr, $scales:expr, $block:ident, $write:ident, $write_scales:expr) => {
        entry!($dtype, $codes, $scales, pack!($block, $write, $write_scales))
    };
}

macro_rules! codebook {
    ($dtype:ident, $block:ident, $shared:expr, $multiplier:expr) => {
        entry!(
            $dtype,
            vectors::<$block>(),
            Scales::Odd($shared, $multiplier),
            pack!($block, write_vectors, |blocks, side| scales::odd(blocks, $multiplier, side))
        )
    };
}

/// A scale and a minimum of 8 bits.
fn bytes(scale: u8, min: u8) -> [u8; 2] {
    [scale, min]
}

/// A scale and a minimum of 4 bits.
fn nibbles(scale: u8, min: u8) -> [u8; 1] {
    [scale | min << 4]
}

/// Every format.
#[rustfmt::skip]
pub(crate) static FORMATS: [WeightFormat; DType::ALL.len()] = {
    use scales::{affine, floats, halves, halves_and_minimums, powers, signed, small_floats};
    use Codes::{Levels, Signs, Ternary};
    use Scales::{AffineGroups, AffineUnits, Half, HalfMin, Power, Signed, SmallFloat};
    [
        entry!(F32, Codes::Float { width: 32, is_half: false }, Scales::None, float),
        entry!(F16, Codes::Float { width: 16, is_half: true }, Scales::None, float),
        entry!(BF16, Codes::Float { width: 16, is_half: false }, Scales::None, float),
        entry!(Int8, integer(8, 0, 128), Scales::Row, int8),
        entry!(Q8_0, integer(8, 0, 128), Half(2), Q8_0Block, write_codes, halves),
        entry!(Q4_0, integer(4, 0, 8), Half(2), Q4_0Block, write_codes, halves),
        entry!(Q4_1, integer(4, 0, 0), HalfMin, Q4_1Block, write_codes, halves_and_minimums),
        entry!(Q5_0, integer(4, 1, 16), Half(2), Q5_0Block, write_codes, halves),
        entry!(Q5_1, integer(4, 1, 0), HalfMin, Q5_1Block, write_codes, halves_and_minimums),
        entry!(Q2K, integer(2, 0, 0), AffineUnits, Q2KBlock, write_codes, |b, s| affine(b, nibbles, s)),
        entry!(Q3K, integer(2, 1, 4), Signed(1), Q3KBlock, write_codes, signed),
        entry!(Q4K, integer(4, 0, 0), AffineGroups, Q4KBlock, write_codes, |b, s| affine(b, bytes, s)),
        entry!(Q5K, integer(4, 1, 0), AffineGroups, Q5KBlock, write_codes, |b, s| affine(b, bytes, s)),
        entry!(Q6K, integer(4, 2, 32), Signed(1), Q6KBlock, write_codes, signed),
        entry!(Q8K, integer(8, 0, 128), Scales::Float, Q8KBlock, write_codes, floats),
        entry!(Iq4Nl, Levels(&IQ4_LEVELS), Half(2), Iq4NlBlock, write_codes, halves),
        entry!(Iq4Xs, Levels(&IQ4_LEVELS), Signed(2), Iq4XsBlock, write_codes, signed),
        entry!(Mxfp4, Levels(&MXFP4_LEVELS), Power, Mxfp4Block, write_codes, powers),
        entry!(Nvfp4, Levels(&MXFP4_LEVELS), SmallFloat, Nvfp4Block, write_codes, small_floats),
        entry!(Q1_0, Signs, Half(8), Q1_0Block, write_codes, halves),
        entry!(Tq1_0, Ternary, Half(16), Tq1_0Block, write_digits, halves),
        entry!(Tq2_0, integer(2, 0, 1), Half(16), Tq2_0Block, write_codes, halves),
        codebook!(Iq1S, Iq1SBlock, 2, 0.125),
        codebook!(Iq1M, Iq1MBlock, 1, 0.125),
        codebook!(Iq2Xxs, Iq2XxsBlock, 2, 0.125),
        codebook!(Iq2Xs, Iq2XsBlock, 1, 0.125),
        codebook!(Iq2S, Iq2SBlock, 1, 0.125),
        codebook!(Iq3Xxs, Iq3XxsBlock, 2, 0.25),
        codebook!(Iq3S, Iq3SBlock, 2, 1.0),
    ]
};
