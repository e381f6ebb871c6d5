//! Activations in the layouts that products read: 8-bit integers with a scale per 256 columns, floating point, or pairs of
//! bfloat16 numbers.
//!
//! Rows are stored in blocks. A block holds its groups of columns one after the other, each with all rows of the
//! block side by side. So products read activations at fixed strides: four columns are one broadcast from memory,
//! and 16 rows of quantized columns are the first operand of a matrix unit. Up to [`MAX_NARROW`] rows make one block,
//! as wide as the next power of two; more rows make blocks of [`BLOCK_ROWS`]. Missing rows have unspecified contents;
//! their results are computed but not stored.

// Implements `Pod`.
#![allow(unsafe_code)]

use bytemuck::{Pod, Zeroable};

use crate::lanes::{LANES, Lanes, VECTOR_BYTES};
use crate::memory::LINE_BYTES;
use crate::pack::codes::{CHUNK_COLS, CHUNK_GROUPS, GROUP_COLS};
use crate::scratch::CacheLine;

/// Bytes of activations that all panels are multiplied by before the next rows, unless these are only some blocks. Products
/// read about two thirds of them, which stay in a second-level cache of 1 MiB. (256 rows of 3072 columns take 8% less time in
/// one pass than in passes of 192 and 64 rows, on a Xeon with AMX and 2 MiB.)
pub(crate) const TILE_BYTES: usize = 3 * 512 * 1024;

/// Rows of a block, if there are more than [`MAX_NARROW`].
pub(crate) const BLOCK_ROWS: usize = 16;

/// The largest number of rows that make a single block of their own width.
pub(crate) const MAX_NARROW: usize = 8;

/// Rows that each block of `num_rows` rows has room for.
pub(crate) fn block_width(num_rows: usize) -> usize {
    if num_rows <= MAX_NARROW { num_rows.next_power_of_two() } else { BLOCK_ROWS }
}

/// The entries of `T` rows of a block, from row `first` on, as an array whose length the compiler knows.
#[inline(always)]
pub(crate) fn rows_from<X, const T: usize>(rows: &[X], first: usize) -> &[X; T] {
    rows[first..].first_chunk().expect("as many rows")
}

/// Columns `4 v..4 v + 4` of a row.
#[inline(always)]
pub(crate) fn four(row: &[i8], v: usize) -> [i8; 4] {
    *row[4 * v..].first_chunk().expect("four columns")
}

/// Two sums of integers, to be multiplied by two 16-bit numbers of a weight.
pub(crate) type SumPair = [i16; 2];

/// 256 columns of the `W` rows of a block.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct ActivationRun<const W: usize> {
    /// The integers, -127 or more, 64 columns at a time, so that cache lines that the matrix unit reads
    /// together are adjacent. (With all 256 columns of a row together, products took a tenth longer.)
    pub(crate) tiles: [[[i8; TILE_COLS]; W]; CHUNK_COLS / TILE_COLS],
    /// The scale of each row.
    pub(crate) scales: [f32; W],
    /// The number of overflows of each row: parts of activations beyond the range of the integers.
    num_overflows: [u8; W],
    /// For the matrix unit: the number of overflows, the first ones, that are in the tile `gathered`, and the
    /// groups of four columns that the tile consists of.
    num_gathered: [u8; W],
    gathered_fours: [u8; W],
    spare: [u8; W],
    gathered: [[i8; TILE_COLS]; W],
    /// The negated sums of the halves of each group.
    half_sums: [[SumPair; CHUNK_GROUPS]; W],
    /// The negated sums of each group, in pairs.
    group_sums: [[SumPair; CHUNK_GROUPS / 2]; W],
    /// The overflows, and the groups of four columns that they belong to.
    overflows: [[[i8; 4]; MAX_OVERFLOWS]; W],
    overflow_fours: [[u8; MAX_OVERFLOWS]; W],
    /// Where sums of products of each group begin, if weights are signed bytes that
    /// [`BYTE_OFFSET`](crate::lanes::DotLanes::BYTE_OFFSET) was added to.
    pub(crate) starts: [[i32; W]; CHUNK_GROUPS],
}

/// The largest number of overflows of a row of a run.
pub(crate) const MAX_OVERFLOWS: usize = 8;

/// Columns of a tile of the matrix unit.
pub(crate) const TILE_COLS: usize = VECTOR_BYTES;

/// Marks the end of the groups of four columns that are gathered.
const NO_FOUR: u8 = u8::MAX;

