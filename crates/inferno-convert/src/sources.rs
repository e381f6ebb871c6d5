//! The tensors of the files as numbers, with the scales of quantized ones applied.

use std::ops::Range;

use bytes::Bytes;
use inferno_tensor::DType;
use safetensors::Dtype;

use crate::config::Config;
use crate::quantization::{Block, Quantization, unsupported};
use crate::scaled::{CodeFormat, ScaleLayout, Scaled, WORD_BYTES, expected_scales};
use crate::weights::{SourceTensor, Weights};
use crate::{ConvertError, float8};

/// What scales a tensor of codes.
#[derive(Debug, Clone, Copy)]
struct Scale {
    /// Number of the tensor with the scales.
    tensor: usize,
    layout: ScaleLayout,
    format: CodeFormat,
}

/// The tensors of a checkpoint.
#[derive(Debug)]
pub(crate) struct Sources {
    weights: Weights,
    scales: Vec<Option<Scale>>,
    /// Whether a tensor is a part of another one and not itself a weight.
    is_consumed: Vec<bool>,
}

/// Endings of the names of scales of activations, which are not quantized here.
const ACTIVATION_SCALES: [&str; 3] = [".activation_scale", "_activation_scale", ".input_scale"];

impl Sources {
    /// Finds the scales that the quantization of `config` uses.
    pub(crate) fn new(weights: Weights, config: &Config) -> Result<Self, ConvertError> {
        let len = weights.tensors().len();
        let mut sources = Self { weights, scales: vec![None; len], is_consumed: vec![false; len] };
        match Quantization::read(config)? {
            Quantization::None => {}
            Quantization::Float8 { ending, block } => sources.find_scales(ending, block)?,
            Quantization::Packed { bits, block } => sources.find_packed(bits, block)?,
        }
        sources.check_types()?;
        Ok(sources)
    }

    /// Finds the scales of 8-bit floats.
    fn find_scales(&mut self, ending: &str, block: Option<Block>) -> Result<(), ConvertError> {
        for number in 0..self.weights.tensors().len() {
            let name = &self.weights.tensor(number).name;
            if ACTIVATION_SCALES.iter().any(|ending| name.ends_with(ending)) {
                self.is_consumed[number] = true;
                continue;
            }
            let Some(weight) = name.strip_suffix(ending) else { continue };
            let weight = self.required(weight)?;
            let source = self.weights.tensor(weight);
            let Some(decode) = float8::decoder(source.dtype) else {
                let found = format!("{:?} with scales", source.dtype);
                return Err(ConvertError::ElementType { name: source.name.clone(), found });
            };
            self.add_scale(weight, number, block, CodeFormat::Float8(decode))?;
        }
        Ok(())
    }

    /// Finds the tensors that a packed one consists of, and gives it the name and the shape of its weights.
    fn find_packed(&mut self, bits: u32, block: Option<Block>) -> Result<(), ConvertError> {
        for number in 0..self.weights.tensors().len() {
            let SourceTensor { name, dtype, shape, .. } = self.weights.tensor(number);
            let Some(weight) = name.strip_suffix("_packed").map(str::to_owned) else { continue };
            if *dtype != Dtype::I32 {
                let found = format!("{dtype:?} instead of I32");
                return Err(ConvertError::ElementType { name: name.clone(), found });
            }
            // The order of columns is another one, or codes have offsets of their own.
            for (ending, method) in [("_g_idx", "activation order"), ("_zero_point", "zero points")]
            {
                let tensor = format!("{weight}{ending}");
                if self.weights.find(&tensor).is_some() {
                    return Err(unsupported(format!("{method} ({tensor})")));
                }
            }
            let format = CodeFormat::Packed { bits };
            let sizes = self.required(&format!("{weight}_shape"))?;
            let whole = self.weights.sizes(sizes);
            let mut expected = whole.clone();
            if let Some(cols) = expected.last_mut() {
                *cols = format.row_bytes(*cols) / WORD_BYTES;
            }
            if *shape != expected || whole.len() < 2 {
                return Err(ConvertError::InvalidKey {
                    key: "quantization_config".to_owned(),
                    expected: format!(
                        "{name} of shape {expected:?} for weights of {bits} bits of shape {whole:?}"
                    ),
                    found: format!("shape {shape:?}"),
                });
            }
            let scales = self.required(&format!("{weight}_scale"))?;
            self.weights.describe(number, weight, whole);
            self.add_scale(number, scales, block, format)?;
            self.is_consumed[sizes] = true;
        }
        Ok(())
    }

