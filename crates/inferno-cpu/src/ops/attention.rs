//! Causal attention over the paged cache.
//!
//! **Order of the sums.** Positions are cut into spans of [`SPAN`], counted from position 0 whatever
//! the batch looks like. Within a span, a score takes the products of its components by fused
//! multiply-add, the component rising, and is multiplied by the scale last; exponentials are those
//! of `softmax.rs`, lane `i` holding positions `i`, `i + 16`, ... of the span; values are added by
//! fused multiply-add, the position rising. Numbers of the cache are taken as what they stand for,
//! which `f32` holds exactly. Spans are merged in rising order: with the larger of both maxima `m`,
//! each side times `exp(max - m)`; at last everything is multiplied by the inverse of the sum of exponentials.
//! Positions that a row does not see take no part. On a cache of 16-bit integers, scores and mixed
//! values come of exact sums: `integer.rs` says which.
//!
//! A *unit* is some neighbouring rows of one sequence; a task is a unit's query heads of one
//! key/value head, which read each block once. Where there are few tasks, long contexts are split
//! further by spans: so many at a time that there is work for all threads, whose results are kept
//! and then merged into those of the spans before them. It is the same computation, and its memory
//! grows with the threads, not with the context.
//!
//! **What bounds it.** One token: reads of the cache. A prompt: arithmetic. In Qwen3-0.6B, 4096 tokens
//! take 1.9 T operations here beside 3.6 T in products of bytes, 512 tokens 0.03 T beside 0.45 T. In
//! `f32`, of which a processor does an eighth to a thirtieth of what it does with bytes, a long prompt
//! falls the more behind a short one the faster the products are: 4096 tokens took 8 s for attention and
//! 4.4 s for the rest, and would take 4.9 s at the peak of `f32`. Integers of 16 bits are what a matrix
//! unit can take as well, in four products of bytes.
//!
//! **Tried.** Blocks of 64 tokens instead of 16, for longer streams: decoding at a depth of 2048 is as
//! fast. While keys are stored, asking for the lines of the next row: with 16 sequences storing takes
//! 7 microseconds a layer less, and attention, which wants the same lines, 18 more. Reading tiles into
//! panels also for the two rows of one token: at a depth of 512 an eighth slower.

mod cached;
mod groups;
mod integer;
mod merge;
mod pairs;
mod panels;
mod plan;
mod span;
mod store;
mod tile;
mod tiles;

use std::ops::Range;
use std::sync::Mutex;

use inferno_backend::{AttentionParams, Batch, QkvLayout};

use crate::backend::{CpuBackend, CpuBuffer};
use crate::disjoint::Disjoint;
use crate::kv_cache::CpuKvCache;
use crate::lanes::LANES;
use crate::memory::at_least;
use merge::{MIXED, Merge, SUM};
use plan::{Unit, plan, visible};
use span::Task;
pub(crate) use store::store_kv;
use tile::{Line, PANEL};

/// Positions whose scores are held at once.
pub(crate) const SPAN: usize = 256;

/// Tasks a thread below which contexts are split by spans.
const TASKS_A_THREAD: usize = 4;

/// Results of single spans that are kept at once, for each thread: enough that waiting for the last
/// of them costs little.
const PARTIALS_A_THREAD: usize = 16;

/// Memory that attention keeps between calls.
#[derive(Debug, Default)]
pub(crate) struct AttentionWorkspace {
    units: Vec<Unit>,
    /// What the spans of each task so far come to, where contexts are split.
    states: Vec<f32>,
    /// What single spans give.
    partials: Vec<f32>,
    /// Scores, panels, and what else a thread needs for itself.
    threads: Vec<Mutex<Vec<Line>>>,
}

/// What one call computes.
pub(crate) struct Attention<'a> {
    batch: &'a Batch,
    params: &'a AttentionParams,
    layout: &'a QkvLayout,
    qkv: &'a [f32],
    cache: &'a CpuKvCache,
    /// Query heads that share a key/value head.
    group: usize,
    /// Floats of one row's partial result.
    partial_len: usize,
}

