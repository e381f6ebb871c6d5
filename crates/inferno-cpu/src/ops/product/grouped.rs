//! Products with weights of signed bytes: each group of 32 columns has a scale, and is summed by itself.
//!
//! Few rows take the bytes as they are unpacked on their way in (`narrow.rs`); more take them from chunks
//! that are unpacked once for many rows (`tiled.rs`).
//!
//! With the matrix unit, a product of 32 columns takes 20 cycles of a Sapphire Rapids core where all
//! stands in the first-level cache, and 30 to 36 where activations come from the second; its scaling
//! takes 25.

use std::marker::PhantomData;

use super::Product;
use super::narrow::{self, PREFETCH_BYTES, PanelSums};
use super::tiled::{self, Ahead, Aligned, BlockSums, Chunk, Inputs, Unpacking};
use crate::isa::{Kernel, Level};
use crate::lanes::{GroupBytes, LANES, Lanes, TileSums, TileUnit, VECTOR_BYTES};
use crate::ops::activations::{ActivationGroup, BLOCK_ROWS, four, rows_from};
use crate::pack::codes::{CHUNK_GROUPS, Codes, GROUP_COLS, GROUP_VECTORS};
use crate::pack::{QuantFormat, chunk_bytes, padded_scale_bytes};

/// One group of 32 columns of 16 rows, as [`add_group`] takes it.
trait Group<L: Lanes> {
    /// Columns `4 v..4 v + 4`, as [`Lanes::dot_i8`] takes them.
    fn operand(&self, lanes: L, v: usize) -> L::Bytes;
    /// The scales.
    fn scale(&self, lanes: L) -> L::F32;
}

/// Adds one group's share to the sums of `T` rows from row `first` of a block on.
#[inline(always)]
fn add_group<L: Lanes, G: Group<L>, const T: usize, const W: usize>(
    lanes: L,
    group: &G,
    input: &ActivationGroup<W>,
    first: usize,
    mut sums: [L::F32; T],
) -> [L::F32; T] {
    // The number of rows is one that the compiler knows, and loops are ones that it always inlines: else
    // sums go through memory. (With the block's number AVX-512 took a third longer, with `array::map` for 16
    // rows twice as long.)
    let rows: &[_; T] = rows_from(&input.quants, first);
    let starts: &[_; T] = rows_from(&input.starts, first);
    let mut dots = [lanes.splat_i32(0); T];
    for (dot, start) in dots.iter_mut().zip(starts) {
        *dot = lanes.dot_i8_start(*start);
    }
    for v in 0..GROUP_VECTORS {
        let operand = group.operand(lanes, v);
        for (dot, row) in dots.iter_mut().zip(rows) {
            *dot = lanes.in_turn(lanes.dot_i8(*dot, operand, four(row, v)));
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

/// A group of format `F` in its chunk.
struct Packed<'a, F> {
    codes: &'a [u8],
    scales: &'a [u8],
    group: usize,
    format: PhantomData<F>,
}

impl<L: Lanes, F: QuantFormat> Group<L> for Packed<'_, F> {
    #[inline(always)]
    fn operand(&self, lanes: L, v: usize) -> L::Bytes {
        lanes.operand_i8(F::Codes::vector(lanes, self.codes, v))
    }

    #[inline(always)]
    fn scale(&self, lanes: L) -> L::F32 {
        F::scale(lanes, self.scales, self.group, 0)
    }
}

/// The groups of a chunk of so many, of which the first bytes are scales.
#[inline(always)]
fn groups<F: QuantFormat>(
    chunk: &[u8],
    num_groups: usize,
) -> (&[u8], impl Iterator<Item = Packed<'_, F>>) {
    let (scales, codes) = chunk.split_at(padded_scale_bytes::<F>(num_groups));
    let codes = codes.chunks_exact(F::Codes::BYTES).take(num_groups).enumerate();
    let groups =
        codes.map(move |(group, codes)| Packed { codes, scales, group, format: PhantomData });
    (scales, groups)
}

/// Multiplies by weights of format `F`.
pub(crate) fn grouped<F: QuantFormat>(level: Level, product: Product<'_>) {
    if narrow::takes(level, product.target.rows().len()) {
        return narrow::run::<Grouped<F>>(level, product);
    }
    let unpack = |level: Level, packed: &[u8], num_groups, weights: &mut Weights| {
        let for_tiles = level.has_tiles();
        level.run(Unpack { packed, num_groups, for_tiles, weights, format: PhantomData::<F> });
    };
    tiled::run(level, product, Unpacking { chunk_bytes: chunk_bytes::<F>(CHUNK_GROUPS), unpack });
}

/// Weights of format `F` for one block of rows.
struct Grouped<F>(PhantomData<F>);

impl<F: QuantFormat> PanelSums for Grouped<F> {
    type Input<const W: usize> = ActivationGroup<W>;

    #[inline(always)]
    fn panel_sums<L: Lanes, const T: usize, const W: usize>(
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
                lanes.prefetch(line, PREFETCH_BYTES);
            }
            for (group, input) in groups.zip(inputs) {
                for line in group.codes.chunks_exact(VECTOR_BYTES) {
                    lanes.prefetch(line, PREFETCH_BYTES);
                }
                sums = add_group(lanes, &group, input, first, sums);
            }
        }
        sums
    }
}

