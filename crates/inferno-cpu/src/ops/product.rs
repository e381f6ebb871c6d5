//! Products of activations with packed weights.
//!
//! **Order of the sums.** For floating-point weights, output `(t, n)` starts from zero and takes
//! `w[n][k] * x[t][k]` by fused multiply-add, k rising. For quantized weights it starts from zero
//! and takes, for each group of columns that share a scale, k rising: the exact integer sum of the
//! products, converted, times `scale_w * scale_x` (rounded once), by fused multiply-add; then,
//! where the format has minimums, `min_w * -(scale_x * sum_x)` by fused multiply-add, with `sum_x`
//! the exact sum of the group's quantized activations. Then the bias is added, and the result to
//! what the output held.
//!
//! Four rows of activations are computed beside each other in registers. With few rows the weights
//! are unpacked on their way in; with many, 256 columns of a panel are unpacked once for 64 rows.

use std::marker::PhantomData;

use crate::disjoint::Disjoint;
use crate::isa::Kernel;
use crate::lanes::{LANES, Lanes, VECTOR_BYTES};
use crate::ops::quantize::{ActivationBlock, GroupHalf};
use crate::pack::codes::{CHUNK_GROUPS, Codes, GROUP_COLS, GROUP_VECTORS};
use crate::pack::{FloatFormat, QuantFormat, chunk_bytes, padded_scale_bytes};

/// Rows of activations computed at once.
pub(crate) const BLOCK_ROWS: usize = 4;

/// How far ahead of their use packed weights are asked for. (Tried: nothing, 1024, 2048. Without it
/// some formats get a third of the memory's rate, whose scales and codes the processor takes for
/// two streams.)
const PREFETCH_BYTES: usize = 4096;

/// Rows that share one unpacking of a chunk.
const TILE_ROWS: usize = 64;

/// One task of a product: some panels of one expert, all of the expert's rows.
pub(crate) struct Product<'a> {
    /// The panels.
    pub(crate) panels: &'a [u8],
    /// Bytes of each.
    pub(crate) panel_bytes: usize,
    /// Columns of the weight.
    pub(crate) cols: usize,
    /// Output columns that the panels stand for.
    pub(crate) out_cols: std::ops::Range<usize>,
    /// Which rows.
    pub(crate) rows: RowMap<'a>,
    /// Their activations, row by row, where the weights are floating-point.
    pub(crate) x: &'a [f32],
    /// Their activations, where the weights are quantized.
    pub(crate) quantized: &'a [ActivationBlock],
    /// Where the results go.
    pub(crate) out: &'a Disjoint<'a, f32>,
    /// Values in a row of `out`.
    pub(crate) out_stride: usize,
    /// What happens to what is there.
    pub(crate) epilogue: Epilogue<'a>,
}

/// The rows of a product: which row of the input belongs to which row of the output.
#[derive(Clone, Copy)]
pub(crate) enum RowMap<'a> {
    /// Rows `0..n` of both.
    Same(usize),
    /// Output rows `slots[..]`, each from input row `slot / divisor`.
    Slots {
        /// Distinct rows of the output.
        slots: &'a [u32],
        /// Output rows that share an input row.
        divisor: usize,
    },
}

impl RowMap<'_> {
    fn len(self) -> usize {
        match self {
            Self::Same(len) => len,
            Self::Slots { slots, .. } => slots.len(),
        }
    }

    fn output(self, index: usize) -> usize {
        match self {
            Self::Same(_) => index,
            Self::Slots { slots, .. } => slots[index] as usize,
        }
    }

    fn input(self, index: usize) -> usize {
        match self {
            Self::Same(_) => index,
            Self::Slots { slots, divisor } => slots[index] as usize / divisor,
        }
    }
}

/// How a product's sums reach the output.
#[derive(Clone, Copy)]
pub(crate) struct Epilogue<'a> {
    /// What is added to every row, a number a column.
    pub(crate) bias: Option<&'a [f32]>,
    /// Whether the result is added to what the output held.
    pub(crate) accumulate: bool,
}

impl Product<'_> {
    /// Writes 16 sums of one row: those of panel `panel` of this task.
    #[inline(always)]
    fn write<L: Lanes>(&self, lanes: L, row: usize, panel: usize, sums: L::F32) {
        let first = self.out_cols.start + panel * LANES;
        let last = self.out_cols.end.min(first + LANES);
        let at = self.rows.output(row) * self.out_stride;
        // SAFETY: tasks of one product differ in the panels, and thereby in the columns, or in the
        // expert, and thereby in the rows, which `RowMap` keeps distinct; this part is dropped
        // before the next is asked for.
        let out = unsafe { self.out.part(at + first..at + last) };
        let mut sums = sums;
        if let Some(bias) = self.epilogue.bias {
            sums = lanes.add(sums, lanes.load_part(&bias[first..last]));
        }
        if self.epilogue.accumulate {
            sums = lanes.add(lanes.load_part(out), sums);
        }
        lanes.store_part(sums, out);
    }
}