impl Attention<'_> {
    /// Query rows of a unit: token by token, its heads together.
    fn num_rows(&self, unit: &Unit) -> usize {
        unit.rows.len() * self.group
    }

    /// Floats of the partial results of a unit's rows.
    fn state_len(&self, unit: &Unit) -> usize {
        self.num_rows(unit) * self.partial_len
    }

    /// The query of row `row` of a unit.
    #[inline(always)]
    fn query(&self, unit: &Unit, kv_head: usize, row: usize) -> &[f32] {
        let (token, head) = (unit.rows.start + row / self.group, row % self.group);
        let at =
            token * self.layout.row_len() + (kv_head * self.group + head) * self.layout.head_dim;
        &self.qkv[at..at + self.layout.head_dim]
    }

    /// The positions that row `row` of a unit sees.
    #[inline(always)]
    fn visible(&self, unit: &Unit, row: usize) -> Range<usize> {
        visible(self.batch, self.params, unit.rows.start + row / self.group)
    }
}

/// Attention of all query heads of all rows.
pub(crate) fn paged_attention(
    backend: &CpuBackend,
    batch: &Batch,
    params: &AttentionParams,
    layout: &QkvLayout,
    qkv: &CpuBuffer,
    cache: &CpuKvCache,
    out: &mut CpuBuffer,
) {
    let kv = &cache.layout;
    assert_eq!(qkv.cols(), layout.row_len(), "a row holds queries, keys and values");
    assert_eq!(
        (layout.num_kv_heads, layout.head_dim),
        (kv.num_kv_heads, kv.head_dim),
        "the cache was made for these heads"
    );
    assert!(params.layer < kv.num_layers, "layer {} of {}", params.layer, kv.num_layers);
    assert!(params.window != Some(0), "a window holds at least the row's own position");
    assert_eq!(layout.num_heads % layout.num_kv_heads, 0, "whole groups of query heads");
    assert_eq!(out.cols(), layout.num_heads * layout.head_dim, "a column a query component");
    assert!(batch.num_tokens() <= out.num_rows(), "a row a token");

    let group = layout.num_heads / layout.num_kv_heads;
    let partial_len = MIXED + layout.head_dim.next_multiple_of(PANEL);
    let qkv = qkv.rows(batch.num_tokens());
    let attention = Attention { batch, params, layout, qkv, cache, group, partial_len };

    let mut workspace = backend.workspace();
    let AttentionWorkspace { units, states, partials, threads } = &mut workspace.attention;
    let pool = backend.pool();
    let min_tasks = TASKS_A_THREAD * pool.num_threads();
    plan(&attention, min_tasks, units);
    threads.resize_with(pool.num_threads(), Mutex::default);

    let out_cols = out.cols();
    let out = Disjoint::new(out.values_mut());
    let run = Run { backend, attention: &attention, units, threads, out: &out, out_cols };
    let num_tasks = units.len() * layout.num_kv_heads;
    let max_spans = units.iter().map(|unit| unit.spans.len()).max().unwrap_or(0);
    if num_tasks >= min_tasks || max_spans <= 1 {
        pool.run(num_tasks, &|task, thread| run.whole(task, thread));
    } else {
        let state_lens = units.iter().map(|unit| attention.state_len(unit));
        let task_len = state_lens.max().unwrap_or(0);
        let window = (PARTIALS_A_THREAD * pool.num_threads()).div_ceil(num_tasks);
        let window = window.min(max_spans);
        let window_len = window * task_len;
        let partials = at_least(partials, num_tasks * window_len);
        let states = at_least(states, num_tasks * task_len);
        states.fill(0.0);
        for first in (0..max_spans).step_by(window) {
            pool.run_chunks(partials, task_len, |number, partial, thread| {
                run.one_span(number / window, first + number % window, partial, thread);
            });
            pool.run_chunks(states, task_len, |task, state, _| {
                let partials = &partials[task * window_len..(task + 1) * window_len];
                run.merge_spans(task, first..first + window, state, partials);
            });
        }
    }
}

/// One call's tasks.
struct Run<'a> {
    backend: &'a CpuBackend,
    attention: &'a Attention<'a>,
    units: &'a [Unit],
    threads: &'a [Mutex<Vec<Line>>],
    out: &'a Disjoint<'a, f32>,
    out_cols: usize,
}

