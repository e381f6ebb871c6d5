//! Embedding lookup and gathering of logit rows.

use bytes::Bytes;
use inferno_backend::{BackendError, Batch, EmbeddingIndex, WeightPart};
use inferno_tensor::{DType, quant};

use crate::buffer::CpuBuffer;
use crate::executor::Executor;

/// Rows in the format of the file, decoded when they are looked up.
#[derive(Debug)]
pub struct CpuTable {
    dtype: DType,
    row_bytes: usize,
    cols: usize,
    bytes: Bytes,
}

impl CpuTable {
    /// A table of the bytes of `part`.
    ///
    /// **Errors**: the width is not a multiple of the format's blocks.
    pub(crate) fn new(part: &WeightPart) -> Result<Self, BackendError> {
        let row_bytes = part
            .dtype()
            .row_bytes(part.cols())
            .map_err(|source| BackendError::WeightShape { name: part.name().to_owned(), source })?;
        let bytes = part.bytes().clone();
        Ok(Self { dtype: part.dtype(), row_bytes, cols: part.cols(), bytes })
    }
}

/// `out[t]` is the row of `table` that `index` selects for token `t`.
pub(crate) fn embed(
    executor: Executor<'_>,
    batch: &Batch,
    index: EmbeddingIndex,
    table: &CpuTable,
    out: &mut CpuBuffer,
) {
    let cols = out.cols();
    assert_eq!(cols, table.cols, "embeddings are as wide as the table");
    let selected = match index {
        EmbeddingIndex::Token => batch.token_ids(),
        EmbeddingIndex::Position => batch.positions(),
    };
    out.split_rows(executor.pool, selected.len(), |first, out| {
        for (&row, out) in selected[first..].iter().zip(out.chunks_exact_mut(cols)) {
            let at = row as usize * table.row_bytes;
            quant::decode_row(table.dtype, &table.bytes[at..at + table.row_bytes], out)
                .expect("the table's rows were checked when it was loaded");
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
