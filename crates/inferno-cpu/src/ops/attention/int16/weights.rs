//! Weights of values: exponentials of scores times the scales of the values, as integers.

// Rows side by side are indexed by number; iterators over them are not always inlined.
#![allow(clippy::needless_range_loop)]

use std::ops::Range;

use inferno_backend::LARGEST_I16;

use super::next_span::NextSpan;
use super::span::{BLOCK_ROWS, Int16Span, ReadPath, split, tile_halves_mut};
use crate::lanes::{EXP_LOWEST, LANES, Lanes};
use crate::ops::attention::inputs::SPAN;
use crate::ops::attention::merge::{MAX, SUM};
use crate::ops::int16::RowScale;
use crate::ops::softmax::{add_distance_bias, cap_scores};

/// Scores of a row, in vectors.
type RowScores = [[f32; LANES]; SPAN / LANES];

/// The positions of a span that the first and the last of neighbouring rows see. Later rows see later ones, and each row sees
/// its own position.
struct SeenByRows {
    first: Range<usize>,
    last: Range<usize>,
}

impl SeenByRows {
    /// Whether each row sees some position: rows between two that do so see some, too.
    #[inline(always)]
    fn all_see_some(&self) -> bool {
        !self.first.is_empty() && !self.last.is_empty()
    }

    /// The vectors that contain all that they see.
    #[inline(always)]
    fn vectors(&self) -> Range<usize> {
        self.first.start / LANES..self.last.end.div_ceil(LANES)
    }
}

