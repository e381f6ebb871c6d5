//! The codes of a row.

use inferno_tensor::quant::{BlockFormat, CodebookBlock, QK_K};

use super::UNIT_COLS;

/// A field of each code: `width` bits of it, in a plane of `u32` words.
///
/// A plane holds the units of a row in order, `width / 2` words each. Within a unit, column `4 j + i` has bits that make
/// four neighboring columns the four bytes of a word, see [`bit`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    pub(super) width: u32,
    /// The field's lowest bit in the code.
    pub(super) shift: u32,
}

/// The first bit of a column's field in a unit.
const fn bit(width: u32, column: usize) -> usize {
    let (quad, byte) = (column / 4, 8 * (column % 4));
    match width {
        8 => 32 * quad + byte,
        4 => 32 * (quad / 2) + byte + 4 * (quad % 2),
        2 => byte + 2 * quad,
        _ => column,
    }
}

impl Field {
    /// Words of a row's plane.
    pub(super) fn plane_words(self, units: usize) -> usize {
        units * self.width as usize / 2
    }

    /// Writes the fields of unit `unit` of a row.
    fn write(self, unit: usize, codes: &[u8; UNIT_COLS], plane: &mut [u32]) {
        match self.width {
            0 => {}
            1 => self.write_bits::<1>(unit, codes, plane),
            2 => self.write_bits::<2>(unit, codes, plane),
            4 => self.write_bits::<4>(unit, codes, plane),
            _ => self.write_bits::<8>(unit, codes, plane),
        }
    }

    fn write_bits<const WIDTH: u32>(self, unit: usize, codes: &[u8; UNIT_COLS], plane: &mut [u32]) {
        let mut fields = 0_u128;
        for (column, &code) in codes.iter().enumerate() {
            let field = u128::from(code >> self.shift) & ((1 << WIDTH) - 1);
            fields |= field << bit(WIDTH, column);
        }
        let start = unit * UNIT_COLS * WIDTH as usize;
        let words = plane[start / 32..].iter_mut().take((UNIT_COLS * WIDTH as usize).div_ceil(32));
        for (i, word) in words.enumerate() {
            *word |= ((fields << (start % 32)) >> (32 * i)) as u32;
        }
    }
}

/// Writes fields of the codes of a row of blocks; `code` maps a quant to its code.
pub(super) fn blocks<B: BlockFormat>(
    blocks: &[B],
    code: impl Fn(i8) -> u8,
    mut planes: [(Field, &mut [u32]); 2],
) {
    let mut quants = [0; QK_K];
    for (number, block) in blocks.iter().enumerate() {
        let quants = &mut quants[..B::LEN];
        block.quants(quants);
        let first = number * (B::LEN / UNIT_COLS);
        for (unit, quants) in (first..).zip(quants.as_chunks::<UNIT_COLS>().0) {
            let codes = quants.map(&code);
            for (field, plane) in &mut planes {
                field.write(unit, &codes, plane);
            }
        }
    }
}

/// Writes little-endian bytes as words.
pub(super) fn words(bytes: impl Iterator<Item = u8>, words: &mut [u32]) {
    for (at, byte) in bytes.enumerate() {
        words[at / 4] |= u32::from(byte) << (8 * (at % 4));
    }
}

/// Bits of an index that `codes` holds.
const LOW_BITS: u32 = 8;

/// Bits of an index beyond its lowest ones, with the sign bit of ternary vectors: a divisor of 32.
pub(super) const fn high_bits<B: CodebookBlock>() -> u32 {
    B::INDEX_BITS - LOW_BITS + B::IS_TERNARY as u32
}

/// Writes the indices and signs of a row: `codes` as described in `shaders/formats/codebook.wgsl`, and `plane`.
pub(super) fn vectors<B: CodebookBlock>(blocks: &[B], codes: &mut [u32], plane: &mut [u32]) {
    let per_block = B::LEN / B::VECTOR_LEN;
    let index_words = blocks.len() * per_block / 4;
    let (indices, signs) = codes.split_at_mut(index_words);
    let vectors = blocks.iter().flat_map(|block| (0..per_block).map(move |i| (block, i)));
    words(vectors.clone().map(|(block, i)| block.index(i) as u8), indices);
    let width = high_bits::<B>();
    if width > 0 {
        for (number, (block, i)) in vectors.enumerate() {
            let mut high = (block.index(i) >> LOW_BITS) as u32;
            if B::IS_TERNARY {
                high |= u32::from(block.signs(i)) & 8;
            }
            let at = number * width as usize;
            plane[at / 32] |= high << (at % 32);
        }
    }
    if !B::IS_TERNARY {
        let octets = blocks.iter().flat_map(|block| (0..B::LEN / 8).map(|i| block.signs(i)));
        words(octets, signs);
    }
}
