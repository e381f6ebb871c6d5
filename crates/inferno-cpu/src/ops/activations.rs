//! Activations as the products read them: 8-bit integers with a scale per 32 or per 256 columns, or as
//! they are.
//!
//! Rows lie in blocks, and a block holds its groups of columns one after the other, each with all
//! rows of the block side by side. So whatever a product takes next stands at a fixed distance from
//! what it took last: it is one broadcast from memory, and 16 rows of quantized columns are the
//! first operand of a matrix unit. Up to [`MAX_NARROW`] rows make one block, as wide as the next
//! power of two; more make blocks of [`BLOCK_ROWS`]. What stands in rows that are missing is
//! computed with and not stored.

use bytemuck::{Pod, Zeroable};

use crate::backend::CpuBackend;
use crate::lanes::{LANES, Lanes, VECTOR_BYTES};
use crate::memory::{LARGE_PAGE_BYTES, LINE_BYTES, Lines};
use crate::ops::input::InputRows;
use crate::ops::linear::Rows;
use crate::pack::codes::{CHUNK_COLS, CHUNK_GROUPS, GROUP_COLS};

/// Bytes of activations that panels have in common before the next rows' turn, where these are more than some
/// blocks: they stay in the second-level cache.
pub(crate) const TILE_BYTES: usize = 1 << 20;

/// Rows of a block where there are many.
pub(crate) const BLOCK_ROWS: usize = 16;

/// The most rows that make a single block of their own width.
pub(crate) const MAX_NARROW: usize = 8;

/// A cache line.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
pub(crate) struct Line([u8; LINE_BYTES]);

/// 32 columns of the `W` rows of a block.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct ActivationGroup<const W: usize> {
    /// The integers, which are not below -127.
    pub(crate) quants: [[i8; GROUP_COLS]; W],
    /// What each integer is multiplied by.
    pub(crate) scales: [f32; W],
    /// -128 times the sum of the integers.
    pub(crate) starts: [i32; W],
    spare: [[f32; W]; 6],
}

// SAFETY: plain numbers, for which zeros are values.
unsafe impl<const W: usize> Zeroable for ActivationGroup<W> {}
// SAFETY: plain numbers laid out as in C: 32 W bytes, then eight arrays of 4 W bytes, together
// whole lines, so that there is no padding, between or behind.
unsafe impl<const W: usize> Pod for ActivationGroup<W> {}

/// What `T` rows of a block have from row `first` on: a number of rows that the compiler knows.
#[inline(always)]
pub(crate) fn rows_from<X, const T: usize>(rows: &[X], first: usize) -> &[X; T] {
    rows[first..].first_chunk().expect("as many rows")
}

/// Columns `4 v..4 v + 4` of a row.
#[inline(always)]
pub(crate) fn four(row: &[i8], v: usize) -> [i8; 4] {
    *row[4 * v..].first_chunk().expect("four columns")
}

/// Two sums of integers, for products with two 16-bit numbers of a weight.
pub(crate) type SumPair = [i16; 2];

/// 256 columns of the `W` rows of a block.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct ActivationRun<const W: usize> {
    /// The integers, which are not below -127, 64 columns after the other. (So lines that the matrix
    /// unit takes together are neighbours; with 256 columns of a row after the other it took a tenth
    /// longer.)
    pub(crate) tiles: [[[i8; TILE_COLS]; W]; CHUNK_COLS / TILE_COLS],
    /// What each integer is multiplied by.
    pub(crate) scales: [f32; W],
    /// How many parts of each row are beyond the integers' range.
    num_overflows: [u8; W],
    /// For the matrix unit: how many of them, the first ones, are in `gathered`, which is one more tile, and
    /// the fours of columns that it is made of.
    num_gathered: [u8; W],
    gathered_fours: [u8; W],
    spare: [u8; W],
    gathered: [[i8; TILE_COLS]; W],
    /// The negated sums of the halves of each group.
    half_sums: [[SumPair; CHUNK_GROUPS]; W],
    /// The negated sums of each two groups.
    group_sums: [[SumPair; CHUNK_GROUPS / 2]; W],
    /// The parts, and the fours of columns that they belong to.
    overflows: [[[i8; 4]; MAX_OVERFLOWS]; W],
    overflow_fours: [[u8; MAX_OVERFLOWS]; W],
    more_spare: [[u8; 32]; W],
}

/// The most parts that a row of a run has beyond the range of its integers.
pub(crate) const MAX_OVERFLOWS: usize = 8;

/// Columns that the matrix unit takes together.
pub(crate) const TILE_COLS: usize = VECTOR_BYTES;

/// Stands where no more fours of columns are gathered.
const NO_FOUR: u8 = u8::MAX;

