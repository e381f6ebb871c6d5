//! Weights of a byte each: 8-bit floats and integers, with scales in a tensor of the same name with an ending.

use safetensors::Dtype;

use super::{expect_type, mismatch, scale_format};
use crate::ConvertError;
use crate::quantized::{
    Block, CodeLayout, Float8, Groups, Numbers, Quantized, Scales, Zeros, expected_scales,
};
use crate::sources::Sources;

/// Endings of the names of scales.
pub(super) const SCALES: [&str; 2] = ["_scale_inv", "_scale"];

/// Finds the scales of 8-bit floats.
pub(super) fn find(sources: &mut Sources, block: Option<Block>) -> Result<(), ConvertError> {
    for number in 0..sources.len() {
        let name = &sources.tensor(number).name;
        let [inverse, plain] = SCALES.map(|ending| name.strip_suffix(ending));
        let weight = match (inverse, plain) {
            (Some(weight), _) => Some(sources.required(weight)?),
            (None, Some(weight)) => sources.find(weight),
            (None, None) => None,
        };
        if let Some(weight) = weight {
            add(sources, weight, number, block)?;
        }
    }
    Ok(())
}

/// Whether the elements of a tensor are codes of a byte each.
pub(super) fn is_byte(dtype: Dtype) -> bool {
    numbers(dtype).is_some()
}

fn numbers(dtype: Dtype) -> Option<Numbers> {
    match dtype {
        Dtype::I8 => Some(Numbers::Signed),
        dtype => Float8::new(dtype).map(Numbers::Float8),
    }
}

/// Applies the scales in tensor `scales` to tensor `weight`, and zeros if there are some.
pub(super) fn add(
    sources: &mut Sources,
    weight: usize,
    scales: usize,
    block: Option<Block>,
) -> Result<(), ConvertError> {
    let source = sources.tensor(weight);
    let Some(numbers) = numbers(source.dtype) else {
        return Err(source.unexpected_type("with scales"));
    };
    let (name, shape) = (source.name.clone(), source.shape.clone());
    let scale = sources.tensor(scales);
    let format = scale_format(scale)?;
    let found = &scale.shape;
    let groups = groups(&name, &shape, found, block)?;
    let codes = CodeLayout::in_bytes(8, groups.cols());
    let zeros = match sources.find(&format!("{name}_zero_point")) {
        None => None,
        Some(tensor) => {
            let zeros = sources.tensor(tensor);
            expect_type(zeros, source.dtype)?;
            if zeros.len() != scale.len() {
                let (name, found) = (&zeros.name, &zeros.shape);
                return Err(mismatch(
                    format!(
                        "{name} with a number for each of the scales of shape {:?}",
                        scale.shape
                    ),
                    format!("shape {found:?}"),
                ));
            }
            let codes = CodeLayout::in_bytes(8, groups.row_len());
            Some(Zeros { tensor, codes, is_transposed: false, is_decremented: false })
        }
    };
    let scales = Scales { tensor: scales, format, factor: None };
    let quantized = Quantized { codes, numbers, zeros, scales, groups };
    sources.set_quantized(weight, name, shape, quantized);
    Ok(())
}

/// The groups of scales of shape `found` for weights `name` of shape `shape`.
pub(super) fn groups(
    name: &str,
    shape: &[usize],
    found: &[usize],
    block: Option<Block>,
) -> Result<Groups, ConvertError> {
    Groups::new(shape, found, block).ok_or_else(|| {
        let expected = expected_scales(shape, block);
        mismatch(
            format!("scales of shape {expected:?} for {name} of shape {shape:?}"),
            format!("scales of shape {found:?}"),
        )
    })
}
