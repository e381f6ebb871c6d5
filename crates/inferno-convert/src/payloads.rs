//! The tensors of the result, computed from the files when they are read.

use std::ops::Range;

use bytes::Bytes;
use inferno_gguf::Payloads;
use inferno_tensor::DType;
use rayon::prelude::*;

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
    /// The tensors in the files that a tensor consists of.
    fn lazy_parts(&self, tensor: usize) -> Vec<&Lazy> {
        match &self.tensors[tensor].content {
            Content::Values(values) => vec![values],
            Content::Mxfp4 { codes, exponents } => vec![codes, exponents],
            Content::Constant(_) => Vec::new(),
        }
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
        for part in self.lazy_parts(tensor).into_iter().flat_map(|lazy| &lazy.parts) {
            self.sources.weights().preload(part.source);
        }
    }

    fn release(&self, tensor: usize, range: Range<usize>) {
        let PlannedTensor { dtype, .. } = &self.tensors[tensor];
        for lazy in self.lazy_parts(tensor) {
            let mut first = 0;
            for part in &lazy.parts {
                // Of tensors in another order, the pages are needed until the last element is read.
                let elements = (range.start / dtype.block_bytes(), range.end / dtype.block_bytes());
                let own = first..first + part.len();
                first = own.end;
                let source = self.sources.tensor(part.source);
                let size = source.dtype.bitsize().div_ceil(8);
                match part.contiguous_start() {
                    Some(start) if *dtype != DType::Mxfp4 => {
                        let (from, to) = (elements.0.max(own.start), elements.1.min(own.end));
                        if from < to {
                            let from = (start + from - own.start) * size;
                            let to = (start + to - own.start) * size;
                            self.sources.weights().release(part.source, from..to);
                        }
                    }
                    _ if elements.1 >= own.end || range.end == usize::MAX => {
                        self.sources.weights().release(part.source, 0..source.len() * size);
                    }
                    _ => {}
                }
            }
        }
    }
}

/// Blocks of MXFP4. In the files, a byte has two neighboring codes; in GGUF, those of the two halves of a block.
///
/// **Shapes**: 16 bytes of `codes` and one of `exponents` per block.
fn mxfp4(sources: &Sources, codes: &Lazy, exponents: &Lazy, blocks: Range<usize>) -> Bytes {
    const BLOCK: usize = 17;
    let bytes = |lazy: &Lazy, range: Range<usize>| {
        let mut out = vec![0; range.len()];
        let part = &lazy.parts[0];
        read::gather(part, &sources.data(part.source), range, &mut out);
        out
    };
    let codes = bytes(codes, blocks.start * 16..blocks.end * 16);
    let exponents = bytes(exponents, blocks.clone());
    let mut out = vec![0; blocks.len() * BLOCK];
    let inputs = codes.par_chunks_exact(16).zip(&exponents);
    out.par_chunks_exact_mut(BLOCK).zip(inputs).for_each(|(out, (codes, &exponent))| {
        let code = |index: usize| codes[index / 2] >> (4 * (index % 2)) & 0x0f;
        out[0] = exponent;
        for (index, out) in out[1..].iter_mut().enumerate() {
            *out = code(index) | code(index + 16) << 4;
        }
    });
    out.into()
}
