//! 8-bit and 4-bit floats that are recognized by the types of their tensors: ModelOpt and Quark.
//!
//! **Source**: `qtensor` of ModelOpt, and the checkpoints of AMD that Quark wrote.

use safetensors::Dtype;
use serde_json::Value;

use super::{bytes, float4, unsupported};
use crate::ConvertError;
use crate::quantized::Factor;
use crate::sources::Sources;

/// Algorithms of ModelOpt that are supported.
const MODELOPT: [&str; 4] = ["FP8", "FP8_PER_CHANNEL_PER_TOKEN", "MIXED_PRECISION", "NVFP4"];

/// Finds the weights of ModelOpt.
pub(super) fn modelopt(options: &Value, sources: &mut Sources) -> Result<(), ConvertError> {
    let algorithm = options["quant_algo"].as_str().unwrap_or("MIXED_PRECISION");
    match MODELOPT.contains(&algorithm) {
        true => find("modelopt", sources),
        false => Err(unsupported(format!("modelopt ({algorithm})"))),
    }
}

/// Finds the weights of Quark.
pub(super) fn quark(sources: &mut Sources) -> Result<(), ConvertError> {
    find("quark", sources)
}

/// Finds the tensors that have scales: FP8, NVFP4 with a second scale, and MXFP4 without.
fn find(method: &str, sources: &mut Sources) -> Result<(), ConvertError> {
    for number in 0..sources.len() {
        let source = sources.tensor(number);
        let (name, dtype) = (source.name.clone(), source.dtype);
        if name.ends_with(".pre_quant_scale") {
            return Err(unsupported(format!("{method} with scales of inputs ({name})")));
        }
        let Some(scales) = sources.find(&format!("{name}_scale")) else { continue };
        match dtype {
            Dtype::U8 => {
                let second = format!("{name}_scale_2");
                let factor = sources.find(&second).map(|_| (&second[..], Factor::Multiply as _));
                float4::add(sources, number, &name, factor)?;
            }
            Dtype::F8_E4M3 | Dtype::F8_E5M2 => bytes::add(sources, number, scales, None)?,
            dtype => return Err(unsupported(format!("{method} ({dtype:?} weights)"))),
        }
    }
    Ok(())
}
