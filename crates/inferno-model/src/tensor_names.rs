//! Names of the tensors outside the decoder layers, as GGUF files spell them.

pub(crate) const EMBEDDINGS: &str = "token_embd.weight";
/// The embeddings that each layer has of its own, one row for all layers.
pub(crate) const LAYER_EMBEDDINGS: &str = "per_layer_token_embd.weight";
/// The embeddings of positions.
pub(crate) const POSITION_EMBEDDINGS: &str = "position_embd.weight";
/// Absent when the output head is tied to the embeddings.
pub(crate) const OUTPUT_HEAD: &str = "output.weight";
/// Optional divisors of the rotary frequencies (Llama 3's scaling).
pub(crate) const ROPE_FACTORS: &str = "rope_freqs.weight";
/// LongRoPE's divisors for contexts up to the original one, and for longer ones.
pub(crate) const SHORT_ROPE_FACTORS: &str = "rope_factors_short.weight";
pub(crate) const LONG_ROPE_FACTORS: &str = "rope_factors_long.weight";
