//! The division of a batch into units.

use inferno_backend::BackendError;

use super::inputs::{AttentionInputs, RowUnit, SPAN, visible};

/// Query rows (tokens times heads) of a task, unless one token already has more heads: enough that reading a tile
/// costs little compared with multiplying it. (With AMX, 512 tokens after 3584 others take a sixth longer with 128
/// rows, and a tenth longer with 512, whose queries do not fit in the second-level cache.)
const UNIT_ROWS: usize = 256;

/// The same if threads would otherwise have no task.
const FEWER_UNIT_ROWS: usize = 128;

/// Cuts the batch into units; they are smaller if there would otherwise be fewer tasks than `min_tasks`.
///
/// **Errors**: [`BackendError::OutOfMemory`].
pub(super) fn plan(
    attention: &AttentionInputs<'_>,
    min_tasks: usize,
    units: &mut Vec<RowUnit>,
) -> Result<(), BackendError> {
    let num_rows = attention.batch.num_tokens() * attention.group;
    let num_tasks = num_rows.div_ceil(UNIT_ROWS) * attention.layout.num_kv_heads;
    let unit_rows = if num_tasks < min_tasks { FEWER_UNIT_ROWS } else { UNIT_ROWS };
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

/// Query rows of a unit, at most, where `group` query heads share a key/value head.
pub(super) fn max_unit_rows(group: usize) -> usize {
    group.max(UNIT_ROWS)
}