/// Cache lines of one row of a run.
pub(crate) const RUN_LINES: usize = size_of::<ActivationRun<1>>() / LINE_BYTES;

// SAFETY: the fields are plain numbers, for which zeros are valid.
unsafe impl<const W: usize> Zeroable for ActivationRun<W> {}
// SAFETY: the fields are plain numbers, in C layout: 256 W bytes, 4 W, four times W, 64 W, 32 W, 16 W, 32 W, 8 W and
// 32 W, together whole cache lines. Fields of more than a byte follow multiples of 4 bytes, so that there is no
// padding.
unsafe impl<const W: usize> Pod for ActivationRun<W> {}

impl<const W: usize> ActivationRun<W> {
    /// The integers of `T` rows from row `first` on, in the tile that contains a group, and the first column of
    /// the group in the tile.
    #[inline(always)]
    pub(crate) fn rows<const T: usize>(
        &self,
        first: usize,
        group: usize,
    ) -> (&[[i8; TILE_COLS]; T], usize) {
        const GROUPS: usize = TILE_COLS / GROUP_COLS;
        let rows = rows_from(&self.tiles[group / GROUPS], first);
        (rows, group % GROUPS * GROUP_COLS)
    }

    /// The negated sums of the integers in each half of a group, or in each group, in pairs.
    #[inline(always)]
    pub(crate) fn sums(&self, row: usize, halves: bool) -> &[SumPair] {
        if halves { &self.half_sums[row] } else { &self.group_sums[row] }
    }

    /// The overflows of a row: the group, the index of the four columns in it, and what is to be added to them.
    #[inline(always)]
    pub(crate) fn overflows(&self, row: usize) -> impl Iterator<Item = (usize, usize, [i8; 4])> {
        let fours = self.overflow_fours[row].iter().zip(&self.overflows[row]);
        fours.take(usize::from(self.num_overflows[row])).map(|(&four, &quants)| {
            let fours_a_group = GROUP_COLS / 4;
            (usize::from(four) / fours_a_group, usize::from(four) % fours_a_group, quants)
        })
    }

    /// Removes the overflows of a row.
    #[inline(always)]
    pub(crate) fn clear_overflows(&mut self, row: usize) {
        self.num_overflows[row] = 0;
    }

    /// Whether some rows have overflows.
    #[inline(always)]
    pub(crate) fn has_overflows(&self) -> bool {
        self.num_overflows != [0; W]
    }

    /// Adds `rest` to the overflows of a row in a column.
    #[inline(always)]
    pub(crate) fn add_overflow(&mut self, row: usize, column: usize, mut rest: i32) {
        while rest != 0 {
            let part = rest.clamp(-127, 127);
            let number = usize::from(self.num_overflows[row]);
            let mut quants = [0; 4];
            quants[column % 4] = part as i8;
            self.overflows[row][number] = quants;
            self.overflow_fours[row][number] = (column / 4) as u8;
            self.num_overflows[row] += 1;
            rest -= part;
        }
    }

    /// The overflows as one more tile, with the groups of four columns that it consists of; `None` if there are
    /// none.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))] // Only a matrix unit reads them.
    #[inline(always)]
    pub(crate) fn gathered(&self) -> Option<(&[[i8; TILE_COLS]; W], impl Iterator<Item = usize>)> {
        let fours = self.gathered_fours.iter().take_while(|&&four| four != NO_FOUR);
        let fours = fours.map(|&four| usize::from(four));
        (self.gathered_fours[0] != NO_FOUR).then_some((&self.gathered, fours))
    }

    /// Whether some overflows are not in the tile.
    #[inline(always)]
    pub(crate) fn has_more_overflows(&self) -> bool {
        self.num_gathered != self.num_overflows
    }

    /// The overflows of a row that are not in the tile.
    #[inline(always)]
    pub(crate) fn not_gathered(&self, row: usize) -> impl Iterator<Item = (usize, usize, [i8; 4])> {
        self.overflows(row).skip(usize::from(self.num_gathered[row]))
    }

