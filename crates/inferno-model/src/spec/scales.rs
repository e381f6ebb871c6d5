//! Factors on the outputs of a product, in a tensor of their own: `blk.0.attn_q.scale` for `blk.0.attn_q.weight`.
//!
//! A matrix of bytes (type I8) has one per row; its weights are the bytes times them. A matrix of another type can have
//! one, and a stack of matrices one for each: NVFP4 is stored like this, because its scales of blocks have 8 bits.
//!
//! **Source**: the loader of llama.cpp (`llama-model.cpp`), which multiplies products by them. Scales of inputs
//! (`blk.0.attn_q.input_scale`) are for activations in NVFP4 and have no effect on products with activations of higher
//! precision; llama.cpp reads and ignores them.

use inferno_gguf::{GgmlType, Gguf, TensorInfo};
use inferno_tensor::{DType, quant};

use super::tensors::find;
use crate::ModelError;
use crate::loader::{dtype_of, slowest_first};

/// The suffix of the names of matrices.
const WEIGHT: &str = ".weight";
/// The suffix of the names of their scales.
const SCALE: &str = ".scale";
/// The suffix of the names of ignored tensors.
const INPUT_SCALE: &str = ".input_scale";

/// The scales of a matrix or of a stack of matrices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorScales {
    name: String,
    /// Whether they are those of bytes, which have signs of their own.
    is_unsigned: bool,
    num_values: usize,
    /// Number of neighboring rows with the same scale.
    rows_per_value: usize,
}

impl TensorScales {
    /// Finds the scales of the tensor `matrix`, if it has some.
    ///
    /// **Errors**: [`ModelError::MissingScales`] for bytes without scales; [`ModelError::TensorShape`],
    /// [`ModelError::UnsupportedFormat`].
    pub fn find(checkpoint: &Gguf, matrix: &TensorInfo) -> Result<Option<Self>, ModelError> {
        let name = Self::name_for(matrix.name());
        let dims = slowest_first(matrix);
        let row_dims = &dims[..dims.len().saturating_sub(1)];
        let (rows, stack) =
            row_dims.split_last().map_or((1, &[][..]), |(rows, stack)| (*rows, stack));
        let num_matrices = stack.iter().product();
        let is_unsigned = matrix.ggml_type() == GgmlType::I8;
        let (shape, rows_per_value) = match is_unsigned {
            true => ([1, num_matrices, rows], 1),
            false => ([1, 1, num_matrices], rows),
        };
        if checkpoint.tensor(&name).is_none() {
            return match is_unsigned {
                true => Err(ModelError::MissingScales {
                    matrix: matrix.name().to_owned(),
                    name,
                    expected: row_dims.to_vec(),
                }),
                false => Ok(None),
            };
        }
        dtype_of(find(checkpoint, &name, shape)?)?;
        let num_values = shape.iter().product();
        Ok(Some(Self { name, is_unsigned, num_values, rows_per_value }))
    }

    /// The name of the scales of the tensor `matrix`.
    pub fn name_for(matrix: &str) -> String {
        format!("{}{SCALE}", matrix.strip_suffix(WEIGHT).unwrap_or(matrix))
    }

    /// The name of the input scales of the tensor `matrix`, which are ignored.
    pub(crate) fn input_name_for(matrix: &str) -> String {
        format!("{}{INPUT_SCALE}", matrix.strip_suffix(WEIGHT).unwrap_or(matrix))
    }

    /// The name of the tensor.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads the scales: one per row of the matrices, in order.
    ///
    /// **Errors**: [`ModelError::InvalidScale`] for values that are not finite, or negative scales of bytes.
    ///
    /// **Panics** unless `checkpoint` is the one they were found in.
    pub fn read(&self, checkpoint: &Gguf) -> Result<Vec<f32>, ModelError> {
        let info = checkpoint.tensor(&self.name).expect("the scales were found in this file");
        let mut values = vec![0.0; self.num_values];
        quant::decode_row(dtype_of(info)?, &checkpoint.data(info), &mut values)?;
        let is_valid = |value: f32| match self.is_unsigned {
            true => value >= 0.0 && (127.0 * value).is_finite(),
            false => value.is_finite(),
        };
        if let Some((index, &found)) =
            values.iter().enumerate().find(|(_, value)| !is_valid(**value))
        {
            let (name, is_unsigned) = (self.name.clone(), self.is_unsigned);
            return Err(ModelError::InvalidScale { name, index, found, is_unsigned });
        }
        let rows =
            values.into_iter().flat_map(|value| std::iter::repeat_n(value, self.rows_per_value));
        Ok(rows.collect())
    }
}

/// The format of a matrix, which can be bytes with scales.
///
/// **Errors**: [`ModelError::UnsupportedFormat`].
pub(crate) fn matrix_dtype(info: &TensorInfo) -> Result<DType, ModelError> {
    match info.ggml_type() {
        GgmlType::I8 => Ok(DType::Int8),
        _ => dtype_of(info),
    }
}

/// The format of a tensor's values; `None` if they cannot be computed with, such as bytes without scales.
pub fn weight_dtype(checkpoint: &Gguf, info: &TensorInfo) -> Option<DType> {
    let has_scales = || checkpoint.tensor(&TensorScales::name_for(info.name())).is_some();
    matrix_dtype(info).ok().filter(|dtype| *dtype != DType::Int8 || has_scales())
}
