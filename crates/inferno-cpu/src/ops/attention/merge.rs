//! Partial results of a row for some spans, and how they are merged.
//!
//! A partial result is the maximum of the scores, the sum of their exponentials, and the values mixed with these, padded
//! to whole vectors.

use super::inputs::PANEL;
use crate::lanes::{Kernel, LANES, Lanes};

/// Offsets of the maximum, the sum and the mixed values in a partial result. A sum of zero means that the row saw no
/// position.
pub(super) const MAX: usize = 0;
pub(super) const SUM: usize = 1;
pub(super) const MIXED: usize = LANES;

/// Floats of one row's partial result.
pub(super) fn partial_len(value_dim: usize) -> usize {
    MIXED + value_dim.next_multiple_of(PANEL)
}

/// Adds one span's partial results to those of the spans before it.
pub(super) struct MergePartials<'a> {
    pub(super) state: &'a mut [f32],
    pub(super) partial: &'a [f32],
    /// Floats of one row's partial result.
    pub(super) row_len: usize,
}

impl Kernel for MergePartials<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let rows = self.state.chunks_exact_mut(self.row_len);
        for (state, partial) in rows.zip(self.partial.chunks_exact(self.row_len)) {
            if partial[SUM] == 0.0 {
                continue;
            }
            if state[SUM] == 0.0 {
                state.copy_from_slice(partial);
                continue;
            }
            let max = if state[MAX] > partial[MAX] { state[MAX] } else { partial[MAX] };
            let old = lanes.exp(lanes.splat(state[MAX] - max));
            let new = lanes.exp(lanes.splat(partial[MAX] - max));
            state[MAX] = max;
            let (old_scale, new_scale) = (lanes.max_lane(old), lanes.max_lane(new));
            state[SUM] = state[SUM].mul_add(old_scale, partial[SUM] * new_scale);
            let mixed = state[MIXED..].chunks_exact_mut(LANES);
            for (state, partial) in mixed.zip(partial[MIXED..].chunks_exact(LANES)) {
                let new = lanes.mul(lanes.load_part(partial), new);
                let sum = lanes.fma(lanes.load_part(state), old, new);
                lanes.store_part(sum, state);
            }
        }
    }
}

/// Multiplies the mixed values of a row by the inverse of the sum of exponentials.
pub(super) struct NormalizeRow<'a> {
    pub(super) state: &'a [f32],
    pub(super) out: &'a mut [f32],
}

impl Kernel for NormalizeRow<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let scale = lanes.splat(1.0 / self.state[SUM]);
        for (out, mixed) in self.out.chunks_mut(LANES).zip(self.state[MIXED..].chunks(LANES)) {
            lanes.store_part(lanes.mul(lanes.load_part(mixed), scale), out);
        }
    }
}

/// Adds the exponentials of sinks, which have no values, to finished results.
pub(super) struct MergeSinks<'a> {
    pub(super) state: &'a mut [f32],
    /// The scores of the sinks: rows `i`, `i + n`, ... have sink `i` of `n`.
    pub(super) sinks: &'a [f32],
    /// Floats of one row's result.
    pub(super) row_len: usize,
}

impl Kernel for MergeSinks<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let sinks = self.sinks.iter().cycle();
        for (state, &sink) in self.state.chunks_exact_mut(self.row_len).zip(sinks) {
            let max = if state[MAX] > sink { state[MAX] } else { sink };
            let scale = lanes.exp(lanes.splat(state[MAX] - max));
            let sink = lanes.max_lane(lanes.exp(lanes.splat(sink - max)));
            state[MAX] = max;
            state[SUM] = state[SUM].mul_add(lanes.max_lane(scale), sink);
            for mixed in state[MIXED..].chunks_exact_mut(LANES) {
                lanes.store_part(lanes.mul(lanes.load_part(mixed), scale), mixed);
            }
        }
    }
}