impl Run<'_> {
    /// The unit and the head of a task. Where a sequence is cut into units, a head's stand together,
    /// the longest first: threads take neighbouring tasks, of which those of several heads cost alike.
    fn task(&self, task: usize) -> (&Unit, usize) {
        let (num_units, num_heads) = (self.units.len(), self.attention.layout.num_kv_heads);
        if num_units > self.attention.batch.num_sequences() {
            (&self.units[num_units - 1 - task % num_units], task / num_units)
        } else {
            (&self.units[task / num_heads], task % num_heads)
        }
    }

    /// Span `span` of a task, by itself.
    fn span(&self, task: usize, span: usize) -> Task<'_> {
        let (unit, kv_head) = self.task(task);
        Task { attention: self.attention, unit, kv_head, span, next: None }
    }

    /// Calls `work` with memory of this thread's own: to compute spans in, and `more` numbers.
    fn with_memory(
        &self,
        unit: &Unit,
        thread: usize,
        more: usize,
        work: impl FnOnce(&mut [Line], &mut [f32]),
    ) {
        let lines = Task::num_lines(self.attention, self.attention.num_rows(unit));
        let mut memory = crate::threads::lock(&self.threads[thread]);
        let (memory, more) =
            at_least(&mut memory, lines + more.div_ceil(LANES)).split_at_mut(lines);
        work(memory, bytemuck::cast_slice_mut(more));
    }

    /// All spans of a task, merged as they come.
    fn whole(&self, number: usize, thread: usize) {
        let (unit, kv_head) = self.task(number);
        let state_len = self.attention.state_len(unit);
        self.with_memory(unit, thread, 2 * state_len, |memory, states| {
            let (state, partial) = states[..2 * state_len].split_at_mut(state_len);
            state.fill(0.0);
            for span in unit.spans.clone() {
                let next = if span + 1 < unit.spans.end {
                    Some(self.span(number, span + 1))
                } else if number + 1 < self.units.len() * self.attention.layout.num_kv_heads {
                    Some(self.span(number + 1, self.task(number + 1).0.spans.start))
                } else {
                    None
                };
                let task = Task { next: next.as_ref(), ..self.span(number, span) };
                if span == unit.spans.start {
                    task.prepare(self.backend.level(), memory);
                }
                task.run(self.backend.level(), memory, partial);
                self.merge(state, partial);
            }
            self.finish(unit, kv_head, state);
        });
    }

    /// The span of a task that is `index`-th, if there is one.
    fn one_span(&self, number: usize, index: usize, partial: &mut [f32], thread: usize) {
        let (unit, _) = self.task(number);
        if index < unit.spans.len() {
            let span = unit.spans.start + index;
            let next = (index + 1 < unit.spans.len()).then(|| self.span(number, span + 1));
            let task = Task { next: next.as_ref(), ..self.span(number, span) };
            self.with_memory(unit, thread, 0, |memory, _| {
                task.prepare(self.backend.level(), memory);
                let partial = &mut partial[..self.attention.state_len(unit)];
                task.run(self.backend.level(), memory, partial);
            });
        }
    }

    /// Merges what [`one_span`](Self::one_span) gave for the spans of a task that `window` counts
    /// into what those before them came to. `partials` holds as many numbers a span as `state` has.
    fn merge_spans(&self, task: usize, window: Range<usize>, state: &mut [f32], partials: &[f32]) {
        let (unit, kv_head) = self.task(task);
        let num_spans = unit.spans.len();
        let spans = window.start.min(num_spans)..window.end.min(num_spans);
        if spans.is_empty() {
            return;
        }
        let (task_len, state_len) = (state.len(), self.attention.state_len(unit));
        let state = &mut state[..state_len];
        for partial in partials.chunks_exact(task_len).take(spans.len()) {
            self.merge(state, &partial[..state_len]);
        }
        if spans.end == num_spans {
            self.finish(unit, kv_head, state);
        }
    }

    fn merge(&self, state: &mut [f32], partial: &[f32]) {
        let row_len = self.attention.partial_len;
        self.backend.level().run(Merge { state, partial, row_len });
    }

    /// Writes a task's finished rows.
    fn finish(&self, unit: &Unit, kv_head: usize, state: &[f32]) {
        let Attention { group, layout, partial_len, .. } = *self.attention;
        for (row, state) in state.chunks_exact(partial_len).enumerate() {
            let (token, head) = (unit.rows.start + row / group, kv_head * group + row % group);
            let at = token * self.out_cols + head * layout.head_dim;
            // SAFETY: tasks differ in their rows or in their heads, and a batch's sequences share
            // no row; this part is dropped before the next is asked for.
            let out = unsafe { self.out.part(at..at + layout.head_dim) };
            let scale = 1.0 / state[SUM];
            for (out, mixed) in out.iter_mut().zip(&state[MIXED..]) {
                *out = mixed * scale;
            }
        }
    }
}

#[cfg(test)]
mod tests;
