//! Attention over the paged cache.
//!
//! **Order of the sums.** Positions are divided into spans of 256, counted from position 0 in every batch. Within a
//! span, a score adds the products of its components by fused multiply-add, in ascending order, and is multiplied by the
//! scale last; exponentials are those of `softmax.rs`, with positions `i`, `i + 16`, ... of the span in lane `i`; values
//! are added by fused multiply-add, in ascending order of positions. Numbers of the cache are converted to `f32`, which
//! is exact. Spans are merged in ascending order: with the larger of both maxima `m`, each side is multiplied by
//! `exp(max - m)`. At the end, everything is multiplied by the inverse of the sum of exponentials. Positions that a row
//! does not see are left out. Over a cache of 16-bit integers, scores and mixed values are exact sums, which `int16.rs`
//! defines.
//!
//! A *unit* is a range of neighbouring rows of one sequence; a task is a unit's query heads of one key/value head,
//! which read each block once. If there are few tasks, long contexts are split further by spans, as many at a time as
//! there is work for all threads; their results are stored and then merged into those of the spans before them. The
//! computation is the same, and its memory grows with the number of threads, not with the context.
//!
//! **What limits it.** For one token, reads of the cache; for a prompt, arithmetic. In Qwen3-0.6B, 4096 tokens take 1.9
//! T operations here and 3.6 T in products of bytes, 512 tokens 0.03 T and 0.45 T. With attention in `f32`, which
//! processors compute at an eighth to a thirtieth of the rate of bytes, a long prompt falls behind a short one the more,
//! the faster the products are: 4096 tokens took 8 s for attention and 4.4 s for the rest, and would take 4.9 s at the
//! peak of `f32`. A matrix unit can multiply 16-bit integers too, by four products of bytes.
//!
//! **Tried.** Blocks of 64 tokens instead of 16, for longer streams: decoding at a depth of 2048 is as fast. Reading tiles
//! into panels also for the two rows of one token: at a depth of 512 an eighth slower.

mod float;
mod inputs;
mod int16;
mod merge;
mod plan;
mod span;
mod store;
mod task;
mod transpose;

use std::ops::Range;

use inferno_backend::{AttentionParams, BackendError, Batch, DistanceBias, KvDType, QkvLayout};

use crate::buffer::CpuBuffer;
use crate::disjoint::Disjoint;
use crate::executor::Executor;
use crate::isa::Level;
use crate::kv_cache::CpuKvCache;
use crate::lanes::LANES;
use crate::scratch::{CacheLine, ScratchArray, ThreadScratch, allocated_bytes};
use inputs::{AttentionInputs, RowUnit};
use merge::{MergePartials, MergeSinks, NormalizeRow, partial_len};
use plan::{max_split_unit_rows, plan, unit_rows};
pub(crate) use store::{rope_and_store_kv, store_kv};
use task::SpanTask;

/// Contexts are split by spans if there are fewer tasks per thread than this.
const TASKS_PER_THREAD: usize = 4;

/// Results of single spans that are stored at once, per thread: enough that waiting for the last of them costs
/// little.
const PARTIALS_PER_THREAD: usize = 16;

/// Memory that attention keeps between calls.
#[derive(Debug)]
pub(crate) struct AttentionWorkspace {
    units: Vec<RowUnit>,
    /// The merged result of the spans of each task so far, if contexts are split.
    states: ScratchArray,
    /// The results of single spans.
    partials: ScratchArray,
    /// Scores and panels of each thread.
    scratch: ThreadScratch,
}

impl AttentionWorkspace {
    /// An empty workspace.
    pub(crate) fn new(num_threads: usize) -> Self {
        Self {
            units: Vec::new(),
            states: ScratchArray::default(),
            partials: ScratchArray::default(),
            scratch: ThreadScratch::new(num_threads),
        }
    }

    /// Bytes allocated.
    pub(crate) fn num_bytes(&self) -> usize {
        self.states.num_bytes() + self.partials.num_bytes() + self.scratch.num_bytes()
    }
}

