//! `quantization_config`: how the weights of a checkpoint are quantized.

use serde_json::Value;

use crate::ConvertError;
use crate::config::{Config, invalid};

/// How the weights of a checkpoint are quantized.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Quantization {
    /// Not, or as MXFP4, whose tensors have names of their own.
    None,
    /// 8-bit floats, with scales in a tensor of the same name and this ending.
    Float8 { ending: &'static str, block: Option<Block> },
    /// Symmetric integers of `bits` bits, several in a word.
    Packed { bits: u32, block: Option<Block> },
}

/// Rows and columns that share a scale; `None` in its place for a scale per row, matrix or tensor.
pub(crate) type Block = [usize; 2];

const ADVICE: &str = "convert the original checkpoint instead, and quantize it with --type";

/// The error of a method that is not supported.
pub(crate) fn unsupported(method: impl Into<String>) -> ConvertError {
    ConvertError::Quantized { method: method.into(), advice: ADVICE }
}

impl Quantization {
    /// Reads the configuration.
    ///
    /// **Errors**: [`ConvertError::Quantized`] for methods that are not supported.
    pub(crate) fn read(config: &Config) -> Result<Self, ConvertError> {
        let options = config.get("quantization_config").or_else(|| config.get("quantization"));
        let Some(options) = options else { return Ok(Self::None) };
        match options["quant_method"].as_str() {
            Some("mxfp4") => Ok(Self::None),
            Some("fp8") => {
                let size = options.get("weight_block_size").filter(|size| !size.is_null());
                Ok(Self::Float8 { ending: "_scale_inv", block: size.map(block).transpose()? })
            }
            Some("compressed-tensors") => Self::compressed(options),
            method => Err(unsupported(method.unwrap_or("an unnamed method"))),
        }
    }

    /// The formats of the library compressed-tensors, if all groups of weights have the same.
    fn compressed(options: &Value) -> Result<Self, ConvertError> {
        let format = options["format"].as_str().unwrap_or_default();
        let unsupported =
            |reason: &str| unsupported(format!("compressed-tensors ({format}, {reason})"));
        let groups = options["config_groups"].as_object().into_iter().flat_map(|it| it.values());
        let mut groups = groups.map(|group| &group["weights"]);
        let weights = groups.next().unwrap_or(&Value::Null);
        if groups.any(|other| SCHEME.iter().any(|key| other[key] != weights[key])) {
            return Err(unsupported("groups with different schemes"));
        }
        let strategy = weights["strategy"].as_str().unwrap_or_default();
        let bits = weights["num_bits"].as_u64().unwrap_or_default();
        let is_symmetric = weights["symmetric"].as_bool().unwrap_or(true);
        let kind = weights["type"].as_str().unwrap_or("int");
        match (format, kind, bits, strategy) {
            ("float-quantized", "float", 8, "channel") => {
                Ok(Self::Float8 { ending: "_scale", block: None })
            }
            ("pack-quantized", "int", 4 | 8, "group" | "channel" | "tensor") if is_symmetric => {
                let group = weights["group_size"].as_u64().filter(|_| strategy == "group");
                let block = match group {
                    Some(0) => return Err(unsupported("group_size 0")),
                    group => group.map(|size| [1, size as usize]),
                };
                Ok(Self::Packed { bits: bits as u32, block })
            }
            _ if !is_symmetric => Err(unsupported("not symmetric")),
            _ => Err(unsupported(&format!("{kind}, {bits} bits, strategy {strategy:?}"))),
        }
    }
}

/// The keys of a group of weights that determine how they are stored.
const SCHEME: [&str; 5] = ["type", "num_bits", "strategy", "group_size", "symmetric"];

fn block(size: &Value) -> Result<Block, ConvertError> {
    let sizes: Option<Vec<usize>> = size
        .as_array()
        .and_then(|sizes| sizes.iter().map(|size| Some(size.as_u64()? as usize)).collect());
    match sizes.as_deref() {
        Some(&[rows, cols]) if rows > 0 && cols > 0 => Ok([rows, cols]),
        _ => Err(invalid("quantization_config.weight_block_size", "two numbers", size)),
    }
}
