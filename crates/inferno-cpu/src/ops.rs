//! The operations, each written once for all instruction sets.
//!
//! The head of each module states the order of its sums. Work is split between threads along rows, columns or
//! heads of the result, never along a sum.

mod activation_rows;
mod activations;
pub(crate) mod attention;
mod bf16_pairs;
pub(crate) mod candidates;
pub(crate) mod elementwise;
pub(crate) mod embedding;
pub(crate) mod experts;
mod functions;
pub(crate) mod gated;
mod input;
mod int16;
pub(crate) mod linear;
pub(crate) mod norm;
pub(crate) mod product;
pub(crate) mod product_rows;
mod quantize;
pub(crate) mod recurrent;
pub(crate) mod rope;
pub(crate) mod routing;
pub(crate) mod row_statistics;
mod softmax;
pub(crate) mod workspace;
