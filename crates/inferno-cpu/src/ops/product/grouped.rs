//! Products with weights of signed bytes: each group of 32 columns has a scale, and is summed separately.
//!
//! For few rows, and with AVX-512, weights are unpacked in registers (`few_rows.rs`); for many, chunks are unpacked once for all rows
//! (`many_rows.rs`).
//!
//! With the matrix unit, a product of 32 columns takes 20 cycles of a Sapphire Rapids core if all operands are in the
//! first-level cache, and 30 to 36 if activations are in the second; scaling it takes 25.

use std::marker::PhantomData;

use super::few_rows::{self, FewRowsKernel, PREFETCH_BYTES};
use super::many_rows::{self, BlockSums, Chunk, ChunkInputs, PrefetchAhead, Unpacking};
use super::row_pairs;
use super::task::Product;
use crate::isa::Level;
use crate::lanes::{GroupBytes, Kernel, LANES, Lanes, MatrixUnit, TileSums, VECTOR_BYTES};
use crate::ops::activations::{ActivationGroup, BLOCK_ROWS, four, rows_from};
use crate::pack::codes::{CHUNK_GROUPS, CodeLayout, GROUP_COLS, GROUP_VECTORS};
use crate::pack::{QuantFormat, chunk_bytes, padded_scale_bytes};
use crate::scratch::CacheLine;

/// One group of 32 columns of 16 rows of weights, the operand of [`add_group`].
trait GroupWeights<L: Lanes> {
    /// Columns `4 v..4 v + 4`, as the operand of [`dot_i8`](crate::lanes::DotLanes::dot_i8).
    fn operand(&self, lanes: L, v: usize) -> L::Bytes;
    /// The scales.
    fn scale(&self, lanes: L) -> L::F32;
}

/// Adds one group's share to the sums of `T` rows from row `first` of a block on.
#[inline(always)]
fn add_group<L: Lanes, G: GroupWeights<L>, const T: usize, const W: usize>(
    lanes: L,
    group: &G,
    input: &ActivationGroup<W>,
    first: usize,
    mut sums: [L::F32; T],
) -> [L::F32; T] {
    // The compiler must know the number of rows and inline all loops, or sums are kept in memory. (With the
    // number of rows of the block AVX-512 took a third longer, with `array::map` for 16 rows twice as long.)
    let rows: &[_; T] = rows_from(&input.quants, first);
    let starts: &[_; T] = rows_from(&input.starts, first);
    let mut dots = [lanes.splat_i32(0); T];
    if L::ROW_PAIRS && T % 2 == 0 {
        let codes = |v| group.operand(lanes, v);
        dots = row_pairs::dots(lanes, codes, 0..GROUP_VECTORS, rows, 0);
    } else {
        for (dot, start) in dots.iter_mut().zip(starts) {
            *dot = lanes.dot_i8_start(*start);
        }
        for v in 0..GROUP_VECTORS {
            let operand = group.operand(lanes, v);
            for (dot, row) in dots.iter_mut().zip(rows) {
                *dot = lanes.in_program_order(lanes.dot_i8(*dot, operand, four(row, v)));
            }
        }
    }
    let scale = group.scale(lanes);
    let scales: &[_; T] = rows_from(&input.scales, first);
    for ((sum, dot), input) in sums.iter_mut().zip(dots).zip(scales) {
        let factor = lanes.mul(scale, lanes.splat(*input));
        *sum = lanes.fma(lanes.to_f32(dot), factor, *sum);
    }
    sums
}

/// A group of format `F` in its packed chunk.
struct PackedGroup<'a, F> {
    codes: &'a [u8],
    scales: &'a [u8],
    group: usize,
    format: PhantomData<F>,
}

impl<L: Lanes, F: QuantFormat> GroupWeights<L> for PackedGroup<'_, F> {
    #[inline(always)]
    fn operand(&self, lanes: L, v: usize) -> L::Bytes {
        lanes.operand_i8(F::Codes::vector(lanes, self.codes, v))
    }

    #[inline(always)]
    fn scale(&self, lanes: L) -> L::F32 {
        F::scale(lanes, self.scales, self.group, 0)
    }
}

