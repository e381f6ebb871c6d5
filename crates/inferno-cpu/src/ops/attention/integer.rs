//! One span of positions for one unit of rows, on a cache of 16-bit integers.
//!
//! **Order of the sums.** There is none: they are exact. A query becomes integers as the rows of the
//! cache did (`integers.rs`). Of each sum of products of integers, the low 8 bits are dropped, and the
//! rest is rounded to `f32`. A score is that times the query's scale, the factor on scores and 256, then
//! times the key's scale. Exponentials are as in `softmax.rs`; each is multiplied by the scale of its
//! value and becomes a *weight*; those of a span become integers like a row, and what they mix is
//! multiplied by their scale times 256.
//!
//! A product of 16-bit integers is taken as two, of which one factor is half of it (`x = 256 high +
//! low`, both signed bytes): so sums of 512 fit 32 bits. A matrix unit takes four products of bytes.
//!
//! Rows are computed in blocks of 32, from scores to mixed values, so that what lies between stays near;
//! keys and values of the span are read into panels once for all rows.
//!
//! **What it brings** beside `f32` over a cache of F16, two threads (`cargo bench -p inferno-cpu --bench
//! kernels -- attention`): 512 tokens behind 3584 others take 0.50 of the time with AMX. Without a matrix
//! unit two products of 16 bits cost what one of `f32` does at best: 0.98 with AVX-512, 0.85 with
//! AVX-VNNI, and 1.3 with AVX2, where a product and its sum are two instructions. One token for each of 16
//! sequences of 136 takes 0.9 with AMX and AVX-512, half with AVX-VNNI and AVX2, since nothing is converted.
//!
//! **Where the time goes** with AMX: some 40% is in the unit's instructions, 30% in exponentials and
//! weights, 12% in joining sums, 10% in reading panels. Left to find: they take turns, and could be interleaved.
//!
//! **Tried.** One function for rows that read in place and for others: the sums of mixing no longer stayed
//! in registers, and it took three times as long with AVX-512. Blocks of 16 rows, and one maximum after
//! another instead of four side by side: the same. Closures that take `lanes`: they are not compiled for
//! the level, and half the speed is gone. Blocks of 64 rows, and asking for the next tiles while sums are
//! joined: no faster. Products of low halves left out: a fifth faster with AMX, but where one component
//! of a head is a hundred times the others, these have nothing but low halves. Weights as integers by the
//! largest scale of the values that are seen, which takes one pass instead of two: 2 to 4% faster, but
//! where a token that many attend to has small values, as first tokens do, the weights of others keep 8
//! bits.

use std::ops::Range;

use bytemuck::Pod;

use super::groups::Groups;
use super::merge::{MAX, SUM};
use super::pairs::PairRow;
use super::span::{Task, within};
use super::tile::{Line, PANEL};
use super::tiles::Buffers;
use super::{Attention, SPAN};
use crate::isa::{Kernel, Level};
use crate::kv_cache::Plane;
use crate::lanes::{EXP_LOWEST, LANES, Lanes, split_i16};
use crate::ops::integers::{Scale, round, to_integers};

/// Rows that are computed from scores to mixed values at once: two operands of a matrix unit.
pub(super) const BLOCK_ROWS: usize = 32;

/// Rows that read the cache where it lies.
const FEW_ROWS: usize = 4;

/// The widest head, which the cache's format checks.
const MOST_DIM: usize = 512;

/// How the keys and values of a span are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Where they lie.
    InPlace,
    /// From panels of pairs.
    Panels,
    /// From tiles of a matrix unit.
    Tiles,
}

impl Way {
    pub(super) fn of(task: &Task<'_>, level: Level) -> Self {
        let few = task.attention.num_rows(task.unit) <= FEW_ROWS;
        match level.has_tiles() {
            _ if few && whole_vectors(task.attention) => Self::InPlace,
            true => Self::Tiles,
            false => Self::Panels,
        }
    }
}

