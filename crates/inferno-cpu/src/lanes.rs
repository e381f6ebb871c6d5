//! The logical 16-lane processor that every kernel is written for.
//!
//! Its vectors hold 16 `f32`, 16 `i32` or 64 bytes. The traits of this module define its operations; each
//! instruction set implements them with the registers it has. Lane `i` is lane `i` on every instruction set,
//! and each operation is defined to the bit, so all instruction sets produce identical results, except for products that a
//! matrix unit adds in another order (`ops/product/bf16.rs`):
//!
//! - `add`, `sub`, `mul`, `div` and [`fma`](FloatLanes::fma) round once, to nearest even. Subnormals are not
//!   flushed.
//! - [`max`](FloatLanes::max) and [`min`](FloatLanes::min) return their second operand if either operand is NaN
//!   or both are zero.
//! - [`sum`](FloatLanes::sum) adds lane `i` to lane `i + 8`, then `i + 4`, `i + 2`, `i + 1`;
//!   [`max_lane`](FloatLanes::max_lane) reduces in the same order.
//! - Integer sums are exact.
//!
//! Only the payload of a NaN is unspecified.
//!
//! A kernel is compiled for an instruction set only where it is inlined. So operations are not called in closures that are
//! passed to functions which may not be inlined, such as `array::map`: there each operation is a call.
//!
//! Kernels take any [`Lanes`], which combines all traits:
//!
//! | trait | operations |
//! |---|---|
//! | [`VectorTypes`] | the vector types and the number of registers |
//! | [`FloatLanes`] | arithmetic on `f32`, reductions, the exponential |
//! | [`IntegerLanes`] | arithmetic on `i32` |
//! | [`ConvertLanes`] | loads and stores that convert, between `f32` and other number formats |
//! | [`ByteLanes`] | bit fields and table lookups in bytes |
//! | [`ShuffleLanes`] | exchanges of numbers between lanes |
//! | [`PrefetchLanes`] | prefetches |
//! | [`DotLanes`] | dot products of bytes |
//! | [`Int16Lanes`] | dot products of 16-bit integers, and their split into bytes |
//! | [`MatrixLanes`] | the matrix unit, if there is one |

mod bytes;
mod convert;
mod dot;
mod float;
mod int16;
mod integer;
mod matrix_unit;
mod shuffle;
mod vector;

pub(crate) use bytes::{ByteLanes, PrefetchLanes};
pub(crate) use convert::ConvertLanes;
pub(crate) use dot::DotLanes;
pub(crate) use float::{EXP_LOWEST, FloatLanes};
pub(crate) use int16::{Int16Lanes, split_i16};
pub(crate) use integer::IntegerLanes;
#[cfg(target_arch = "x86_64")] // Only AMX implements a matrix unit.
pub(crate) use matrix_unit::RowTile;
pub(crate) use matrix_unit::{
    BF16_TILE_COLS, Bf16Columns, Bf16Rows, Bf16Unit, CHUNK_TILES, ColumnTile, ColumnTiles,
    ExtraTiles, MatrixLanes, MatrixUnit, NoMatrixUnit, TileFloats, TileSums,
};
pub(crate) use shuffle::ShuffleLanes;
pub(crate) use vector::{LANES, VECTOR_BYTES, VectorTypes, vectors, vectors_mut};

/// All operations of the 16-lane processor. A value is a proof that this machine has the instructions that
/// its methods use.
pub(crate) trait Lanes:
    ConvertLanes + ByteLanes + ShuffleLanes + PrefetchLanes + DotLanes + Int16Lanes + MatrixLanes
{
}

impl<L> Lanes for L where
    L: ConvertLanes
        + ByteLanes
        + ShuffleLanes
        + PrefetchLanes
        + DotLanes
        + Int16Lanes
        + MatrixLanes
{
}

/// A computation written once for all instruction sets.
pub(crate) trait Kernel {
    /// Runs the whole computation. Implementations are `#[inline(always)]`, and so is every function that
    /// they call with `lanes`: code that is not inlined would not be compiled for the instruction set.
    fn run<L: Lanes>(self, lanes: L);
}
