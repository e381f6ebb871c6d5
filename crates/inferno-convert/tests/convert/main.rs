//! Conversions of small checkpoints.

mod byte_level;
mod checkpoint;
mod classifiers;
mod damaged_codes;
mod decoders;
mod dequantized;
mod embeddings;
mod errors;
mod files;
mod fixtures;
mod gating;
mod half_precision;
mod layer_patterns;
mod packed;
mod prediction_heads;
mod published;
mod quantized;
mod rerankers;
mod rotary;
mod rotary_defaults;
mod states;
mod text_models;
mod tokenizers;
