//! GPTQ: integers in words along the inputs, with a scale and a zero per group of inputs and output.
//!
//! **Source**: `QuantLinear` of AutoGPTQ and GPTQModel: `qweight` `[words of inputs, outputs]`, `qzeros` `[groups, words of
//! outputs]`, `scales` `[groups, outputs]` and `g_idx` `[inputs]`, the group of each input. The first version of the format
//! stores zeros less one.

use safetensors::Dtype;
use serde_json::Value;

use super::words::groups_of_columns;
use super::{expect_shape, expect_type, group_size, mismatch, scale_format, unsupported};
use crate::ConvertError;
use crate::config::invalid;
use crate::quantized::{CodeLayout, CodeOrder, Groups, Numbers, Quantized, Scales, Zeros, words};
use crate::sources::Sources;

/// Numbers of bits of integers whose words have no gaps.
const BITS: [u32; 4] = [2, 3, 4, 8];

/// How codes of zero are stored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ZeroFormat {
    Plain,
    LessOne,
}

/// Finds the tensors that quantized weights consist of.
pub(super) fn find(
    options: &Value,
    zeros: ZeroFormat,
    sources: &mut Sources,
) -> Result<(), ConvertError> {
    let group_size = group_size(options)?;
    let bits = options["bits"].as_u64().and_then(|bits| u32::try_from(bits).ok()).unwrap_or(4);
    let is_decremented = zeros == ZeroFormat::LessOne;
    for number in 0..sources.len() {
        let name = sources.tensor(number).name.clone();
        if let Some(module) = name.strip_suffix(".qweight") {
            Module { module, number, bits, group_size, is_decremented }.add(sources)?;
        }
    }
    Ok(())
}

/// How the format that the options name stores codes of zero.
pub(super) fn zeros(options: &Value) -> Result<ZeroFormat, ConvertError> {
    let format = options["checkpoint_format"].as_str().or_else(|| options["format"].as_str());
    let is_marlin = options["is_marlin_format"].as_bool().unwrap_or(false);
    match format {
        _ if is_marlin => Err(unsupported("gptq (marlin)")),
        None | Some("gptq") => Ok(ZeroFormat::LessOne),
        Some("gptq_v2") => Ok(ZeroFormat::Plain),
        Some(format) => Err(unsupported(format!("gptq ({format})"))),
    }
}

/// A quantized module.
struct Module<'a> {
    module: &'a str,
    /// Number of the tensor of codes.
    number: usize,
    /// The bits of most modules.
    bits: u32,
    group_size: Option<usize>,
    is_decremented: bool,
}