/// The scales and the groups of a chunk of `num_groups` groups.
#[inline(always)]
fn groups<F: QuantFormat>(
    chunk: &[u8],
    num_groups: usize,
) -> (&[u8], impl Iterator<Item = PackedGroup<'_, F>>) {
    let (scales, codes) = chunk.split_at(padded_scale_bytes::<F>(num_groups));
    let codes = codes.chunks_exact(F::Codes::BYTES).take(num_groups).enumerate();
    let groups =
        codes.map(move |(group, codes)| PackedGroup { codes, scales, group, format: PhantomData });
    (scales, groups)
}

/// Multiplies by weights of format `F`.
pub(crate) fn grouped<F: QuantFormat>(level: Level, product: Product<'_>) {
    if few_rows::handles_bytes(level, product.target.rows().len()) {
        return few_rows::run(level, product, Grouped::<F>(PhantomData));
    }
    let unpack = |level: Level, packed: &[u8], num_groups, weights: &mut UnpackedChunk| {
        let for_tiles = level.has_matrix_unit();
        level.run(UnpackGroups {
            packed,
            num_groups,
            for_tiles,
            weights,
            format: PhantomData::<F>,
        });
    };
    many_rows::run(
        level,
        product,
        Unpacking { chunk_bytes: chunk_bytes::<F>(CHUNK_GROUPS), unpack },
    );
}

/// The prefetch distance for a block of `num_rows` rows. (With twice the distance, 8 sequences are 9% and 16 sequences 6% faster in
/// Q8_0, one sequence 2% slower, on two cores of Zen 5. Other formats with 16 rows: no difference.)
const fn prefetch_bytes(num_rows: usize) -> usize {
    if num_rows > 4 { 2 * PREFETCH_BYTES } else { PREFETCH_BYTES }
}

/// Weights of format `F` for one block of rows.
struct Grouped<F>(PhantomData<F>);

impl<F: QuantFormat> FewRowsKernel for Grouped<F> {
    type Activations<const W: usize> = ActivationGroup<W>;

    #[inline(always)]
    fn panel_sums<L: Lanes, const T: usize, const W: usize>(
        &mut self,
        lanes: L,
        panel: &[u8],
        _cols: usize,
        inputs: &[ActivationGroup<W>],
        first: usize,
    ) -> [L::F32; T] {
        let mut sums = [lanes.splat(0.0); T];
        let chunks = panel.chunks(chunk_bytes::<F>(CHUNK_GROUPS));
        for (inputs, chunk) in inputs.chunks(CHUNK_GROUPS).zip(chunks) {
            let (scales, groups) = groups::<F>(chunk, inputs.len());
            for line in scales.chunks_exact(VECTOR_BYTES) {
                lanes.prefetch(line, prefetch_bytes(T));
            }
            for (group, input) in groups.zip(inputs) {
                for line in group.codes.chunks_exact(VECTOR_BYTES) {
                    lanes.prefetch(line, prefetch_bytes(T));
                }
                sums = add_group(lanes, &group, input, first, sums);
            }
        }
        sums
    }
}

/// A chunk for many rows: signed bytes for the matrix unit, otherwise operands of dot products. Vectors are aligned to
/// cache lines: a small field before them would spread each over two.
#[repr(C, align(64))]
struct UnpackedChunk {
    codes: [GroupBytes; CHUNK_GROUPS],
    scales: [[f32; LANES]; CHUNK_GROUPS],
    dots: [TileSums; CHUNK_GROUPS],
    /// The offset of the codes in the packed chunk, if the matrix unit can read them in place.
    in_place: Option<usize>,
}

/// Unpacks a chunk of format `F`.
struct UnpackGroups<'a, F> {
    packed: &'a [u8],
    num_groups: usize,
    for_tiles: bool,
    weights: &'a mut UnpackedChunk,
    format: PhantomData<F>,
}

