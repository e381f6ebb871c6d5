//! Prefetches the next span. Its cache lines are requested a few at a time while weights are computed, which mostly uses the
//! first-level cache. (With AMX, reading the lines of a span took 16% of the time of 256 tokens after 3840 others; reading and
//! prefetching take 8%. In bursts of 32: no faster.)

use super::positions::PositionGroups;
use super::span::{padded_dim, whole_vectors};
use crate::kv_cache::Plane;
use crate::lanes::{Lanes, VECTOR_BYTES};
use crate::ops::attention::task::SpanTask;

/// The largest number of lines that are requested at once.
const MAX_BURST: usize = 8;

/// The lines of a span that are not prefetched yet.
pub(super) struct NextSpan<'a> {
    groups: PositionGroups<'a>,
    /// Lines of the keys and of the values of a group.
    key_lines: usize,
    value_lines: usize,
    /// The next line: its group, and its number within the group.
    group: usize,
    line: usize,
    /// Lines that are prefetched for each row.
    lines_per_row: usize,
}

impl<'a> NextSpan<'a> {
    /// The span after `task`, if there is one whose positions and components are whole vectors.
    pub(super) fn after(task: &SpanTask<'a>) -> Option<Self> {
        let attention = task.attention;
        let next = task.next.filter(|_| whole_vectors(attention))?;
        let groups = PositionGroups::of(next);
        let key_lines = padded_dim(attention, Plane::Keys) / 2;
        // Values in keys are lines of keys.
        let value_lines = match attention.has_values_in_keys() {
            true => 0,
            false => padded_dim(attention, Plane::Values) / 2,
        };
        let num_lines = groups.seen.len() * (key_lines + value_lines);
        let lines_per_row = num_lines.div_ceil(task.num_rows());
        let group = groups.seen.start;
        Some(Self { groups, key_lines, value_lines, group, line: 0, lines_per_row })
    }

    /// Lines to prefetch for each of `num_vectors` vectors of the weights of `num_rows` rows: all, unless there are few rows,
    /// since larger bursts stall.
    #[inline(always)]
    pub(super) fn lines_per_vector(&self, num_rows: usize, num_vectors: usize) -> usize {
        (num_rows * self.lines_per_row).div_ceil(num_vectors).min(MAX_BURST)
    }

    /// Prefetches up to `num_lines` lines.
    #[inline(always)]
    pub(super) fn prefetch<L: Lanes>(&mut self, lanes: L, num_lines: usize) {
        for _ in 0..num_lines {
            if self.group >= self.groups.seen.end {
                return;
            }
            let (keys, values) = (&self.groups.keys[self.group], &self.groups.values[self.group]);
            if self.line == 0 {
                lanes.prefetch_far(keys.scales, 0);
                lanes.prefetch_far(values.scales, 0);
            }
            if self.line < self.key_lines {
                lanes.prefetch_far(keys.bytes, self.line * keys.stride);
            } else {
                lanes.prefetch_far(values.bytes, (self.line - self.key_lines) * VECTOR_BYTES);
            }
            self.line += 1;
            if self.line == self.key_lines + self.value_lines {
                (self.group, self.line) = (self.group + 1, 0);
            }
        }
    }
}
