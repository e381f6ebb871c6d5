//! Products with quantized weights: 256 columns become 16-bit integers with one scale.
//!
//! In a file, each 16 or 32 columns of a row have a scale, and in some formats a minimum: a weight is
//! `scale * code - min`. For the columns of a chunk (256, or the remainder of a row), the format defines a `unit` such
//! that all weights are approximately small multiples of it (`pack/scales.rs`, `pack/byte_weights.rs`). A group's factor
//! is `scale / unit`, rounded to the nearest integer, ties to even; its offset is `min / unit`, rounded likewise, or the
//! factor times the code of zero. A weight is `unit * (code * factor - offset)`: an integer of 16 bits, so that the sum of
//! a chunk's products with 8-bit activations is exact in 32 bits. If a unit that is computed from scales is below 2^-100,
//! all weights are zero.
//!
//! Vectors multiply codes, and each group's sum by its factor. The matrix unit multiplies the high and the low bytes of
//! the integers, whose sums are combined and scaled once per chunk. Levels whose dot products need an unsigned operand
//! add 128 to codes that are signed bytes, and sums of products begin with what that adds too much.
//!
//! Factors of signed bytes with several scales (Q8_0, IQ4_NL) are at most 254, that of the largest scale exactly, the others
//! rounded. So a weight differs from that in the file by up to a quarter of the step of the group with the largest scale of
//! the 256 columns, where rounding to bytes has errors of up to half a step.
//!
//! (Tried: integers for vectors too, which multiply them at half the speed: with AVX-512, products took a third longer,
//! with AVX-VNNI two thirds, and one row with 4-bit weights fell below the memory bandwidth.)

mod chunk;
mod many_rows;
mod tiles;
mod unpacked;

use std::marker::PhantomData;

use super::few_rows::{self, FewRowsKernel};
use super::task::Product;
use crate::isa::Level;
use crate::lanes::{Lanes, VECTOR_BYTES};
use crate::ops::activations::ActivationRun;
use crate::pack::codes::{CHUNK_GROUPS, CodeLayout, GROUP_COLS};
use crate::pack::{QuantFormat, chunk_bytes};
use crate::prefetch::Prefetch;
use chunk::{PackedChunk, add_chunk};
use unpacked::{UnpackCodes, UnpackTile, UnpackedChunk, Unpacking};

/// Multiplies by weights of format `F`.
pub(crate) fn fixed_point<F: QuantFormat>(level: Level, product: Product<'_>) {
    if few_rows::handles(level, product.target.rows().len(), F::BYTE_FACTORS) {
        let prefetch = Prefetch::of(level, product.target.rows().len());
        return few_rows::run(level, product, FixedPoint::<F> { prefetch, format: PhantomData });
    }
    many_rows_of::<F>(level, product);
}

/// Multiplies by weights of format `F`, whose chunks are unpacked to memory even for few rows: two more kernels then
/// serve all such formats.
pub(crate) fn unpacked<F: QuantFormat>(level: Level, product: Product<'_>) {
    const { assert!(!F::Codes::SIGNED, "no kernel for few rows of unpacked signed codes") };
    if !few_rows::handles(level, product.target.rows().len(), false) {
        return many_rows_of::<F>(level, product);
    }
    if F::HALVES { few::<F, true>(level, product) } else { few::<F, false>(level, product) }
}

/// Weights of format `F` for one block of rows.
struct FixedPoint<F> {
    prefetch: Prefetch,
    format: PhantomData<F>,
}

impl<F: QuantFormat> FewRowsKernel for FixedPoint<F> {
    type Activations<const W: usize> = ActivationRun<W>;

    #[inline(always)]
    fn panel_sums<L: Lanes, const T: usize, const W: usize>(
        &mut self,
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
            let weights = weights.prefetching(self.prefetch);
            sums = add_chunk(lanes, &weights, input, first, sums);
        }
        sums
    }
}

/// Multiplies many rows: three kernels serve all formats.
fn many_rows_of<F: QuantFormat>(level: Level, product: Product<'_>) {
    const {
        assert!(
            !(F::HALVES && F::Codes::SIGNED),
            "no kernel for signed codes with two scales per group"
        )
    };
    match (F::HALVES, F::Codes::SIGNED) {
        (true, _) => many::<F, true, false>(level, product),
        (false, false) => many::<F, false, false>(level, product),
        (false, true) => many::<F, false, true>(level, product),
    }
}

/// How chunks of format `F` are unpacked.
fn unpacking<F: QuantFormat, const HALVES: bool, const SIGNED: bool>()
-> Unpacking<UnpackedChunk<HALVES, SIGNED>> {
    Unpacking {
        chunk_bytes: chunk_bytes::<F>(CHUNK_GROUPS),
        unpack: |level, packed, num_groups, out| {
            level.run(UnpackCodes { packed, num_groups, out, format: PhantomData::<F> });
        },
        unpack_tile: |level, packed, num_groups, tile, out| {
            level.run(UnpackTile { packed, num_groups, tile, out, format: PhantomData::<F> });
        },
    }
}

/// Multiplies many rows whose chunks are unpacked as `UnpackedChunk<HALVES, SIGNED>`.
fn many<F: QuantFormat, const HALVES: bool, const SIGNED: bool>(
    level: Level,
    product: Product<'_>,
) {
    many_rows::run(level, product, unpacking::<F, HALVES, SIGNED>());
}

/// Multiplies few rows, one unpacked chunk at a time.
fn few<F: QuantFormat, const HALVES: bool>(level: Level, product: Product<'_>) {
    let unpacking = unpacking::<F, HALVES, false>();
    let prefetch = Prefetch::of(level, product.target.rows().len());
    let kernel = UnpackedRows { level, unpacking, prefetch, chunk: UnpackedChunk::EMPTY };
    few_rows::run(level, product, kernel);
}

/// Weights of any format, unpacked for one block of rows.
struct UnpackedRows<const HALVES: bool> {
    level: Level,
    unpacking: Unpacking<UnpackedChunk<HALVES, false>>,
    prefetch: Prefetch,
    chunk: UnpackedChunk<HALVES, false>,
}

impl<const HALVES: bool> FewRowsKernel for UnpackedRows<HALVES> {
    type Activations<const W: usize> = ActivationRun<W>;

    #[inline(always)]
    fn panel_sums<L: Lanes, const T: usize, const W: usize>(
        &mut self,
        lanes: L,
        panel: &[u8],
        cols: usize,
        inputs: &[ActivationRun<W>],
        first: usize,
    ) -> [L::F32; T] {
        let mut sums = [lanes.splat(0.0); T];
        let chunks = panel.chunks(self.unpacking.chunk_bytes);
        for (run, (input, packed)) in inputs.iter().zip(chunks).enumerate() {
            for line in packed.chunks(VECTOR_BYTES) {
                self.prefetch.ahead_of(lanes, line);
            }
            let num_groups = CHUNK_GROUPS.min(cols.div_ceil(GROUP_COLS) - run * CHUNK_GROUPS);
            (self.unpacking.unpack)(self.level, packed, num_groups, &mut self.chunk);
            sums = add_chunk(lanes, &self.chunk, input, first, sums);
        }
        sums
    }
}