impl<F: QuantFormat> Kernel for UnpackGroups<'_, F> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let Self { packed, num_groups, for_tiles, weights, .. } = self;
        let (_, groups) = groups::<F>(packed, num_groups);
        for (group, out) in groups.zip(&mut weights.scales) {
            lanes.store(group.scale(lanes), out);
        }
        let in_place = for_tiles && F::Codes::SIGNED_BYTES;
        weights.in_place = in_place.then(|| padded_scale_bytes::<F>(num_groups));
        if weights.in_place.is_some() {
            return;
        }
        let (_, groups) = self::groups::<F>(packed, num_groups);
        for (group, out) in groups.zip(&mut weights.codes) {
            for (v, out) in out.iter_mut().enumerate() {
                let codes = if for_tiles {
                    F::Codes::vector(lanes, group.codes, v)
                } else {
                    group.operand(lanes, v)
                };
                lanes.store_bytes(codes, out);
            }
        }
    }
}

/// An unpacked group.
struct UnpackedGroup<'a> {
    codes: &'a GroupBytes,
    scales: &'a [f32; LANES],
}

impl<L: Lanes> GroupWeights<L> for UnpackedGroup<'_> {
    #[inline(always)]
    fn operand(&self, lanes: L, v: usize) -> L::Bytes {
        lanes.load_bytes(&self.codes[v])
    }

    #[inline(always)]
    fn scale(&self, lanes: L) -> L::F32 {
        lanes.load(self.scales)
    }
}

impl Chunk for UnpackedChunk {
    const EMPTY: Self = Self {
        codes: [[[0; VECTOR_BYTES]; GROUP_VECTORS]; CHUNK_GROUPS],
        scales: [[0.0; LANES]; CHUNK_GROUPS],
        dots: [[[0; LANES]; BLOCK_ROWS]; CHUNK_GROUPS],
        in_place: None,
    };
    // Products are no faster with 16 or 32: there is little to unpack.
    const MAX_BLOCKS: usize = 8;
    const TILE_COLS: usize = GROUP_COLS;

    #[inline(always)]
    fn add_rows<L: Lanes, const T: usize>(
        &self,
        lanes: L,
        inputs: &ChunkInputs<'_>,
        first_row: usize,
        first: usize,
        mut sums: [L::F32; T],
    ) -> [L::F32; T] {
        let groups = self.codes.iter().zip(&self.scales).zip(inputs.groups(first_row));
        for ((codes, scales), input) in groups {
            sums = add_group(lanes, &UnpackedGroup { codes, scales }, input, first, sums);
        }
        sums
    }

    #[inline(always)]
    fn add_tiles<L: Lanes>(
        &mut self,
        lanes: L,
        tiles: &L::Unit,
        packed: &[u8],
        inputs: &ChunkInputs<'_>,
        first_row: usize,
        ahead: &PrefetchAhead<'_>,
        sums: &mut [BlockSums],
    ) {
        let Self { codes, in_place, scales, dots } = self;
        let turn = ahead.in_steps(lanes, sums.len() * inputs.num_groups());
        for (block, sums) in sums.iter_mut().enumerate() {
            let inputs = inputs.groups(first_row + block * BLOCK_ROWS);
            let codes = match *in_place {
                Some(at) => {
                    bytemuck::cast_slice(&packed[at..][..size_of_val(&codes[..inputs.len()])])
                }
                None => &codes[..inputs.len()],
            };
            tiles.multiply(
                |group| &inputs[group].quants,
                codes,
                dots,
                |number| turn(block * codes.len() + number),
            );
            let mut rows = [lanes.splat(0.0); BLOCK_ROWS];
            for (row, CacheLine(sums)) in rows.iter_mut().zip(&*sums) {
                *row = lanes.load(sums);
            }
            for ((input, scales), dots) in inputs.iter().zip(&*scales).zip(&*dots) {
                let scale = lanes.load(scales);
                for ((row, dots), input) in rows.iter_mut().zip(dots).zip(&input.scales) {
                    let factor = lanes.mul(scale, lanes.splat(*input));
                    *row = lanes.fma(lanes.to_f32(lanes.load_i32(dots)), factor, *row);
                }
            }
            for (row, CacheLine(sums)) in rows.into_iter().zip(sums) {
                lanes.store(row, sums);
            }
        }
    }
}