/// Whether positions and components are whole vectors in a block.
pub(super) fn whole_vectors(attention: &Attention<'_>) -> bool {
    let kv = &attention.cache.layout;
    kv.block_tokens % LANES == 0 && kv.head_dim % PANEL == 0
}

/// Components of a head with those that fill the last panel.
pub(super) fn padded_dim(attention: &Attention<'_>) -> usize {
    attention.layout.head_dim.next_multiple_of(PANEL)
}

/// Memory to compute in. All of it but the queries is a span's.
pub(super) struct Memory<'a> {
    /// Both halves of each row's query: high halves of all rows, then low ones.
    pub(super) queries: &'a mut [Line],
    /// What a row's scores are multiplied by.
    pub(super) factors: &'a mut [f32],
    pub(super) key_scales: &'a mut [f32],
    pub(super) value_scales: &'a mut [f32],
    pub(super) keys: &'a mut [PairRow],
    pub(super) values: &'a mut [PairRow],
    /// A block's scores, then its weights as numbers.
    pub(super) scores: &'a mut [f32],
    /// Both halves of a block's weights.
    pub(super) weights: &'a mut [Line],
    /// 16 positions as they would lie in blocks of whole vectors.
    pub(super) stage: &'a mut [Line],
}

/// Floats in which the memory's parts are counted.
struct Sizes {
    parts: [usize; 9],
}

impl Sizes {
    fn of(attention: &Attention<'_>, num_rows: usize) -> Self {
        let (rows, dim) = (num_rows.next_multiple_of(BLOCK_ROWS), padded_dim(attention));
        let block = BLOCK_ROWS * SPAN;
        let panels = SPAN * dim / 2;
        let parts = [rows * dim, rows, SPAN, SPAN, panels, panels, block, block, LANES * dim / 2];
        Self { parts }
    }
}

impl<'a> Memory<'a> {
    /// Lines that it takes for so many rows.
    pub(super) fn num_lines(attention: &Attention<'_>, num_rows: usize) -> usize {
        Sizes::of(attention, num_rows).parts.iter().sum::<usize>() / LANES
    }

    /// Parts of `lines`, which are as many as [`num_lines`](Self::num_lines) says.
    pub(super) fn new(attention: &Attention<'_>, num_rows: usize, lines: &'a mut [Line]) -> Self {
        let Sizes { parts } = Sizes::of(attention, num_rows);
        let mut rest = lines;
        let [queries, factors, key_scales, value_scales, keys, values, scores, weights, stage] =
            parts.map(|part| {
                let (part, after) = std::mem::take(&mut rest).split_at_mut(part / LANES);
                rest = after;
                part
            });
        Self {
            queries,
            factors: bytemuck::cast_slice_mut(factors),
            key_scales: bytemuck::cast_slice_mut(key_scales),
            value_scales: bytemuck::cast_slice_mut(value_scales),
            keys: bytemuck::cast_slice_mut(keys),
            values: bytemuck::cast_slice_mut(values),
            scores: bytemuck::cast_slice_mut(scores),
            weights,
            stage,
        }
    }
}

/// Writes both halves of a row of `width` integers to `lines`, high halves of all rows before the low
/// ones: as bytes for tiles, else as integers of 16 bits.
#[inline(always)]
fn split(way: Way, lines: &mut [Line], width: usize, row: usize, integers: &[i16]) {
    if way == Way::Tiles {
        let all: &mut [i8] = bytemuck::cast_slice_mut(lines);
        let (high, low) = all.split_at_mut(all.len() / 2);
        let row = row * width..(row + 1) * width;
        for ((high, low), &x) in high[row.clone()].iter_mut().zip(&mut low[row]).zip(integers) {
            [*high, *low] = split_i16(i16::from_le(x));
        }
    } else {
        let all: &mut [i16] = bytemuck::cast_slice_mut(lines);
        let (high, low) = all.split_at_mut(all.len() / 2);
        let row = row * width..(row + 1) * width;
        for ((high, low), &x) in high[row.clone()].iter_mut().zip(&mut low[row]).zip(integers) {
            [*high, *low] = split_i16(i16::from_le(x)).map(i16::from);
        }
    }
}

