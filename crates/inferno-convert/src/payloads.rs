//! The tensors of the result, computed from the files when they are read.

use std::ops::Range;
use std::sync::OnceLock;

use bytes::Bytes;
use inferno_gguf::{PayloadError, Payloads};
use inferno_tensor::DType;
use rayon::prelude::*;

use crate::lazy::Lazy;
use crate::plan::{Content, PlannedTensor};
use crate::quantized::halves;
use crate::read;
use crate::sources::Sources;

/// The tensors of a conversion.
#[derive(Debug)]
pub(crate) struct ConvertedPayloads {
    pub(crate) sources: Sources,
    pub(crate) tensors: Vec<PlannedTensor>,
    /// The first value that was read and is too large for its tensor, whose number it has.
    too_large: OnceLock<(usize, f64)>,
}

impl ConvertedPayloads {
    pub(crate) fn new(sources: Sources, tensors: Vec<PlannedTensor>) -> Self {
        Self { sources, tensors, too_large: OnceLock::new() }
    }

    /// The tensors in the files that a tensor consists of, with the number of their elements for each block of it.
    fn lazy_parts(&self, tensor: usize) -> Vec<(&Lazy, usize)> {
        match &self.tensors[tensor].content {
            Content::Values(values) => vec![(values, self.tensors[tensor].dtype.block_len())],
            Content::Mxfp4 { codes, exponents } => vec![(codes, CODE_BYTES), (exponents, 1)],
            Content::Constant(_) => Vec::new(),
        }
    }

    /// The elements of the tensors in the files that a part of a payload is computed from and later parts are not, with the
    /// number of their tensor.
    fn read_completely(&self, tensor: usize, part: Range<usize>) -> Vec<(usize, Range<usize>)> {
        let size = self.tensors[tensor].dtype.block_bytes();
        let mut found = Vec::new();
        for (lazy, per_block) in self.lazy_parts(tensor) {
            let (start, end) = (part.start / size * per_block, part.end / size * per_block);
            let mut first = 0;
            for part in &lazy.parts {
                let own = first..first + part.len();
                first = own.end;
                let (from, to) = (start.max(own.start), end.min(own.end));
                match part.contiguous_start() {
                    _ if from >= to => {}
                    Some(start) => {
                        let elements = start + from - own.start..start + to - own.start;
                        found.push((part.source, elements));
                    }
                    // In another order, the pages are needed until the last element is read.
                    None if to == own.end => {
                        found.push((part.source, 0..self.sources.tensor(part.source).len()));
                    }
                    None => {}
                }
            }
        }
        found
    }
}