    fn required(&self, name: &str) -> Result<usize, ConvertError> {
        let missing = || ConvertError::MissingTensor { name: name.to_owned() };
        self.weights.find(name).ok_or_else(missing)
    }

    /// Applies the scales in tensor `scales` to tensor `weight`.
    fn add_scale(
        &mut self,
        weight: usize,
        scales: usize,
        block: Option<Block>,
        format: CodeFormat,
    ) -> Result<(), ConvertError> {
        let SourceTensor { name, shape, .. } = self.weights.tensor(weight);
        let scale = self.weights.tensor(scales);
        if self.format(scales).is_none() {
            let found = format!("{:?}", scale.dtype);
            return Err(ConvertError::ElementType { name: scale.name.clone(), found });
        }
        let Some(layout) = ScaleLayout::new(shape, &scale.shape, block) else {
            return Err(ConvertError::InvalidKey {
                key: "quantization_config".to_owned(),
                expected: format!(
                    "scales of shape {:?} for {name} of shape {shape:?}",
                    expected_scales(shape, block)
                ),
                found: format!("scales of shape {:?}", scale.shape),
            });
        };
        self.scales[weight] = Some(Scale { tensor: scales, layout, format });
        self.is_consumed[scales] = true;
        Ok(())
    }

    /// Checks that 8-bit floats have scales, and that no weight is of an unknown type.
    fn check_types(&self) -> Result<(), ConvertError> {
        for (number, source) in self.weights.tensors().iter().enumerate() {
            if float8::decoder(source.dtype).is_some() && self.scales[number].is_none() {
                let (name, found) =
                    (source.name.clone(), format!("{:?} without scales", source.dtype));
                return Err(ConvertError::ElementType { name, found });
            }
        }
        Ok(())
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
        match &self.scales[number] {
            Some(Scale { layout, format, .. }) => {
                let size = format.row_bytes(layout.cols());
                let cols = layout.cols().max(1);
                elements.start / cols * size..elements.end.div_ceil(cols) * size
            }
            None => {
                let size = self.tensor(number).dtype.bitsize().div_ceil(8);
                elements.start * size..elements.end * size
            }
        }
    }

    /// Fails unless the elements of a tensor are floating-point numbers, or codes with scales.
    pub(crate) fn expect_floats(&self, number: usize) -> Result<(), ConvertError> {
        let source = self.weights.tensor(number);
        let is_float = matches!(source.dtype, Dtype::F64 | Dtype::F32 | Dtype::F16 | Dtype::BF16);
        match is_float || self.scales[number].is_some() {
            true => Ok(()),
            false => Err(ConvertError::ElementType {
                name: source.name.clone(),
                found: format!("{:?}", source.dtype),
            }),
        }
    }

    /// The format of a tensor, if GGUF files have the same.
    pub(crate) fn format(&self, number: usize) -> Option<DType> {
        match self.weights.tensor(number).dtype {
            Dtype::F32 => Some(DType::F32),
            Dtype::F16 => Some(DType::F16),
            Dtype::BF16 => Some(DType::BF16),
            _ => None,
        }
    }

    /// A tensor of codes, with its scales.
    pub(crate) fn scaled(&self, number: usize) -> Option<Scaled> {
        let Scale { tensor, layout, format } = self.scales[number]?;
        Some(Scaled { codes: self.data(number), format, scales: self.floats(tensor), layout })
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