/// Stacked queries, keys and values, one row per token.
#[derive(Clone, Copy)]
pub(crate) struct QkvRows<'a> {
    pub(crate) layout: &'a QkvLayout,
    pub(crate) values: &'a CpuBuffer,
}

/// Attention of all query heads of all rows.
///
/// **Errors**: [`BackendError::OutOfMemory`].
pub(crate) fn paged_attention(
    executor: Executor<'_>,
    workspace: &mut AttentionWorkspace,
    batch: &Batch,
    params: &AttentionParams<'_, CpuBuffer>,
    qkv: QkvRows<'_>,
    cache: &CpuKvCache,
    out: &mut CpuBuffer,
) -> Result<(), BackendError> {
    check_shapes(batch, params, qkv, cache, out);
    let QkvRows { layout, values: qkv } = qkv;
    let group = layout.num_heads / layout.num_kv_heads;
    let partial_len = partial_len(layout.value_dim());
    let qkv = qkv.rows(batch.num_tokens());
    let attention = AttentionInputs { batch, params, layout, qkv, cache, group, partial_len };

    let AttentionWorkspace { units, states, partials, scratch } = workspace;
    let pool = executor.pool;
    let min_tasks = TASKS_PER_THREAD * pool.num_threads();
    plan(&attention, executor.level, min_tasks, units)?;
    let max_rows = units.iter().map(|unit| attention.num_rows(unit)).max().unwrap_or(0);
    let task_len = max_rows * partial_len;
    scratch
        .reserve(span::num_lines(cache.layout.dtype, layout, max_rows) + 2 * task_len / LANES)?;

    let out_cols = out.cols();
    let out = Disjoint::new(out.values_mut());
    let tasks =
        AttentionTasks { executor, attention: &attention, units, scratch, out: &out, out_cols };
    let num_tasks = units.len() * layout.num_kv_heads;
    let max_spans = units.iter().map(|unit| unit.spans.len()).max().unwrap_or(0);
    if num_tasks >= min_tasks || max_spans <= 1 {
        pool.run(num_tasks, &|task, thread| tasks.whole(task, thread));
        return Ok(());
    }
    debug_assert!(max_rows <= max_split_unit_rows(group), "the estimate of memory holds");
    // As many spans of each task at a time as there is memory for results.
    let round = (PARTIALS_PER_THREAD * pool.num_threads()).div_ceil(num_tasks).min(max_spans);
    let round_len = round * task_len;
    partials.reserve(num_tasks * round_len / LANES)?;
    states.reserve(num_tasks * task_len / LANES)?;
    let partials: &mut [f32] = bytemuck::cast_slice_mut(partials.get_mut());
    let states: &mut [f32] = bytemuck::cast_slice_mut(states.get_mut());
    let partials = &mut partials[..num_tasks * round_len];
    let states = &mut states[..num_tasks * task_len];
    states.fill(0.0);
    for first in (0..max_spans).step_by(round) {
        pool.run_chunks(partials, task_len, |number, partial, thread| {
            tasks.one_span(number / round, first + number % round, partial, thread);
        });
        pool.run_chunks(states, task_len, |task, state, _| {
            let partials = &partials[task * round_len..(task + 1) * round_len];
            tasks.merge_spans(task, first..first + round, state, partials);
        });
    }
    Ok(())
}

