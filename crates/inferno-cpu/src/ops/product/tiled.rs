//! Products of many rows with quantized weights.
//!
//! A chunk of a panel, 256 columns, is unpacked once for up to [`TILE_ROWS`] rows, whose sums wait in
//! memory meanwhile. Unpacked, all formats look alike. Then each block of 16 rows is multiplied: in
//! registers, some rows at a time, or by the matrix unit, whose integer sums are stored first and
//! scaled afterwards.
//!
//! With the matrix unit, a product of 32 columns takes 20 cycles of a Sapphire Rapids core where all
//! stands in the first-level cache, and 30 to 36 where activations come from the second; its scaling
//! takes 25. So weights must stay in the first-level cache: of 256 columns they do beside what passes
//! through, of 1024 they do not (a tenth slower). And nothing may be asked for in bursts: the lines of
//! weights that follow, and of the output, are spread over blocks and chunks. Both bursts
//! together took an eighth of the time. Pages of 4 KiB for activations and outputs cost some percent.
//!
//! (Tried without gain, with the matrix unit: 2 or 4 panels that share their activations; asking for
//! the next block's activations while the last products are scaled; 256 or 512 rows together; 16 or 32
//! products at a time; leaving formats with a scale for each 16 columns to AVX-512; scaling one block
//! while the unit multiplies the next, as `isa/amx.rs` says why.
//!
//! Tried with gain, and not taken: one sum for 256 columns. Weights of up to 6 bits become 16-bit integers,
//! code times factor less offset, of one unit for 256 columns, and activations have one scale for as
//! many. The unit multiplies high and low bytes, vectors codes and then each group's sum by its factor.
//! Prompts were read 1.2 times (Q4_0) to 1.4 times (Q4_K_M) as fast, AVX-512 gained a fifth, decoding lost
//! nothing. But with activations of 8 bits a scale for 256 columns is too coarse where some channels stand
//! out: perplexity of Ember with F16 weights rises by 0.02% with a scale for each 32 columns, by 0.05% for
//! 64, 0.14% for 128, 0.21% for 256; with 9 bits and 256 columns by 0.05%. The bound is 0.1%. A scale
//! for 64 gains nothing over 32. What helps: the columns dealt out to 16 lanes, a scale that follows the
//! second-largest lane, and what is beyond 8 bits kept apart in parts of 8 bits, 1.3 of them in 256 columns.
//! Sums stay exact, and perplexity rises by 0.02%. But multiplying those parts by vectors takes back most of
//! the gain with Q4_0, some with Q4_K_M; they might be one more tile, of the columns that a block's rows
//! set aside. With integers for vectors too, AVX-512 took a third longer, AVX-VNNI two thirds.
//!
//! With AVX-512: 16 rows beside each other, whose sums stay in memory. 8 rows make chains that wait
//! for one another, 4 cycles of work for a latency of 5, and in C with intrinsics 16 rows take a fifth
//! less time. Here the compiler puts one row's products after the other's where it writes the loop out,
//! a fifth slower; with the loop kept, 3% were gained.)

use std::marker::PhantomData;
use std::ops::Range;

use super::Product;
use super::quantized::{Group, add_group, groups};
use crate::isa::{Kernel, Level};
use crate::lanes::{GroupBytes, LANES, Lanes, TileSums, TileUnit, VECTOR_BYTES};
use crate::ops::activations::{ActivationGroup, BLOCK_ROWS};
use crate::pack::codes::{CHUNK_GROUPS, Codes, GROUP_COLS, GROUP_VECTORS};
use crate::pack::{QuantFormat, chunk_bytes, padded_scale_bytes};

/// Blocks whose sums are kept.
const TILE_BLOCKS: usize = 8;

/// Rows that share one unpacking of a chunk.
const TILE_ROWS: usize = TILE_BLOCKS * BLOCK_ROWS;

/// Results of the matrix unit that are stored before they are scaled: those of a chunk.
const MAX_TILES: usize = 2 * CHUNK_GROUPS;

/// How far ahead of their use packed weights are asked for: some chunks.
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
    codes: ChunkCodes,
    scales: ChunkScales,
    dots: [TileSums; MAX_TILES],
    sums: [BlockSums; TILE_BLOCKS],
}

impl Scratch {
    const ZERO: Self = Self {
        codes: [[[0; VECTOR_BYTES]; GROUP_VECTORS]; CHUNK_GROUPS],
        scales: [GroupScales::ZERO; CHUNK_GROUPS],
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

/// The part of `count` that falls to steps `first..last` of `steps`.
#[inline(always)]
fn share(count: usize, first: usize, last: usize, steps: usize) -> Range<usize> {
    count * first / steps..count * last / steps
}

/// A chunk that was unpacked.
struct Chunk<'a> {
    packed: &'a [u8],
    codes: &'a [GroupBytes],
    scales: &'a ChunkScales,
}

impl Chunk<'_> {
    /// The lines of the chunk [`PREFETCH_BYTES`] behind this one that one of `num_blocks` blocks asks
    /// for, so that reads are spread evenly.
    #[inline(always)]
    fn lines_ahead(&self, block: usize, num_blocks: usize) -> Range<usize> {
        share(self.packed.len() / VECTOR_BYTES, block, block + 1, num_blocks)
    }

