//! The matrix unit of an instruction set, if it has one.

use super::vector::{GroupBytes, LANES, VECTOR_BYTES, VectorTypes};

/// Access to the matrix unit.
pub(crate) trait MatrixLanes: VectorTypes {
    /// The unit; [`NoMatrixUnit`] if there is none.
    type Unit: MatrixUnit;

    /// Configures the unit on this thread for sums of `cols` columns: 32, or the maximum of 64.
    #[inline(always)]
    fn matrix_unit(self, _cols: usize) -> Option<Self::Unit> {
        None
    }
}

/// 16 rows of 64 signed bytes, the first operand of a matrix unit.
pub(crate) type RowTile = [[i8; VECTOR_BYTES]; 16];

/// 64 rows of 16 columns of bytes, the second operand of a matrix unit: `[64 / 4][16 columns][4]`.
pub(crate) type ColumnTile = [[u8; VECTOR_BYTES]; 16];

/// One more tile of rows, and of columns of both matrices.
#[derive(Clone, Copy)]
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))] // Only a matrix unit reads them.
pub(crate) struct ExtraTiles<'a> {
    pub(crate) rows: &'a RowTile,
    pub(crate) columns: &'a [ColumnTile; 2],
}

/// The sums of products of 16 rows of activations (first index) with 16 rows of a weight.
pub(crate) type TileSums = [[i32; LANES]; 16];

/// A unit that multiplies small matrices of bytes. A value belongs to one thread, on which the unit is
/// configured while the value lives.
pub(crate) trait MatrixUnit {
    /// Operations of one turn of [`repeat`](Self::repeat), for a unit configured for 64 columns.
    const TURN_OPS: usize;

    /// Multiplies groups of activations, indexed by group number, by those of the signed `weights`, and stores
    /// the sums of each group in `out`. Calls `before` with the group number before each product.
    ///
    /// **Panics** when the unit is not configured for 32 columns, or `out` is too short.
    fn multiply<'a>(
        &self,
        activations: impl Fn(usize) -> &'a [[i8; 32]; 16],
        weights: &[GroupBytes],
        out: &mut [TileSums],
        before: impl Fn(usize),
    );

    /// Multiplies two matrices of 16 rows of signed bytes by two matrices of 16 columns, all stored as
    /// consecutive tiles. The sums are those of first by first, first by second, second by first and second by
    /// second. Each matrix of rows may have `extra` tiles with separate columns. Calls `before` with the
    /// tile number before each tile.
    ///
    /// **Panics** when the unit is not configured for 64 columns, or there are fewer tiles of rows than of
    /// columns.
    fn multiply_two(
        &self,
        rows: [&[RowTile]; 2],
        columns: [&[ColumnTile]; 2],
        extra: [Option<ExtraTiles<'_>>; 2],
        sums: &mut [TileSums; 4],
        before: impl Fn(usize),
    );

    /// Multiplies a matrix of 16 rows of 16-bit integers by one of 16 columns, both stored as high and low
    /// halves. Rows start `row_stride` bytes apart; columns are consecutive tiles. The sums are those of
    /// products of high halves, of a high half and a low one, and of low halves.
    ///
    /// **Panics** when the unit is not configured for 64 columns, rows are shorter than the columns, or the
    /// numbers of high and low tiles differ.
    fn multiply_halves(
        &self,
        rows: [&[i8]; 2],
        row_stride: usize,
        columns: [&[ColumnTile]; 2],
        sums: &mut [TileSums; 3],
    );

    /// Multiplies the contents of the unit's registers `turns` times, without loads and stores: for timing
    /// only.
    fn repeat(&self, turns: usize);
}

/// The matrix unit of instruction sets that have none.
pub(crate) enum NoMatrixUnit {}

impl MatrixUnit for NoMatrixUnit {
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
