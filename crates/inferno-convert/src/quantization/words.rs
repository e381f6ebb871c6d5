//! Integers of up to 8 bits in words: `pack-quantized` of the library compressed-tensors.
//!
//! **Source**: `pack_to_int32` of compressed-tensors: the bits of a row follow each other without gaps, each integer plus half
//! of its range. Zeros are packed alike, but along columns.

use safetensors::Dtype;

use super::bytes::groups;
use super::{expect_shape, expect_type, mismatch, scale_format};
use crate::ConvertError;
use crate::quantized::{
    Block, CodeLayout, CodeOrder, Groups, Numbers, Quantized, Scales, Zeros, words,
};
use crate::sources::Sources;

/// Finds the tensors that the packed one with this number consists of, and gives it the name and the shape of its weights.
pub(super) fn add(
    sources: &mut Sources,
    number: usize,
    weight: &str,
    bits: u32,
    block: Option<Block>,
) -> Result<(), ConvertError> {
    let packed = sources.tensor(number);
    expect_type(packed, Dtype::I32)?;
    let sizes = sources.required(&format!("{weight}_shape"))?;
    let shape = sources.weights().sizes(sizes);
    let mut expected = shape.clone();
    if let Some(cols) = expected.last_mut() {
        *cols = words(bits, *cols);
    }
    if packed.shape != expected || shape.len() < 2 {
        let name = &packed.name;
        return Err(mismatch(
            format!("{name} of shape {expected:?} for weights of {bits} bits of shape {shape:?}"),
            format!("shape {:?}", packed.shape),
        ));
    }
    let tensor = sources.required(&format!("{weight}_scale"))?;
    let scale = sources.tensor(tensor);
    let scales = Scales { tensor, format: scale_format(scale)?, factor: None };
    let mut groups = groups(weight, &shape, &scale.shape, block)?;
    let zeros = zeros(sources, weight, bits, &shape, &groups)?;
    if let Some(order) = sources.find(&format!("{weight}_g_idx")) {
        groups = in_order(sources, order, groups)?;
        sources.consume(order);
    }
    let codes = CodeLayout::in_words(bits, groups.cols());
    let quantized = Quantized { codes, numbers: Numbers::Centered, zeros, scales, groups };
    sources.consume(sizes);
    sources.set_quantized(number, weight.to_owned(), shape, quantized);
    Ok(())
}

/// The zeros of asymmetric weights: `[words of the rows, groups of columns]`.
fn zeros(
    sources: &Sources,
    weight: &str,
    bits: u32,
    shape: &[usize],
    groups: &Groups,
) -> Result<Option<Zeros>, ConvertError> {
    let Some(tensor) = sources.find(&format!("{weight}_zero_point")) else { return Ok(None) };
    let zeros = sources.tensor(tensor);
    expect_type(zeros, Dtype::I32)?;
    let rows = groups.row_len();
    let &[num_outputs, _] = shape else {
        let expected = format!("{weight} of two dimensions for {}", zeros.name);
        return Err(mismatch(expected, format!("shape {shape:?}")));
    };
    expect_shape(zeros, &[words(bits, num_outputs), rows])?;
    let codes = CodeLayout { bits, order: CodeOrder::Columns { rows } };
    Ok(Some(Zeros { tensor, codes, is_transposed: true, is_decremented: false }))
}

/// The groups of columns that are in another order, by the group of each column.
fn in_order(sources: &Sources, order: usize, groups: Groups) -> Result<Groups, ConvertError> {
    let tensor = sources.tensor(order);
    expect_type(tensor, Dtype::I32)?;
    expect_shape(tensor, &[groups.cols()])?;
    let columns = sources.weights().integers(order);
    // Columns without a number are in the usual order.
    match columns.contains(&-1) {
        true => Ok(groups),
        false => groups_of_columns(sources, order, &columns, groups),
    }
}

/// The same groups with those of each column.
///
/// **Errors**: numbers that are not those of groups.
pub(super) fn groups_of_columns(
    sources: &Sources,
    order: usize,
    columns: &[i32],
    groups: Groups,
) -> Result<Groups, ConvertError> {
    let count = groups.row_len();
    let valid = |column: &i32| u32::try_from(*column).ok().filter(|it| (*it as usize) < count);
    if let Some(found) = columns.iter().find(|column| valid(column).is_none()) {
        return Err(mismatch(
            format!("{} with the numbers of {count} groups", sources.tensor(order).name),
            found.to_string(),
        ));
    }
    Ok(groups.with_columns(columns.iter().filter_map(valid).collect()))
}
