//! The tensors of the files as numbers, with the scales of 8-bit floats applied.

use bytes::Bytes;
use inferno_tensor::DType;
use safetensors::Dtype;
use serde_json::Value;

use crate::config::{Config, invalid};
use crate::weights::{SourceTensor, Weights};
use crate::{ConvertError, float8};

/// What scales a tensor of 8-bit floats.
#[derive(Debug, Clone, Copy)]
struct Scale {
    /// Number of the tensor with the scales.
    tensor: usize,
    /// Rows and columns that share a scale.
    block: (usize, usize),
}

/// A matrix of 8-bit floats and its scales.
pub(crate) struct Scaled {
    codes: Bytes,
    decode: fn(u8) -> f32,
    scales: Vec<f32>,
    cols: usize,
    /// Rows and columns that share a scale.
    block: (usize, usize),
}

impl Scaled {
    /// The element at a position in the file.
    pub(crate) fn value(&self, position: usize) -> f32 {
        let (row, col) = (position / self.cols, position % self.cols);
        let scales_per_row = self.cols.div_ceil(self.block.1);
        let scale = self.scales[row / self.block.0 * scales_per_row + col / self.block.1];
        (self.decode)(self.codes[position]) * scale
    }
}

/// The tensors of a checkpoint.
#[derive(Debug)]
pub(crate) struct Sources {
    weights: Weights,
    scales: Vec<Option<Scale>>,
    /// Whether a tensor is a part of another one and not itself a weight.
    is_consumed: Vec<bool>,
}

const FP8_ADVICE: &str = "convert the original checkpoint instead, and quantize it with --type";

impl Sources {
    /// Finds the scales that the quantization of `config` uses.
    pub(crate) fn new(weights: Weights, config: &Config) -> Result<Self, ConvertError> {
        let len = weights.tensors().len();
        let mut sources = Self { weights, scales: vec![None; len], is_consumed: vec![false; len] };
        let quantization = config.get("quantization_config").or_else(|| config.get("quantization"));
        match quantization.map(|value| (value, value.get("quant_method").and_then(Value::as_str))) {
            None | Some((_, Some("mxfp4"))) => {}
            Some((options, Some("fp8"))) => {
                let block = match options.get("weight_block_size").filter(|size| !size.is_null()) {
                    None => None,
                    Some(size) => Some(block_size(size)?),
                };
                sources.find_scales(&["_scale_inv"], block)?;
            }
            Some((options, Some("compressed-tensors"))) if is_float8(options) => {
                sources.find_scales(&["_scale"], None)?;
            }
            Some((_, method)) => {
                let method = method.unwrap_or("an unnamed method").to_owned();
                return Err(ConvertError::Quantized { method, advice: FP8_ADVICE });
            }
        }
        sources.check_types()?;
        Ok(sources)
    }

    fn find_scales(
        &mut self,
        suffixes: &[&str],
        block: Option<(usize, usize)>,
    ) -> Result<(), ConvertError> {
        let activations = [".activation_scale", "_activation_scale", ".input_scale"];
        for number in 0..self.weights.tensors().len() {
            let SourceTensor { name, shape, .. } = self.weights.tensor(number);
            // Scales of activations, which are not quantized here.
            if activations.iter().any(|suffix| name.ends_with(suffix)) {
                self.is_consumed[number] = true;
                continue;
            }
            let Some(weight) = suffixes.iter().find_map(|suffix| name.strip_suffix(suffix)) else {
                continue;
            };
            let Some(weight) = self.weights.find(weight) else {
                return Err(ConvertError::MissingTensor { name: weight.to_owned() });
            };
            let source = self.weights.tensor(weight);
            let [rows, cols] = source.shape[..] else {
                return Err(ConvertError::ElementType {
                    name: source.name.clone(),
                    found: "F8, not a matrix".to_owned(),
                });
            };
            if float8::decoder(source.dtype).is_none() {
                let found = format!("{:?} with scales", source.dtype);
                return Err(ConvertError::ElementType { name: source.name.clone(), found });
            }
            if self.format(number).is_none() {
                let (name, found) =
                    (name.clone(), format!("{:?}", self.weights.tensor(number).dtype));
                return Err(ConvertError::ElementType { name, found });
            }
            let block = match (&shape[..], block) {
                ([_, _], Some(block)) => block,
                ([] | [1], _) => (rows, cols),
                ([scales] | [scales, 1], None) if *scales == rows => (1, cols),
                _ => (0, 0),
            };
            let expected = [rows.div_ceil(block.0.max(1)), cols.div_ceil(block.1.max(1))];
            if block.0 == 0
                || block.1 == 0
                || shape.iter().product::<usize>() != expected[0] * expected[1]
            {
                return Err(ConvertError::InvalidKey {
                    key: "quantization_config".to_owned(),
                    expected: format!("blocks that divide {}, {rows} x {cols}", source.name),
                    found: format!("scales of shape {shape:?}"),
                });
            }
            self.scales[weight] = Some(Scale { tensor: number, block });
            self.is_consumed[number] = true;
        }
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

    /// Fails unless the elements of a tensor are floating-point numbers.
    pub(crate) fn expect_floats(&self, number: usize) -> Result<(), ConvertError> {
        let source = self.weights.tensor(number);
        let is_float = matches!(source.dtype, Dtype::F64 | Dtype::F32 | Dtype::F16 | Dtype::BF16);
        match is_float || float8::decoder(source.dtype).is_some() {
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

    /// A tensor of 8-bit floats that has scales.
    pub(crate) fn scaled(&self, number: usize) -> Option<Scaled> {
        let Scale { tensor, block } = self.scales[number]?;
        let source = self.weights.tensor(number);
        let decode = float8::decoder(source.dtype)?;
        let (codes, scales) = (self.data(number), self.floats(tensor));
        Some(Scaled { codes, decode, scales, cols: source.shape[1], block })
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

fn block_size(size: &Value) -> Result<(usize, usize), ConvertError> {
    let sizes: Option<Vec<usize>> = size
        .as_array()
        .and_then(|sizes| sizes.iter().map(|size| Some(size.as_u64()? as usize)).collect());
    match sizes.as_deref() {
        Some(&[rows, cols]) if rows > 0 && cols > 0 => Ok((rows, cols)),
        _ => Err(invalid("quantization_config.weight_block_size", "two numbers", size)),
    }
}

/// Whether all weights are 8-bit floats with a scale per row.
fn is_float8(options: &Value) -> bool {
    let groups = options.get("config_groups").and_then(Value::as_object);
    let is_channel = |group: &Value| {
        let weights = &group["weights"];
        weights["type"] == "float" && weights["num_bits"] == 8 && weights["strategy"] == "channel"
    };
    options.get("format").and_then(Value::as_str) == Some("float-quantized")
        && groups.is_some_and(|groups| groups.len() == 1 && groups.values().all(is_channel))
}
