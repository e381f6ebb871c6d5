//! Shapes, strided tensors and views, and the block formats that weights are stored in.
//!
//! Everything is row-major: the last dimension varies fastest, and a matrix of `rows x cols`
//! weights is `rows` stored rows of `cols` values each. [`Tensor`] owns elements and [`TensorView`]
//! borrows them, sliced, reshaped, transposed or broadcast without a copy. [`DType`] names how the
//! values of a row are stored; [`quant`] decodes and encodes such rows.
//!
//! ```
//! use inferno_tensor::{DType, quant};
//!
//! let row: Vec<f32> = (0..64).map(|i| i as f32 / 32.0 - 1.0).collect();
//! let mut stored = vec![0; DType::Q8_0.row_bytes(row.len())?];
//! quant::encode_row(DType::Q8_0, &row, &mut stored)?;
//!
//! let mut back = vec![0.0; row.len()];
//! quant::decode_row(DType::Q8_0, &stored, &mut back)?;
//! assert!(row.iter().zip(&back).all(|(a, b)| (a - b).abs() < 0.005));
//! # Ok::<(), inferno_tensor::TensorError>(())
//! ```

#![forbid(unsafe_code)]

mod dtype;
mod error;
mod layout;
pub mod quant;
mod shape;
mod tensor;
mod view;

pub use dtype::DType;
pub use error::TensorError;
pub use shape::{MAX_RANK, Shape};
pub use tensor::Tensor;
pub use view::{Elements, TensorView};
