//! Views that several families need.

use crate::config::invalid;
use crate::family::{Context, ViewError};
use crate::lazy::{Lazy, Operation};

type Result<T = Lazy, E = ViewError> = std::result::Result<T, E>;

/// The tensor as it is.
pub(crate) fn same(_: &Context<'_>, tensor: Lazy) -> Result {
    Ok(tensor)
}

/// One more: norms that multiply by `1 + weight`.
pub(crate) fn plus_one(_: &Context<'_>, tensor: Lazy) -> Result {
    Ok(tensor.map(Operation::Add(1.0)))
}

/// Decay rates from their logarithms.
pub(crate) fn negative_exp(_: &Context<'_>, tensor: Lazy) -> Result {
    Ok(tensor.map(Operation::NegativeExp))
}

/// Without dimensions of size 1.
pub(crate) fn squeezed(_: &Context<'_>, tensor: Lazy) -> Result {
    Ok(tensor.squeezed())
}

/// A column instead of a vector.
pub(crate) fn column(_: &Context<'_>, tensor: Lazy) -> Result {
    let shape = [tensor.len(), 1];
    Ok(tensor.reshaped(&shape)?)
}

/// Decay rates as a column.
pub(crate) fn negative_exp_column(context: &Context<'_>, tensor: Lazy) -> Result {
    negative_exp(context, column(context, tensor)?)
}

/// Exchanges the last two dimensions.
pub(crate) fn transposed(_: &Context<'_>, tensor: Lazy) -> Result {
    let last = tensor.shape.len().saturating_sub(1);
    Ok(tensor.view(|view| view.transpose(last, last.saturating_sub(1)))?)
}

/// The rows of a query projection, from halves to neighboring pairs.
pub(crate) fn paired_queries(context: &Context<'_>, tensor: Lazy) -> Result {
    paired_rows(tensor, context.config.num_heads()?)
}

/// The rows of a key projection, from halves to neighboring pairs.
pub(crate) fn paired_keys(context: &Context<'_>, tensor: Lazy) -> Result {
    paired_rows(tensor, context.config.num_kv_heads()?)
}

/// Reorders the rows of each head so that rotary embeddings rotate neighboring rows instead of the halves.
pub(crate) fn paired_rows(tensor: Lazy, heads: usize) -> Result {
    let half = half_head(&tensor, heads);
    exchanged_rows(tensor, [heads, 2, half])
}

/// Reorders the rows of each head so that rotary embeddings rotate the halves instead of neighboring rows.
pub(crate) fn halved_rows(tensor: Lazy, heads: usize) -> Result {
    let half = half_head(&tensor, heads);
    exchanged_rows(tensor, [heads, half, 2])
}

fn half_head(tensor: &Lazy, heads: usize) -> usize {
    tensor.shape[0] / heads.max(1) / 2
}

/// Divides the rows as `split` states, and exchanges the last two of its dimensions.
fn exchanged_rows(tensor: Lazy, split: [usize; 3]) -> Result {
    let shape = tensor.shape.clone();
    let split = [&split, &shape[1..]].concat();
    let view = tensor.view(|view| view.reshape(&split)?.transpose(1, 2))?;
    Ok(view.reshaped(&shape)?)
}

/// The first half along the last dimension but one: gates of fused projections.
pub(crate) fn first_half(_: &Context<'_>, tensor: Lazy) -> Result {
    half(tensor, 0)
}

/// The second half along the last dimension but one.
pub(crate) fn second_half(_: &Context<'_>, tensor: Lazy) -> Result {
    half(tensor, 1)
}

fn half(tensor: Lazy, which: usize) -> Result {
    let axis = tensor.shape.len().saturating_sub(2);
    let half = tensor.shape[axis] / 2;
    let whole = tensor.shape[axis];
    Ok(tensor.view(|view| view.slice(axis, which * half..whole * (which + 1) / 2))?)
}

/// The first half of experts whose matrices are stored transposed.
pub(crate) fn first_half_transposed(context: &Context<'_>, tensor: Lazy) -> Result {
    half(transposed(context, tensor)?, 0)
}

/// The second half of experts whose matrices are stored transposed.
pub(crate) fn second_half_transposed(context: &Context<'_>, tensor: Lazy) -> Result {
    half(transposed(context, tensor)?, 1)
}

/// The rows of `range`.
pub(crate) fn rows(tensor: &Lazy, range: std::ops::Range<usize>) -> Result {
    Ok(tensor.clone().view(|view| view.slice(0, range.clone()))?)
}

/// The row of the only output.
pub(crate) fn single_row(_: &Context<'_>, tensor: Lazy) -> Result {
    match tensor.shape[0] {
        1 => Ok(tensor),
        outputs => {
            let found = format!("{outputs} outputs of the classifier");
            Err(invalid("id2label", "one label, that of a score", found).into())
        }
    }
}