    /// Gathers overflows in a tile. Most rows have them in the same columns.
    #[inline(always)]
    pub(crate) fn gather_overflows(&mut self) {
        self.gathered_fours = [NO_FOUR; W];
        self.num_gathered = [0; W];
        if !self.has_overflows() {
            return;
        }
        self.gathered = [[0; TILE_COLS]; W];
        for row in 0..W {
            for number in 0..usize::from(self.num_overflows[row]) {
                let (four, quants) =
                    (self.overflow_fours[row][number], self.overflows[row][number]);
                let mut places =
                    self.gathered[row].chunks_exact_mut(4).zip(&mut self.gathered_fours);
                let place = places.find(|(place, taken)| {
                    let free =
                        || place.iter().zip(quants).all(|(&taken, quant)| taken == 0 || quant == 0);
                    **taken == NO_FOUR || **taken == four && free()
                });
                let Some((place, taken)) = place else { break };
                *taken = four;
                for (place, quant) in place.iter_mut().zip(quants) {
                    *place += quant;
                }
                self.num_gathered[row] += 1;
            }
        }
    }

    /// Computes the sums of a row, which products by vectors need.
    #[inline(always)]
    pub(crate) fn complete<L: Lanes>(&mut self, lanes: L, row: usize) {
        let half_sums = &mut self.half_sums[row];
        for (tile, sums) in self.tiles.iter().zip(half_sums.chunks_exact_mut(2)) {
            // The sums of each four columns, as products with ones.
            let operand = lanes.operand_i8(lanes.load_bytes(bytemuck::cast_ref(&tile[row])));
            let mut fours = [0; LANES];
            let start = lanes.splat_i32(-L::BYTE_OFFSET * 4);
            lanes.store_i32(lanes.dot_i8(start, operand, [1; 4]), &mut fours);
            for (sum, fours) in sums.as_flattened_mut().iter_mut().zip(fours.chunks_exact(4)) {
                *sum = -fours.iter().sum::<i32>() as i16;
            }
        }
        for number in 0..usize::from(self.num_overflows[row]) {
            let half = usize::from(self.overflow_fours[row][number]) / (GROUP_COLS / 8);
            let sum: i16 = self.overflows[row][number].iter().map(|&quant| i16::from(quant)).sum();
            half_sums[half / 2][half % 2] -= sum;
        }
        let groups = half_sums.map(|[first, last]| first + last);
        for (sums, pair) in self.group_sums[row].iter_mut().zip(groups.chunks_exact(2)) {
            *sums = [pair[0], pair[1]];
        }
        for (starts, sum) in self.starts.iter_mut().zip(groups) {
            starts[row] = L::BYTE_OFFSET * i32::from(sum);
        }
    }
}

/// Columns of a group of floating-point activations.
pub(crate) const FLOAT_GROUP_COLS: usize = LINE_BYTES / size_of::<f32>();

/// 16 columns of the `W` rows of a block, column by column.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct FloatGroup<const W: usize> {
    pub(crate) columns: [[f32; W]; FLOAT_GROUP_COLS],
}

// SAFETY: the fields are plain numbers, for which zeros are valid.
unsafe impl<const W: usize> Zeroable for FloatGroup<W> {}
// SAFETY: an array of plain numbers with 64 W bytes, which are whole cache lines, so that there is no padding.
unsafe impl<const W: usize> Pod for FloatGroup<W> {}

/// The rows of one expert in a product.
#[derive(Clone, Copy)]
pub(crate) struct Activations<'a> {
    lines: &'a [CacheLine],
    row_lines: usize,
}

impl<'a> Activations<'a> {
    /// Rows of `row_lines` cache lines each.
    pub(crate) fn new(lines: &'a [CacheLine], row_lines: usize) -> Self {
        Self { lines, row_lines }
    }

    /// Bytes of a row.
    pub(crate) fn row_bytes(self) -> usize {
        self.row_lines * LINE_BYTES
    }

    /// The rows from `first` on, which must be the first row of a block.
    pub(crate) fn skip_rows(self, first: usize) -> Self {
        debug_assert!(first % BLOCK_ROWS == 0, "the first row of a block");
        Self { lines: &self.lines[first * self.row_lines..], row_lines: self.row_lines }
    }

    /// The groups of the block of `width` rows that begins at row `first`. `G` is [`ActivationRun`]
    /// or [`FloatGroup`] of this width, or a cache line, `2 * width` of which are a group of bfloat16 pairs
    /// ([`Bf16Pairs`](crate::ops::bf16_pairs::Bf16Pairs)).
    #[inline(always)]
    pub(crate) fn block<G: Pod>(self, first: usize, width: usize) -> &'a [G] {
        bytemuck::cast_slice(&self.lines[first * self.row_lines..][..width * self.row_lines])
    }
}