/// A chunk for many rows: for the matrix unit its signed bytes, else operands of dot products.
/// Vectors are whole cache lines: a small field before them would make it two for each.
#[repr(C, align(64))]
struct Weights {
    codes: [GroupBytes; CHUNK_GROUPS],
    scales: [[f32; LANES]; CHUNK_GROUPS],
    dots: [TileSums; CHUNK_GROUPS],
    /// Where in the packed chunk signed bytes stand as the matrix unit takes them, if they do.
    in_place: Option<usize>,
}

/// Unpacks a chunk of format `F`.
struct Unpack<'a, F> {
    packed: &'a [u8],
    num_groups: usize,
    for_tiles: bool,
    weights: &'a mut Weights,
    format: PhantomData<F>,
}

impl<F: QuantFormat> Kernel for Unpack<'_, F> {
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

/// A group that was unpacked.
struct Unpacked<'a> {
    codes: &'a GroupBytes,
    scales: &'a [f32; LANES],
}

impl<L: Lanes> Group<L> for Unpacked<'_> {
    #[inline(always)]
    fn operand(&self, lanes: L, v: usize) -> L::Bytes {
        lanes.load_bytes(&self.codes[v])
    }

    #[inline(always)]
    fn scale(&self, lanes: L) -> L::F32 {
        lanes.load(self.scales)
    }
}

impl Chunk for Weights {
    const EMPTY: Self = Self {
        codes: [[[0; VECTOR_BYTES]; GROUP_VECTORS]; CHUNK_GROUPS],
        scales: [[0.0; LANES]; CHUNK_GROUPS],
        dots: [[[0; LANES]; BLOCK_ROWS]; CHUNK_GROUPS],
        in_place: None,
    };
    // With 16 or 32 its products are no faster: there is little to unpack.
    const MAX_BLOCKS: usize = 8;
    const TILE_COLS: usize = GROUP_COLS;

    #[inline(always)]
    fn add_rows<L: Lanes, const T: usize>(
        &self,
        lanes: L,
        inputs: &Inputs<'_>,
        first_row: usize,
        first: usize,
        mut sums: [L::F32; T],
    ) -> [L::F32; T] {
        let groups = self.codes.iter().zip(&self.scales).zip(inputs.groups(first_row));
        for ((codes, scales), input) in groups {
            sums = add_group(lanes, &Unpacked { codes, scales }, input, first, sums);
        }
        sums
    }

    #[inline(always)]
    fn add_tiles<L: Lanes>(
        &mut self,
        lanes: L,
        tiles: &L::Tiles,
        packed: &[u8],
        inputs: &Inputs<'_>,
        first_row: usize,
        ahead: &Ahead<'_>,
        sums: &mut [Aligned<BlockSums>],
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
            for (row, sums) in rows.iter_mut().zip(&sums.0) {
                *row = lanes.load(sums);
            }
            for ((input, scales), dots) in inputs.iter().zip(&*scales).zip(&*dots) {
                let scale = lanes.load(scales);
                for ((row, dots), input) in rows.iter_mut().zip(dots).zip(&input.scales) {
                    let factor = lanes.mul(scale, lanes.splat(*input));
                    *row = lanes.fma(lanes.to_f32(lanes.load_i32(dots)), factor, *row);
                }
            }
            for (row, sums) in rows.into_iter().zip(&mut sums.0) {
                lanes.store(row, sums);
            }
        }
    }
}
