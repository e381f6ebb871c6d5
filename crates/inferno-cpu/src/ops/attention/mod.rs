//! Causal attention over the paged cache.
//!
//! **Order of the sums.** Positions are cut into spans of [`SPAN`], counted from position 0 whatever
//! the batch looks like. Within a span, a score takes the products of its components by fused
//! multiply-add, the component rising (with a Q8_0 cache: 32 components at a time from zero, then
//! those sums times their scales likewise), and is multiplied by the scale last; exponentials are
//! those of `softmax.rs`, lane `i` holding positions `i`, `i + 16`, ... of the span; values are added
//! by fused multiply-add, the position rising. Spans are merged in rising order: with the larger of
//! both maxima `m`, each side times `exp(max - m)`; at last everything is divided by the sum of
//! exponentials. Positions that a row does not see take no part.
//!
//! A *unit* is some neighbouring rows of one sequence; a task is a unit's query heads of one
//! key/value head, which read each block once. Where there are few tasks, long contexts are split
//! further by spans, whose results are kept and merged afterwards: the same computation.

mod span;

use std::ops::Range;
use std::sync::Mutex;

use inferno_backend::{AttentionParams, Batch, KvDType, QkvLayout};

use crate::backend::{CpuBackend, CpuBuffer};
use crate::disjoint::Disjoint;
use crate::isa::Kernel;
use crate::kv_cache::{CpuKvCache, Plane, Rows};
use crate::lanes::{LANES, Lanes};
use crate::threads::Pool;
use span::AttendSpan;

/// Positions whose scores are held at once.
pub(crate) const SPAN: usize = 256;

/// Query rows (tokens times heads) of a task, where one token's heads are not more already.
const UNIT_ROWS: usize = 16;

/// Tasks a thread below which contexts are split by spans.
const TASKS_A_THREAD: usize = 4;

/// Neighbouring rows of one sequence.
#[derive(Debug, Clone)]
pub(crate) struct Unit {
    sequence: usize,
    rows: Range<usize>,
    /// The spans that the rows see something of.
    spans: Range<usize>,
}

/// Memory that attention keeps between calls.
#[derive(Debug, Default)]
pub(crate) struct AttentionWorkspace {
    units: Vec<Unit>,
    partials: Vec<f32>,
    threads: Vec<Mutex<Vec<f32>>>,
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
    /// Floats of one row's partial result: the maximum, the sum of exponentials, then the mixed
    /// values, padded to whole vectors.
    partial_len: usize,
}

/// Where the maximum, the sum and the mixed values stand in a partial result. A sum of zero says
/// that the row saw nothing.
const MAX: usize = 0;
const SUM: usize = 1;
const MIXED: usize = LANES;

