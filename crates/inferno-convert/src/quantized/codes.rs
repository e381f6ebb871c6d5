//! Codes of a few bits in bytes or words, and the numbers that they mean.

use std::ops::RangeInclusive;

use super::Float8;

/// How the codes of a matrix are stored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CodeLayout {
    /// Number of bits of a code, at most 8.
    pub(crate) bits: u32,
    pub(crate) order: CodeOrder,
}

/// The order of codes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum CodeOrder {
    /// Row by row, each in this many bytes, from the lowest bit up.
    Rows { row_bytes: usize },
    /// Two codes of 4 bits per byte, the first one in the upper half.
    UpperHalfFirst,
    /// As [`Rows`](Self::Rows) in words of 32 bits, but a matrix of words is stored column by column, with this many rows.
    Columns { rows: usize },
    /// Eight rows of a column in a word, first those with even numbers; column by column, with this many words each.
    ///
    /// **Source**: `AWQ_ORDER` of AutoAWQ.
    Interleaved { words: usize },
}

/// The bytes of a word.
pub(crate) const WORD_BYTES: usize = 4;

/// The position in a word of each of eight rows.
const INTERLEAVED: [usize; 8] = [0, 4, 1, 5, 2, 6, 3, 7];

impl CodeLayout {
    /// Codes of rows in bytes.
    pub(crate) fn in_bytes(bits: u32, cols: usize) -> Self {
        let row_bytes = (cols * bits as usize).div_ceil(8);
        Self { bits, order: CodeOrder::Rows { row_bytes } }
    }

    /// Codes of rows in words.
    pub(crate) fn in_words(bits: u32, cols: usize) -> Self {
        let row_bytes = words(bits, cols) * WORD_BYTES;
        Self { bits, order: CodeOrder::Rows { row_bytes } }
    }

    /// Whether all codes in rows of `cols` are the same one.
    pub(crate) fn is_constant(self, bytes: &[u8], cols: usize, code: u8) -> bool {
        let CodeOrder::Rows { row_bytes } = self.order else { return false };
        let mut expected = vec![0; row_bytes];
        for col in 0..cols {
            let bit = col * self.bits as usize;
            let shifted = u16::from(code) << (bit % 8);
            let [low, high] = shifted.to_le_bytes();
            expected[bit / 8] |= low;
            if high != 0 {
                expected[bit / 8 + 1] |= high;
            }
        }
        bytes.chunks(row_bytes.max(1)).all(|row| row == expected)
    }

    /// The code of a column, where codes are stored less one: as words less a word of ones, with carries between the codes. Codes
    /// that can continue in the next word are stored less one each.
    ///
    /// **Source**: `convert_gptq_v1_to_v2_format_module` and `convert_gptq_v2_to_v1_format_module` of GPTQModel.
    pub(crate) fn read_incremented(self, bytes: &[u8], row: usize, col: usize) -> u8 {
        let mask = (1_u32 << self.bits) - 1;
        let code = match self.order {
            CodeOrder::Rows { row_bytes } if u32::BITS.is_multiple_of(self.bits) => {
                let bit = col * self.bits as usize;
                let start = row * row_bytes + bit / 32 * WORD_BYTES;
                let word = bytes[start..start + WORD_BYTES].iter().rev();
                let word = word.fold(0, |word, byte| word << 8 | u32::from(*byte));
                let ones = u32::MAX / mask;
                word.wrapping_add(ones) >> (bit % 32)
            }
            _ => {
                let mut code = [0];
                self.read(bytes, row, col, &mut code);
                u32::from(code[0]) + 1
            }
        };
        (code & mask) as u8
    }

