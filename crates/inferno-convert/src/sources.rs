//! The tensors of the files as numbers, with the scales of quantized ones applied.

use std::ops::Range;

use bytes::Bytes;
use inferno_tensor::DType;
use safetensors::Dtype;

use crate::config::Config;
use crate::quantized::{Float8, Quantized, QuantizedData};
use crate::weights::{SourceTensor, Weights};
use crate::{ConvertError, quantization};

/// The tensors of a checkpoint.
#[derive(Debug)]
pub(crate) struct Sources {
    weights: Weights,
    /// How each tensor becomes weights, if its elements are codes.
    quantized: Vec<Option<Quantized>>,
    /// Whether a tensor is a part of another one and not itself a weight.
    is_consumed: Vec<bool>,
}

impl Sources {
    /// Finds the tensors that quantized weights consist of, as the quantization of `config` states.
    pub(crate) fn new(weights: Weights, config: &Config) -> Result<Self, ConvertError> {
        let len = weights.tensors().len();
        let (quantized, is_consumed) = (vec![None; len], vec![false; len]);
        let mut sources = Self { weights, quantized, is_consumed };
        quantization::find(config, &mut sources)?;
        sources.check_types()?;
        Ok(sources)
    }

    /// Checks that 8-bit floats have scales.
    fn check_types(&self) -> Result<(), ConvertError> {
        for (number, source) in self.weights.tensors().iter().enumerate() {
            let is_used = self.quantized[number].is_some() || self.is_consumed[number];
            if Float8::new(source.dtype).is_some() && !is_used {
                return Err(source.unexpected_type("without scales"));
            }
        }
        Ok(())
    }

    /// Number of tensors in the files.
    pub(crate) fn len(&self) -> usize {
        self.weights.tensors().len()
    }

    /// The number of a tensor that must exist.
    pub(crate) fn required(&self, name: &str) -> Result<usize, ConvertError> {
        let missing = || ConvertError::MissingTensor { name: name.to_owned() };
        self.find(name).ok_or_else(missing)
    }

    /// States that a tensor is a part of another one and not itself a weight.
    pub(crate) fn consume(&mut self, number: usize) {
        self.is_consumed[number] = true;
    }

    /// States that the elements of a tensor are codes, and of which weights.
    pub(crate) fn set_quantized(
        &mut self,
        number: usize,
        name: String,
        shape: Vec<usize>,
        quantized: Quantized,
    ) {
        self.consume(quantized.scales.tensor);
        if let Some(zeros) = &quantized.zeros {
            self.consume(zeros.tensor);
        }
        self.weights.describe(number, name, shape);
        self.quantized[number] = Some(quantized);
    }

    /// How a tensor of codes becomes weights.
    pub(crate) fn quantized(&self, number: usize) -> Option<&Quantized> {
        self.quantized[number].as_ref()
    }

