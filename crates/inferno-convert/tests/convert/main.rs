//! Conversions of small checkpoints.

mod checkpoint;
mod errors;
mod fixtures;
mod quantized;
mod tokenizers;