impl<const IN_PLACE: bool> Int16Span<'_, IN_PLACE> {
    /// Replaces the scores of a block of rows by weights, as integers in `memory.weights`, and initializes the partial
    /// results. Returns the scales of the mixed integers. With enough registers, four rows are computed together to overlap
    /// the latency of maxima, exponentials and scales. Meanwhile, lines of the `next` span are prefetched.
    #[inline(always)]
    pub(super) fn weigh<L: Lanes>(
        &mut self,
        lanes: L,
        rows: Range<usize>,
        next: &mut Option<NextSpan<'_>>,
    ) -> [f32; BLOCK_ROWS] {
        let mut scales = [0.0; BLOCK_ROWS];
        let mut row = rows.start;
        while row < rows.end {
            let (rest, scales) = (row..rows.end, &mut scales[row - rows.start..]);
            let place = row - rows.start;
            row += if L::REGISTERS >= 32
                && self.weigh_some::<L, 4>(lanes, &rest, place, next, scales)
            {
                4
            } else if L::REGISTERS >= 32
                && self.weigh_some::<L, 2>(lanes, &rest, place, next, scales)
            {
                2
            } else {
                if !self.weigh_some::<L, 1>(lanes, &rest, place, next, scales) {
                    self.weigh_nothing(row, place);
                }
                1
            };
        }
        scales
    }

    /// [`weigh`](Self::weigh) for the first `N` rows of `rest`, if there are as many and each sees some position.
    #[inline(always)]
    fn weigh_some<L: Lanes, const N: usize>(
        &mut self,
        lanes: L,
        rest: &Range<usize>,
        place: usize,
        next: &mut Option<NextSpan<'_>>,
        scales: &mut [f32],
    ) -> bool {
        if rest.len() < N {
            return false;
        }
        let (first, last) = (self.seen(rest.start), self.seen(rest.start + N - 1));
        let seen = SeenByRows { first, last };
        if !seen.all_see_some() {
            return false;
        }
        let weighed = self.weigh_rows::<L, N>(lanes, rest.start, place, &seen, next);
        scales[..N].copy_from_slice(&weighed);
        true
    }

    /// [`weigh`](Self::weigh) for a row that sees no position of the span.
    #[inline(always)]
    fn weigh_nothing(&mut self, row: usize, place: usize) {
        let partial_len = self.task.attention.partial_len;
        self.partial[row * partial_len..(row + 1) * partial_len].fill(0.0);
        split(self.path, self.memory.weights, SPAN, place, &[0; SPAN]);
    }

    /// [`weigh`](Self::weigh) for `N` rows from `first` on, each of which sees some position.
    #[inline(always)]
    fn weigh_rows<L: Lanes, const N: usize>(
        &mut self,
        lanes: L,
        first: usize,
        place: usize,
        seen: &SeenByRows,
        next: &mut Option<NextSpan<'_>>,
    ) -> [f32; N] {
        // Whole vectors of positions that are not seen would add zeros.
        let vectors = seen.vectors();
        let num_vectors = vectors.len();
        self.finish_scores::<L, N>(lanes, first, place, seen);
        let all: &mut [RowScores] = bytemuck::cast_slice_mut(self.memory.scores);
        let block: &mut [RowScores; N] =
            (&mut all[place..place + N]).try_into().expect("a block holds these rows");
        // Equal lengths need no checks of bounds.
        let scores = block.each_mut().map(|row| &mut row[vectors.clone()][..num_vectors]);

        let mut maxima = [lanes.splat(f32::NEG_INFINITY); N];
        for v in 0..num_vectors {
            for i in 0..N {
                maxima[i] = lanes.max(lanes.load(&scores[i][v]), maxima[i]);
            }
        }
        let mut max = [0.0; N];
        for i in 0..N {
            max[i] = lanes.max_lane(maxima[i]);
            maxima[i] = lanes.splat(max[i]);
        }
        let lines_per_vector = match next {
            Some(next) => next.lines_per_vector(N, num_vectors),
            None => 0,
        };
        let zero = lanes.splat(0.0);
        let (mut sums, mut largest) = ([zero; N], [zero; N]);
        let value_scales: &[[f32; LANES]] = bytemuck::cast_slice(self.memory.value_scales);
        let value_scales = &value_scales[vectors.clone()][..num_vectors];
        for v in 0..num_vectors {
            if let Some(next) = next {
                next.prefetch(lanes, lines_per_vector);
            }
            let value_scale = lanes.load(&value_scales[v]);
            for i in 0..N {
                let x = lanes.sub(lanes.load(&scores[i][v]), maxima[i]);
                let exp = lanes.exp_in_range(x);
                sums[i] = lanes.add(sums[i], exp);
                // Positions without weight add nothing, whatever their scale: they may not be visible.
                let weight = lanes.mul(exp, value_scale);
                let weight = lanes.zero_below(x, lanes.splat(EXP_LOWEST), weight);
                largest[i] = lanes.max(weight, largest[i]);
                lanes.store(weight, &mut scores[i][v]);
            }
        }

        let (mut scales, mut factors) = ([0.0; N], [0.0; N]);
        for i in 0..N {
            let partial = &mut self.partial[(first + i) * self.task.attention.partial_len..];
            (partial[MAX], partial[SUM]) = (max[i], lanes.sum(sums[i]));
            // The maximum ignores NaN.
            let lost =
                self.poisoned && scores[i].as_flattened().iter().any(|weight| weight.is_nan());
            let largest = if lost { f32::NAN } else { lanes.max_lane(largest[i]) };
            let RowScale { factor, scale } = RowScale::new(largest, LARGEST_I16);
            (scales[i], factors[i]) = (scale * 256.0, factor);
        }
        for i in 0..N {
            self.store_weights(lanes, place + i, &vectors, factors[i]);
        }
        scales
    }

    /// Stores the weights of a row in `vectors`, which are multiplied by `factor`, as integers.
    #[inline(always)]
    fn store_weights<L: Lanes>(
        &mut self,
        lanes: L,
        place: usize,
        vectors: &Range<usize>,
        factor: f32,
    ) {
        let factor = lanes.splat(factor);
        let scores: &mut [RowScores] = bytemuck::cast_slice_mut(self.memory.scores);
        let weights = &mut scores[place];
        if self.path != ReadPath::Tiles {
            let mut integers = [[0; LANES]; SPAN / LANES];
            let integers_seen = &mut integers[vectors.clone()];
            for (weights, integers) in weights[vectors.clone()].iter().zip(integers_seen) {
                lanes.store_i16(lanes.mul(lanes.load(weights), factor), integers);
            }
            split(self.path, self.memory.weights, SPAN, place, integers.as_flattened());
            return;
        }
        weights[..vectors.start].fill([0.0; LANES]);
        weights[vectors.end..].fill([0.0; LANES]);
        let [high, low] = tile_halves_mut(self.memory.weights, SPAN, place);
        let (high, low) = (high.chunks_exact_mut(4 * LANES), low.chunks_exact_mut(4 * LANES));
        for (four, (high, low)) in weights.chunks_exact(4).zip(high.zip(low)) {
            let (high, low) = (high.try_into(), low.try_into());
            let (high, low) = (high.expect("64 halves"), low.expect("64 halves"));
            let mut x = [factor; 4];
            for (x, weights) in x.iter_mut().zip(four) {
                *x = lanes.mul(lanes.load(weights), factor);
            }
            lanes.store_i16_halves(x, high, low);
        }
    }

    /// Applies the cap and the bias of distances to the scores of `N` rows, and makes those of positions that a row does not
    /// see infinitely low.
    #[inline(always)]
    fn finish_scores<L: Lanes, const N: usize>(
        &mut self,
        lanes: L,
        first: usize,
        place: usize,
        seen: &SeenByRows,
    ) {
        let vectors = seen.vectors();
        let all = vectors.start * LANES..vectors.end * LANES;
        let params = self.task.attention.params;
        let all_see_all = seen.last.start == all.start && seen.first.end == all.end;
        if all_see_all && params.softcap.is_none() && params.distance_bias.is_none() {
            return;
        }
        for i in 0..N {
            let own_seen = self.seen(first + i);
            let scores = &mut self.memory.scores[(place + i) * SPAN..(place + i + 1) * SPAN];
            if let Some(cap) = params.softcap {
                cap_scores(lanes, cap, &mut scores[all.clone()]);
            }
            if let Some((own, bias)) = self.task.distance_bias(first + i) {
                let first_position = self.task.span * SPAN + all.start;
                add_distance_bias(lanes, &bias, own, first_position, &mut scores[all.clone()]);
            }
            scores[all.start..own_seen.start].fill(f32::NEG_INFINITY);
            scores[own_seen.end..all.end].fill(f32::NEG_INFINITY);
        }
    }
}
