//! Products of many rows with quantized weights.
//!
//! A span of a panel, 1024 columns, is unpacked once for up to [`TILE_ROWS`] rows, whose sums wait
//! in memory meanwhile. Unpacked, all formats look alike. Then each block of 16 rows is multiplied:
//! in registers, some rows at a time, or by the matrix unit, whose integer sums are stored first and
//! scaled afterwards.
//!
//! (Tried: spans of 256 columns. With the matrix unit, storing the sums between them costs a fifth.
//! Asking for the next block's activations while the last products are scaled changes nothing; nor do
//! 8 products of tiles at a time instead of 16, two panels that share their activations, or groups of
//! activations that are a cache line longer, so that they start in different sets of the cache.
//!
//! What is left to find: alone, a product of tiles of 32 columns takes 25 to 27 cycles of a Sapphire
//! Rapids core and its scaling 26; here the two take 60 to 70, with all operands in the first-level
//! cache as well. Loads that wait for stores to the same place in another page are suspected.)

use std::marker::PhantomData;

use super::Product;
use super::quantized::{Group, add_group, groups};
use crate::isa::{Kernel, Level};
use crate::lanes::{GroupBytes, LANES, Lanes, TileSums, TileUnit, VECTOR_BYTES};
use crate::ops::activations::{ActivationGroup, BLOCK_ROWS};
use crate::pack::codes::{CHUNK_GROUPS, Codes, GROUP_COLS, GROUP_VECTORS};
use crate::pack::{QuantFormat, chunk_bytes, padded_scale_bytes};

/// Chunks that are unpacked together.
const SPAN_CHUNKS: usize = 4;

/// Groups of a whole span.
const SPAN_GROUPS: usize = SPAN_CHUNKS * CHUNK_GROUPS;

/// Blocks whose sums are kept.
const TILE_BLOCKS: usize = 16;

/// Rows that share one unpacking of a span.
const TILE_ROWS: usize = TILE_BLOCKS * BLOCK_ROWS;

/// Results of the matrix unit that are stored before they are scaled. Scaling had better not overlap
/// with it: while the unit works, floating-point instructions of 512 bits have one port of two.
const MAX_TILES: usize = 2 * CHUNK_GROUPS;

/// How far ahead of their use packed weights are asked for: about a span.
const PREFETCH_BYTES: usize = 16 * 1024;

/// The sums of one block with one panel, row by row.
type BlockSums = [[f32; LANES]; BLOCK_ROWS];

/// The unpacked codes of a chunk.
type ChunkCodes = [GroupBytes; CHUNK_GROUPS];

/// The unpacked scales of a chunk.
type ChunkScales = [GroupScales; CHUNK_GROUPS];

/// The scales and minimums of a group, for all of it or for each half.
#[derive(Clone, Copy)]
struct GroupScales {
    scales: [[f32; LANES]; 2],
    mins: [[f32; LANES]; 2],
}

impl GroupScales {
    const ZERO: Self = Self { scales: [[0.0; LANES]; 2], mins: [[0.0; LANES]; 2] };
}

/// What a product keeps from one step to the next, in whole cache lines.
#[repr(align(64))]
struct Scratch {
    codes: [ChunkCodes; SPAN_CHUNKS],
    scales: [ChunkScales; SPAN_CHUNKS],
    dots: [TileSums; MAX_TILES],
    sums: [BlockSums; TILE_BLOCKS],
}

impl Scratch {
    const ZERO: Self = Self {
        codes: [[[[0; VECTOR_BYTES]; GROUP_VECTORS]; CHUNK_GROUPS]; SPAN_CHUNKS],
        scales: [[GroupScales::ZERO; CHUNK_GROUPS]; SPAN_CHUNKS],
        dots: [[[0; LANES]; BLOCK_ROWS]; MAX_TILES],
        sums: [[[0.0; LANES]; BLOCK_ROWS]; TILE_BLOCKS],
    };
}

/// What the product must know of a format.
struct Unpacking {
    chunk_bytes: usize,
    /// The code that stands for zero, where codes run from 0 up and below 128.
    zero: Option<i32>,
    unpack: Unpacker,
}

/// Unpacks a chunk of so many groups: its scales, and its codes to signed bytes or else to what dot
/// products take. The result is where the codes are, which may be in the chunk itself.
type Unpacker = for<'a> fn(
    level: Level,
    chunk: &'a [u8],
    num_groups: usize,
    signed: bool,
    codes: &'a mut ChunkCodes,
    scales: &mut ChunkScales,
) -> &'a [GroupBytes];

