//! bitsandbytes: 4-bit codes of any levels, and 8-bit integers with a scale per row.
//!
//! **Source**: `QuantState` of bitsandbytes, whose entries are tensors next to the weight, and `int8_vectorwise_dequant`.

use safetensors::Dtype;
use serde_json::Value;

use super::{expect_shape, expect_type, mismatch, scale_format, unsupported};
use crate::ConvertError;
use crate::quantized::{
    CodeLayout, CodeOrder, Factor, Groups, Numbers, Quantized, ScaleFormat, Scales,
};
use crate::sources::Sources;
use crate::weights::is_addressable;

/// Part of the name of the tensor with the description of 4-bit weights, between those of the weight and of the levels.
const STATE: &str = ".quant_state.bitsandbytes__";

/// Finds the tensors that quantized weights consist of.
pub(super) fn find(sources: &mut Sources) -> Result<(), ConvertError> {
    for number in 0..sources.len() {
        let name = sources.tensor(number).name.clone();
        if let Some((weight, _)) = name.split_once(STATE) {
            FourBits::read(sources, number, weight)?.add(sources)?;
        } else if let Some(module) = name.strip_suffix(".SCB") {
            eight_bits(sources, number, module)?;
        }
    }
    Ok(())
}

/// A weight of 4-bit codes.
struct FourBits<'a> {
    weight: &'a str,
    state_name: String,
    state: Value,
}

impl<'a> FourBits<'a> {
    fn read(sources: &mut Sources, state: usize, weight: &'a str) -> Result<Self, ConvertError> {
        let state_name = sources.tensor(state).name.clone();
        expect_type(sources.tensor(state), Dtype::U8)?;
        let value = serde_json::from_slice(&sources.data(state))
            .map_err(|error| mismatch(format!("JSON in {state_name}"), error.to_string()))?;
        sources.consume(state);
        Ok(Self { weight, state_name, state: value })
    }

    /// A number of the state that is at least one.
    fn count(&self, key: &str) -> Result<usize, ConvertError> {
        let found = self.state[key].as_u64().and_then(|size| usize::try_from(size).ok());
        found.filter(|size| *size > 0).ok_or_else(|| self.invalid(key, "a positive number"))
    }

    fn invalid(&self, key: &str, expected: &str) -> ConvertError {
        let expected = format!("{key} of {} to be {expected}", self.state_name);
        mismatch(expected, self.state[key].to_string())
    }

    /// The tensor of the state with this name.
    fn part(&self, sources: &mut Sources, name: &str) -> Result<usize, ConvertError> {
        let number = sources.required(&format!("{}.{name}", self.weight))?;
        sources.consume(number);
        Ok(number)
    }

    /// The numbers that codes mean.
    fn levels(&self, sources: &mut Sources, name: &str) -> Result<Vec<f32>, ConvertError> {
        let number = self.part(sources, name)?;
        expect_type(sources.tensor(number), Dtype::F32)?;
        Ok(sources.floats(number))
    }

    fn add(&self, sources: &mut Sources) -> Result<(), ConvertError> {
        let sizes = self.state["shape"].as_array().and_then(|sizes| {
            sizes.iter().map(|size| usize::try_from(size.as_u64()?).ok()).collect()
        });
        let shape: Vec<usize> = sizes.ok_or_else(|| self.invalid("shape", "a list of numbers"))?;
        let number = sources.required(self.weight)?;
        let source = sources.tensor(number);
        let len = is_addressable(&shape).then(|| shape.iter().product::<usize>());
        // The type of the elements only determines how the codes are stored.
        let num_bytes = sources.data(number).len();
        let len = len.filter(|len| len.div_ceil(2) == num_bytes).ok_or_else(|| {
            mismatch(
                format!("{} of half as many bytes as elements of shape {shape:?}", self.weight),
                format!("{num_bytes} bytes of type {:?}", source.dtype),
            )
        })?;
        let levels = self.levels(sources, "quant_map")?;
        let levels = <[f32; 16]>::try_from(levels).map_err(|levels| {
            mismatch(format!("{}.quant_map of 16 numbers", self.weight), levels.len().to_string())
        })?;
        let run = self.count("blocksize")?;
        let scales = self.scales(sources, len.div_ceil(run))?;
        let quantized = Quantized {
            codes: CodeLayout { bits: 4, order: CodeOrder::UpperHalfFirst },
            numbers: Numbers::Levels(levels),
            zeros: None,
            scales,
            groups: Groups::of_runs(len, run),
        };
        sources.set_quantized(number, self.weight.to_owned(), shape, quantized);
        Ok(())
    }

