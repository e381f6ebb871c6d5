//! Attention over a cache of 16-bit integers.
//!
//! **Order of the sums.** The sums are exact. Queries are converted to integers like the rows of the cache
//! (`ops/int16.rs`). The low 8 bits of each sum of integer products are dropped, and the rest is rounded to `f32`. A
//! score is that times the query's scale, the factor on scores and 256, then times the key's scale. Exponentials are as
//! in `softmax.rs`; each is multiplied by the scale of its value and becomes a *weight*. The weights of a span are
//! converted to integers like a row, and the mixed values are multiplied by their scale times 256.
//!
//! A product of 16-bit integers is computed as two products with the halves of one factor (`x = 256 high + low`, both
//! signed bytes), so that sums of 512 products fit in 32 bits; rows of more components have smaller integers
//! ([`largest_i16`](inferno_backend::largest_i16)). A matrix unit computes four products of bytes.
//!
//! Rows are computed in blocks of 32, from scores to mixed values, so that intermediate results stay in the caches; keys
//! and values of the span are read into panels once for all rows.
//!
//! **Speed** relative to `f32` over a cache of F16, with two threads (`cargo bench -p inferno-cpu --bench kernels --
//! attention`): 512 tokens after 3584 others took 0.50 of the time with AMX, and take a fifth less since. Without a matrix
//! unit, two products of 16 bits cost as much as one of `f32` at best: 0.98 with AVX-512, 0.85 with AVX-VNNI, and 1.3 with
//! AVX2, where a product and its sum are two instructions. One token for each of 16 sequences of 136 takes 0.9 with AMX
//! and AVX-512, and half with AVX-VNNI and AVX2, since nothing is converted. Values in keys, of 16 query heads, take two
//! thirds of the time of separate values with AMX and nine tenths with AVX-512 (one token of 2048, keys of 576 components).
//!
//! **Costs** with AMX: about 41% of the time is spent in the unit's instructions, 30% in exponentials and weights, 11%
//! in combining sums, 8% in reading panels and prefetching the next ones, 4% in merging spans (256 tokens after 3840
//! others).
//!
//! **Tried.** One function for rows that read in place and for others: the sums of mixing no longer stayed in registers,
//! and it took three times as long with AVX-512. Blocks of 16 rows: no faster. Adding mixed values to those of the spans
//! before, instead of merging them afterwards: 3% slower. Two sets of sums in the unit, each stored while the other is
//! computed: 5% slower. Closures with `lanes` as an argument: they are not compiled for the instruction set, and take twice
//! as long. Blocks of 64 rows, prefetching the next tiles while sums are combined, and computing the exponentials of one
//! block while the unit mixes the values of the one before: no faster. Leaving out products of low halves: a fifth faster
//! with AMX, but if one component of a head is a hundred times the others, these consist of low halves only. Converting
//! weights by the largest scale of the visible values, in one pass instead of two: 2 to 4% faster, but if a token that
//! many rows attend to has small values, as first tokens do, the weights of the others keep only 8 bits.

mod matrix_unit;
mod next_span;
mod positions;
mod read;
mod span;
mod vectors;
mod weights;

use inferno_backend::{LARGEST_I16, MAX_I16_ROW_LEN, QkvLayout};

use super::task::SpanTask;
use crate::isa::Level;
use crate::kv_cache::Plane;
use crate::lanes::{Kernel, LANES, Lanes};
use crate::ops::int16::quantize_row;
use crate::scratch::CacheLine;
use matrix_unit::ResultBuffers;
use next_span::NextSpan;
use positions::PositionGroups;
use span::{BLOCK_ROWS, Int16Span, ReadPath, SpanMemory, padded_dim, split, whole_vectors};

/// Cache lines of scratch memory that a task of `num_rows` rows needs.
pub(super) fn num_lines(layout: &QkvLayout, num_rows: usize) -> usize {
    SpanMemory::num_lines(layout, num_rows)
}

/// Converts the queries of a unit to integers.
pub(super) fn prepare(task: &SpanTask<'_>, level: Level, memory: &mut [CacheLine]) {
    let path = ReadPath::of(task, level);
    level.run(QuantizeQueries { task, path, memory: SpanMemory::new(task, memory) });
}

/// Computes the partial result of every row.
pub(super) fn run(
    task: &SpanTask<'_>,
    level: Level,
    memory: &mut [CacheLine],
    partial: &mut [f32],
) {
    let (path, memory) = (ReadPath::of(task, level), SpanMemory::new(task, memory));
    match path {
        ReadPath::InPlace => level.run(Int16Span::<true>::new(task, path, memory, partial)),
        _ => level.run(Int16Span::<false>::new(task, path, memory, partial)),
    }
}

/// Rows between a query that is prefetched and the one that is converted.
const QUERIES_AHEAD: usize = 4;

/// Converts queries to integers.
struct QuantizeQueries<'a> {
    task: &'a SpanTask<'a>,
    path: ReadPath,
    memory: SpanMemory<'a>,
}

impl Kernel for QuantizeQueries<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let Self { task, path, memory } = self;
        let dim = padded_dim(task.attention, Plane::Keys);
        let mut integers = [0; MAX_I16_ROW_LEN];
        let num_rows = task.attention.num_rows(task.unit);
        for row in 0..num_rows {
            // Tokens are too far apart for the hardware prefetcher.
            if row + QUERIES_AHEAD < num_rows {
                let ahead = task.attention.query(task.unit, task.kv_head, row + QUERIES_AHEAD);
                for line in ahead.chunks(LANES) {
                    lanes.prefetch(bytemuck::cast_slice(line), 0);
                }
            }
            let query = task.attention.query(task.unit, task.kv_head, row);
            let scale = quantize_row(lanes, query, LARGEST_I16, &mut integers[..query.len()]);
            memory.factors[row] = scale * task.attention.params.scale * 256.0;
            split(path, memory.queries, dim, row, &integers[..dim]);
        }
    }
}

impl<const IN_PLACE: bool> Kernel for Int16Span<'_, IN_PLACE> {
    #[inline(always)]
    fn run<L: Lanes>(mut self, lanes: L) {
        let num_rows = self.task.attention.num_rows(self.task.unit);
        if whole_vectors(self.task.attention) {
            self.groups = PositionGroups::of(self.task);
        }
        let seen = self.seen_by(0..num_rows);
        if IN_PLACE {
            self.groups.look_ahead(self.task);
            self.groups.prefetch_scales(lanes);
        } else {
            self.read(lanes);
        }
        let unit = if self.path == ReadPath::Tiles { lanes.matrix_unit() } else { None };
        let mut buffers = ResultBuffers::new();
        // Reads in place prefetch lines themselves.
        let mut next = if IN_PLACE { None } else { NextSpan::after(self.task) };
        for first in (0..num_rows).step_by(BLOCK_ROWS) {
            let rows = first..num_rows.min(first + BLOCK_ROWS);
            match &unit {
                Some(unit) => self.score_tiles(lanes, unit, &mut buffers, rows.clone()),
                None => self.score_pairs(lanes, rows.clone()),
            }
            if IN_PLACE {
                self.read_scales(lanes, Plane::Values, self.groups.seen.clone());
            }
            if first == 0 {
                let scales = &self.memory.value_scales[seen.clone()];
                self.poisoned = scales.iter().any(|scale| scale.is_nan());
            }
            let scales = self.weigh(lanes, rows.clone(), &mut next);
            match &unit {
                Some(unit) => self.mix_tiles(lanes, unit, &mut buffers, rows, &scales),
                None => self.mix_pairs(lanes, rows, &scales),
            }
        }
    }
}
