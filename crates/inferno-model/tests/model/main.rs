//! Models as a whole: loading, results, and costs.

mod architectures;
mod encoders;
mod errors;
mod logits;
mod mutations;
mod parallel_steps;
mod prediction_heads;
mod requantize;
mod scales;
mod separate_experts;
mod support;
mod token_cost;
