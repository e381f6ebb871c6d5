//! The operations, each written once for all instruction sets.
//!
//! Every module's head states the order of its sums. Work is split between threads along rows,
//! columns or heads of the result, never along a sum.

pub(crate) mod activations;
pub(crate) mod attention;
pub(crate) mod experts;
pub(crate) mod gated;
pub(crate) mod input;
pub(crate) mod integers;
pub(crate) mod linear;
pub(crate) mod norm;
pub(crate) mod product;
pub(crate) mod quantize;
pub(crate) mod rope;
pub(crate) mod rows;
pub(crate) mod softmax;

/// Values that are worth handing to another thread: a few microseconds of simple work.
const TASK_VALUES: usize = 16 * 1024;

/// Rows of `cols` values that make a task of a simple operation.
pub(crate) fn rows_a_task(cols: usize) -> usize {
    (TASK_VALUES / cols.max(1)).max(1)
}