/// Multiplies by weights of format `F`.
pub(super) fn run<F: QuantFormat>(level: Level, product: Product<'_>) {
    let unpacking = Unpacking {
        chunk_bytes: chunk_bytes::<F>(CHUNK_GROUPS),
        zero: F::Codes::ZERO,
        unpack: |level, chunk, num_groups, signed, codes, scales| {
            let format = PhantomData::<F>;
            let stored = &chunk[padded_scale_bytes::<F>(num_groups)..];
            let stored = F::Codes::signed_bytes(&stored[..num_groups * F::Codes::BYTES]);
            if let Some(stored) = stored.filter(|_| signed) {
                level.run(Unpack { chunk, num_groups, signed, codes: None, scales, format });
                return stored;
            }
            let to_fill = Some(&mut *codes);
            level.run(Unpack { chunk, num_groups, signed, codes: to_fill, scales, format });
            &codes[..num_groups]
        },
    };
    // Four kinds of kernels serve all formats.
    match (F::SCALE_COLS < GROUP_COLS, F::MINS) {
        (false, false) => level.run(Tiled::<false, false> { level, product, unpacking }),
        (false, true) => level.run(Tiled::<false, true> { level, product, unpacking }),
        (true, false) => level.run(Tiled::<true, false> { level, product, unpacking }),
        (true, true) => level.run(Tiled::<true, true> { level, product, unpacking }),
    }
}

/// Unpacks a chunk of format `F`.
struct Unpack<'a, F> {
    chunk: &'a [u8],
    num_groups: usize,
    signed: bool,
    codes: Option<&'a mut ChunkCodes>,
    scales: &'a mut ChunkScales,
    format: PhantomData<F>,
}

impl<F: QuantFormat> Kernel for Unpack<'_, F> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let (_, packed) = groups::<F>(self.chunk, self.num_groups);
        for (group, out) in packed.zip(self.scales) {
            for half in 0..GROUP_COLS / F::SCALE_COLS {
                lanes.store(group.scale(lanes, half), &mut out.scales[half]);
                if F::MINS {
                    lanes.store(group.min(lanes, half), &mut out.mins[half]);
                }
            }
        }
        let (Some(codes), signed) = (self.codes, self.signed) else { return };
        let keep = L::U7_IS_FASTER && F::Codes::ZERO.is_some();
        let (_, packed) = groups::<F>(self.chunk, self.num_groups);
        for (group, out) in packed.zip(codes) {
            for (v, out) in out.iter_mut().enumerate() {
                let mut codes = F::Codes::vector(lanes, group.codes, v);
                if signed || !keep {
                    if let Some(zero @ 1..) = F::Codes::ZERO {
                        codes = lanes.sub_bytes(codes, zero as i8);
                    }
                    if !signed {
                        codes = lanes.operand_i8(codes);
                    }
                }
                lanes.store_bytes(codes, out);
            }
        }
    }
}

/// A group that was unpacked.
struct Unpacked<'a, const HALVES: bool, const MINS: bool, const U7: bool> {
    codes: &'a GroupBytes,
    scales: &'a GroupScales,
    zero: i32,
}

impl<L: Lanes, const HALVES: bool, const MINS: bool, const U7: bool> Group<L>
    for Unpacked<'_, HALVES, MINS, U7>
{
    const HALVES: bool = HALVES;
    const MINS: bool = MINS;
    const U7: bool = U7;

    #[inline(always)]
    fn zero(&self) -> i32 {
        self.zero
    }

    #[inline(always)]
    fn codes(&self, lanes: L, v: usize) -> L::Bytes {
        lanes.load_bytes(&self.codes[v])
    }

    #[inline(always)]
    fn scale(&self, lanes: L, half: usize) -> L::F32 {
        lanes.load(&self.scales.scales[half])
    }

    #[inline(always)]
    fn min(&self, lanes: L, half: usize) -> L::F32 {
        lanes.load(&self.scales.mins[half])
    }
}

/// A product with weights whose groups have a scale for each half or not, and minimums or not.
struct Tiled<'a, const HALVES: bool, const MINS: bool> {
    level: Level,
    product: Product<'a>,
    unpacking: Unpacking,
}

/// A span that was unpacked.
struct Span<'a> {
    packed: &'a [u8],
    /// Whether what follows in memory has not been asked for: the first block does, so that weights
    /// come in while it computes.
    ask: bool,
    chunk_bytes: usize,
    /// The codes of each chunk; none in chunks that are not there.
    codes: [&'a [GroupBytes]; SPAN_CHUNKS],
    scales: &'a [ChunkScales; SPAN_CHUNKS],
}