    /// Asks for lines of the chunk behind.
    #[inline(always)]
    fn prefetch<L: Lanes>(&self, lanes: L, lines: Range<usize>) {
        for line in lines {
            lanes.prefetch_far(self.packed, PREFETCH_BYTES + line * VECTOR_BYTES);
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
            let num_blocks = num_rows.div_ceil(BLOCK_ROWS);
            let sums = &mut sums[..num_blocks];
            for (panel, bytes) in panels.clone().enumerate() {
                sums.fill([[0.0; LANES]; BLOCK_ROWS]);
                let chunks = bytes.chunks(self.unpacking.chunk_bytes);
                for (first_group, packed) in (0..num_groups).step_by(CHUNK_GROUPS).zip(chunks) {
                    let groups = first_group..num_groups.min(first_group + CHUNK_GROUPS);
                    let unpack = self.unpacking.unpack;
                    let signed = tiles.is_some();
                    let codes = unpack(self.level, packed, groups.len(), signed, codes, scales);
                    let chunk = Chunk { packed, codes, scales };
                    for (block, sums) in sums.iter_mut().enumerate() {
                        let first = block * BLOCK_ROWS;
                        for row in share(BLOCK_ROWS, groups.start, groups.end, num_groups) {
                            // What few rows write is near anyhow.
                            if num_blocks > 1 && first + row < num_rows {
                                self.product.target.prefetch(lanes, first_row + first + row, panel);
                            }
                        }
                        let inputs: &[ActivationGroup<BLOCK_ROWS>] =
                            activations.block(first_row + first);
                        let inputs = &inputs[groups.clone()];
                        let ahead = chunk.lines_ahead(block, num_blocks);
                        match &tiles {
                            Some(tiles) => {
                                Self::add_tiles(lanes, tiles, &chunk, ahead, inputs, dots, sums);
                            }
                            None => {
                                chunk.prefetch(lanes, ahead);
                                self.add_rows(lanes, &chunk, inputs, num_rows - first, sums);
                            }
                        }
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

    /// Adds a chunk's share to the sums of a block's first `num_rows` rows, some at a time.
    #[inline(always)]
    fn add_rows<L: Lanes>(
        &self,
        lanes: L,
        chunk: &Chunk<'_>,
        inputs: &[ActivationGroup<BLOCK_ROWS>],
        num_rows: usize,
        sums: &mut BlockSums,
    ) {
        let zero = if L::U7_IS_FASTER { self.unpacking.zero } else { None };
        let mut first = 0;
        while first < num_rows.min(BLOCK_ROWS) {
            if let Some(zero) = zero {
                Self::add_some_rows::<L, true, 4>(lanes, chunk, zero, inputs, first, sums);
                first += 4;
            } else if L::REGISTERS >= 32 && num_rows - first > 4 {
                Self::add_some_rows::<L, false, 8>(lanes, chunk, 0, inputs, first, sums);
                first += 8;
            } else {
                Self::add_some_rows::<L, false, 4>(lanes, chunk, 0, inputs, first, sums);
                first += 4;
            }
        }
    }

    /// Adds a chunk's share to the sums of `T` rows of a block, from row `first` on.
    #[inline(always)]
    fn add_some_rows<L: Lanes, const U7: bool, const T: usize>(
        lanes: L,
        chunk: &Chunk<'_>,
        zero: i32,
        inputs: &[ActivationGroup<BLOCK_ROWS>],
        first: usize,
        sums: &mut BlockSums,
    ) {
        let sums: &mut [_; T] = sums[first..].first_chunk_mut().expect("T divides a block");
        let mut rows = [lanes.splat(0.0); T];
        for (row, sums) in rows.iter_mut().zip(&*sums) {
            *row = lanes.load(sums);
        }
        for ((codes, scales), input) in chunk.codes.iter().zip(chunk.scales).zip(inputs) {
            let group = Unpacked::<HALVES, MINS, U7> { codes, scales, zero };
            rows = add_group(lanes, &group, input, first, rows);
        }
        for (row, sums) in rows.into_iter().zip(sums) {
            lanes.store(row, sums);
        }
    }

    /// Adds a chunk's share to the sums of a block, by the matrix unit, and asks for the lines `ahead`.
    #[inline(always)]
    fn add_tiles<L: Lanes>(
        lanes: L,
        tiles: &L::Tiles,
        chunk: &Chunk<'_>,
        ahead: Range<usize>,
        inputs: &[ActivationGroup<BLOCK_ROWS>],
        dots: &mut [TileSums; MAX_TILES],
        sums: &mut BlockSums,
    ) {
        let quants = |group: usize| &inputs[group].quants;
        let lines_a_tile = ahead.len().div_ceil(Self::NUM_HALVES * chunk.codes.len());
        let prefetch = |number: usize| {
            let first = ahead.start + number * lines_a_tile;
            chunk.prefetch(lanes, first..ahead.end.min(first + lines_a_tile));
        };
        if HALVES {
            tiles.multiply::<2>(quants, chunk.codes, dots, prefetch);
        } else {
            tiles.multiply::<1>(quants, chunk.codes, dots, prefetch);
        }
        let mut rows = [lanes.splat(0.0); BLOCK_ROWS];
        for (row, sums) in rows.iter_mut().zip(&*sums) {
            *row = lanes.load(sums);
        }
        let dots = dots.chunks_exact(Self::NUM_HALVES);
        for (input, (scales, dots)) in inputs.iter().zip(chunk.scales.iter().zip(dots)) {
            rows = Self::add_dots(lanes, dots, scales, input, rows);
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
