//! A weight as the file holds it, checked once, before a backend packs it.

use bytes::Bytes;
use inferno_tensor::DType;

use crate::BackendError;

/// One tensor of a file: `experts` matrices of `rows` x `cols`, row-major, in the file's format.
///
/// A backend receives weights as a list of parts and stacks their rows, so that the query, key
/// and value projections (of which some may be stored finer than others) become one product.
#[derive(Debug, Clone)]
pub struct WeightPart {
    name: String,
    dtype: DType,
    experts: usize,
    rows: usize,
    cols: usize,
    bytes: Bytes,
}

impl WeightPart {
    /// A plain matrix of `rows` output features by `cols` input features.
    ///
    /// **Errors**: when `bytes` is not the size of such a matrix, or `cols` does not divide into
    /// the format's blocks.
    pub fn matrix(
        name: impl Into<String>,
        dtype: DType,
        rows: usize,
        cols: usize,
        bytes: Bytes,
    ) -> Result<Self, BackendError> {
        Self::experts(name, dtype, 1, rows, cols, bytes)
    }

    /// A stack of one matrix an expert.
    ///
    /// **Errors**: as [`matrix`](Self::matrix).
    pub fn experts(
        name: impl Into<String>,
        dtype: DType,
        experts: usize,
        rows: usize,
        cols: usize,
        bytes: Bytes,
    ) -> Result<Self, BackendError> {
        let name = name.into();
        let row_bytes = match dtype.row_bytes(cols) {
            Ok(row_bytes) => row_bytes,
            Err(source) => return Err(BackendError::WeightShape { name, source }),
        };
        let expected = experts.saturating_mul(rows).saturating_mul(row_bytes);
        if bytes.len() != expected {
            return Err(BackendError::WeightSize {
                name,
                dtype: dtype.name(),
                experts,
                rows,
                cols,
                expected,
                found: bytes.len(),
            });
        }
        Ok(Self { name, dtype, experts, rows, cols, bytes })
    }

    /// Checks that `parts` can be stacked, and gives their common `(experts, total rows, cols)`.
    ///
    /// **Errors**: [`BackendError::NoParts`] and [`BackendError::MismatchedParts`].
    pub fn stacked_shape(parts: &[Self]) -> Result<(usize, usize, usize), BackendError> {
        let first = parts.first().ok_or(BackendError::NoParts)?;
        for part in parts {
            if (part.experts, part.cols) != (first.experts, first.cols) {
                return Err(BackendError::MismatchedParts {
                    first: first.name.clone(),
                    first_experts: first.experts,
                    first_cols: first.cols,
                    second: part.name.clone(),
                    second_experts: part.experts,
                    second_cols: part.cols,
                });
            }
        }
        Ok((first.experts, parts.iter().map(|part| part.rows).sum(), first.cols))
    }

    /// Name in the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Format of the rows.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Number of stacked matrices; 1 for a plain weight.
    pub fn num_experts(&self) -> usize {
        self.experts
    }

    /// Output features of one matrix.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Input features.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Bytes of one row.
    pub fn row_bytes(&self) -> usize {
        self.bytes.len().checked_div(self.experts * self.rows).unwrap_or(0)
    }

    /// The whole payload.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Row `row` of expert `expert`.
    ///
    /// **Panics** when either is out of range.
    pub fn row(&self, expert: usize, row: usize) -> &[u8] {
        assert!(expert < self.experts && row < self.rows, "row {row} of expert {expert}");
        let at = (expert * self.rows + row) * self.row_bytes();
        &self.bytes[at..at + self.row_bytes()]
    }
}