/// Calls `$body` for all rows from 0 to `$rows`, `$T` at a time from row `$first` on.
macro_rules! row_blocks {
    ($rows:expr, |$first:ident, $T:ident| $body:expr) => {{
        let rows = $rows;
        let mut $first = 0;
        while rows - $first >= BLOCK_ROWS {
            const $T: usize = BLOCK_ROWS;
            $body;
            $first += BLOCK_ROWS;
        }
        match rows - $first {
            3 => {
                const $T: usize = 3;
                $body;
            }
            2 => {
                const $T: usize = 2;
                $body;
            }
            1 => {
                const $T: usize = 1;
                $body;
            }
            _ => {}
        }
    }};
}
pub(crate) use row_blocks;

/// A product with floating-point weights.
pub(crate) struct FloatProduct<'a, F> {
    product: Product<'a>,
    format: PhantomData<F>,
}

impl<'a, F: FloatFormat> FloatProduct<'a, F> {
    pub(crate) fn new(product: Product<'a>) -> Self {
        Self {
            product,
            format: PhantomData,
        }
    }

    #[inline(always)]
    fn block<L: Lanes, const T: usize>(&self, lanes: L, bytes: &[u8], panel: usize, first: usize) {
        let Product { cols, rows, x, .. } = self.product;
        let mut inputs = [&[][..]; T];
        for (t, input) in inputs.iter_mut().enumerate() {
            *input = &x[rows.input(first + t) * cols..][..cols];
        }
        let mut sums = [lanes.splat(0.0); T];
        for (k, column) in bytes.chunks_exact(LANES * F::BYTES).take(cols).enumerate() {
            let weights = F::load(lanes, column);
            for t in 0..T {
                sums[t] = lanes.fma(weights, lanes.splat(inputs[t][k]), sums[t]);
            }
        }
        for (t, sums) in sums.into_iter().enumerate() {
            self.product.write(lanes, first + t, panel, sums);
        }
    }
}

impl<F: FloatFormat> Kernel for FloatProduct<'_, F> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let panels = self.product.panels.chunks_exact(self.product.panel_bytes);
        for (panel, bytes) in panels.enumerate() {
            row_blocks!(self.product.rows.len(), |first, T| {
                self.block::<L, T>(lanes, bytes, panel, first)
            });
        }
    }
}

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
        codes.map(move |(group, codes)| Packed {
            codes,
            scales,
            group,
            format: PhantomData,
        })
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
        Self {
            product,
            format: PhantomData,
        }
    }

    /// The quantized activations of `T` rows from `first` on.
    #[inline(always)]
    fn inputs<const T: usize>(&self, first: usize) -> [&'a [ActivationBlock]; T] {
        let groups = self.product.cols.div_ceil(GROUP_COLS);
        let mut inputs = [&[][..]; T];
        for (t, input) in inputs.iter_mut().enumerate() {
            let row = self.product.rows.input(first + t);
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
            let part = if num_halves == 1 {
                GroupHalf::Both
            } else {
                GroupHalf::One(half)
            };
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
        (0..groups)
            .step_by(CHUNK_GROUPS)
            .zip(chunks)
            .map(move |(first, bytes)| {
                let groups = CHUNK_GROUPS.min(groups - first);
                let (scales, codes) = bytes.split_at(padded_scale_bytes::<F>(groups));
                (
                    first,
                    Chunk {
                        scales,
                        codes,
                        format: PhantomData,
                    },
                )
            })
    }

    /// `T` rows, unpacking on the way.
    #[inline(always)]
    fn block<L: Lanes, const T: usize>(
        &self,
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
            self.product.write(lanes, first + t, panel, sums);
        }
    }

    /// Up to [`TILE_ROWS`] rows from `first_row` on, unpacking a chunk at a time.
    #[inline(always)]
    fn tile<L: Lanes>(&self, lanes: L, bytes: &'a [u8], panel: usize, first_row: usize) {
        let num_rows = TILE_ROWS.min(self.product.rows.len() - first_row);
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
            self.product
                .write(lanes, first_row + row, panel, lanes.load(sums));
        }
    }
}

impl<F: QuantFormat> Kernel for QuantProduct<'_, F> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let num_rows = self.product.rows.len();
        let panels = self.product.panels.chunks_exact(self.product.panel_bytes);
        for (panel, bytes) in panels.enumerate() {
            if num_rows <= BLOCK_ROWS {
                row_blocks!(num_rows, |first, T| self
                    .block::<L, T>(lanes, bytes, panel, first));
            } else {
                for first_row in (0..num_rows).step_by(TILE_ROWS) {
                    self.tile(lanes, bytes, panel, first_row);
                }
            }
        }
    }
}
