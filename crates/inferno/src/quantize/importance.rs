//! The importance of the columns of one tensor.

use inferno_gguf::TensorInfo;
use inferno_tensor::DType;

use crate::{Error, ImportanceMatrix, QuantizeError};

/// Tensors that are looked up row by row, or whose products are usually not collected: all of their columns matter equally
/// if nothing else is known and the format needs an importance.
const UNIFORM: [&str; 3] = ["token_embd.weight", "per_layer_token_embd.weight", "output.weight"];

/// The importance of the columns of each matrix of a tensor.
pub(super) struct Importance {
    cols: usize,
    rows_per_matrix: usize,
    values: Vec<f32>,
}

impl Importance {
    /// Returns the importance of a tensor's columns according to `matrix`; `None` if there is no entry, or if `format` does not
    /// use it.
    ///
    /// **Errors**: [`QuantizeError::ImportanceMismatch`].
    pub(super) fn of_tensor(
        info: &TensorInfo,
        format: DType,
        matrix: Option<&ImportanceMatrix>,
    ) -> Result<Option<Self>, Error> {
        let [cols, rows_per_matrix, ref matrices @ ..] = *info.dims() else { return Ok(None) };
        if !format.uses_importance() {
            return Ok(None);
        }
        let expected = cols * matrices.iter().product::<usize>();
        let values = match matrix.and_then(|matrix| matrix.entry(info.name())) {
            Some(entry) => entry.mean_squares(),
            None if format.needs_importance() && UNIFORM.contains(&info.name()) => {
                vec![1.0; expected]
            }
            None => return Ok(None),
        };
        let found = values.len();
        if found != expected {
            let tensor = info.name().to_owned();
            return Err(Error::Quantize(QuantizeError::ImportanceMismatch {
                tensor,
                expected,
                found,
            }));
        }
        Ok(Some(Self { cols, rows_per_matrix, values }))
    }

    /// Returns the importance of the columns of a row of the tensor.
    pub(super) fn of_row(&self, row: usize) -> &[f32] {
        &self.values[row / self.rows_per_matrix * self.cols..][..self.cols]
    }
}