    /// Reads neighboring codes of a row, from that of column `first`.
    pub(crate) fn read(self, bytes: &[u8], row: usize, first: usize, out: &mut [u8]) {
        let Self { bits, order } = self;
        let bits = bits as usize;
        let mask = ((1_u16 << bits) - 1) as u8;
        let cols = first..;
        match order {
            CodeOrder::Rows { row_bytes } if bits == 8 => {
                out.copy_from_slice(&bytes[row * row_bytes + first..][..out.len()]);
            }
            CodeOrder::Rows { row_bytes } => {
                let row = &bytes[row * row_bytes..];
                let byte = |index: usize| row.get(index).copied().unwrap_or(0);
                for (out, col) in out.iter_mut().zip(cols) {
                    *out = bits_at(byte, col * bits) & mask;
                }
            }
            CodeOrder::UpperHalfFirst => {
                for (out, col) in out.iter_mut().zip(cols) {
                    *out = bytes[col / 2] >> (4 * (1 - col % 2)) & mask;
                }
            }
            CodeOrder::Columns { rows } => {
                let byte = |index: usize| {
                    let word = index / WORD_BYTES * rows + row;
                    bytes.get(word * WORD_BYTES + index % WORD_BYTES).copied().unwrap_or(0)
                };
                for (out, col) in out.iter_mut().zip(cols) {
                    *out = bits_at(byte, col * bits) & mask;
                }
            }
            CodeOrder::Interleaved { words } => {
                let bit = INTERLEAVED[row % 8] * bits;
                for (out, col) in out.iter_mut().zip(cols) {
                    let word = col * words + row / 8;
                    *out = bytes[word * WORD_BYTES + bit / 8] >> (bit % 8) & mask;
                }
            }
        }
    }
}

/// Number of words for codes of a row.
pub(crate) fn words(bits: u32, cols: usize) -> usize {
    (cols * bits as usize).div_ceil(8 * WORD_BYTES)
}

/// Eight bits, from any position.
fn bits_at(byte: impl Fn(usize) -> u8, bit: usize) -> u8 {
    let low = byte(bit / 8) >> (bit % 8);
    match bit % 8 {
        0 => low,
        shift => low | byte(bit / 8 + 1) << (8 - shift),
    }
}

/// The numbers that codes mean.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Numbers {
    /// The code itself.
    Unsigned,
    /// The code less half of the range.
    Centered,
    /// The code as a signed number.
    Signed,
    /// One sign, two exponent bits and one fraction bit.
    Float4,
    /// 8-bit floating-point numbers.
    Float8(Float8),
    /// Any number for each code of 4 bits.
    Levels([f32; 16]),
}

/// **Source**: OCP Microscaling Formats (MX) Specification 1.0, section 5.3.3.
const FLOAT4: [f32; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];

impl Numbers {
    /// The number of a code of `bits` bits.
    pub(crate) fn number(&self, bits: u32, code: u8) -> f32 {
        match self {
            Self::Unsigned => f32::from(code),
            Self::Centered => f32::from(i16::from(code) - (1 << (bits - 1))),
            Self::Signed => f32::from(code as i8),
            Self::Float4 => {
                let magnitude = FLOAT4[usize::from(code & 7)];
                if code & 8 == 0 { magnitude } else { -magnitude }
            }
            Self::Float8(float) => float.decode(code),
            Self::Levels(levels) => levels[usize::from(code & 15)],
        }
    }

    /// The smallest and the largest number; `None` if they are not integers.
    pub(crate) fn range(&self, bits: u32) -> Option<RangeInclusive<i32>> {
        match self {
            Self::Unsigned => Some(0..=(1 << bits) - 1),
            Self::Centered | Self::Signed => Some(-(1 << (bits - 1))..=(1 << (bits - 1)) - 1),
            Self::Float4 | Self::Float8(_) | Self::Levels(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_continue_in_the_next_word() {
        // 20 codes of 3 bits from 0 up, as one number.
        let packed = (0..20).fold(0_u64, |packed, col| packed | (col % 8) << (3 * col));
        let bytes = packed.to_le_bytes();
        let mut codes = [0; 20];
        CodeLayout::in_words(3, 20).read(&bytes, 0, 0, &mut codes);
        assert!(codes.iter().enumerate().all(|(col, &code)| usize::from(code) == col % 8));
        // The same words as one column of a matrix of two rows.
        let columns = [&bytes[..4], &[0xff; 4], &bytes[4..], &[0xff; 4]].concat();
        let layout = CodeLayout { bits: 3, order: CodeOrder::Columns { rows: 2 } };
        let mut found = [0; 17];
        layout.read(&columns, 0, 3, &mut found);
        assert_eq!(found[..], codes[3..]);
    }
}
