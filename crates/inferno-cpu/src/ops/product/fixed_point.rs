//! Products with weights of short codes: 256 columns become 16-bit integers with one scale.
//!
//! In a file, each 16 or 32 columns of a row have a scale, and in some formats a minimum: a weight is
//! `scale * code - min`. For the columns of a chunk (256, or the remainder of a row), the format defines a `unit` such
//! that all weights are approximately small multiples of it (`pack/scales.rs`). A group's factor is `scale / unit`,
//! rounded to the nearest integer, ties to even; its offset is `min / unit`, rounded likewise, or the factor times the
//! code of zero. A weight is `unit * (code * factor - offset)`: an integer of 16 bits, so that the sum of a chunk's
//! products with 8-bit activations is exact in 32 bits. If the unit is below 2^-100, all weights are zero.
//!
//! Vectors multiply codes, and each group's sum by its factor. The matrix unit multiplies the high and the low bytes of
//! the integers, whose sums are combined and scaled once per chunk.
//!
//! (Tried: integers for vectors too, which multiply them at half the speed: with AVX-512, products took a third longer,
//! with AVX-VNNI two thirds, and one row with 4-bit weights fell below the memory bandwidth.)

mod chunk;
mod unpacked;

use std::marker::PhantomData;

use super::few_rows::{self, FewRowsKernel};
use super::many_rows::{self, Unpacking};
use super::task::Product;
use crate::isa::Level;
use crate::lanes::Lanes;
use crate::ops::activations::ActivationRun;
use crate::pack::codes::{CHUNK_GROUPS, GROUP_COLS};
use crate::pack::{FixedPointFormat, chunk_bytes};
use chunk::{PackedChunk, add_chunk};
use unpacked::{UnpackIntegers, UnpackedIntegers};

/// Multiplies by weights of format `F`.
pub(crate) fn fixed_point<F: FixedPointFormat>(level: Level, product: Product<'_>) {
    if few_rows::handles(level, product.target.rows().len()) {
        return few_rows::run::<FixedPoint<F>>(level, product);
    }
    // Two kernels serve all formats.
    if F::HALVES { many::<F, true>(level, product) } else { many::<F, false>(level, product) }
}

/// Weights of format `F` for one block of rows.
struct FixedPoint<F>(PhantomData<F>);

impl<F: FixedPointFormat> FewRowsKernel for FixedPoint<F> {
    type Activations<const W: usize> = ActivationRun<W>;

    #[inline(always)]
    fn panel_sums<L: Lanes, const T: usize, const W: usize>(
        lanes: L,
        panel: &[u8],
        cols: usize,
        inputs: &[ActivationRun<W>],
        first: usize,
    ) -> [L::F32; T] {
        let mut sums = [lanes.splat(0.0); T];
        let chunks = panel.chunks(chunk_bytes::<F>(CHUNK_GROUPS));
        for (run, (input, chunk)) in inputs.iter().zip(chunks).enumerate() {
            let num_groups = CHUNK_GROUPS.min(cols.div_ceil(GROUP_COLS) - run * CHUNK_GROUPS);
            let weights = PackedChunk::<L, F>::new(lanes, chunk, num_groups);
            sums = add_chunk(lanes, &weights, input, first, sums);
        }
        sums
    }
}

/// Multiplies many rows.
fn many<F: FixedPointFormat, const HALVES: bool>(level: Level, product: Product<'_>) {
    let unpack = |level: Level, packed: &[u8], num_groups, out: &mut UnpackedIntegers<HALVES>| {
        let for_tiles = level.has_matrix_unit();
        level.run(UnpackIntegers { packed, num_groups, for_tiles, out, format: PhantomData::<F> });
    };
    let chunk_bytes = chunk_bytes::<F>(CHUNK_GROUPS);
    many_rows::run(level, product, Unpacking { chunk_bytes, unpack });
}