impl Attention<'_> {
    /// Query rows of a unit: token by token, its heads together.
    fn num_rows(&self, unit: &Unit) -> usize {
        unit.rows.len() * self.group
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

fn visible(batch: &Batch, params: &AttentionParams, row: usize) -> Range<usize> {
    let end = batch.positions()[row] as usize + 1;
    params.window.map_or(0, |window| end.saturating_sub(window))..end
}

/// Writes each row's keys and values into its slot of `layer`.
pub(crate) fn store_kv(
    backend: &CpuBackend,
    batch: &Batch,
    layer: usize,
    layout: &QkvLayout,
    qkv: &CpuBuffer,
    cache: &mut CpuKvCache,
) {
    let kv = cache.layout;
    assert_eq!(
        qkv.cols(),
        layout.row_len(),
        "a row holds queries, keys and values"
    );
    assert_eq!(
        (layout.num_kv_heads, layout.head_dim),
        (kv.num_kv_heads, kv.head_dim),
        "the cache was made for these heads"
    );
    assert!(layer < kv.num_layers, "layer {layer} of {}", kv.num_layers);
    let qkv = qkv.rows(batch.num_tokens());
    let rows = Rows::new(&kv);
    let (bytes, regions) = cache.regions_mut(layer);
    let bytes = Disjoint::new(bytes);
    let store = |task: usize| {
        let plane = if task < kv.num_kv_heads {
            Plane::Keys
        } else {
            Plane::Values
        };
        let column = (layout.num_heads + task) * layout.head_dim;
        for (row, &slot) in batch.slot_mapping().iter().enumerate() {
            let (block, offset) = (slot / kv.block_tokens, slot % kv.block_tokens);
            // SAFETY: tasks differ in the plane or the head, and thereby in the regions; this part
            // is dropped before the task asks for another.
            let region = unsafe { bytes.part(regions.at(block, task)) };
            let values = &qkv[row * layout.row_len() + column..][..layout.head_dim];
            rows.encode(plane, region, offset, values);
        }
    };
    let values = batch.num_tokens() * layout.num_kv_heads * layout.head_dim;
    run_if_worth(backend.pool(), 2 * layout.num_kv_heads, values, &store);
}

/// Runs tasks on all threads where there is enough to do, else here.
fn run_if_worth(pool: &Pool, tasks: usize, values: usize, task: &(dyn Fn(usize) + Sync)) {
    if values < super::TASK_VALUES {
        (0..tasks).for_each(task);
    } else {
        pool.run(tasks, &|number, _| task(number));
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
    assert_eq!(
        qkv.cols(),
        layout.row_len(),
        "a row holds queries, keys and values"
    );
    assert_eq!(
        (layout.num_kv_heads, layout.head_dim),
        (kv.num_kv_heads, kv.head_dim),
        "the cache was made for these heads"
    );
    assert!(
        params.layer < kv.num_layers,
        "layer {} of {}",
        params.layer,
        kv.num_layers
    );
    assert!(
        params.window != Some(0),
        "a window holds at least the row's own position"
    );
    assert_eq!(
        layout.num_heads % layout.num_kv_heads,
        0,
        "whole groups of query heads"
    );
    assert_eq!(
        out.cols(),
        layout.num_heads * layout.head_dim,
        "a column a query component"
    );
    assert!(batch.num_tokens() <= out.num_rows(), "a row a token");

    let group = layout.num_heads / layout.num_kv_heads;
    let partial_len = MIXED + layout.head_dim.next_multiple_of(LANES);
    let qkv = qkv.rows(batch.num_tokens());
    let attention = Attention {
        batch,
        params,
        layout,
        qkv,
        cache,
        group,
        partial_len,
    };

    let mut workspace = backend.workspace();
    let AttentionWorkspace {
        units,
        partials,
        threads,
    } = &mut workspace.attention;
    plan(&attention, units);
    let pool = backend.pool();
    threads.resize_with(pool.num_threads(), Mutex::default);

    let out_cols = out.cols();
    let out = Disjoint::new(out.values_mut());
    let run = Run {
        backend,
        attention: &attention,
        units,
        threads,
        out: &out,
        out_cols,
    };
    let num_tasks = units.len() * layout.num_kv_heads;
    let max_spans = units.iter().map(|unit| unit.spans.len()).max().unwrap_or(0);
    if num_tasks >= TASKS_A_THREAD * pool.num_threads() || max_spans <= 1 {
        pool.run(num_tasks, &|task, thread| run.whole(task, thread));
    } else {
        let max_rows = units
            .iter()
            .map(|unit| attention.num_rows(unit))
            .max()
            .unwrap_or(0);
        let task_len = max_rows * partial_len;
        partials.resize(num_tasks * max_spans * task_len, 0.0);
        pool.run_chunks(partials, task_len, |number, partial, thread| {
            run.one_span(number / max_spans, number % max_spans, partial, thread);
        });
        pool.run(num_tasks, &|task, thread| {
            run.merge_spans(
                task,
                &partials[task * max_spans * task_len..],
                task_len,
                thread,
            );
        });
    }
}

/// Cuts the batch into units.
fn plan(attention: &Attention<'_>, units: &mut Vec<Unit>) {
    let unit_tokens = (UNIT_ROWS / attention.group).max(1);
    units.clear();
    for sequence in 0..attention.batch.num_sequences() {
        let rows = attention.batch.rows(sequence);
        for start in rows.clone().step_by(unit_tokens) {
            let end = rows.end.min(start + unit_tokens);
            let first = visible(attention.batch, attention.params, start).start / SPAN;
            let last = visible(attention.batch, attention.params, end - 1)
                .end
                .div_ceil(SPAN);
            units.push(Unit {
                sequence,
                rows: start..end,
                spans: first..last,
            });
        }
    }
}

/// One call's tasks.
struct Run<'a> {
    backend: &'a CpuBackend,
    attention: &'a Attention<'a>,
    units: &'a [Unit],
    threads: &'a [Mutex<Vec<f32>>],
    out: &'a Disjoint<'a, f32>,
    out_cols: usize,
}

impl Run<'_> {
    fn task(&self, task: usize) -> (&Unit, usize) {
        let num_kv_heads = self.attention.layout.num_kv_heads;
        (&self.units[task / num_kv_heads], task % num_kv_heads)
    }

    /// Calls `work` with memory of this thread's own.
    fn with_scratch(&self, thread: usize, len: usize, work: impl FnOnce(&mut [f32])) {
        let mut scratch = crate::threads::lock(&self.threads[thread]);
        if scratch.len() < len {
            scratch.resize(len, 0.0);
        }
        work(&mut scratch[..len]);
    }

    /// All spans of a task, merged as they come.
    fn whole(&self, task: usize, thread: usize) {
        let (unit, kv_head) = self.task(task);
        let rows = self.attention.num_rows(unit);
        let state_len = rows * self.attention.partial_len;
        self.with_scratch(thread, rows * SPAN + 2 * state_len, |scratch| {
            let (scores, states) = scratch.split_at_mut(rows * SPAN);
            let (state, partial) = states.split_at_mut(state_len);
            state.fill(0.0);
            for span in unit.spans.clone() {
                self.span(unit, kv_head, span, scores, partial);
                self.merge(state, partial);
            }
            self.finish(unit, kv_head, state);
        });
    }

    /// The span of a task that is `index`-th, if there is one.
    fn one_span(&self, task: usize, index: usize, partial: &mut [f32], thread: usize) {
        let (unit, kv_head) = self.task(task);
        let rows = self.attention.num_rows(unit);
        if index < unit.spans.len() {
            self.with_scratch(thread, rows * SPAN, |scores| {
                let partial = &mut partial[..rows * self.attention.partial_len];
                self.span(unit, kv_head, unit.spans.start + index, scores, partial);
            });
        }
    }

    /// Merges what [`one_span`](Self::one_span) gave for each span of a task.
    fn merge_spans(&self, task: usize, partials: &[f32], task_len: usize, thread: usize) {
        let (unit, kv_head) = self.task(task);
        let state_len = self.attention.num_rows(unit) * self.attention.partial_len;
        self.with_scratch(thread, state_len, |state| {
            state.fill(0.0);
            for partial in partials
                .chunks_exact(task_len.max(1))
                .take(unit.spans.len())
            {
                self.merge(state, &partial[..state_len]);
            }
            self.finish(unit, kv_head, state);
        });
    }

    fn span(
        &self,
        unit: &Unit,
        kv_head: usize,
        span: usize,
        scores: &mut [f32],
        partial: &mut [f32],
    ) {
        let level = self.backend.level();
        let attention = self.attention;
        let task = span::Task {
            attention,
            unit,
            kv_head,
            span,
            scores,
            partial,
        };
        match attention.cache.layout.dtype {
            KvDType::F32 => level.run(AttendSpan::<span::F32>::new(task)),
            KvDType::F16 => level.run(AttendSpan::<span::F16>::new(task)),
            KvDType::Q8_0 => level.run(AttendSpan::<span::Q8_0>::new(task)),
        }
    }

    fn merge(&self, state: &mut [f32], partial: &[f32]) {
        let row_len = self.attention.partial_len;
        self.backend.level().run(Merge {
            state,
            partial,
            row_len,
        });
    }

    /// Writes a task's finished rows.
    fn finish(&self, unit: &Unit, kv_head: usize, state: &[f32]) {
        let Attention {
            group,
            layout,
            partial_len,
            ..
        } = *self.attention;
        for (row, state) in state.chunks_exact(partial_len).enumerate() {
            let (token, head) = (unit.rows.start + row / group, kv_head * group + row % group);
            let at = token * self.out_cols + head * layout.head_dim;
            // SAFETY: tasks differ in their rows or in their heads, and a batch's sequences share
            // no row; this part is dropped before the next is asked for.
            let out = unsafe { self.out.part(at..at + layout.head_dim) };
            for (out, mixed) in out.iter_mut().zip(&state[MIXED..]) {
                *out = mixed / state[SUM];
            }
        }
    }
}

/// Adds one span's partial results to those of the spans before it.
struct Merge<'a> {
    state: &'a mut [f32],
    partial: &'a [f32],
    row_len: usize,
}

impl Kernel for Merge<'_> {
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
            let max = if state[MAX] > partial[MAX] {
                state[MAX]
            } else {
                partial[MAX]
            };
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