/// What [`split`] wrote, from row `first` on.
#[inline(always)]
pub(super) fn halves<T: Pod>(lines: &[Line], width: usize, first: usize) -> [&[T]; 2] {
    let all: &[T] = bytemuck::cast_slice(lines);
    let (high, low) = all.split_at(all.len() / 2);
    [&high[first * width..], &low[first * width..]]
}

/// Turns queries into integers.
pub(super) struct Queries<'a> {
    pub(super) task: &'a Task<'a>,
    pub(super) way: Way,
    pub(super) memory: Memory<'a>,
}

impl Kernel for Queries<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let Self { task, way, memory } = self;
        let dim = padded_dim(task.attention);
        let mut integers = [0; MOST_DIM];
        for row in 0..task.attention.num_rows(task.unit) {
            let query = task.attention.query(task.unit, task.kv_head, row);
            let scale = to_integers(lanes, query, &mut integers[..query.len()]);
            memory.factors[row] = scale * task.attention.params.scale * 256.0;
            split(way, memory.queries, dim, row, &integers[..dim]);
        }
    }
}

/// Computes the partial results of all rows of a unit for one span: of rows that read the cache where
/// it lies, or of others. Each is compiled by itself, or their sums do not all stay in registers.
pub(super) struct Span<'a, const IN_PLACE: bool> {
    pub(super) task: &'a Task<'a>,
    pub(super) way: Way,
    pub(super) memory: Memory<'a>,
    pub(super) partial: &'a mut [f32],
    /// In blocks of whole vectors, where keys and values lie.
    pub(super) groups: Groups<'a>,
    /// Whether some value is not a number.
    poisoned: bool,
}

impl<const IN_PLACE: bool> Kernel for Span<'_, IN_PLACE> {
    #[inline(always)]
    fn run<L: Lanes>(mut self, lanes: L) {
        let num_rows = self.task.attention.num_rows(self.task.unit);
        if whole_vectors(self.task.attention) {
            self.groups = Groups::of(self.task);
        }
        let seen = self.seen_by(0..num_rows);
        let groups = seen.start / LANES..seen.end.div_ceil(LANES);
        if IN_PLACE {
            self.groups.ask_for_scales(lanes, groups.clone());
        } else {
            self.read(lanes);
        }
        let unit = if self.way == Way::Tiles { lanes.tiles(PANEL) } else { None };
        let mut buffers = Buffers::new();
        for first in (0..num_rows).step_by(BLOCK_ROWS) {
            let rows = first..num_rows.min(first + BLOCK_ROWS);
            match &unit {
                Some(unit) => self.score_tiles(lanes, unit, &mut buffers, rows.clone()),
                None => self.score_pairs(lanes, rows.clone()),
            }
            if IN_PLACE {
                self.read_scales(lanes, Plane::Values, groups.clone());
            }
            if first == 0 {
                let scales = &self.memory.value_scales[seen.clone()];
                self.poisoned = scales.iter().any(|scale| scale.is_nan());
            }
            let mut scales = [0.0; BLOCK_ROWS];
            for row in rows.clone() {
                scales[row - first] = self.weigh(lanes, row, row - first);
            }
            match &unit {
                Some(unit) => self.mix_tiles(lanes, unit, &mut buffers, rows, &scales),
                None => self.mix_pairs(lanes, rows, &scales),
            }
        }
    }
}

impl<'a, const IN_PLACE: bool> Span<'a, IN_PLACE> {
    pub(super) fn new(
        task: &'a Task<'a>,
        way: Way,
        memory: Memory<'a>,
        partial: &'a mut [f32],
    ) -> Self {
        Self { task, way, memory, partial, groups: Groups::default(), poisoned: false }
    }