    /// The scales of `count` blocks, which can be codes as well.
    fn scales(&self, sources: &mut Sources, count: usize) -> Result<Scales, ConvertError> {
        let tensor = self.part(sources, "absmax")?;
        let scale = sources.tensor(tensor);
        if scale.len() != count {
            let (expected, found) = (format!("{} of {count} scales", scale.name), scale.len());
            return Err(mismatch(expected, found.to_string()));
        }
        let is_nested = sources.find(&format!("{}.nested_absmax", self.weight)).is_some();
        let format = match is_nested {
            false => scale_format(scale)?,
            true => {
                expect_type(scale, Dtype::U8)?;
                let offset = self.state["nested_offset"].as_f64();
                let offset = offset.ok_or_else(|| self.invalid("nested_offset", "a number"))?;
                let run = self.count("nested_blocksize")?;
                let levels = self.levels(sources, "nested_quant_map")?;
                let scales = self.levels(sources, "nested_absmax")?;
                if levels.len() != 256 || scales.len() != count.div_ceil(run) {
                    return Err(mismatch(
                        format!(
                            "256 numbers and {} scales in the nested tensors of {}",
                            count.div_ceil(run),
                            self.weight
                        ),
                        format!("{} and {}", levels.len(), scales.len()),
                    ));
                }
                let (levels, scales) = (levels.into(), scales.into());
                ScaleFormat::Codes { levels, scales, run, offset: offset as f32 }
            }
        };
        if !is_nested && !matches!(format, ScaleFormat::Floats(_)) {
            return Err(sources.tensor(tensor).unexpected_type("instead of floats"));
        }
        Ok(Scales { tensor, format, factor: None })
    }
}

/// What the largest magnitude of a row is divided by: 127, as the library rounds its inverse.
const INVERSE_OF_127: f32 = 7.874_016e-3;

/// Weights of 8 bits, with the largest magnitude of each row in tensor `number`.
fn eight_bits(sources: &mut Sources, number: usize, module: &str) -> Result<(), ConvertError> {
    let name = format!("{module}.weight");
    let weight = sources.required(&name)?;
    let source = sources.tensor(weight);
    expect_type(source, Dtype::I8)?;
    let shape = source.shape.clone();
    let &[rows, cols] = &shape[..] else {
        return Err(mismatch(format!("{name} of two dimensions"), format!("shape {shape:?}")));
    };
    expect_shape(sources.tensor(number), &[rows])?;
    expect_type(sources.tensor(number), Dtype::F32)?;
    if let Some(format) = sources.find(&format!("{module}.weight_format")) {
        // Zero is the name of row by row.
        if sources.data(format).iter().any(|byte| *byte != 0) {
            return Err(unsupported(format!("bitsandbytes (order of {name})")));
        }
        sources.consume(format);
    }
    let format = scale_format(sources.tensor(number))?;
    let scales = Scales { tensor: number, format, factor: Some(Factor::Multiply(INVERSE_OF_127)) };
    let groups = super::bytes::groups(&name, &shape, &[rows, 1], None)?;
    let codes = CodeLayout::in_bytes(8, cols);
    let quantized = Quantized { codes, numbers: Numbers::Signed, zeros: None, scales, groups };
    sources.set_quantized(weight, name, shape, quantized);
    Ok(())
}
