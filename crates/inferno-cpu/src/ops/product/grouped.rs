//! Products with weights of signed bytes: each group of 32 columns has a scale, and is summed by itself.
//!
//! One block of rows takes the bytes as they are unpacked on their way in; more take them from
//! chunks that are unpacked once for many rows, as `tiled.rs` says. With a matrix unit, so does a
//! block of more than [`MAX_NARROW`] rows.
//!
//! With the matrix unit, a product of 32 columns takes 20 cycles of a Sapphire Rapids core where all
//! stands in the first-level cache, and 30 to 36 where activations come from the second; its scaling
//! takes 25.

use std::marker::PhantomData;

use super::Product;
use super::tiled::{self, Ahead, Aligned, BlockSums, Chunk, Inputs, Unpacking};
use crate::isa::{Kernel, Level};
use crate::lanes::{GroupBytes, LANES, Lanes, TileSums, TileUnit, VECTOR_BYTES};
use crate::ops::activations::{ActivationGroup, BLOCK_ROWS, MAX_NARROW, four};
use crate::pack::codes::{CHUNK_GROUPS, Codes, GROUP_COLS, GROUP_VECTORS};
use crate::pack::{QuantFormat, chunk_bytes, padded_scale_bytes};

/// How far ahead of their use packed weights are asked for. (Tried: nothing, 1024, 2048. Without it
/// some formats get a third of the memory's rate, whose scales and codes the processor takes for
/// two streams.)
pub(super) const PREFETCH_BYTES: usize = 4096;

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
    // With a number of rows that the compiler knows it computes them side by side. (With the block's, it
    // put one row's products after the other's, and AVX-512 took a third longer.)
    let rows: &[_; T] = input.rows(first);
    let scales: &[_; T] = input.scales[first..].first_chunk().expect("as many rows");
    let mut dots = [lanes.splat_i32(0); T];
    for (dot, start) in dots.iter_mut().zip(&input.starts[first..]) {
        *dot = lanes.dot_i8_start(*start);
    }
    for v in 0..GROUP_VECTORS {
        let operand = group.operand(lanes, v);
        for (dot, row) in dots.iter_mut().zip(rows) {
            *dot = lanes.dot_i8(*dot, operand, four(row, v));
        }
    }
    let scale = group.scale(lanes);
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
    match product.target.rows().len() {
        0 => {}
        1..=MAX_NARROW => level.run(Narrow::<F> { product, format: PhantomData }),
        // Unpacking for one block alone pays only where the matrix unit takes it.
        ..=BLOCK_ROWS if !level.has_tiles() => {
            level.run(Narrow::<F> { product, format: PhantomData });
        }
        _ => {
            let unpack = |level: Level, packed: &[u8], num_groups, weights: &mut Weights| {
                let for_tiles = level.has_tiles();
                let format = PhantomData::<F>;
                level.run(Unpack { packed, num_groups, for_tiles, weights, format });
            };
            let chunk_bytes = chunk_bytes::<F>(CHUNK_GROUPS);
            tiled::run(level, product, Unpacking { chunk_bytes, unpack });
        }
    }
}

/// A product of one block of rows.
struct Narrow<'a, F> {
    product: Product<'a>,
    format: PhantomData<F>,
}

impl<F: QuantFormat> Narrow<'_, F> {
    /// All panels for `W` rows, `T` at a time.
    #[inline(always)]
    fn panels<L: Lanes, const T: usize, const W: usize>(mut self, lanes: L) {
        let inputs = self.product.inputs.block::<ActivationGroup<W>>(0, W);
        let num_rows = self.product.target.rows().len();
        let panels = self.product.panels.chunks_exact(self.product.panel_bytes);
        for (panel, bytes) in panels.enumerate() {
            for first in (0..num_rows).step_by(T) {
                let sums = Self::block::<L, T, W>(lanes, bytes, inputs, first);
                for (t, sums) in sums.into_iter().take(num_rows - first).enumerate() {
                    self.product.target.write(lanes, first + t, panel, sums);
                }
            }
        }
    }

    /// `T` rows, unpacking on the way.
    #[inline(always)]
    fn block<L: Lanes, const T: usize, const W: usize>(
        lanes: L,
        panel: &[u8],
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

impl<F: QuantFormat> Kernel for Narrow<'_, F> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        const { assert!(MAX_NARROW == 8 && BLOCK_ROWS == 16) };
        match (self.product.target.rows().len(), L::REGISTERS >= 32) {
            (1, _) => self.panels::<L, 1, 1>(lanes),
            (2, _) => self.panels::<L, 2, 2>(lanes),
            (3..=4, _) => self.panels::<L, 4, 4>(lanes),
            (5..=8, true) => self.panels::<L, 8, 8>(lanes),
            (5..=8, false) => self.panels::<L, 4, 8>(lanes),
            (_, true) => self.panels::<L, 8, 16>(lanes),
            (_, false) => self.panels::<L, 4, 16>(lanes),
        }
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
