//! The matrix unit of an instruction set, if it has one.

use super::vector::{LANES, VECTOR_BYTES, VectorTypes};
use crate::scratch::CacheLine;

/// Access to the matrix unit.
pub(crate) trait MatrixLanes: VectorTypes {
    /// The unit; [`NoMatrixUnit`] if there is none.
    type Unit: MatrixUnit;

    /// The unit for bfloat16 numbers; [`NoMatrixUnit`] if there is none.
    type Bf16Unit: Bf16Unit;

    /// Configures the unit on this thread.
    #[inline(always)]
    fn matrix_unit(self) -> Option<Self::Unit> {
        None
    }

    /// Configures the unit on this thread for bfloat16 numbers and blocks of `num_rows` rows, at most 16.
    #[inline(always)]
    fn bf16_unit(self, _num_rows: usize) -> Option<Self::Bf16Unit> {
        None
    }
}

/// 16 rows of 64 signed bytes, the first operand of a matrix unit.
pub(crate) type RowTile = [[i8; VECTOR_BYTES]; 16];

/// 64 rows of 16 columns of bytes, the second operand of a matrix unit: `[64 / 4][16 columns][4]`.
pub(crate) type ColumnTile = [[u8; VECTOR_BYTES]; 16];

/// Tiles of a chunk of weights, which is 256 columns.
pub(crate) const CHUNK_TILES: usize = 256 / VECTOR_BYTES;

/// One more tile of rows, and of the high and low bytes of their columns.
#[derive(Clone, Copy)]
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))] // Only a matrix unit reads them.
pub(crate) struct ExtraTiles<'a> {
    pub(crate) rows: &'a RowTile,
    pub(crate) columns: &'a [ColumnTile; 2],
}

/// The sums of products of 16 rows of activations (first index) with 16 rows of a weight.
pub(crate) type TileSums = [[i32; LANES]; 16];

/// The columns that a matrix of rows is multiplied by. (Not closures: what is not inlined is compiled for any processor.)
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))] // Only a matrix unit reads them.
pub(crate) trait ColumnTiles {
    /// The high and the low bytes of tile `TILE` of 256 columns. It is called for all tiles in ascending order, also for
    /// those that are not multiplied, between the products, so that other work is done while the unit multiplies. That work
    /// must not use the unit.
    fn tile<const TILE: usize>(&mut self) -> [&ColumnTile; 2];

    /// One more tile of rows with columns of its own, after the others.
    fn extra(&mut self) -> Option<ExtraTiles<'_>>;
}

/// A unit that multiplies small matrices of bytes. A value belongs to one thread, on which the unit is
/// configured while the value lives.
pub(crate) trait MatrixUnit {
    /// Operations of one turn of [`repeat`](Self::repeat).
    const TURN_OPS: usize;

    /// Multiplies a matrix of 16 rows of signed bytes by the signed high bytes of 16 columns, and by their unsigned low bytes.
    /// Only the first `num_tiles` tiles are multiplied, and the extra one.
    ///
    /// The sums, those with high bytes and those with low ones, stay in set `SET` of the unit's two sets. Those of the
    /// product before, in the other set, are stored to `before` meanwhile, unless they are not needed or were stored by
    /// [`store_bytes`](Self::store_bytes). The other methods overwrite both sets.
    fn multiply_bytes<const SET: usize>(
        &self,
        num_tiles: usize,
        rows: &[RowTile; CHUNK_TILES],
        columns: &mut impl ColumnTiles,
        before: Option<&mut [TileSums; 2]>,
    );

    /// Stores the sums of a set.
    fn store_bytes<const SET: usize>(&self, sums: &mut [TileSums; 2]);

    /// Multiplies a matrix of 16 rows of 16-bit integers by one of 16 columns, both stored as high and low
    /// halves. Rows start `row_stride` bytes apart; columns are consecutive tiles. The sums are those of
    /// products of high halves, of a high half and a low one, and of low halves.
    ///
    /// **Panics** when rows are shorter than the columns, or the numbers of high and low tiles differ.
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

/// Columns of a tile of bfloat16 numbers.
pub(crate) const BF16_TILE_COLS: usize = VECTOR_BYTES / 2;

/// 32 columns of bfloat16 numbers of 16 rows of a weight, `[32 / 2][16 rows][2]`: the second operand of a [`Bf16Unit`].
pub(crate) type Bf16Columns = [[u8; VECTOR_BYTES]; BF16_TILE_COLS / 2];

/// Sums of a block of up to 16 rows of activations with 16 rows of a weight, as floats.
pub(crate) type TileFloats = [CacheLine; 16];

/// 32 columns of a block of rows, as the sums of two bfloat16 numbers: a cache line for each row.
#[derive(Clone, Copy)]
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))] // Only a matrix unit reads them.
pub(crate) struct Bf16Rows<'a> {
    pub(crate) high: &'a [CacheLine],
    pub(crate) low: &'a [CacheLine],
}

/// A matrix unit that multiplies bfloat16 numbers: the sums of one or two blocks (`B`) with 16 rows of one or two panels (`P`)
/// stay in the unit. For each pair of columns, products of the first and of the second are added separately.
pub(crate) trait Bf16Unit {
    /// Makes the sums zero.
    fn clear(&self);

    /// Loads the sums of each panel's blocks from block `first` on.
    fn load<const B: usize, const P: usize>(&self, sums: &[&mut [TileFloats]; P], first: usize);

    /// Adds the products of 32 columns: those of the low numbers of rows with the first columns, of the high ones with these,
    /// and if `HAS_LOW`, of the high ones with the second columns.
    ///
    /// **Panics** if there are more or fewer rows than the unit is configured for.
    fn add<const B: usize, const P: usize, const HAS_LOW: bool>(
        &self,
        rows: [Bf16Rows<'_>; B],
        columns: [&[Bf16Columns; 2]; P],
    );

    /// Stores the sums of each panel's blocks from block `first` on, only the rows that the unit is configured for.
    fn store<const B: usize, const P: usize>(
        &self,
        sums: &mut [&mut [TileFloats]; P],
        first: usize,
    );
}

/// The matrix unit of instruction sets that have none.
pub(crate) enum NoMatrixUnit {}

impl MatrixUnit for NoMatrixUnit {
    const TURN_OPS: usize = 0;

    fn multiply_bytes<const SET: usize>(
        &self,
        _num_tiles: usize,
        _rows: &[RowTile; CHUNK_TILES],
        _columns: &mut impl ColumnTiles,
        _before: Option<&mut [TileSums; 2]>,
    ) {
        match *self {}
    }

    fn store_bytes<const SET: usize>(&self, _sums: &mut [TileSums; 2]) {
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

impl Bf16Unit for NoMatrixUnit {
    fn clear(&self) {
        match *self {}
    }

    fn load<const B: usize, const P: usize>(&self, _sums: &[&mut [TileFloats]; P], _first: usize) {
        match *self {}
    }

    fn add<const B: usize, const P: usize, const HAS_LOW: bool>(
        &self,
        _rows: [Bf16Rows<'_>; B],
        _columns: [&[Bf16Columns; 2]; P],
    ) {
        match *self {}
    }

    fn store<const B: usize, const P: usize>(
        &self,
        _sums: &mut [&mut [TileFloats]; P],
        _first: usize,
    ) {
        match *self {}
    }
}
