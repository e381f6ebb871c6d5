//! Names of the tensors outside the decoder layers, as GGUF files spell them.

pub(crate) const EMBEDDINGS: &str = "token_embd.weight";
/// The embeddings that each layer has of its own, one row for all layers.
pub(crate) const LAYER_EMBEDDINGS: &str = "per_layer_token_embd.weight";
/// The embeddings of positions.
pub(crate) const POSITION_EMBEDDINGS: &str = "position_embd.weight";
/// The embeddings of token types.
pub(crate) const TOKEN_TYPES: &str = "token_types.weight";
/// What distances add to scores: a row for each bucket of distances, a value for each head.
pub(crate) const DISTANCE_BUCKETS: &str = "attn_rel_b.weight";
/// Absent when the output head is tied to the embeddings.
pub(crate) const OUTPUT_HEAD: &str = "output.weight";
/// Optional divisors of the rotary frequencies (Llama 3's scaling).
pub(crate) const ROPE_FACTORS: &str = "rope_freqs.weight";
/// LongRoPE's divisors for contexts up to the original one, and for longer ones.
pub(crate) const SHORT_ROPE_FACTORS: &str = "rope_factors_short.weight";
pub(crate) const LONG_ROPE_FACTORS: &str = "rope_factors_long.weight";

/// The layer of the tensor `blk.LAYER.NAME`, and its name in the layer.
pub(crate) fn layer_tensor(name: &str) -> Option<(usize, &str)> {
    let (number, name) = name.strip_prefix("blk.")?.split_once('.')?;
    let layer: usize = number.parse().ok()?;
    // Neither signs nor leading zeros: those are other names.
    (layer.to_string() == number).then_some((layer, name))
}
