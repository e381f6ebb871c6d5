//! Products with quantized weights: a group of 32 columns of a panel at a time.
//!
//! With few rows the codes are unpacked on their way in; with many, a chunk of a panel is unpacked
//! once for [`TILE_ROWS`] rows.

use std::marker::PhantomData;

use super::{BLOCK_ROWS, Product, row_blocks};
use crate::isa::Kernel;
use crate::lanes::{LANES, Lanes, VECTOR_BYTES};
use crate::ops::quantize::{ActivationBlock, GroupHalf};
use crate::pack::codes::{CHUNK_GROUPS, Codes, GROUP_COLS, GROUP_VECTORS};
use crate::pack::{QuantFormat, chunk_bytes, padded_scale_bytes};

/// How far ahead of their use packed weights are asked for. (Tried: nothing, 1024, 2048. Without it
/// some formats get a third of the memory's rate, whose scales and codes the processor takes for
/// two streams.)
const PREFETCH_BYTES: usize = 4096;

/// Rows that share one unpacking of a chunk.
const TILE_ROWS: usize = 64;

/// A product with quantized weights.
pub(crate) struct QuantProduct<'a, F> {
    product: Product<'a>,
    format: PhantomData<F>,
}

/// Where the kernel finds one group of 32 columns of 16 rows.
trait Group<L: Lanes> {
    fn codes(&self, lanes: L, v: usize) -> L::Bytes;
    fn scale(&self, lanes: L, half: usize) -> L::F32;
    fn min(&self, lanes: L, half: usize) -> L::F32;
}

/// 256 columns of 16 rows, or what is left of them.
struct Chunk<'a, F> {
    scales: &'a [u8],
    codes: &'a [u8],
    format: PhantomData<F>,
}

impl<'a, F: QuantFormat> Chunk<'a, F> {
    #[inline(always)]
    fn groups(self) -> impl Iterator<Item = Packed<'a, F>> {
        let scales = self.scales;
        let codes = self.codes.chunks_exact(F::Codes::BYTES).enumerate();
        codes.map(move |(group, codes)| Packed { codes, scales, group, format: PhantomData })
    }
}

/// A group in its chunk.
struct Packed<'a, F> {
    codes: &'a [u8],
    scales: &'a [u8],
    group: usize,
    format: PhantomData<F>,
}