    /// The positions of this span that row `row` sees, counted from its start.
    #[inline(always)]
    fn seen(&self, row: usize) -> Range<usize> {
        let start = self.task.span * SPAN;
        let seen = within(self.task.visible(row), start..start + SPAN);
        seen.start - start..seen.end - start
    }

    /// Positions of this span among which are all that these rows see: later rows see later ones.
    #[inline(always)]
    pub(super) fn seen_by(&self, rows: Range<usize>) -> Range<usize> {
        self.seen(rows.start).start..self.seen(rows.end - 1).end
    }

    /// Turns scores into weights, as integers in `memory.weights`, and starts the partial result.
    /// Gives what mixed integers are multiplied by.
    #[inline(always)]
    fn weigh<L: Lanes>(&mut self, lanes: L, row: usize, place: usize) -> f32 {
        let seen = self.seen(row);
        let partial_len = self.task.attention.partial_len;
        let partial = &mut self.partial[row * partial_len..(row + 1) * partial_len];
        let mut integers = [0; SPAN];
        if seen.is_empty() {
            partial.fill(0.0);
            split(self.way, self.memory.weights, SPAN, place, &integers);
            return 0.0;
        }
        // Whole vectors of positions that are not seen would add nothing.
        let vectors = seen.start / LANES * LANES..seen.end.next_multiple_of(LANES);
        let scores = &mut self.memory.scores[place * SPAN..(place + 1) * SPAN];
        scores[vectors.start..seen.start].fill(f32::NEG_INFINITY);
        scores[seen.end..vectors.end].fill(f32::NEG_INFINITY);
        let scores: &mut [[f32; LANES]] = bytemuck::cast_slice_mut(&mut scores[vectors.clone()]);
        // Four maxima at a time, since each waits for the one before it.
        let mut maxima = [lanes.splat(f32::NEG_INFINITY); 4];
        let mut fours = scores.chunks_exact(4);
        for four in &mut fours {
            for (max, scores) in maxima.iter_mut().zip(four) {
                *max = lanes.max(lanes.load(scores), *max);
            }
        }
        for (max, scores) in maxima.iter_mut().zip(fours.remainder()) {
            *max = lanes.max(lanes.load(scores), *max);
        }
        let max = lanes.max(lanes.max(maxima[0], maxima[1]), lanes.max(maxima[2], maxima[3]));
        let max = lanes.max_lane(max);
        let (shift, zero) = (lanes.splat(max), lanes.splat(0.0));
        let (mut sum, mut largest) = (zero, zero);
        let scales = self.memory.value_scales[vectors.clone()].chunks_exact(LANES);
        for (scores, scales) in scores.iter_mut().zip(scales) {
            let x = lanes.sub(lanes.load(scores), shift);
            let exp = lanes.exp_in_range(x);
            sum = lanes.add(sum, exp);
            // What has no weight adds nothing, whatever its scale: it may not be seen.
            let weight = lanes.mul(exp, lanes.load_part(scales));
            let weight = lanes.zero_below(x, lanes.splat(EXP_LOWEST), weight);
            largest = lanes.max(weight, largest);
            lanes.store(weight, scores);
        }
        (partial[MAX], partial[SUM]) = (max, lanes.sum(sum));
        // The maximum passes NaN over.
        let lost = self.poisoned && scores.as_flattened().iter().any(|weight| weight.is_nan());
        let largest = if lost { f32::NAN } else { lanes.max_lane(largest) };
        let Scale { factor, scale } = Scale::of(largest);
        let factor = lanes.splat(factor);
        let integers_seen = integers[vectors].chunks_exact_mut(LANES);
        for (weights, integers) in scores.iter().zip(integers_seen) {
            round(lanes, lanes.mul(lanes.load(weights), factor), integers);
        }
        split(self.way, self.memory.weights, SPAN, place, &integers);
        scale * 256.0
    }
}
