//! The layout of rows in a region of the cache.

use std::iter::StepBy;
use std::ops::Range;
use std::slice::ChunksExactMut;

use inferno_backend::{KvDType, KvLayout, MAX_I16_ROW_LEN};
use inferno_tensor::quant::QK;

use crate::memory::LINE_BYTES;

/// Keys or values; keys come first in a layer's part of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plane {
    Keys,
    Values,
}

/// Bytes of the longest row of an I16 cache: a scale, then integers.
pub(crate) const MAX_I16_ROW_BYTES: usize = 4 + 2 * MAX_I16_ROW_LEN;

/// The mapping of rows to locations in a region.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowLayout {
    pub(crate) dtype: KvDType,
    pub(crate) head_dim: usize,
    pub(crate) block_tokens: usize,
    /// Values of a row that are encoded together.
    pub(crate) piece: usize,
    /// Bytes of one number.
    pub(crate) element: usize,
    /// Bytes of a scale before each piece.
    pub(crate) header: usize,
}

/// The location of a piece in a region.
struct PieceLocation {
    /// Bytes of an element: one number, or two adjacent ones.
    width: usize,
    /// The first element, and the distance to the next one.
    first: usize,
    step: usize,
}

impl RowLayout {
    /// The rows of a layer's keys or values, which must have rows of their own.
    pub(crate) fn new(layout: &KvLayout, layer: usize, plane: Plane) -> Self {
        let KvLayout { ref layers, dtype, block_tokens, .. } = *layout;
        let head_dim = match plane {
            Plane::Keys => layers[layer].key_dim,
            Plane::Values => layers[layer].values.separate_dim(),
        };
        let (piece, element, header) = match dtype {
            KvDType::F32 => (QK, 4, 0),
            KvDType::I16 => (head_dim, 2, 4),
            KvDType::F16 => (QK, 2, 0),
            KvDType::Q8_0 => (QK, 1, 2),
        };
        Self { dtype, head_dim, block_tokens, piece, element, header }
    }

    pub(crate) fn row_bytes(&self) -> usize {
        self.head_dim * self.element + self.head_dim / self.piece * self.header
    }

    /// The location of the piece that begins with component `d` of position `offset`.
    fn place(&self, plane: Plane, offset: usize, d: usize) -> PieceLocation {
        let Self { head_dim, block_tokens, element: width, .. } = *self;
        match (plane, self.dtype) {
            (Plane::Keys, KvDType::I16) => PieceLocation {
                width: 2 * width,
                first: d / 2 * block_tokens + offset,
                step: block_tokens,
            },
            (Plane::Keys, _) => {
                PieceLocation { width, first: d * block_tokens + offset, step: block_tokens }
            }
            (Plane::Values, KvDType::I16) if offset / 2 * 2 + 1 < block_tokens => PieceLocation {
                width,
                first: (offset / 2 * head_dim + d) * 2 + offset % 2,
                step: 2,
            },
            (Plane::Values, _) => PieceLocation { width, first: offset * head_dim + d, step: 1 },
        }
    }

    /// The location of the scale of piece `piece` of position `offset`; empty without scales.
    pub(crate) fn header_at(&self, plane: Plane, offset: usize, piece: usize) -> Range<usize> {
        let index = match plane {
            Plane::Keys => piece * self.block_tokens + offset,
            Plane::Values => offset * (self.head_dim / self.piece) + piece,
        };
        let at = self.block_tokens * self.head_dim * self.element + index * self.header;
        at..at + self.header
    }

    /// The location of pair `pair` of components of the key at position `offset`, in bytes. Those of the positions after it in
    /// its block follow.
    #[inline(always)]
    pub(crate) fn key_pairs_at(&self, offset: usize, pair: usize) -> usize {
        let PieceLocation { width, first, .. } = self.place(Plane::Keys, offset, 2 * pair);
        width * first
    }

