//! How a batch is cut into tasks.

use std::ops::Range;

use inferno_backend::{AttentionParams, Batch};

use super::{Attention, SPAN};

/// Query rows (tokens times heads) of a task, where one token's heads are not more already: as many
/// as keep what a tile costs to read small beside what it costs to multiply. (With AMX, 512 tokens behind 3584
/// others take a sixth longer with 128 rows, and a tenth with 512, whose queries leave the second-level cache.)
const UNIT_ROWS: usize = 256;

/// The same where that leaves threads without a task.
const FEWER_UNIT_ROWS: usize = 128;

/// Neighbouring rows of one sequence.
#[derive(Debug, Clone)]
pub(crate) struct Unit {
    pub(super) sequence: usize,
    pub(super) rows: Range<usize>,
    /// The spans that the rows see something of.
    pub(super) spans: Range<usize>,
}

/// Cuts the batch into units: smaller ones where tasks would be fewer than `min_tasks`.
pub(super) fn plan(attention: &Attention<'_>, min_tasks: usize, units: &mut Vec<Unit>) {
    let num_rows = attention.batch.num_tokens() * attention.group;
    let num_tasks = num_rows.div_ceil(UNIT_ROWS) * attention.layout.num_kv_heads;
    let unit_rows = if num_tasks < min_tasks { FEWER_UNIT_ROWS } else { UNIT_ROWS };
    let unit_tokens = (unit_rows / attention.group).max(1);
    units.clear();
    for sequence in 0..attention.batch.num_sequences() {
        let rows = attention.batch.rows(sequence);
        for start in rows.clone().step_by(unit_tokens) {
            let end = rows.end.min(start + unit_tokens);
            let first = visible(attention.batch, attention.params, start).start / SPAN;
            let last = visible(attention.batch, attention.params, end - 1).end.div_ceil(SPAN);
            units.push(Unit { sequence, rows: start..end, spans: first..last });
        }
    }
}

/// The positions that row `row` of the batch sees.
pub(super) fn visible(batch: &Batch, params: &AttentionParams, row: usize) -> Range<usize> {
    let end = batch.positions()[row] as usize + 1;
    params.window.map_or(0, |window| end.saturating_sub(window))..end
}