impl Span<'_> {
    /// Asks for what stands [`PREFETCH_BYTES`] behind `count` chunks from `first` on, if no block
    /// did before.
    #[inline(always)]
    fn prefetch<L: Lanes>(&self, lanes: L, first: usize, count: usize) {
        if self.ask {
            let bytes = first * self.chunk_bytes..(first + count) * self.chunk_bytes;
            for at in bytes.step_by(VECTOR_BYTES) {
                lanes.prefetch(self.packed, at + PREFETCH_BYTES);
            }
        }
    }
}

impl<const HALVES: bool, const MINS: bool> Kernel for Tiled<'_, HALVES, MINS> {
    #[inline(always)]
    fn run<L: Lanes>(mut self, lanes: L) {
        let activations = self.product.inputs;
        let all_rows = self.product.target.rows().len();
        let num_groups = self.product.cols.div_ceil(GROUP_COLS);
        let panels = self.product.panels.chunks_exact(self.product.panel_bytes);
        let tiles = lanes.tiles(GROUP_COLS / Self::NUM_HALVES);
        let mut scratch = Scratch::ZERO;
        let Scratch { codes, scales, dots, sums } = &mut scratch;
        for first_row in (0..all_rows).step_by(TILE_ROWS) {
            let num_rows = TILE_ROWS.min(all_rows - first_row);
            let sums = &mut sums[..num_rows.div_ceil(BLOCK_ROWS)];
            for (panel, bytes) in panels.clone().enumerate() {
                sums.fill([[0.0; LANES]; BLOCK_ROWS]);
                let spans = bytes.chunks(self.unpacking.chunk_bytes * SPAN_CHUNKS);
                for (first_group, bytes) in (0..num_groups).step_by(SPAN_GROUPS).zip(spans) {
                    let groups = first_group..num_groups.min(first_group + SPAN_GROUPS);
                    let signed = tiles.is_some();
                    let mut span = self.unpack(bytes, groups.len(), signed, codes, scales);
                    for (block, sums) in sums.iter_mut().enumerate() {
                        let first = block * BLOCK_ROWS;
                        if groups.end == num_groups {
                            for row in first..num_rows.min(first + BLOCK_ROWS) {
                                self.product.target.prefetch(lanes, first_row + row, panel);
                            }
                        }
                        let inputs: &[ActivationGroup<BLOCK_ROWS>] =
                            activations.block(first_row + first);
                        let inputs = &inputs[groups.clone()];
                        match &tiles {
                            Some(tiles) => {
                                Self::add_tiles(lanes, tiles, &span, inputs, dots, sums);
                            }
                            None => self.add_rows(lanes, &span, inputs, num_rows - first, sums),
                        }
                        span.ask = false;
                    }
                }
                for (row, sums) in sums.as_flattened()[..num_rows].iter().enumerate() {
                    self.product.target.write(lanes, first_row + row, panel, lanes.load(sums));
                }
            }
        }
    }
}

