//! AWQ: 4-bit integers in words along the outputs, with a scale and a zero per group of inputs and output.
//!
//! **Source**: `dequantize_gemm` of AutoAWQ: `qweight` `[inputs, words of outputs]`, `qzeros` `[groups, words of outputs]` and
//! `scales` `[groups, outputs]`.

use safetensors::Dtype;
use serde_json::Value;

use super::{expect_shape, expect_type, group_size, mismatch, scale_format, unsupported};
use crate::ConvertError;
use crate::quantized::{CodeLayout, CodeOrder, Groups, Numbers, Quantized, Scales, Zeros};
use crate::sources::Sources;

/// Number of bits of an integer.
const BITS: u32 = 4;

/// Number of integers in a word.
const PER_WORD: usize = 8;

/// Finds the tensors that quantized weights consist of.
pub(super) fn find(options: &Value, sources: &mut Sources) -> Result<(), ConvertError> {
    let keys = ["version", "checkpoint_format", "format"];
    let version = keys.into_iter().find_map(|key| options[key].as_str());
    let version = version.unwrap_or("gemm").to_ascii_lowercase();
    let bits = options["bits"].as_u64().or_else(|| options["w_bit"].as_u64());
    if version != "gemm" {
        return Err(unsupported(format!("awq (version {version})")));
    }
    if let Some(bits) = bits.filter(|bits| *bits != u64::from(BITS)) {
        return Err(unsupported(format!("awq ({bits} bits)")));
    }
    let group_size = group_size(options)?;
    for number in 0..sources.len() {
        let name = sources.tensor(number).name.clone();
        if let Some(module) = name.strip_suffix(".qweight") {
            add(sources, number, module, group_size)?;
        }
    }
    Ok(())
}

fn add(
    sources: &mut Sources,
    number: usize,
    module: &str,
    group_size: Option<usize>,
) -> Result<(), ConvertError> {
    let packed = sources.tensor(number);
    expect_type(packed, Dtype::I32)?;
    let &[cols, words] = &packed.shape[..] else {
        let found = format!("shape {:?}", packed.shape);
        return Err(mismatch(format!("{} of two dimensions", packed.name), found));
    };
    let group_size = group_size.unwrap_or(cols).max(1);
    let (rows, num_groups) = (words * PER_WORD, cols.div_ceil(group_size));
    let tensor = sources.required(&format!("{module}.scales"))?;
    let scale = sources.tensor(tensor);
    expect_shape(scale, &[num_groups, rows])?;
    let scales = Scales { tensor, format: scale_format(scale)?, factor: None };
    let groups = Groups::of_columns([rows, cols], group_size);
    let codes = CodeLayout { bits: BITS, order: CodeOrder::Interleaved { words } };
    let zeros = match sources.find(&format!("{module}.qzeros")) {
        None => None,
        Some(tensor) => {
            let zeros = sources.tensor(tensor);
            expect_type(zeros, Dtype::I32)?;
            expect_shape(zeros, &[num_groups, words])?;
            Some(Zeros { tensor, codes, is_transposed: false, is_decremented: false })
        }
    };
    let numbers = if zeros.is_some() { Numbers::Unsigned } else { Numbers::Centered };
    let quantized = Quantized { codes, numbers, zeros, scales, groups };
    sources.set_quantized(number, format!("{module}.weight"), vec![rows, cols], quantized);
    Ok(())
}