/// **Panics** if the shapes of a call do not fit together.
fn check_shapes(
    batch: &Batch,
    params: &AttentionParams<'_, CpuBuffer>,
    QkvRows { layout, values: qkv }: QkvRows<'_>,
    cache: &CpuKvCache,
    out: &CpuBuffer,
) {
    assert_eq!(qkv.cols(), layout.row_len(), "a row holds queries, keys and values");
    let is_valid = cache.layout.layers[params.layer].fits(layout);
    assert!(is_valid, "the cache was allocated for these heads");
    let has_position = params.mask.max_len().is_none_or(|len| len > 0);
    assert!(has_position, "a window holds at least the row's own position");
    assert_eq!(layout.num_heads % layout.num_kv_heads, 0, "whole groups of query heads");
    assert_eq!(out.cols(), layout.out_len(), "a column per value component of each head");
    assert!(batch.num_tokens() <= out.num_rows(), "a row per token");
    let slopes = match params.distance_bias {
        Some(DistanceBias::Slopes(slopes)) => Some(slopes),
        Some(DistanceBias::Table(table)) => {
            assert_eq!(table.num_rows(), layout.num_heads, "a row per head");
            assert_eq!(table.cols() % 2, 1, "as many values before the middle as after it");
            None
        }
        None => None,
    };
    for per_head in [params.sinks, slopes].into_iter().flatten() {
        assert_eq!(per_head.cols(), layout.num_heads, "a value per head");
    }
}

/// Bytes that attention allocates, at most, for batches of up to `num_tokens` tokens with each of `layouts`.
pub(crate) fn max_scratch_bytes(
    level: Level,
    num_threads: usize,
    num_tokens: usize,
    layouts: &[QkvLayout],
    kv_dtype: KvDType,
) -> usize {
    let bytes = layouts
        .iter()
        .map(|layout| scratch_bytes(level, num_threads, num_tokens, layout, kv_dtype));
    let most = |[a, b, c]: [usize; 3], [d, e, f]: [usize; 3]| [a.max(d), b.max(e), c.max(f)];
    bytes.fold([0; 3], most).into_iter().sum()
}

/// Bytes of scratch memory of the threads, of states and of partial results.
fn scratch_bytes(
    level: Level,
    num_threads: usize,
    num_tokens: usize,
    layout: &QkvLayout,
    kv_dtype: KvDType,
) -> [usize; 3] {
    let group = layout.num_heads / layout.num_kv_heads.max(1);
    let num_rows = num_tokens.saturating_mul(group);
    // Contexts are split only if there are fewer tasks than TASKS_PER_THREAD; the last round may be rounded up
    // to one more result for each of them.
    let max_tasks = TASKS_PER_THREAD * num_threads;
    let max_partials = PARTIALS_PER_THREAD * num_threads + max_tasks;
    let max_rows = group.max(unit_rows(level, kv_dtype, layout, num_rows, max_tasks)).min(num_rows);
    if max_rows == 0 {
        return [0; 3];
    }
    let lines = |num_rows| num_rows * partial_len(layout.value_dim()) / LANES;
    let thread_lines = span::num_lines(kv_dtype, layout, max_rows) + 2 * lines(max_rows);
    let split_lines = lines(max_rows.min(max_split_unit_rows(group)));
    [
        num_threads * allocated_bytes(thread_lines),
        allocated_bytes(max_tasks * split_lines),
        allocated_bytes(max_partials * split_lines),
    ]
}

/// The tasks of one call.
struct AttentionTasks<'a> {
    executor: Executor<'a>,
    attention: &'a AttentionInputs<'a>,
    units: &'a [RowUnit],
    scratch: &'a ThreadScratch,
    out: &'a Disjoint<'a, f32>,
    out_cols: usize,
}