impl Module<'_> {
    fn add(&self, sources: &mut Sources) -> Result<(), ConvertError> {
        let Self { module, number, .. } = *self;
        let packed = sources.tensor(number);
        expect_type(packed, Dtype::I32)?;
        let &[num_words, rows] = &packed.shape[..] else {
            let found = format!("shape {:?}", packed.shape);
            return Err(mismatch(format!("{} of two dimensions", packed.name), found));
        };
        let order = sources.find(&format!("{module}.g_idx"));
        let tensor = sources.required(&format!("{module}.scales"))?;
        let scale = sources.tensor(tensor);
        let num_groups = scale.shape.first().copied().unwrap_or(0);
        let (bits, cols) = match order {
            Some(order) => self.bits_of_order(sources, num_words, order)?,
            None => self.bits_of_groups(sources, [num_words, rows], num_groups)?,
        };
        expect_shape(scale, &[num_groups, rows])?;
        let format = scale_format(scale)?;
        let usual = self.group_size.unwrap_or(cols).max(1);
        // With an order of inputs, which has their number, modules can have groups of another size than most.
        let group_size = match order {
            Some(_) if cols.div_ceil(usual) != num_groups => {
                cols.div_ceil(num_groups.max(1)).max(1)
            }
            _ => usual,
        };
        if cols.div_ceil(group_size) != num_groups {
            let expected = format!(
                "{module}.scales for groups of {group_size} of {cols} inputs of {bits} bits"
            );
            return Err(mismatch(expected, format!("{num_groups} groups")));
        }
        let mut groups = Groups::of_columns([rows, cols], group_size);
        if let Some(order) = order {
            let columns = sources.weights().integers(order);
            groups = groups_of_columns(sources, order, &columns, groups)?;
            sources.consume(order);
        }
        let zeros = self.zeros(sources, bits, [num_groups, rows])?;
        let numbers = if zeros.is_some() { Numbers::Unsigned } else { Numbers::Centered };
        let codes = CodeLayout { bits, order: CodeOrder::Columns { rows } };
        let scales = Scales { tensor, format, factor: None };
        let quantized = Quantized { codes, numbers, zeros, scales, groups };
        sources.set_quantized(number, format!("{module}.weight"), vec![rows, cols], quantized);
        Ok(())
    }

    /// The bits and the number of inputs of the module. With an order of inputs, which has their number, modules can have other
    /// bits than most.
    fn bits_of_order(
        &self,
        sources: &Sources,
        num_words: usize,
        order: usize,
    ) -> Result<(u32, usize), ConvertError> {
        let Self { module, bits, .. } = *self;
        let order = sources.tensor(order);
        expect_type(order, Dtype::I32)?;
        let cols = order.len();
        let fits = |bits: &u32| words(*bits, cols) == num_words;
        let found = [bits].into_iter().chain(BITS).filter(|bits| BITS.contains(bits)).find(fits);
        found.map(|bits| (bits, cols)).ok_or_else(|| {
            let expected = format!(
                "{module}.qweight with words of 2, 3, 4 or 8 bits for the {cols} inputs of {module}.g_idx"
            );
            mismatch(expected, format!("{num_words} words"))
        })
    }

    /// The bits and the number of inputs of a module without an order. AutoRound's modules can have other bits than most: those
    /// that fit the numbers of groups and of words of zeros.
    fn bits_of_groups(
        &self,
        sources: &Sources,
        [num_words, rows]: [usize; 2],
        num_groups: usize,
    ) -> Result<(u32, usize), ConvertError> {
        let Self { module, bits, group_size, .. } = *self;
        if !BITS.contains(&bits) {
            return Err(invalid("quantization_config.bits", "2, 3, 4 or 8", bits));
        }
        let zeros = sources.find(&format!("{module}.qzeros"));
        let zeros = zeros.map(|zeros| &sources.tensor(zeros).shape);
        let cols = |bits: u32| num_words * 32 / bits as usize;
        let fits = |bits: &u32| {
            let cols = cols(*bits);
            cols.div_ceil(group_size.unwrap_or(cols).max(1)) == num_groups
                && zeros.is_none_or(|shape| shape.last() == Some(&words(*bits, rows)))
        };
        let bits = [bits].into_iter().chain(BITS).find(fits).unwrap_or(bits);
        Ok((bits, cols(bits)))
    }

    /// The zeros; `None` if all are half of the range.
    fn zeros(
        &self,
        sources: &mut Sources,
        bits: u32,
        [num_groups, rows]: [usize; 2],
    ) -> Result<Option<Zeros>, ConvertError> {
        let Some(tensor) = sources.find(&format!("{}.qzeros", self.module)) else {
            return Ok(None);
        };
        let zeros = sources.tensor(tensor);
        expect_type(zeros, Dtype::I32)?;
        expect_shape(zeros, &[num_groups, words(bits, rows)])?;
        let codes = CodeLayout::in_words(bits, rows);
        let half = (1_u8 << (bits - 1)) - u8::from(self.is_decremented);
        if codes.is_constant(&sources.data(tensor), rows, half) {
            sources.consume(tensor);
            return Ok(None);
        }
        let is_decremented = self.is_decremented;
        Ok(Some(Zeros { tensor, codes, is_transposed: true, is_decremented }))
    }
}