/// Lines of one row of a run.
pub(crate) const RUN_LINES: usize = size_of::<ActivationRun<1>>() / LINE_BYTES;

// SAFETY: plain numbers, for which zeros are values.
unsafe impl<const W: usize> Zeroable for ActivationRun<W> {}
// SAFETY: plain numbers laid out as in C: 256 W bytes, 4 W, four times W, 64 W, 32 W, 16 W, 32 W, 8 W and
// 32 W, together whole lines. What has more than a byte comes after multiples of 4 bytes, so that there is
// no padding, between or behind.
unsafe impl<const W: usize> Pod for ActivationRun<W> {}

impl<const W: usize> ActivationRun<W> {
    /// The integers of `T` rows from row `first` on, in a tile that holds a group, and where the group
    /// begins in it.
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

    /// The negated sums of the integers in each half of a group, or in each group, two by two.
    #[inline(always)]
    pub(crate) fn sums(&self, row: usize, halves: bool) -> &[SumPair] {
        if halves { &self.half_sums[row] } else { &self.group_sums[row] }
    }

    /// What a row's integers lack: for each group and four columns of it, what is to be added to them.
    #[inline(always)]
    pub(crate) fn overflows(&self, row: usize) -> impl Iterator<Item = (usize, usize, [i8; 4])> {
        let fours = self.overflow_fours[row].iter().zip(&self.overflows[row]);
        fours.take(usize::from(self.num_overflows[row])).map(|(&four, &quants)| {
            let fours_a_group = GROUP_COLS / 4;
            (usize::from(four) / fours_a_group, usize::from(four) % fours_a_group, quants)
        })
    }

    /// Says that a row's integers lack nothing.
    #[inline(always)]
    pub(crate) fn clear_overflows(&mut self, row: usize) {
        self.num_overflows[row] = 0;
    }

    /// Adds `rest`, which is not zero, to what a row lacks in a column.
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

    /// What rows lack as one more tile, with the numbers of the fours of columns that it is made of; none
    /// where no row lacks anything.
    #[inline(always)]
    pub(crate) fn gathered(&self) -> Option<(&[[i8; TILE_COLS]; W], impl Iterator<Item = usize>)> {
        let fours = self.gathered_fours.iter().take_while(|&&four| four != NO_FOUR);
        let fours = fours.map(|&four| usize::from(four));
        (self.gathered_fours[0] != NO_FOUR).then_some((&self.gathered, fours))
    }

    /// Whether rows lack more than the tile holds.
    #[inline(always)]
    pub(crate) fn lacks_more(&self) -> bool {
        self.num_gathered != self.num_overflows
    }

    /// Those parts of a row that are not in the tile.
    #[inline(always)]
    pub(crate) fn not_gathered(&self, row: usize) -> impl Iterator<Item = (usize, usize, [i8; 4])> {
        self.overflows(row).skip(usize::from(self.num_gathered[row]))
    }

    /// Makes a tile of what rows lack. Most set aside the same columns.
    #[inline(always)]
    pub(crate) fn gather_overflows(&mut self) {
        self.gathered_fours = [NO_FOUR; W];
        self.num_gathered = [0; W];
        if self.num_overflows == [0; W] {
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

    /// Fills in what follows from the integers of a row, for vectors.
    #[inline(always)]
    pub(crate) fn complete<L: Lanes>(&mut self, lanes: L, row: usize) {
        let half_sums = &mut self.half_sums[row];
        for (tile, sums) in self.tiles.iter().zip(half_sums.chunks_exact_mut(2)) {
            // The sums of each four columns, as products with ones.
            let operand = lanes.operand_i8(lanes.load_bytes(bytemuck::cast_ref(&tile[row])));
            let mut fours = [0; LANES];
            let start = lanes.dot_i8_start(-128 * 4);
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
    }
}

/// Columns of a group of activations that are not quantized.
pub(crate) const FLOAT_GROUP_COLS: usize = LINE_BYTES / size_of::<f32>();

/// 16 columns of the `W` rows of a block, column by column.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct FloatGroup<const W: usize> {
    pub(crate) columns: [[f32; W]; FLOAT_GROUP_COLS],
}

// SAFETY: plain numbers, for which zeros are values.
unsafe impl<const W: usize> Zeroable for FloatGroup<W> {}
// SAFETY: an array of plain numbers of 64 W bytes: whole lines, so that there is no padding.
unsafe impl<const W: usize> Pod for FloatGroup<W> {}

/// Rows that the blocks of `rows` rows have room for.
fn padded_rows(rows: usize) -> usize {
    match rows {
        0 => 0,
        1..=MAX_NARROW => rows.next_power_of_two(),
        _ => rows.next_multiple_of(BLOCK_ROWS),
    }
}

/// The rows of one product.
#[derive(Clone, Copy)]
pub(crate) struct Activations<'a> {
    lines: &'a [Line],
    row_lines: usize,
}

impl<'a> Activations<'a> {
    /// Bytes of a row.
    pub(crate) fn row_bytes(self) -> usize {
        self.row_lines * LINE_BYTES
    }

