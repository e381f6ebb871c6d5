//! The division of a batch into units.

use inferno_backend::{BackendError, KvDType, QkvLayout};

use super::inputs::{AttentionInputs, RowUnit, SPAN, visible};
use crate::isa::Level;

/// Query rows (tokens times heads) of a unit, at most, unless one token already has more heads: enough that reading a tile
/// costs little compared with multiplying it.
const MAX_ROWS: usize = 256;

/// The same with a matrix unit, unless the rows are longer than [`MAX_DIM_OF_MORE_ROWS`] components. (256 tokens after 3840
/// others take 7% longer with 256 rows, which read each tile twice.)
const MAX_MATRIX_UNIT_ROWS: usize = 512;

/// Components of a key with which the queries and results of 512 rows fit in the second-level cache.
const MAX_DIM_OF_MORE_ROWS: usize = 128;

/// The same if there are fewer tasks than there should be. Only then are contexts split.
const MIN_ROWS: usize = 128;

/// Query rows of a unit, at most, where `num_rows` are to be computed in `min_tasks` tasks or more, if possible. They grow with
/// `num_rows`.
pub(super) fn unit_rows(
    level: Level,
    kv_dtype: KvDType,
    layout: &QkvLayout,
    num_rows: usize,
    min_tasks: usize,
) -> usize {
    let has_more = kv_dtype == KvDType::I16
        && level.has_matrix_unit()
        && layout.head_dim <= MAX_DIM_OF_MORE_ROWS;
    let mut rows = if has_more { MAX_MATRIX_UNIT_ROWS } else { MAX_ROWS };
    let num_tasks = |rows| num_rows.div_ceil(rows).saturating_mul(layout.num_kv_heads);
    while rows > MIN_ROWS && num_tasks(rows) < min_tasks {
        rows /= 2;
    }
    rows
}

/// Query rows of a unit, at most, if contexts are split, because there are fewer tasks than there should be. (If [`unit_rows`]
/// returns more, there are enough: whole tokens and several sequences only add units.)
pub(super) fn max_split_unit_rows(group: usize) -> usize {
    group.max(MIN_ROWS)
}

/// Cuts the batch into units; they are smaller if there would otherwise be fewer tasks than `min_tasks`.
///
/// **Errors**: [`BackendError::OutOfMemory`].
pub(super) fn plan(
    attention: &AttentionInputs<'_>,
    level: Level,
    min_tasks: usize,
    units: &mut Vec<RowUnit>,
) -> Result<(), BackendError> {
    let num_rows = attention.batch.num_tokens() * attention.group;
    let (layout, kv_dtype) = (attention.layout, attention.cache.layout.dtype);
    let unit_rows = unit_rows(level, kv_dtype, layout, num_rows, min_tasks);
    let unit_tokens = (unit_rows / attention.group).max(1);
    units.clear();
    for sequence in 0..attention.batch.num_sequences() {
        let rows = attention.batch.rows(sequence);
        for start in rows.clone().step_by(unit_tokens) {
            let end = rows.end.min(start + unit_tokens);
            let first = visible(attention.batch, attention.params, sequence, start).start / SPAN;
            let last = visible(attention.batch, attention.params, sequence, end - 1).end;
            let last = last.div_ceil(SPAN);
            units.try_reserve(1).map_err(|_| BackendError::OutOfMemory {
                what: "intermediate results",
                bytes: (units.len() + 1).saturating_mul(size_of::<RowUnit>()),
            })?;
            units.push(RowUnit { sequence, rows: start..end, spans: first..last });
        }
    }
    Ok(())
}
