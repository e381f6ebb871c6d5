//! Models as a whole: loading, results, and costs.

mod architectures;
mod encoders;
mod errors;
mod logits;
mod metadata;
mod mutations;
mod parallel_steps;
mod prediction_heads;
mod published_models;
mod requantize;
mod rotary_and_windows;
mod scales;
mod separate_experts;
mod support;
mod token_cost;
