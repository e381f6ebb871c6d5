//! Embedding lookup and gathering of logit rows.

use inferno_backend::{Batch, EmbeddingIndex, WeightPart};

use crate::buffer::CpuBuffer;
use crate::executor::Executor;

/// Rows in the format of the file, decoded when they are looked up.
#[derive(Debug)]
pub struct CpuTable(pub(crate) WeightPart);

/// `out[t]` is the row of `table` that `index` selects for token `t`.
pub(crate) fn embed(
    executor: Executor<'_>,
    batch: &Batch,
    index: EmbeddingIndex,
    CpuTable(table): &CpuTable,
    out: &mut CpuBuffer,
) {
    let cols = out.cols();
    assert_eq!(cols, table.cols(), "embeddings are as wide as the table");
    let selected = batch.table_rows(index);
    out.split_rows(executor.pool, selected.len(), |first, out| {
        for (&row, out) in selected[first..].iter().zip(out.chunks_exact_mut(cols)) {
            table.decode_row(0, row as usize, out).expect("rows are as wide as the table");
        }
    });
}

/// `out[i] = x[i / times]`.
pub(crate) fn repeat(
    executor: Executor<'_>,
    rows: usize,
    times: usize,
    x: &CpuBuffer,
    out: &mut CpuBuffer,
) {
    let cols = out.cols();
    assert_eq!(cols, x.cols(), "input and output have the same width");
    let x = x.rows(rows);
    out.split_rows(executor.pool, rows * times, |first, out| {
        for (row, out) in (first..).zip(out.chunks_exact_mut(cols)) {
            let row = row / times;
            out.copy_from_slice(&x[row * cols..(row + 1) * cols]);
        }
    });
}

/// `out[i] = x[logit_rows[i]]`.
pub(crate) fn gather(executor: Executor<'_>, batch: &Batch, x: &CpuBuffer, out: &mut CpuBuffer) {
    let cols = out.cols();
    assert_eq!(cols, x.cols(), "input and output have the same width");
    let rows = batch.logit_rows();
    let x = x.rows(batch.num_tokens());
    out.split_rows(executor.pool, rows.len(), |first, out| {
        for (&row, out) in rows[first..].iter().zip(out.chunks_exact_mut(cols)) {
            out.copy_from_slice(&x[row * cols..(row + 1) * cols]);
        }
    });
}
