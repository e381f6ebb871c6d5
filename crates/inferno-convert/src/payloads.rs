//! The tensors of the result, computed from the files when they are read.

use std::ops::Range;

use bytes::Bytes;
use inferno_gguf::Payloads;
use inferno_tensor::DType;
use rayon::prelude::*;

use crate::ConvertError;
use crate::lazy::Lazy;
use crate::plan::{Content, PlannedTensor};
use crate::read;
use crate::sources::Sources;

/// The tensors of a conversion.
#[derive(Debug)]
pub(crate) struct ConvertedPayloads {
    pub(crate) sources: Sources,
    pub(crate) tensors: Vec<PlannedTensor>,
}

impl ConvertedPayloads {
    /// The tensors in the files that a tensor consists of, with the number of their elements for each block of it.
    fn lazy_parts(&self, tensor: usize) -> Vec<(&Lazy, usize)> {
        match &self.tensors[tensor].content {
            Content::Values(values) => vec![(values, 1)],
            Content::Mxfp4 { codes, exponents } => vec![(codes, CODE_BYTES), (exponents, 1)],
            Content::Constant(_) => Vec::new(),
        }
    }
}

impl ConvertedPayloads {
    /// Checks that no finite value becomes infinite, which reads the tensors where that is possible.
    ///
    /// **Errors**: [`ConvertError::OutOfRange`] for the first such value.
    pub(crate) fn check_range(&self) -> Result<(), ConvertError> {
        self.tensors.iter().try_for_each(|tensor| {
            let overflow = match &tensor.content {
                Content::Values(values) => read::find_overflow(&self.sources, values, tensor.dtype),
                Content::Mxfp4 { .. } | Content::Constant(_) => None,
            };
            match overflow {
                None => Ok(()),
                Some(value) => Err(ConvertError::OutOfRange {
                    tensor: tensor.name.clone(),
                    value,
                    dtype: tensor.dtype,
                }),
            }
        })
    }
}

impl Payloads for ConvertedPayloads {
    fn read(&self, tensor: usize, part: Range<usize>) -> Bytes {
        let PlannedTensor { dtype, content, .. } = &self.tensors[tensor];
        match content {
            Content::Values(values) => {
                let size = dtype.block_bytes();
                read::read(&self.sources, values, *dtype, part.start / size..part.end / size)
            }
            Content::Mxfp4 { codes, exponents } => {
                let size = DType::Mxfp4.block_bytes();
                mxfp4(&self.sources, codes, exponents, part.start / size..part.end / size)
            }
            Content::Constant(values) => {
                let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
                Bytes::from(bytes).slice(part)
            }
        }
    }

    fn preload(&self, tensor: usize) {
        for part in self.lazy_parts(tensor).into_iter().flat_map(|(lazy, _)| &lazy.parts) {
            self.sources.weights().preload(part.source);
        }
    }

    fn release(&self, tensor: usize, range: Range<usize>) {
        let size = self.tensors[tensor].dtype.block_bytes();
        for (lazy, per_block) in self.lazy_parts(tensor) {
            let (start, end) = (range.start / size * per_block, range.end / size * per_block);
            let mut first = 0;
            for part in &lazy.parts {
                let own = first..first + part.len();
                first = own.end;
                let (from, to) = (start.max(own.start), end.min(own.end));
                match part.contiguous_start() {
                    _ if from >= to => {}
                    Some(start) => {
                        let elements = start + from - own.start..start + to - own.start;
                        self.sources.release(part.source, elements);
                    }
                    // In another order, the pages are needed until the last element is read.
                    None if to == own.end => {
                        let len = self.sources.tensor(part.source).len();
                        self.sources.release(part.source, 0..len);
                    }
                    None => {}
                }
            }
        }
    }
}

/// Bytes of the codes of a block of MXFP4.
const CODE_BYTES: usize = 16;

/// Blocks of MXFP4. In the files, a byte has two neighboring codes; in GGUF, those of the two halves of a block.
///
/// **Shapes**: 16 bytes of `codes` and one of `exponents` per block.
fn mxfp4(sources: &Sources, codes: &Lazy, exponents: &Lazy, blocks: Range<usize>) -> Bytes {
    const BLOCK: usize = CODE_BYTES + 1;
    let bytes = |lazy: &Lazy, range: Range<usize>| {
        let mut out = vec![0; range.len()];
        let part = &lazy.parts[0];
        read::gather(part, &sources.data(part.source), range, &mut out);
        out
    };
    let codes = bytes(codes, blocks.start * CODE_BYTES..blocks.end * CODE_BYTES);
    let exponents = bytes(exponents, blocks.clone());
    let mut out = vec![0; blocks.len() * BLOCK];
    let inputs = codes.par_chunks_exact(CODE_BYTES).zip(&exponents);
    out.par_chunks_exact_mut(BLOCK).zip(inputs).for_each(|(out, (codes, &exponent))| {
        let code = |index: usize| codes[index / 2] >> (4 * (index % 2)) & 0x0f;
        out[0] = exponent;
        for (index, out) in out[1..].iter_mut().enumerate() {
            *out = code(index) | code(index + 16) << 4;
        }
    });
    out.into()
}