impl AttentionTasks<'_> {
    /// The unit and the head of a task. If a sequence is divided into units, those of a head are adjacent, the
    /// longest first: threads run neighbouring tasks, and tasks of several heads cost the same.
    fn task(&self, task: usize) -> (&RowUnit, usize) {
        let (num_units, num_heads) = (self.units.len(), self.attention.layout.num_kv_heads);
        if num_units > self.attention.batch.num_sequences() {
            (&self.units[num_units - 1 - task % num_units], task / num_units)
        } else {
            (&self.units[task / num_heads], task % num_heads)
        }
    }

    /// One span of a task, without a following one.
    fn span(&self, task: usize, span: usize) -> SpanTask<'_> {
        let (unit, kv_head) = self.task(task);
        SpanTask { attention: self.attention, unit, kv_head, span, next: None }
    }

    /// Calls `work` with scratch memory of this thread: to compute spans in, and two partial results.
    fn with_scratch(
        &self,
        unit: &RowUnit,
        thread: usize,
        work: impl FnOnce(&mut [CacheLine], &mut [f32]),
    ) {
        let kv_dtype = self.attention.cache.layout.dtype;
        let (layout, num_rows) = (self.attention.layout, self.attention.num_rows(unit));
        let num_lines = span::num_lines(kv_dtype, layout, num_rows);
        let mut scratch = self.scratch.lock(thread);
        let (memory, partials) = scratch.get_mut().split_at_mut(num_lines);
        work(memory, bytemuck::cast_slice_mut(partials));
    }

    /// Computes all spans of a task, merges them, and stores the result.
    fn whole(&self, number: usize, thread: usize) {
        let (unit, kv_head) = self.task(number);
        let state_len = self.attention.state_len(unit);
        self.with_scratch(unit, thread, |memory, states| {
            let (state, partial) = states[..2 * state_len].split_at_mut(state_len);
            for span in unit.spans.clone() {
                let next = if span + 1 < unit.spans.end {
                    Some(self.span(number, span + 1))
                } else if number + 1 < self.units.len() * self.attention.layout.num_kv_heads {
                    Some(self.span(number + 1, self.task(number + 1).0.spans.start))
                } else {
                    None
                };
                let task = SpanTask { next: next.as_ref(), ..self.span(number, span) };
                if span == unit.spans.start {
                    span::prepare(&task, self.executor.level, memory);
                    span::run(&task, self.executor.level, memory, state);
                } else {
                    span::run(&task, self.executor.level, memory, partial);
                    self.merge(state, partial);
                }
            }
            self.finish(unit, kv_head, state);
        });
    }

    /// Computes the `index`-th span of a task, if it exists.
    fn one_span(&self, number: usize, index: usize, partial: &mut [f32], thread: usize) {
        let (unit, _) = self.task(number);
        if index < unit.spans.len() {
            let span = unit.spans.start + index;
            let next = (index + 1 < unit.spans.len()).then(|| self.span(number, span + 1));
            let task = SpanTask { next: next.as_ref(), ..self.span(number, span) };
            self.with_scratch(unit, thread, |memory, _| {
                span::prepare(&task, self.executor.level, memory);
                let partial = &mut partial[..self.attention.state_len(unit)];
                span::run(&task, self.executor.level, memory, partial);
            });
        }
    }

    /// Merges the results of [`one_span`](Self::one_span) for the `spans` of a task into those of the
    /// spans before them. `partials` holds as many numbers per span as `state`.
    fn merge_spans(&self, task: usize, spans: Range<usize>, state: &mut [f32], partials: &[f32]) {
        let (unit, kv_head) = self.task(task);
        let num_spans = unit.spans.len();
        let spans = spans.start.min(num_spans)..spans.end.min(num_spans);
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
        self.executor.level.run(MergePartials { state, partial, row_len });
    }

    /// Stores the rows of a finished task.
    #[allow(unsafe_code)] // Writes to parts of a shared output.
    fn finish(&self, unit: &RowUnit, kv_head: usize, state: &mut [f32]) {
        let AttentionInputs { group, layout, partial_len, params, .. } = *self.attention;
        if let Some(sinks) = params.sinks {
            let sinks = &sinks.values()[kv_head * group..][..group];
            self.executor.level.run(MergeSinks { state: &mut *state, sinks, row_len: partial_len });
        }
        for (row, state) in state.chunks_exact(partial_len).enumerate() {
            let (token, head) = (unit.rows.start + row / group, kv_head * group + row % group);
            let at = token * self.out_cols + head * layout.value_dim();
            // SAFETY: tasks differ in their rows or in their heads, and the sequences of a batch share no row;
            // this part is dropped before the next one is created.
            let out = unsafe { self.out.part(at..at + layout.value_dim()) };
            self.executor.level.run(NormalizeRow { state, out });
        }
    }
}

#[cfg(test)]
mod tests;