    /// Those of the rows from `first` on, which begins a block and leaves another one whole at least.
    pub(crate) fn skip_rows(self, first: usize) -> Self {
        debug_assert!(first % BLOCK_ROWS == 0, "a block begins here");
        Self { lines: &self.lines[first * self.row_lines..], row_lines: self.row_lines }
    }

    /// The groups of the block of `width` rows that begins at row `first`. `G` is [`ActivationGroup`],
    /// [`ActivationRun`] or [`FloatGroup`] of this width.
    #[inline(always)]
    pub(crate) fn block<G: Pod>(self, first: usize, width: usize) -> &'a [G] {
        bytemuck::cast_slice(&self.lines[first * self.row_lines..][..width * self.row_lines])
    }
}

/// The input of a product: the rows of each expert, in the order in which it computes them. The
/// memory is kept for the next product.
#[derive(Debug, Default)]
pub(crate) struct ActivationRows {
    lines: Option<Lines>,
    /// Where each expert's rows begin in `lines`, and where the last one's end.
    starts: Vec<usize>,
    row_lines: usize,
}

/// Some rows that make a block.
#[derive(Clone, Copy)]
pub(crate) struct Block<'a> {
    pub(crate) rows: &'a [&'a [f32]],
    /// The rows that the block has room for.
    pub(crate) width: usize,
}

impl ActivationRows {
    /// Makes room for rows of so many lines and calls `fill` for each block of `x`, in parallel.
    pub(crate) fn fill(
        &mut self,
        backend: &CpuBackend,
        rows: Rows<'_>,
        x: InputRows<'_>,
        row_lines: usize,
        fill: impl Fn(Block<'_>, &mut [Line]) + Sync,
    ) {
        self.row_lines = row_lines;
        self.starts.clear();
        let mut end = 0;
        self.starts.push(end);
        for index in 0..rows.num_experts() {
            end += padded_rows(rows.expert(index).1.len()) * row_lines;
            self.starts.push(end);
        }
        if row_lines == 0 {
            return;
        }
        let lines = reserve(&mut self.lines, end);
        for index in 0..rows.num_experts() {
            let lines = &mut lines[self.starts[index]..self.starts[index + 1]];
            let rows = rows.expert(index).1;
            let width = padded_rows(rows.len()).min(BLOCK_ROWS);
            backend.pool().run_chunks(lines, BLOCK_ROWS * row_lines, |number, lines, thread| {
                let first = number * BLOCK_ROWS;
                let len = BLOCK_ROWS.min(rows.len() - first);
                let index = |place| rows.input(first + place);
                x.with_block(backend.level(), thread, len, index, |rows| {
                    fill(Block { rows, width }, lines);
                });
            });
        }
    }

    /// The rows of one of the experts, by its number among those that were given; none before
    /// [`fill`](Self::fill).
    pub(crate) fn of(&self, index: usize) -> Activations<'_> {
        let range = self.starts.get(index..index + 2).unwrap_or(&[0, 0]);
        let lines = self.lines.as_ref().map_or(&[][..], Lines::get);
        Activations { lines: &lines[range[0]..range[1]], row_lines: self.row_lines }
    }
}

/// Room for `count` lines, in large pages: a product of many rows goes through all of them for each
/// panel.
///
/// **Panics** when there is no memory.
fn reserve(lines: &mut Option<Lines>, count: usize) -> &mut [Line] {
    let bytes = count * LINE_BYTES;
    if lines.as_ref().is_none_or(|lines| lines.get::<u8>().len() < bytes) {
        *lines = None;
        let whole = bytes.next_multiple_of(LARGE_PAGE_BYTES);
        *lines = Some(Lines::zeroed(whole, "a product's input").expect("memory for the input"));
    }
    lines.as_mut().map_or(&mut [][..], Lines::get_mut)
}

/// Lays rows side by side as they are.
pub(crate) fn interleave(
    backend: &CpuBackend,
    rows: Rows<'_>,
    x: InputRows<'_>,
    out: &mut ActivationRows,
) {
    out.fill(backend, rows, x, x.cols().div_ceil(FLOAT_GROUP_COLS), |block, lines| {
        let values: &mut [f32] = bytemuck::cast_slice_mut(lines);
        for (row, x) in block.rows.iter().enumerate() {
            for (x, column) in x.iter().zip(values.chunks_exact_mut(block.width)) {
                column[row] = *x;
            }
        }
    });
}
