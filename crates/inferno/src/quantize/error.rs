//! Why a model cannot be quantized.

use std::path::PathBuf;

use inferno_tensor::{DType, TensorError};

use super::Recipe;
use crate::error::location;

/// An error from quantizing a model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QuantizeError {
    /// The file to quantize holds an importance matrix.
    #[error("{} is an importance matrix, not a model; specify it with --imatrix, next to the model to quantize", path.display())]
    InputIsImportanceMatrix {
        /// The file.
        path: PathBuf,
    },
    /// The weights to quantize are already quantized.
    #[error(
        "tensor {tensor:?} is already quantized to {found}, and requantizing loses quality; use an F32, F16 or BF16 \
         file, or pass --allow-requantize"
    )]
    AlreadyQuantized {
        /// The first such tensor.
        tensor: String,
        /// Its format.
        found: DType,
    },
    /// There is no quantization format with this name.
    #[error("unknown format {found:?}; expected one of {}", Recipe::names().collect::<Vec<_>>().join(", "))]
    UnknownRecipe {
        /// The name.
        found: String,
    },
    /// A tensor would get a format that needs an importance matrix.
    #[error(
        "{format} of {tensor} needs an importance matrix{}", if *.has_matrix { ", and the one specified has no entry for it" } else { "" }
    )]
    NeedsImportanceMatrix {
        /// The tensor.
        tensor: String,
        /// Its format.
        format: DType,
        /// Whether a matrix was specified.
        has_matrix: bool,
    },
    /// An importance matrix belongs to another model.
    #[error(
        "the importance matrix has {found} values for {tensor}, which has {expected} columns; it is of another model"
    )]
    ImportanceMismatch {
        /// The tensor.
        tensor: String,
        /// Number of columns, over all matrices of the tensor.
        expected: usize,
        /// Number of values.
        found: usize,
    },
    /// An importance matrix belongs to another model.
    #[error(
        "{}the importance matrix has no entry for any weight of the model; it is of another model",
        location(path)
    )]
    ForeignImportance {
        /// The file; empty if it is not that of a file.
        path: PathBuf,
    },
    /// A tensor could not be converted.
    #[error("tensor {tensor:?}, row {row}: {source}")]
    Row {
        /// The tensor.
        tensor: String,
        /// Index of the row.
        row: usize,
        /// The cause.
        source: Box<TensorError>,
    },
    /// A tensor is stored in a format that cannot be decoded.
    #[error("tensor {tensor:?} is stored as {found}, which cannot be decoded")]
    UndecodableTensor {
        /// The tensor.
        tensor: String,
        /// The format's name.
        found: &'static str,
    },
}
