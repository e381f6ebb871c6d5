//! 4-bit floats, two per byte: NVFP4 with an 8-bit float per 16 weights and a scale of the tensor, MXFP4 with an exponent per 32.
//!
//! **Source**: `nvfp4_tensor.py` of ModelOpt, `NVFP4PackedCompressor` and `MXFP4PackedCompressor` of compressed-tensors.

use safetensors::Dtype;

use super::bytes::groups;
use super::{expect_type, mismatch, scale_format};
use crate::ConvertError;
use crate::quantized::{CodeLayout, Factor, Numbers, Quantized, ScaleFormat, Scales};
use crate::sources::Sources;

/// The name of a tensor with one scale, and what it does to the others.
type NamedFactor<'a> = (&'a str, fn(f32) -> Factor);

/// Applies scales to the tensor of codes with this number, and names it `weight`. `factor` makes one of the scale of the tensor
/// with a name.
pub(super) fn add(
    sources: &mut Sources,
    number: usize,
    weight: &str,
    factor: Option<NamedFactor<'_>>,
) -> Result<(), ConvertError> {
    let packed = sources.tensor(number);
    expect_type(packed, Dtype::U8)?;
    let mut shape = packed.shape.clone();
    match shape.last_mut() {
        Some(cols) if *cols <= usize::MAX / 2 => *cols *= 2,
        _ => return Err(mismatch(format!("{} with rows of bytes", packed.name), "a number")),
    }
    let tensor = sources.required(&format!("{weight}_scale"))?;
    let scale = sources.tensor(tensor);
    let format = scale_format(scale)?;
    let group_size = if matches!(format, ScaleFormat::Exponents) { 32 } else { 16 };
    let groups = groups(weight, &shape, &scale.shape, Some([1, group_size]))?;
    let factor = match factor {
        None => None,
        Some((name, factor)) => Some(factor(of_tensor(sources, name)?)),
    };
    let codes = CodeLayout::in_bytes(4, groups.cols());
    let scales = Scales { tensor, format, factor };
    let quantized = Quantized { codes, numbers: Numbers::Float4, zeros: None, scales, groups };
    sources.set_quantized(number, weight.to_owned(), shape, quantized);
    Ok(())
}

/// The scale of a tensor, which is a tensor of one number.
fn of_tensor(sources: &mut Sources, name: &str) -> Result<f32, ConvertError> {
    let number = sources.required(name)?;
    let source = sources.tensor(number);
    expect_type(source, Dtype::F32)?;
    let values = sources.floats(number);
    let &[value] = &values[..] else {
        return Err(mismatch(format!("{name} of one number"), format!("{}", values.len())));
    };
    if !value.is_finite() || value == 0.0 {
        return Err(mismatch(format!("{name} that is finite and not zero"), value.to_string()));
    }
    sources.consume(number);
    Ok(value)
}
