//! Parts of matrices whose rows are the columns of a tensor.

use std::ops::Range;

use inferno_tensor::DType;

use super::tensors::{LinearSpec, MatrixPart, MatrixSpec, TensorFinder, TensorRows};
use crate::ModelError;

impl MatrixPart {
    /// Number of rows of each matrix.
    pub(crate) fn num_rows(&self) -> usize {
        self.transposed_cols.unwrap_or_else(|| self.num_selected())
    }

    /// Number of rows of each of the tensor's matrices that belong to the part.
    pub(crate) fn num_selected(&self) -> usize {
        self.rows.iter().map(Range::len).sum()
    }

    /// The part whose rows are the columns of this one, which has rows of `cols` values.
    fn transposed(self, cols: usize) -> Self {
        Self { dtype: DType::F32, transposed_cols: Some(cols), ..self }
    }
}

impl TensorFinder<'_> {
    /// Products with matrices that are one below the other in the tensor `name.weight`, `num_matrices` of `rows` x `cols`
    /// values: with their first `num_first` rows, transposed, and with the others.
    pub(crate) fn split_matrices(
        &self,
        name: &str,
        [num_matrices, rows, cols]: [usize; 3],
        num_first: usize,
    ) -> Result<[LinearSpec; 2], ModelError> {
        let whole = self.matrix_part(&TensorRows::all(name, num_matrices * rows), [1, cols])?;
        let part = |range| MatrixPart {
            rows: vec![range],
            tensor_rows: rows,
            is_convertible: false,
            ..whole.clone()
        };
        let linear = |part, cols| LinearSpec {
            weight: MatrixSpec { parts: vec![part], num_experts: num_matrices, cols },
            bias: None,
        };
        let first = part(0..num_first).transposed(cols);
        Ok([linear(first, num_first), linear(part(num_first..rows), cols)])
    }
}