impl<L: Lanes, F: QuantFormat> Group<L> for Packed<'_, F> {
    #[inline(always)]
    fn codes(&self, lanes: L, v: usize) -> L::Bytes {
        F::Codes::vector(lanes, self.codes, v)
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

/// A group that was unpacked.
#[derive(Clone, Copy)]
struct Unpacked {
    codes: [[u8; VECTOR_BYTES]; GROUP_VECTORS],
    scales: [[f32; LANES]; 2],
    mins: [[f32; LANES]; 2],
}

impl Unpacked {
    const ZERO: Self = Self {
        codes: [[0; VECTOR_BYTES]; GROUP_VECTORS],
        scales: [[0.0; LANES]; 2],
        mins: [[0.0; LANES]; 2],
    };

    #[inline(always)]
    fn fill<L: Lanes, F: QuantFormat>(&mut self, lanes: L, group: &Packed<'_, F>) {
        for (v, codes) in self.codes.iter_mut().enumerate() {
            lanes.store_bytes(group.codes(lanes, v), codes);
        }
        for half in 0..GROUP_COLS / F::SCALE_COLS {
            lanes.store(group.scale(lanes, half), &mut self.scales[half]);
            if F::MINS {
                lanes.store(group.min(lanes, half), &mut self.mins[half]);
            }
        }
    }
}

impl<L: Lanes> Group<L> for Unpacked {
    #[inline(always)]
    fn codes(&self, lanes: L, v: usize) -> L::Bytes {
        lanes.load_bytes(&self.codes[v])
    }

    #[inline(always)]
    fn scale(&self, lanes: L, half: usize) -> L::F32 {
        lanes.load(&self.scales[half])
    }

    #[inline(always)]
    fn min(&self, lanes: L, half: usize) -> L::F32 {
        lanes.load(&self.mins[half])
    }
}

impl<'a, F: QuantFormat> QuantProduct<'a, F> {
    pub(crate) fn new(product: Product<'a>) -> Self {
        Self { product, format: PhantomData }
    }

    /// The quantized activations of `T` rows from `first` on.
    #[inline(always)]
    fn inputs<const T: usize>(&self, first: usize) -> [&'a [ActivationBlock]; T] {
        let groups = self.product.cols.div_ceil(GROUP_COLS);
        let mut inputs = [&[][..]; T];
        for (t, input) in inputs.iter_mut().enumerate() {
            let row = self.product.target.rows().input(first + t);
            *input = &self.product.quantized[row * groups..][..groups];
        }
        inputs
    }

    /// Adds one group's share to the sums of `T` rows.
    #[inline(always)]
    fn add_group<L: Lanes, const T: usize>(
        lanes: L,
        group: &impl Group<L>,
        inputs: [&ActivationBlock; T],
        mut sums: [L::F32; T],
    ) -> [L::F32; T] {
        let num_halves = GROUP_COLS / F::SCALE_COLS;
        let vectors = GROUP_VECTORS / num_halves;
        for half in 0..num_halves {
            let part = if num_halves == 1 { GroupHalf::Both } else { GroupHalf::One(half) };
            let mut dots = [lanes.splat_i32(0); T];
            for t in 0..T {
                let sum = inputs[t].sum(part);
                dots[t] = match F::Codes::ZERO {
                    None => lanes.dot_i8_start(sum),
                    Some(zero) => lanes.splat_i32(-zero * sum),
                };
            }
            for v in half * vectors..(half + 1) * vectors {
                let codes = group.codes(lanes, v);
                for t in 0..T {
                    let four = inputs[t].four(v);
                    dots[t] = match F::Codes::ZERO {
                        None => lanes.dot_i8(dots[t], codes, four),
                        Some(_) => lanes.dot_u7(dots[t], codes, four),
                    };
                }
            }
            let scale = group.scale(lanes, half);
            for t in 0..T {
                let factor = lanes.mul(scale, lanes.splat(inputs[t].scale));
                sums[t] = lanes.fma(lanes.to_f32(dots[t]), factor, sums[t]);
            }
            if F::MINS {
                let min = group.min(lanes, half);
                for t in 0..T {
                    let sum = -(inputs[t].scale * inputs[t].sum(part) as f32);
                    sums[t] = lanes.fma(min, lanes.splat(sum), sums[t]);
                }
            }
        }
        sums
    }

    /// The chunks of a panel, with the number of the first group of each.
    #[inline(always)]
    fn chunks(&self, panel: &'a [u8]) -> impl Iterator<Item = (usize, Chunk<'a, F>)> {
        let groups = self.product.cols.div_ceil(GROUP_COLS);
        let chunks = panel.chunks(chunk_bytes::<F>(CHUNK_GROUPS));
        (0..groups).step_by(CHUNK_GROUPS).zip(chunks).map(move |(first, bytes)| {
            let groups = CHUNK_GROUPS.min(groups - first);
            let (scales, codes) = bytes.split_at(padded_scale_bytes::<F>(groups));
            (first, Chunk { scales, codes, format: PhantomData })
        })
    }

    /// `T` rows, unpacking on the way.
    #[inline(always)]
    fn block<L: Lanes, const T: usize>(
        &mut self,
        lanes: L,
        bytes: &'a [u8],
        panel: usize,
        first: usize,
    ) {
        let inputs = self.inputs::<T>(first);
        let mut sums = [lanes.splat(0.0); T];
        for (first_group, chunk) in self.chunks(bytes) {
            for line in chunk.scales.chunks_exact(VECTOR_BYTES) {
                lanes.prefetch(line, PREFETCH_BYTES);
            }
            for (index, group) in chunk.groups().enumerate() {
                for line in group.codes.chunks_exact(VECTOR_BYTES) {
                    lanes.prefetch(line, PREFETCH_BYTES);
                }
                let mut blocks = [&ActivationBlock::ZERO; T];
                for t in 0..T {
                    blocks[t] = &inputs[t][first_group + index];
                }
                sums = Self::add_group(lanes, &group, blocks, sums);
            }
        }
        for (t, sums) in sums.into_iter().enumerate() {
            self.product.target.write(lanes, first + t, panel, sums);
        }
    }

    /// Up to [`TILE_ROWS`] rows from `first_row` on, unpacking a chunk at a time.
    #[inline(always)]
    fn tile<L: Lanes>(&mut self, lanes: L, bytes: &'a [u8], panel: usize, first_row: usize) {
        let num_rows = TILE_ROWS.min(self.product.target.rows().len() - first_row);
        let mut sums = [[0.0; LANES]; TILE_ROWS];
        let mut unpacked = [Unpacked::ZERO; CHUNK_GROUPS];
        for (first_group, chunk) in self.chunks(bytes) {
            let mut num_groups = 0;
            for (group, unpacked) in chunk.groups().zip(&mut unpacked) {
                unpacked.fill(lanes, &group);
                num_groups += 1;
            }
            row_blocks!(num_rows, |first, T| {
                let inputs = self.inputs::<T>(first_row + first);
                let mut block_sums = [lanes.splat(0.0); T];
                for t in 0..T {
                    block_sums[t] = lanes.load(&sums[first + t]);
                }
                for (group, unpacked) in unpacked[..num_groups].iter().enumerate() {
                    let mut blocks = [&ActivationBlock::ZERO; T];
                    for t in 0..T {
                        blocks[t] = &inputs[t][first_group + group];
                    }
                    block_sums = Self::add_group(lanes, unpacked, blocks, block_sums);
                }
                for t in 0..T {
                    lanes.store(block_sums[t], &mut sums[first + t]);
                }
            });
        }
        for (row, sums) in sums[..num_rows].iter().enumerate() {
            self.product.target.write(lanes, first_row + row, panel, lanes.load(sums));
        }
    }
}

impl<F: QuantFormat> Kernel for QuantProduct<'_, F> {
    #[inline(always)]
    fn run<L: Lanes>(mut self, lanes: L) {
        let num_rows = self.product.target.rows().len();
        let panels = self.product.panels.chunks_exact(self.product.panel_bytes);
        for (panel, bytes) in panels.enumerate() {
            if num_rows <= BLOCK_ROWS {
                row_blocks!(num_rows, |first, T| self.block::<L, T>(lanes, bytes, panel, first));
            } else {
                for first_row in (0..num_rows).step_by(TILE_ROWS) {
                    self.tile(lanes, bytes, panel, first_row);
                }
            }
        }
    }
}
