//! Names of the tensors outside the decoder layers, as GGUF files spell them.

pub(crate) const EMBEDDINGS: &str = "token_embd.weight";
/// Absent when the output head is tied to the embeddings.
pub(crate) const OUTPUT_HEAD: &str = "output.weight";
pub(crate) const OUTPUT_NORM: &str = "output_norm.weight";
/// Optional divisors of the rotary frequencies (Llama 3's scaling).
pub(crate) const ROPE_FACTORS: &str = "rope_freqs.weight";
