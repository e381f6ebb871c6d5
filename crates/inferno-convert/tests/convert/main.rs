//! Conversions of small checkpoints.

mod checkpoint;
mod decoders;
mod embeddings;
mod errors;
mod fixtures;
mod prediction_heads;
mod quantized;
mod rerankers;
mod tokenizers;