impl Payloads for ConvertedPayloads {
    fn read(&self, tensor: usize, part: Range<usize>) -> Bytes {
        let PlannedTensor { dtype, content, .. } = &self.tensors[tensor];
        match content {
            Content::Values(values) => {
                let (size, len) = (dtype.block_bytes(), dtype.block_len());
                let elements = part.start / size * len..part.end / size * len;
                let (bytes, too_large) = read::read(&self.sources, values, *dtype, elements);
                if let Some(value) = too_large {
                    self.too_large.get_or_init(|| (tensor, value));
                }
                bytes
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

    fn check(&self) -> Result<(), PayloadError> {
        match self.too_large.get() {
            None => Ok(()),
            Some(&(tensor, value)) => {
                let tensor = &self.tensors[tensor];
                let (ggml_type, tensor) = (tensor.ggml_type(), tensor.name.clone());
                Err(PayloadError::ValueTooLarge { tensor, value, ggml_type })
            }
        }
    }

    fn preload(&self, tensor: usize) {
        for part in self.lazy_parts(tensor).into_iter().flat_map(|(lazy, _)| &lazy.parts) {
            self.sources.weights().preload(part.source);
        }
    }

    fn release(&self, tensor: usize, part: Range<usize>) {
        for (source, elements) in self.read_completely(tensor, part) {
            self.sources.release(source, elements);
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
        out[0] = exponent;
        let codes: [u8; 2 * CODE_BYTES] =
            std::array::from_fn(|index| codes[index / 2] >> (4 * (index % 2)) & 0x0f);
        halves(codes, &mut out[1..]);
    });
    out.into()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use safetensors::tensor::TensorView;
    use safetensors::{Dtype, serialize};
    use tempfile::tempdir;

    use super::*;
    use crate::config::Config;
    use crate::weights::Weights;

    /// The tensors of a checkpoint in `folder` that has this configuration and weights of ones and twos in turn.
    fn sources(folder: &Path, config: &str, tensors: &[(&str, Dtype, &[usize])]) -> Sources {
        let bytes = [[1_u8; 512], [2; 512]].concat();
        let views = tensors.iter().map(|(name, dtype, shape)| {
            let len = shape.iter().product::<usize>() * dtype.bitsize() / 8;
            (*name, TensorView::new(*dtype, shape.to_vec(), &bytes[..len]).expect("a valid tensor"))
        });
        let file = serialize(views, None).expect("the tensors are valid");
        std::fs::write(folder.join("model.safetensors"), file).expect("it is written");
        std::fs::write(folder.join("config.json"), config).expect("it is written");
        let config = Config::read(folder).expect("a configuration");
        Sources::new(Weights::open(folder).expect("weights"), &config).expect("valid weights")
    }

    fn planned(shape: &[usize], dtype: DType, content: Content) -> PlannedTensor {
        PlannedTensor { name: "w".to_owned(), shape: shape.to_vec(), dtype, content }
    }

    #[test]
    fn elements_are_released_after_the_last_part_that_is_computed_from_them() {
        let folder = tempdir().expect("a folder");
        let shape: &[usize] = &[4, 2];
        let sources =
            sources(folder.path(), "{}", &[("a", Dtype::F32, shape), ("b", Dtype::F32, shape)]);
        let lazy = |name| Lazy::new(sources.find(name).expect("it exists"), shape).expect("valid");
        let (a, b) = (sources.find("a").expect("it exists"), sources.find("b").expect("it exists"));
        let rows = lazy("a").view(|view| view.slice(0, 1..4)).expect("valid");
        let joined = Lazy::concat(vec![rows, lazy("b")]).expect("valid");
        let transposed = lazy("b").view(|view| view.transpose(0, 1)).expect("valid");
        let tensors = vec![
            planned(&[7, 2], DType::F16, Content::Values(joined)),
            planned(&[2, 4], DType::F16, Content::Values(transposed)),
            planned(&[2], DType::F32, Content::Constant(vec![1.0; 2])),
        ];
        let payloads = ConvertedPayloads::new(sources, tensors);
        assert_eq!(payloads.read_completely(0, 0..4), [(a, 2..4)]);
        assert_eq!(payloads.read_completely(0, 8..16), [(a, 6..8), (b, 0..2)]);
        assert_eq!(payloads.read_completely(1, 0..14), []);
        assert_eq!(payloads.read_completely(1, 14..16), [(b, 0..8)]);
        assert_eq!(payloads.read_completely(2, 0..8), []);
    }

    #[test]
    fn blocks_of_mxfp4_are_computed_from_their_codes_and_exponents() {
        let folder = tempdir().expect("a folder");
        let tensors: [(&str, Dtype, &[usize]); 2] =
            [("codes", Dtype::U8, &[2, 4, 2, 16]), ("exponents", Dtype::U8, &[2, 4, 2])];
        let sources = sources(folder.path(), "{}", &tensors);
        let numbers = ["codes", "exponents"].map(|name| sources.find(name).expect("it exists"));
        // Every other row.
        let alternate = |index: usize, split: &[usize]| {
            let whole = Lazy::new(numbers[index], tensors[index].2).expect("valid");
            whole.view(|view| view.reshape(split)?.select(2, 1)).expect("valid")
        };
        let content = Content::Mxfp4 {
            codes: alternate(0, &[2, 2, 2, 2, 16]),
            exponents: alternate(1, &[2, 2, 2, 2]),
        };
        let whole = Content::Mxfp4 {
            codes: Lazy::new(numbers[0], tensors[0].2).expect("valid"),
            exponents: Lazy::new(numbers[1], tensors[1].2).expect("valid"),
        };
        let tensors = vec![
            planned(&[2, 2, 64], DType::Mxfp4, content),
            planned(&[2, 4, 64], DType::Mxfp4, whole),
        ];
        let payloads = ConvertedPayloads::new(sources, tensors);
        let [codes, exponents] = numbers;
        assert_eq!(payloads.read_completely(0, 0..7 * 17), []);
        let all = [(codes, 0..256), (exponents, 0..16)];
        assert_eq!(payloads.read_completely(0, 7 * 17..8 * 17), all);
        let two = [(codes, 16..48), (exponents, 1..3)];
        assert_eq!(payloads.read_completely(1, 17..3 * 17), two);
        let expected = payloads.read(0, 0..8 * 17);
        let parts = (0..8).flat_map(|block| payloads.read(0, block * 17..(block + 1) * 17));
        assert!(parts.eq(expected.iter().copied()));
    }
}