    /// About one byte of each cache line that numbers of position `offset` are in, but not those of scales: for prefetches.
    #[inline(always)]
    pub(crate) fn lines(&self, plane: Plane, offset: usize) -> StepBy<Range<usize>> {
        let PieceLocation { width, first, step } = self.place(plane, offset, 0);
        let end = first + self.head_dim * self.element / width * step;
        (width * first..width * end).step_by(LINE_BYTES.max(width * step))
    }

    pub(super) fn put(&self, plane: Plane, region: &mut [u8], offset: usize, row: &[u8]) {
        for (piece, bytes) in row.chunks(self.header + self.piece * self.element).enumerate() {
            self.put_piece(plane, region, offset, piece, bytes);
        }
    }

    #[inline(always)]
    pub(crate) fn put_piece(
        &self,
        plane: Plane,
        region: &mut [u8],
        offset: usize,
        piece: usize,
        bytes: &[u8],
    ) {
        let (header, elements) = bytes.split_at(self.header);
        let place = &mut region[self.header_at(plane, offset, piece)];
        match (place.first_chunk_mut::<4>(), header.first_chunk()) {
            (Some(place), Some(header)) => *place = *header,
            _ => place.copy_from_slice(header),
        }
        let place = self.place(plane, offset, piece * self.piece);
        match place.width {
            4 => scatter::<4>(elements, region, place),
            2 => scatter::<2>(elements, region, place),
            _ => scatter::<1>(elements, region, place),
        }
    }

    /// Reads the row of position `offset` of a region, in the cache's format.
    pub(crate) fn get(&self, plane: Plane, region: &[u8], offset: usize, row: &mut [u8]) {
        let piece_bytes = self.header + self.piece * self.element;
        for (piece, bytes) in row.chunks_mut(piece_bytes).enumerate() {
            let (header, elements) = bytes.split_at_mut(self.header);
            header.copy_from_slice(&region[self.header_at(plane, offset, piece)]);
            let place = self.place(plane, offset, piece * self.piece);
            match place.width {
                4 => gather::<4>(elements, region, place),
                2 => gather::<2>(elements, region, place),
                _ => gather::<1>(elements, region, place),
            }
        }
    }
}

/// Stores numbers of `E` bytes in every `step`-th element of `region` from `first` on.
#[inline(always)]
fn scatter<const E: usize>(elements: &[u8], region: &mut [u8], place: PieceLocation) {
    let PieceLocation { first, step, .. } = place;
    if (step, E) == (2, 2) {
        let pairs = region[first / 2 * 4..].chunks_exact_mut(4);
        return fill_half(elements, pairs, first % 2);
    }
    let region = &mut region[first * E..];
    if step == 1 {
        region[..elements.len()].copy_from_slice(elements);
        return;
    }
    for (place, element) in region.chunks_mut(step * E).zip(elements.chunks_exact(E)) {
        place[..E].copy_from_slice(element);
    }
}

/// Stores numbers of 2 bytes as the first or the second of pairs. Whole pairs are written, so that the loop is
/// vectorized.
#[inline(always)]
fn fill_half(elements: &[u8], pairs: ChunksExactMut<'_, u8>, place: usize) {
    let shift = 16 * place;
    let others = !(0xffff << shift);
    for (pair, element) in pairs.zip(elements.chunks_exact(2)) {
        let old = u32::from_le_bytes([pair[0], pair[1], pair[2], pair[3]]);
        let new = u32::from(u16::from_le_bytes([element[0], element[1]]));
        pair.copy_from_slice(&(old & others | new << shift).to_le_bytes());
    }
}

/// The inverse of [`scatter`].
fn gather<const E: usize>(elements: &mut [u8], region: &[u8], place: PieceLocation) {
    let PieceLocation { first, step, .. } = place;
    for (i, element) in elements.chunks_exact_mut(E).enumerate() {
        element.copy_from_slice(&region[(first + i * step) * E..][..E]);
    }
}
