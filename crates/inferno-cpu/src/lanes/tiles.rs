//! What a matrix unit multiplies, where a level has one.

use super::{GroupBytes, LANES, VECTOR_BYTES};

/// 16 rows of 64 signed bytes, as the first operand of a matrix unit.
pub(crate) type RowTile = [[i8; VECTOR_BYTES]; 16];

/// 64 rows of 16 columns of bytes, as the second operand of a matrix unit: `[64 / 4][16 columns][4]`.
pub(crate) type ColumnTile = [[u8; VECTOR_BYTES]; 16];

/// A tile more of rows, and of columns of both matrices.
#[derive(Clone, Copy)]
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))] // A matrix unit alone reads them.
pub(crate) struct ExtraTiles<'a> {
    pub(crate) rows: &'a RowTile,
    pub(crate) columns: &'a [ColumnTile; 2],
}

/// The sums of the products of 16 rows of activations (first index) with 16 rows of a weight.
pub(crate) type TileSums = [[i32; LANES]; 16];

/// A unit that multiplies small matrices of bytes. A value is this thread's, and the unit is set up
/// while it lives.
pub(crate) trait TileUnit {
    /// Operations of one turn of [`repeat`](Self::repeat), where the unit is set up for 64 columns.
    const TURN_OPS: usize;

    /// Multiplies groups of activations, given by number, with those of signed `weights`, and stores
    /// the sums of each in `out`, one after the other. `before` is called as the turn of each product
    /// comes, with its number.
    ///
    /// **Panics** when the unit was not set up for 32 columns, or `out` is too short.
    fn multiply<'a>(
        &self,
        activations: impl Fn(usize) -> &'a [[i8; 32]; 16],
        weights: &[GroupBytes],
        out: &mut [TileSums],
        before: impl Fn(usize),
    );

    /// Multiplies two matrices of 16 rows of signed bytes with two of 16 columns, whose tiles lie one
    /// below the other: the first with the first, the first with the second, the second with the first,
    /// the second with the second. Each matrix of rows may have `extra` tiles, with columns of their own.
    /// The unit is set up for 64 columns. `before` is called as the turn of each tile comes, with its
    /// number.
    ///
    /// **Panics** when there are less tiles of rows than of columns.
    fn multiply_two(
        &self,
        rows: [&[RowTile]; 2],
        columns: [&[ColumnTile]; 2],
        extra: [Option<ExtraTiles<'_>>; 2],
        sums: &mut [TileSums; 4],
        before: impl Fn(usize),
    );

    /// Multiplies a matrix of 16 rows of 16-bit integers with one of 16 columns, both as high and low
    /// halves. Rows begin `row_stride` bytes apart; tiles of columns lie one below the other. Stores the
    /// sums of products of high halves, of a high half and a low one, and of low halves. The unit is set
    /// up for 64 columns.
    ///
    /// **Panics** when it is not, rows are shorter than the columns, or there are not as many high tiles
    /// as low ones.
    fn multiply_halves(
        &self,
        rows: [&[i8]; 2],
        row_stride: usize,
        columns: [&[ColumnTile]; 2],
        sums: &mut [TileSums; 3],
    );

    /// Multiplies what the unit holds for so many turns; nothing is loaded or stored. The results mean
    /// nothing, the time does.
    fn repeat(&self, turns: usize);
}

/// What a level without a matrix unit has.
pub(crate) enum NoTiles {}

impl TileUnit for NoTiles {
    const TURN_OPS: usize = 0;

    fn multiply<'a>(
        &self,
        _activations: impl Fn(usize) -> &'a [[i8; 32]; 16],
        _weights: &[GroupBytes],
        _out: &mut [TileSums],
        _before: impl Fn(usize),
    ) {
        match *self {}
    }

    fn multiply_two(
        &self,
        _rows: [&[RowTile]; 2],
        _columns: [&[ColumnTile]; 2],
        _extra: [Option<ExtraTiles<'_>>; 2],
        _sums: &mut [TileSums; 4],
        _before: impl Fn(usize),
    ) {
        match *self {}
    }

    fn multiply_halves(
        &self,
        _rows: [&[i8]; 2],
        _row_stride: usize,
        _columns: [&[ColumnTile]; 2],
        _sums: &mut [TileSums; 3],
    ) {
        match *self {}
    }

    fn repeat(&self, _turns: usize) {
        match *self {}
    }
}
