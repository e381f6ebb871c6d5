//! Weights that are codes with scales.

mod blocks;
mod codes;
mod float8;
mod groups;
mod scales;

use std::ops::{Range, RangeInclusive};

use bytes::Bytes;
use inferno_tensor::DType;

pub(crate) use blocks::halves;
pub(crate) use codes::{CodeLayout, CodeOrder, Numbers, words};
pub(crate) use float8::Float8;
pub(crate) use groups::{Block, Groups, expected_scales};
pub(crate) use scales::{Factor, ScaleFormat, Scales};

/// How a tensor of codes becomes weights: `(number(code) - number(zero)) * scale`.
#[derive(Debug, Clone)]
pub(crate) struct Quantized {
    pub(crate) codes: CodeLayout,
    pub(crate) numbers: Numbers,
    /// Codes of zero, in another tensor; `None` for zero itself.
    pub(crate) zeros: Option<Zeros>,
    pub(crate) scales: Scales,
    /// Which weights share a scale and a zero.
    pub(crate) groups: Groups,
}

/// The codes of zero, one per group.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Zeros {
    /// Number of the tensor.
    pub(crate) tensor: usize,
    pub(crate) codes: CodeLayout,
    /// Whether the rows of codes are those of groups instead of weights.
    pub(crate) is_transposed: bool,
    /// Whether codes are stored [less one](CodeLayout::read_incremented).
    pub(crate) is_decremented: bool,
}

impl Quantized {
    /// The bytes of the codes of elements, with those of the other elements of their rows; `None` if rows are not next to each
    /// other.
    pub(crate) fn bytes_of(&self, elements: Range<usize>) -> Option<Range<usize>> {
        let CodeOrder::Rows { row_bytes } = self.codes.order else { return None };
        let cols = self.groups.cols().max(1);
        Some(elements.start / cols * row_bytes..elements.end.div_ceil(cols) * row_bytes)
    }

    /// The format of GGUF files that holds the codes and scales as they are. Its weights are those of this tensor, except that
    /// scales are rounded to half precision, or are to be multiplied by the [scale of the tensor](Scales::of_tensor).
    pub(crate) fn block_format(&self) -> Option<DType> {
        let cols = self.groups.cols();
        let fits = |dtype: DType, group: usize| {
            let is_whole = cols.is_multiple_of(dtype.block_len()) && self.groups.are_runs_of(group);
            is_whole.then_some(dtype)
        };
        match (self.numbers, &self.scales.format) {
            (Numbers::Float4, ScaleFormat::Exponents) => fits(DType::Mxfp4, 32),
            (Numbers::Float4, ScaleFormat::Float8(Float8::E4m3)) => fits(DType::Nvfp4, 16),
            (_, ScaleFormat::Floats(_)) => {
                let range = self.range()?;
                let is_within = |limits: RangeInclusive<i32>| {
                    limits.contains(range.start()) && limits.contains(range.end())
                };
                match () {
                    () if is_within(-8..=7) => fits(DType::Q4_0, 32),
                    () if is_within(-16..=15) => fits(DType::Q5_0, 32),
                    () if is_within(-128..=127) => fits(DType::Q8_0, 32),
                    () => None,
                }
            }
            _ => None,
        }
    }

    /// Whether the [block format](Self::block_format) loses nothing: half precision holds the usual scales of 16 bits.
    pub(crate) fn is_block_format_exact(&self) -> bool {
        match &self.scales.format {
            ScaleFormat::Floats(dtype) => *dtype != DType::F32 && self.scales.factor.is_none(),
            _ => true,
        }
    }

    /// The integers that differences of numbers and zeros can be; `None` if numbers are not integers.
    fn range(&self) -> Option<RangeInclusive<i32>> {
        let numbers = self.numbers.range(self.codes.bits)?;
        match self.zeros {
            None => Some(numbers),
            Some(_) => {
                let width = numbers.end() - numbers.start();
                Some(-width..=width)
            }
        }
    }
}

/// A tensor of codes, with its scales.
pub(crate) struct QuantizedData<'a> {
    pub(crate) quantized: &'a Quantized,
    pub(crate) codes: Bytes,
    /// Empty without zeros.
    pub(crate) zeros: Bytes,
    pub(crate) scales: Bytes,
}

/// Number of codes that are read at once.
const BATCH: usize = 64;

impl QuantizedData<'_> {
    /// Reads weights, from the one at a position in the tensor.
    pub(crate) fn read(&self, position: usize, out: &mut [f32]) {
        let groups = &self.quantized.groups;
        let cols = groups.cols();
        let (mut position, mut out) = (position, out);
        while !out.is_empty() {
            let (row, col) = (position / cols, position % cols);
            let len = match groups.columns() {
                None => groups.run(col).min(out.len()),
                Some(_) => (cols - col).min(out.len()),
            };
            let (now, later) = out.split_at_mut(len);
            self.read_numbers(row, col, now);
            match groups.columns() {
                None => {
                    let [zero, scale] = self.zero_and_scale(groups.group(row, col));
                    now.iter_mut().for_each(|value| *value = (*value - zero) * scale);
                }
                Some(columns) => {
                    let [row, _] = groups.group(row, col);
                    let of_groups =
                        (0..groups.row_len()).map(|col| self.zero_and_scale([row, col]));
                    let of_groups: Vec<_> = of_groups.collect();
                    for (value, column) in now.iter_mut().zip(&columns[col..]) {
                        let [zero, scale] = of_groups[*column as usize];
                        *value = (*value - zero) * scale;
                    }
                }
            }
            position += len;
            out = later;
        }
    }

    /// The numbers of neighboring codes of a row.
    fn read_numbers(&self, row: usize, col: usize, out: &mut [f32]) {
        let Quantized { codes, numbers, .. } = self.quantized;
        let mut batch = [0; BATCH];
        for (index, out) in out.chunks_mut(BATCH).enumerate() {
            let batch = &mut batch[..out.len()];
            codes.read(&self.codes, row, col + index * BATCH, batch);
            for (out, &code) in out.iter_mut().zip(&*batch) {
                *out = numbers.number(codes.bits, code);
            }
        }
    }

    /// What is subtracted from the numbers of a group, and what the differences are multiplied by.
    fn zero_and_scale(&self, group: [usize; 2]) -> [f32; 2] {
        let index = self.quantized.groups.index(group);
        [self.zero(group), self.quantized.scales.value(&self.scales, index)]
    }

    fn zero(&self, [row, col]: [usize; 2]) -> f32 {
        let Quantized { numbers, zeros, .. } = self.quantized;
        let Some(Zeros { codes, is_transposed, is_decremented, .. }) = *zeros else { return 0.0 };
        let (row, col) = if is_transposed { (col, row) } else { (row, col) };
        let code = match is_decremented {
            true => codes.read_incremented(&self.zeros, row, col),
            false => {
                let mut code = [0];
                codes.read(&self.zeros, row, col, &mut code);
                code[0]
            }
        };
        numbers.number(codes.bits, code)
    }
}
