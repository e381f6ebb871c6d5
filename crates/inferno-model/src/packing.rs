//! Which tensors of a file a backend packs, and in which format.

use inferno_backend::Backend;
use inferno_gguf::{Gguf, TensorInfo};
use inferno_tensor::DType;

use crate::loader::dtype_of;
use crate::tensor_names::{EMBEDDINGS, OUTPUT_HEAD};
use crate::{ModelError, Requantize};

/// A tensor as a backend packs it.
pub(crate) struct PackedTensor {
    /// Whether it is the output head.
    pub(crate) is_head: bool,
    /// Whether it is the operand of a matrix product; vectors are biases and norm weights.
    pub(crate) is_matrix: bool,
    pub(crate) dtype: DType,
    pub(crate) experts: usize,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
}

impl PackedTensor {
    fn new(
        info: &TensorInfo,
        is_head: bool,
        requantize: Option<Requantize>,
    ) -> Result<Self, ModelError> {
        let dims = info.dims();
        let cols = dims.first().copied().unwrap_or(1);
        let dtype = dtype_of(info)?;
        Ok(Self {
            is_head,
            is_matrix: dims.len() > 1,
            dtype: requantize.map_or(dtype, |choice| choice.target(dtype, cols)),
            experts: dims.iter().skip(2).product(),
            rows: dims.get(1).copied().unwrap_or(1),
            cols,
        })
    }

    /// Size of `experts` of its matrices, in bytes.
    pub(crate) fn num_bytes<B: Backend>(&self, backend: &B, experts: usize) -> usize {
        match self.is_matrix {
            true => backend.weight_bytes(self.dtype, experts, self.rows, self.cols),
            false => self.cols * size_of::<f32>(),
        }
    }
}

/// The tensors that a load packs: all but the embedding table, unless it is also the output head.
///
/// **Errors**: an item is an error if its tensor is in an unsupported format.
pub(crate) fn packed_tensors(
    checkpoint: &Gguf,
    requantize: Option<Requantize>,
) -> impl Iterator<Item = Result<PackedTensor, ModelError>> + '_ {
    let head = match checkpoint.tensor(OUTPUT_HEAD) {
        Some(_) => OUTPUT_HEAD,
        None => EMBEDDINGS,
    };
    checkpoint
        .tensors()
        .iter()
        .filter(move |info| info.name() != EMBEDDINGS || head == EMBEDDINGS)
        .map(move |info| PackedTensor::new(info, info.name() == head, requantize))
}