    /// A tensor of codes, with its scales.
    pub(crate) fn quantized_data(&self, number: usize) -> Option<QuantizedData<'_>> {
        let quantized = self.quantized(number)?;
        let zeros = quantized.zeros.map(|zeros| self.data(zeros.tensor)).unwrap_or_default();
        let scales = self.data(quantized.scales.tensor);
        Some(QuantizedData { quantized, codes: self.data(number), zeros, scales })
    }

    /// The tensors that are weights, with their numbers.
    pub(crate) fn tensors(&self) -> impl Iterator<Item = (usize, &SourceTensor)> {
        let all = self.weights.tensors().iter().enumerate();
        all.filter(|(number, _)| !self.is_consumed[*number])
    }

    /// The tensor with a number.
    pub(crate) fn tensor(&self, number: usize) -> &SourceTensor {
        self.weights.tensor(number)
    }

    /// The number of a tensor.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.weights.find(name)
    }

    /// The mapped files.
    pub(crate) fn weights(&self) -> &Weights {
        &self.weights
    }

    /// The bytes of a tensor.
    pub(crate) fn data(&self, number: usize) -> Bytes {
        self.weights.data(number)
    }

    /// Releases the memory of elements of a tensor; later accesses read the file again.
    pub(crate) fn release(&self, number: usize, elements: Range<usize>) {
        self.weights.release(number, self.bytes_of(number, elements));
    }

    /// The bytes of elements of a tensor, with those of the other elements of their rows if they are codes.
    fn bytes_of(&self, number: usize, elements: Range<usize>) -> Range<usize> {
        let source = self.tensor(number);
        let Some(quantized) = self.quantized(number) else {
            let size = source.dtype.bitsize().div_ceil(8);
            return elements.start * size..elements.end * size;
        };
        match quantized.bytes_of(elements.clone()) {
            Some(bytes) => bytes,
            // The codes of all rows are needed until the last one is read.
            None if elements.end == source.len() => 0..self.data(number).len(),
            None => 0..0,
        }
    }

    /// Fails unless the elements of a tensor are floating-point numbers, or codes with scales.
    pub(crate) fn expect_floats(&self, number: usize) -> Result<(), ConvertError> {
        let source = self.weights.tensor(number);
        let is_float = matches!(source.dtype, Dtype::F64 | Dtype::F32 | Dtype::F16 | Dtype::BF16);
        match is_float || self.quantized[number].is_some() {
            true => Ok(()),
            false => Err(source.unexpected_type("")),
        }
    }

    /// The format of a tensor, if GGUF files have the same.
    pub(crate) fn format(&self, number: usize) -> Option<DType> {
        match self.weights.tensor(number).dtype {
            _ if self.quantized[number].is_some() => None,
            Dtype::F32 => Some(DType::F32),
            Dtype::F16 => Some(DType::F16),
            Dtype::BF16 => Some(DType::BF16),
            _ => None,
        }
    }

    /// The elements of a small tensor of floats.
    pub(crate) fn floats(&self, number: usize) -> Vec<f32> {
        let (bytes, len) = (self.data(number), self.tensor(number).len());
        let mut values = vec![0.0; len];
        match self.format(number) {
            Some(dtype) => inferno_tensor::quant::decode_row(dtype, &bytes, &mut values)
                .expect("the bytes of a tensor match its shape"),
            None => values.fill(f32::NAN),
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use safetensors::serialize;
    use safetensors::tensor::TensorView;
    use tempfile::tempdir;

    use super::*;

    #[test]
    fn codes_are_in_rows_that_may_be_empty() {
        let folder = tempdir().expect("a folder");
        let scale = 1.0_f32.to_le_bytes();
        let view = |dtype, shape: &[usize], bytes| {
            TensorView::new(dtype, shape.to_vec(), bytes).expect("a valid tensor")
        };
        let file = serialize(
            [
                ("empty", view(Dtype::F8_E4M3, &[8, 0], &[])),
                ("empty_scale_inv", view(Dtype::F32, &[1], &scale)),
                ("full", view(Dtype::F8_E4M3, &[2, 8], &[0; 16])),
                ("full_scale_inv", view(Dtype::F32, &[1], &scale)),
            ],
            None,
        );
        std::fs::write(folder.path().join("model.safetensors"), file.expect("valid tensors"))
            .expect("it is written");
        let config = r#"{"quantization_config": {"quant_method": "fp8"}}"#;
        std::fs::write(folder.path().join("config.json"), config).expect("it is written");
        let config = Config::read(folder.path()).expect("a configuration");
        let weights = Weights::open(folder.path()).expect("weights");
        let sources = Sources::new(weights, &config).expect("valid weights");
        let number = |name| sources.find(name).expect("it exists");
        assert_eq!(sources.bytes_of(number("empty"), 0..0), 0..0);
        sources.release(number("empty"), 0..0);
        assert_eq!(sources.bytes_of(number("full"), 3..9), 0..16);
        assert_eq!(sources.bytes_of(number("full"), 8..9), 8..16);
        assert_eq!(sources.bytes_of(number("full_scale_inv"), 0..1), 0..4);
    }
}
