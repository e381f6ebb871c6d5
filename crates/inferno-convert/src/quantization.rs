//! `quantization_config`: how the weights of a checkpoint are quantized, and which tensors they consist of.

mod awq;
mod bitsandbytes;
mod bytes;
mod compressed_tensors;
mod float4;
mod floats;
mod gptq;
mod words;

use safetensors::Dtype;
use serde_json::Value;

use crate::ConvertError;
use crate::config::{Config, invalid};
use crate::quantized::{Block, Float8, ScaleFormat};
use crate::sources::Sources;
use crate::weights::SourceTensor;

/// What to do with checkpoints of other methods.
const ADVICE: &str = "convert the original checkpoint instead, and quantize it with --type; supported are AutoRound, AWQ, \
                      bitsandbytes, compressed-tensors, FP8, GPTQ, ModelOpt, MXFP4 and Quark (FP8, MXFP4)";

/// The error of a method that is not supported.
fn unsupported(method: impl Into<String>) -> ConvertError {
    ConvertError::Quantized { method: method.into(), advice: ADVICE }
}

/// The key of most errors.
const KEY: &str = "quantization_config";

/// The error of tensors that do not fit together.
fn mismatch(expected: impl Into<String>, found: impl Into<String>) -> ConvertError {
    let (key, expected, found) = (KEY.to_owned(), expected.into(), found.into());
    ConvertError::InvalidKey { key, expected, found }
}

/// Endings of the names of scales of activations, keys and values, which are not quantized here.
const ACTIVATION_SCALES: [&str; 14] = [
    ".activation_scale",
    "_activation_scale",
    ".input_scale",
    ".input_scale_ub",
    ".input_zero_point",
    ".input_global_scale",
    ".output_scale",
    ".output_zero_point",
    ".q_scale",
    ".q_zero_point",
    ".k_scale",
    ".k_zero_point",
    ".v_scale",
    ".v_zero_point",
];

/// Finds the tensors that quantized weights consist of.
///
/// **Errors**: [`ConvertError::Quantized`] for methods that are not supported; tensors that are missing or do not fit together.
pub(crate) fn find(config: &Config, sources: &mut Sources) -> Result<(), ConvertError> {
    let options = config.get(KEY).or_else(|| config.get("quantization"));
    let Some(options) = options.or_else(|| config.get("compression_config")) else { return Ok(()) };
    let method = match options["quant_method"].as_str() {
        None if config.get("compression_config").is_some() => Some("compressed-tensors"),
        method => method,
    };
    // The tensors of MXFP4 have names of their own.
    if method == Some("mxfp4") {
        return Ok(());
    }
    for number in 0..sources.len() {
        if ACTIVATION_SCALES.iter().any(|ending| sources.tensor(number).name.ends_with(ending)) {
            sources.consume(number);
        }
    }
    match method {
        Some("fp8" | "fbgemm_fp8") => {
            let size = options.get("weight_block_size").filter(|size| !size.is_null());
            let size = size.map(|size| block("quantization_config.weight_block_size", size));
            bytes::find(sources, size.transpose()?)
        }
        Some("awq") => awq::find(options, sources),
        Some("gptq") => gptq::find(options, gptq::zeros(options)?, sources),
        Some("auto-round" | "intel/auto-round") => auto_round(options, sources),
        Some("compressed-tensors") => compressed_tensors::find(options, sources),
        Some("modelopt" | "modelopt_fp4" | "modelopt_mixed") => floats::modelopt(options, sources),
        Some("quark") => floats::quark(sources),
        Some("bitsandbytes") => bitsandbytes::find(sources),
        method => Err(unsupported(method.unwrap_or("an unnamed method"))),
    }
}

/// The formats of AutoRound, which are those of other libraries.
///
/// **Source**: `inference/backend.py` of AutoRound.
fn auto_round(options: &Value, sources: &mut Sources) -> Result<(), ConvertError> {
    let format = options["packing_format"].as_str().or_else(|| options["backend"].as_str());
    match format.unwrap_or("auto_round:auto_gptq") {
        "auto_round:auto_gptq" | "auto_round:exllamav2" => {
            gptq::find(options, gptq::ZeroFormat::LessOne, sources)
        }
        "auto_round" | "auto_round:gptqmodel" => {
            gptq::find(options, gptq::ZeroFormat::Plain, sources)
        }
        "auto_round:auto_awq" => awq::find(options, sources),
        format => Err(unsupported(format!("auto-round ({format})"))),
    }
}

/// Rows and columns that share a scale, by the value of a key.
fn block(key: &str, value: &Value) -> Result<Block, ConvertError> {
    let sizes: Option<Vec<usize>> = match value {
        // As in `128x128`.
        Value::String(sizes) => sizes.split('x').map(|size| size.parse().ok()).collect(),
        value => value.as_array().and_then(|sizes| {
            sizes.iter().map(|size| usize::try_from(size.as_u64()?).ok()).collect()
        }),
    };
    match sizes.as_deref() {
        Some(&[rows, cols]) if rows > 0 && cols > 0 => Ok([rows, cols]),
        _ => Err(invalid(key, "two numbers", value)),
    }
}

/// The size of a group of columns; `None` for all columns, which -1 stands for.
///
/// **Errors**: zero, and what is not a number.
fn group_size(options: &Value) -> Result<Option<usize>, ConvertError> {
    match &options["group_size"] {
        Value::Null => Ok(None),
        size if size.as_i64() == Some(-1) => Ok(None),
        size => match size.as_u64() {
            Some(size) if size > 0 => Ok(Some(size as usize)),
            _ => Err(invalid("quantization_config.group_size", "a positive number or -1", size)),
        },
    }
}

/// How the scales in a tensor are stored.
///
/// **Errors**: types that are not those of scales.
fn scale_format(scales: &SourceTensor) -> Result<ScaleFormat, ConvertError> {
    use inferno_tensor::DType;
    match scales.dtype {
        Dtype::F32 => Ok(ScaleFormat::Floats(DType::F32)),
        Dtype::F16 => Ok(ScaleFormat::Floats(DType::F16)),
        Dtype::BF16 => Ok(ScaleFormat::Floats(DType::BF16)),
        Dtype::U8 | Dtype::F8_E8M0 => Ok(ScaleFormat::Exponents),
        dtype => match Float8::new(dtype) {
            Some(float) => Ok(ScaleFormat::Float8(float)),
            None => Err(scales.unexpected_type("")),
        },
    }
}

/// Fails unless the elements of a tensor are of a type.
fn expect_type(tensor: &SourceTensor, dtype: Dtype) -> Result<(), ConvertError> {
    match tensor.dtype == dtype {
        true => Ok(()),
        false => Err(tensor.unexpected_type(&format!("instead of {dtype:?}"))),
    }
}

/// Fails unless a tensor has a shape.
fn expect_shape(tensor: &SourceTensor, expected: &[usize]) -> Result<(), ConvertError> {
    match tensor.shape == expected {
        true => Ok(()),
        false => Err(mismatch(
            format!("{} of shape {expected:?}", tensor.name),
            format!("shape {:?}", tensor.shape),
        )),
    }
}
