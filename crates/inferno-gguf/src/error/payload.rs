//! Errors of payloads that are written or computed.

use crate::GgmlType;

/// An error of the payload of a tensor.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PayloadError {
    /// Payloads were written in a different order than the tensors were added.
    #[error(
        "expected the payload of {}, found that of {found:?}",
        expected.as_ref().map_or("no further tensor".to_owned(), |name| format!("tensor {name:?}"))
    )]
    Order {
        /// The next tensor, if any are left.
        expected: Option<String>,
        /// The tensor that was written.
        found: String,
    },
    /// The size of a payload does not match its type and dimensions.
    #[error("the payload of tensor {tensor:?} has {found} bytes, expected {expected}")]
    Size {
        /// The tensor.
        tensor: String,
        /// The size implied by its type and dimensions, in bytes.
        expected: u64,
        /// The number of bytes written.
        found: u64,
    },
    /// A file was finished before all its payloads were written.
    #[error("{count} payloads are missing, starting with that of tensor {first:?}")]
    Missing {
        /// Number of missing payloads.
        count: usize,
        /// The tensor of the first one.
        first: String,
    },
    /// A computed payload has a finite value that becomes infinite in its type.
    #[error(
        "tensor {tensor:?} has the value {value:?}, which is too large for {ggml_type}{}",
        larger_types(*.value, *.ggml_type)
    )]
    ValueTooLarge {
        /// The tensor.
        tensor: String,
        /// The value.
        value: f64,
        /// The type of the tensor.
        ggml_type: GgmlType,
    },
}

/// Names the types that can store a value that `ggml_type` cannot.
fn larger_types(value: f64, ggml_type: GgmlType) -> &'static str {
    match ggml_type {
        _ if value.abs() > f32::MAX.into() => "",
        // Blocks have scales in half precision.
        GgmlType::F16 | GgmlType::Q4_0 | GgmlType::Q5_0 | GgmlType::Q8_0 => {
            "; convert to BF16 or F32 instead"
        }
        GgmlType::BF16 => "; convert to F32 instead",
        _ => "",
    }
}