impl<const HALVES: bool, const MINS: bool> Tiled<'_, HALVES, MINS> {
    /// Parts of a group that have a scale of their own.
    const NUM_HALVES: usize = if HALVES { 2 } else { 1 };

    /// Unpacks a span of so many groups.
    #[inline(always)]
    fn unpack<'a>(
        &self,
        span: &'a [u8],
        num_groups: usize,
        signed: bool,
        codes: &'a mut [ChunkCodes; SPAN_CHUNKS],
        scales: &'a mut [ChunkScales; SPAN_CHUNKS],
    ) -> Span<'a> {
        let Unpacking { chunk_bytes, unpack, .. } = self.unpacking;
        let mut stored: [&[GroupBytes]; SPAN_CHUNKS] = [&[]; SPAN_CHUNKS];
        let memory = codes.iter_mut().zip(&mut *scales);
        let chunks = (0..num_groups).step_by(CHUNK_GROUPS).zip(span.chunks(chunk_bytes));
        for (((first, chunk), stored), (codes, scales)) in chunks.zip(&mut stored).zip(memory) {
            let num_groups = CHUNK_GROUPS.min(num_groups - first);
            *stored = unpack(self.level, chunk, num_groups, signed, codes, scales);
        }
        Span { packed: span, ask: true, chunk_bytes, codes: stored, scales }
    }

    /// Adds a span's share to the sums of a block's first `num_rows` rows, some at a time.
    #[inline(always)]
    fn add_rows<L: Lanes>(
        &self,
        lanes: L,
        span: &Span<'_>,
        inputs: &[ActivationGroup<BLOCK_ROWS>],
        num_rows: usize,
        sums: &mut BlockSums,
    ) {
        let zero = if L::U7_IS_FASTER { self.unpacking.zero } else { None };
        let mut first = 0;
        while first < num_rows.min(BLOCK_ROWS) {
            if let Some(zero) = zero {
                Self::add_some_rows::<L, true, 4>(lanes, span, zero, inputs, first, sums);
                first += 4;
            } else if L::REGISTERS >= 32 && num_rows - first > 4 {
                Self::add_some_rows::<L, false, 8>(lanes, span, 0, inputs, first, sums);
                first += 8;
            } else {
                Self::add_some_rows::<L, false, 4>(lanes, span, 0, inputs, first, sums);
                first += 4;
            }
        }
    }

    /// Adds a span's share to the sums of `T` rows of a block, from row `first` on.
    #[inline(always)]
    fn add_some_rows<L: Lanes, const U7: bool, const T: usize>(
        lanes: L,
        span: &Span<'_>,
        zero: i32,
        inputs: &[ActivationGroup<BLOCK_ROWS>],
        first: usize,
        sums: &mut BlockSums,
    ) {
        let mut rows = [lanes.splat(0.0); T];
        for (row, sums) in rows.iter_mut().zip(&sums[first..]) {
            *row = lanes.load(sums);
        }
        let chunks = inputs.chunks(CHUNK_GROUPS).zip(span.codes).zip(span.scales);
        for (number, ((inputs, codes), scales)) in chunks.enumerate() {
            if first == 0 {
                span.prefetch(lanes, number, 1);
            }
            for ((codes, scales), input) in codes.iter().zip(scales).zip(inputs) {
                let group = Unpacked::<HALVES, MINS, U7> { codes, scales, zero };
                rows = add_group(lanes, &group, input, first, rows);
            }
        }
        for (row, sums) in rows.into_iter().zip(&mut sums[first..]) {
            lanes.store(row, sums);
        }
    }

    /// Adds a span's share to the sums of a block, by the matrix unit.
    #[inline(always)]
    fn add_tiles<L: Lanes>(
        lanes: L,
        tiles: &L::Tiles,
        span: &Span<'_>,
        inputs: &[ActivationGroup<BLOCK_ROWS>],
        dots: &mut [TileSums; MAX_TILES],
        sums: &mut BlockSums,
    ) {
        let chunks_at_once = MAX_TILES / (CHUNK_GROUPS * Self::NUM_HALVES);
        let mut rows = [lanes.splat(0.0); BLOCK_ROWS];
        for (row, sums) in rows.iter_mut().zip(&*sums) {
            *row = lanes.load(sums);
        }
        let codes = span.codes.chunks(chunks_at_once).zip(span.scales.chunks(chunks_at_once));
        let mut number = 0;
        for (inputs, (codes, scales)) in inputs.chunks(chunks_at_once * CHUNK_GROUPS).zip(codes) {
            let quants = inputs.iter().map(|input| &input.quants);
            tiles.multiply(quants.zip(codes.iter().copied().flatten()), dots);
            span.prefetch(lanes, number, chunks_at_once);
            number += chunks_at_once;
            let scales = scales.as_flattened().iter().zip(dots.chunks(Self::NUM_HALVES));
            for (input, (scales, dots)) in inputs.iter().zip(scales) {
                rows = Self::add_dots(lanes, dots, scales, input, rows);
            }
        }
        for (row, sums) in rows.into_iter().zip(sums) {
            lanes.store(row, sums);
        }
    }

    /// Adds a group's share, as the matrix unit left it in `dots`, to the sums of a block.
    #[inline(always)]
    fn add_dots<L: Lanes>(
        lanes: L,
        dots: &[TileSums],
        scales: &GroupScales,
        input: &ActivationGroup<BLOCK_ROWS>,
        mut rows: [L::F32; BLOCK_ROWS],
    ) -> [L::F32; BLOCK_ROWS] {
        for (half, dots) in dots.iter().enumerate() {
            let scale = lanes.load(&scales.scales[half]);
            for ((row, dots), input) in rows.iter_mut().zip(dots).zip(&input.scales) {
                let factor = lanes.mul(scale, lanes.splat(*input));
                *row = lanes.fma(lanes.to_f32(lanes.load_i32(dots)), factor, *row);
            }
            if MINS {
                let min = lanes.load(&scales.mins[half]);
                for (row, term) in rows.iter_mut().zip(&input.part(HALVES, half).min_terms) {
                    *row = lanes.fma(min, lanes.splat(*term), *row);
                }
            }
        }
        rows
    }
}
