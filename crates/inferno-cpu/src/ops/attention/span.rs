//! The computation of a task, in the arithmetic that the format of the cache asks for.

use inferno_backend::{KvDType, QkvLayout};

use super::float::{self, cache};
use super::int16;
use super::task::SpanTask;
use crate::isa::Level;
use crate::scratch::CacheLine;

/// Cache lines of scratch memory that a task of `num_rows` rows needs.
pub(super) fn num_lines(kv_dtype: KvDType, layout: &QkvLayout, num_rows: usize) -> usize {
    match kv_dtype {
        KvDType::I16 => int16::num_lines(layout, num_rows),
        _ => float::num_lines(layout, num_rows),
    }
}

/// What is computed once for all spans of a unit. [`run`] is then called with the same `memory`.
pub(super) fn prepare(task: &SpanTask<'_>, level: Level, memory: &mut [CacheLine]) {
    if task.attention.cache.layout.dtype == KvDType::I16 {
        int16::prepare(task, level, memory);
    }
}

/// Computes the partial result of every row.
pub(super) fn run(
    task: &SpanTask<'_>,
    level: Level,
    memory: &mut [CacheLine],
    partial: &mut [f32],
) {
    match task.attention.cache.layout.dtype {
        KvDType::F32 => float::run::<cache::F32Element>(task, level, memory, partial),
        KvDType::F16 => float::run::<cache::F16Element>(task, level, memory, partial),
        KvDType::Q8_0 => float::run::<cache::Q8_0Element>(task, level, memory, partial),
        KvDType::I16 => int16::run(task, level, memory, partial),
    }
}
