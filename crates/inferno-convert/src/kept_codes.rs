//! Codes of quantized weights that are copied to blocks instead of becoming floats.

use inferno_tensor::DType;

use crate::lazy::{Lazy, Part};
use crate::quantized::Quantized;
use crate::sources::Sources;

/// Which codes of quantized weights are copied to blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeptCodes {
    None,
    /// Those whose blocks lose nothing.
    Exact,
    /// Those of which blocks lose no more than 16-bit floats, since scales are rounded to half precision.
    All,
}

/// Blocks of a tensor of the result.
pub(crate) struct KeptBlocks {
    pub(crate) dtype: DType,
    /// A scale for each matrix of the tensor, if they have some.
    pub(crate) scales: Option<Vec<f32>>,
}

impl KeptCodes {
    /// The blocks that hold the codes of all parts of a tensor; `None` if there are none.
    pub(crate) fn blocks(self, sources: &Sources, tensor: &Lazy) -> Option<KeptBlocks> {
        let format = |part: &Part| {
            let dtype = self.format(sources.quantized(part.source)?)?;
            let is_kept = part.operations.is_empty() && part.is_in_runs_of(dtype.block_len());
            is_kept.then_some(dtype)
        };
        let dtype = format(tensor.parts.first()?)?;
        let is_whole = tensor.shape.last()?.is_multiple_of(dtype.block_len());
        if !is_whole || tensor.parts.iter().any(|part| format(part) != Some(dtype)) {
            return None;
        }
        let scales = match dtype {
            DType::Nvfp4 => Some(scales_of_matrices(sources, tensor)?),
            _ => None,
        };
        Some(KeptBlocks { dtype, scales })
    }

    fn format(self, quantized: &Quantized) -> Option<DType> {
        let is_kept = match self {
            Self::None => false,
            Self::Exact => quantized.is_block_format_exact(),
            Self::All => true,
        };
        quantized.block_format().filter(|_| is_kept)
    }
}

/// The scale of each matrix, unless the parts of one have different scales.
fn scales_of_matrices(sources: &Sources, tensor: &Lazy) -> Option<Vec<f32>> {
    let [matrices @ .., rows, cols] = &tensor.shape[..] else { return None };
    let (len, mut first) = ((rows * cols).max(1), 0);
    let mut scales = vec![None; matrices.iter().product()];
    for part in &tensor.parts {
        let scale = sources.quantized(part.source)?.scales.of_tensor();
        for own in &mut scales[first / len..(first + part.len()).div_ceil(len)] {
            if own.replace(scale).is_some_and(|other| other != scale) {
                return None;
            }
        }
        first += part.len();
    }
    scales.into_iter().collect()
}
