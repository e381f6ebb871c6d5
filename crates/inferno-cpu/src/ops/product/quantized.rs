//! Products with quantized weights: a group of 32 columns of a panel at a time.
//!
//! One block of rows takes the codes as they are unpacked on their way in; more take them from
//! chunks that are unpacked once for many rows, as `tiled.rs` says. With a matrix unit, so does a
//! block of more than [`MAX_NARROW`] rows.

use std::marker::PhantomData;

use super::{Product, tiled};
use crate::isa::{Kernel, Level};
use crate::lanes::{Lanes, VECTOR_BYTES};
use crate::ops::activations::{ActivationGroup, BLOCK_ROWS, MAX_NARROW};
use crate::pack::codes::{CHUNK_GROUPS, Codes, GROUP_COLS, GROUP_VECTORS};
use crate::pack::{QuantFormat, chunk_bytes, padded_scale_bytes};

/// How far ahead of their use packed weights are asked for. (Tried: nothing, 1024, 2048. Without it
/// some formats get a third of the memory's rate, whose scales and codes the processor takes for
/// two streams.)
const PREFETCH_BYTES: usize = 4096;

/// One group of 32 columns of 16 rows, as [`add_group`] takes it.
pub(super) trait Group<L: Lanes> {
    /// Whether each half of the group has its own scale.
    const HALVES: bool;
    /// Whether weights have a minimum beside their scale.
    const MINS: bool;
    /// Whether codes are for [`Lanes::dot_u7`]; else they are for [`Lanes::dot_i8`].
    const U7: bool;

    /// The code for [`Lanes::dot_u7`] that stands for zero.
    fn zero(&self) -> i32;
    /// Columns `4 v..4 v + 4`.
    fn codes(&self, lanes: L, v: usize) -> L::Bytes;
    /// The scale of a half, or of all columns.
    fn scale(&self, lanes: L, half: usize) -> L::F32;
    /// The minimum likewise.
    fn min(&self, lanes: L, half: usize) -> L::F32;
}

/// Adds one group's share to the sums of `T` rows from row `first` of a block on.
#[inline(always)]
pub(super) fn add_group<L: Lanes, G: Group<L>, const T: usize, const W: usize>(
    lanes: L,
    group: &G,
    input: &ActivationGroup<W>,
    first: usize,
    mut sums: [L::F32; T],
) -> [L::F32; T] {
    let num_halves = if G::HALVES { 2 } else { 1 };
    let vectors = GROUP_VECTORS / num_halves;
    for half in 0..num_halves {
        let part = input.part(G::HALVES, half);
        let mut dots = [lanes.splat_i32(0); T];
        for (t, dot) in dots.iter_mut().enumerate() {
            let start = part.starts[first + t];
            if !G::U7 {
                *dot = lanes.dot_i8_start(start);
            } else if group.zero() != 0 {
                *dot = lanes.splat_i32(start / 128 * group.zero());
            }
        }
        for v in half * vectors..(half + 1) * vectors {
            let codes = group.codes(lanes, v);
            for (t, dot) in dots.iter_mut().enumerate() {
                let four = input.four(first + t, v);
                *dot = if G::U7 {
                    lanes.dot_u7(*dot, codes, four)
                } else {
                    lanes.dot_i8(*dot, codes, four)
                };
            }
        }
        let scale = group.scale(lanes, half);
        for t in 0..T {
            let factor = lanes.mul(scale, lanes.splat(input.scales[first + t]));
            sums[t] = lanes.fma(lanes.to_f32(dots[t]), factor, sums[t]);
        }
        if G::MINS {
            let min = group.min(lanes, half);
            for (t, sum) in sums.iter_mut().enumerate() {
                *sum = lanes.fma(min, lanes.splat(part.min_terms[first + t]), *sum);
            }
        }
    }
    sums
}

/// A group of format `F` in its chunk.
pub(super) struct Packed<'a, F> {
    pub(super) codes: &'a [u8],
    scales: &'a [u8],
    group: usize,
    format: PhantomData<F>,
}

impl<L: Lanes, F: QuantFormat> Group<L> for Packed<'_, F> {
    const HALVES: bool = F::SCALE_COLS < GROUP_COLS;
    const MINS: bool = F::MINS;
    const U7: bool = F::Codes::ZERO.is_some();

    #[inline(always)]
    fn zero(&self) -> i32 {
        F::Codes::ZERO.unwrap_or(0)
    }

    #[inline(always)]
    fn codes(&self, lanes: L, v: usize) -> L::Bytes {
        let codes = F::Codes::vector(lanes, self.codes, v);
        if F::Codes::ZERO.is_none() { lanes.operand_i8(codes) } else { codes }
    }

    #[inline(always)]
    fn scale(&self, lanes: L, half: usize) -> L::F32 {
        F::scale(lanes, self.scales, self.group, half)
    }

    #[inline(always)]
    fn min(&self, lanes: L, half: usize) -> L::F32 {
        F::min(lanes, self.scales, self.group, half)
    }
}

/// The groups of a chunk of so many, of which the first bytes are scales.
#[inline(always)]
pub(super) fn groups<F: QuantFormat>(
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
pub(crate) fn quantized<F: QuantFormat>(level: Level, product: Product<'_>) {
    match product.target.rows().len() {
        0 => {}
        1..=MAX_NARROW => level.run(Narrow::<F> { product, format: PhantomData }),
        // Unpacking for one block alone pays only where the matrix unit takes it.
        ..=BLOCK_ROWS if !level.has_tiles() => {
            level.run(Narrow::<F> { product, format: PhantomData });
        }
        _ => tiled::run::<F>(level, product),
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
        let inputs = self.product.inputs.block::<ActivationGroup<W>>(0);
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
