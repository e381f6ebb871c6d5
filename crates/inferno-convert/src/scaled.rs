//! Weights that are codes with scales: 8-bit floats, and integers of a few bits in words.

use bytes::Bytes;

use crate::quantization::Block;

/// Which elements of matrices share a scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ScaleLayout {
    /// Rows and columns of one matrix.
    size: [usize; 2],
    block: Block,
}

impl ScaleLayout {
    /// The layout of scales of shape `scales` for matrices of shape `shape`, whose leading dimensions number them; `None` if the
    /// shapes do not fit. Without a `block`, each scale belongs to an equal part of the rows.
    pub(crate) fn new(shape: &[usize], scales: &[usize], block: Option<Block>) -> Option<Self> {
        let [matrices @ .., rows, cols] = shape else { return None };
        let whole = [matrices.iter().product::<usize>() * rows, *cols];
        if scales.len() <= 1 && scales.iter().product::<usize>() == 1 {
            return Some(Self { size: whole, block: whole });
        }
        // Dimensions of size 1 may be left out at the end.
        let mut scales = scales.to_vec();
        scales.extend(std::iter::repeat_n(1, shape.len().saturating_sub(scales.len())));
        let block = match (block, &scales[matrices.len()..]) {
            (Some(block), _) => block,
            (None, &[parts, 1]) if parts > 0 && rows.is_multiple_of(parts) => [rows / parts, *cols],
            _ => return None,
        };
        let expected = expected_scales(shape, Some(block));
        (scales == expected).then_some(Self { size: [*rows, *cols], block })
    }

    /// Number of columns of a matrix.
    pub(crate) fn cols(self) -> usize {
        self.size[1]
    }

    /// The number of the scale of the element at a position.
    fn scale_of(self, position: usize) -> usize {
        let [rows, cols] = self.size;
        let [block_rows, block_cols] = self.block;
        let (row, col) = (position / cols, position % cols);
        let (matrix, row) = (row / rows, row % rows);
        let row = matrix * rows.div_ceil(block_rows) + row / block_rows;
        row * cols.div_ceil(block_cols) + col / block_cols
    }
}

/// The shape of the scales of matrices of shape `shape`. Without a `block`, that of a scale for each row, which is the usual one.
pub(crate) fn expected_scales(shape: &[usize], block: Option<Block>) -> Vec<usize> {
    let [matrices @ .., rows, cols] = shape else { return vec![1] };
    let [block_rows, block_cols] = block.unwrap_or([1, *cols]);
    let own = [rows.div_ceil(block_rows.max(1)), cols.div_ceil(block_cols.max(1))];
    [matrices, &own].concat()
}

/// How codes are stored.
#[derive(Debug, Clone, Copy)]
pub(crate) enum CodeFormat {
    /// A byte for each.
    Float8(fn(u8) -> f32),
    /// Integers of 4 or 8 bits, the first one of a word in its lowest bits, plus half of their range. Each row begins with a
    /// word.
    ///
    /// **Source**: `pack_to_int32` of the library compressed-tensors.
    Packed { bits: u32 },
}

/// The bytes of a word of integers.
pub(crate) const WORD_BYTES: usize = 4;

impl CodeFormat {
    /// Number of bytes of a row of `cols` codes.
    pub(crate) fn row_bytes(self, cols: usize) -> usize {
        match self {
            Self::Float8(_) => cols,
            Self::Packed { bits } => (cols * bits as usize).div_ceil(8 * WORD_BYTES) * WORD_BYTES,
        }
    }

    fn decode(self, row: &[u8], col: usize) -> f32 {
        match self {
            Self::Float8(decode) => decode(row[col]),
            Self::Packed { bits } => {
                let bit = col * bits as usize;
                let code = i32::from(row[bit / 8]) >> (bit % 8) & ((1 << bits) - 1);
                (code - (1 << (bits - 1))) as f32
            }
        }
    }
}

/// Codes and their scales.
pub(crate) struct Scaled {
    pub(crate) codes: Bytes,
    pub(crate) format: CodeFormat,
    pub(crate) scales: Vec<f32>,
    pub(crate) layout: ScaleLayout,
}

impl Scaled {
    /// The element at a position in the tensor.
    pub(crate) fn value(&self, position: usize) -> f32 {
        let cols = self.layout.cols();
        let start = position / cols * self.format.row_bytes(cols);
        let code = self.format.decode(&self.codes[start..], position % cols);
        code * self.scales[self.layout.scale_of(position)]
    }
}
