//! Adds the requested biases to logits.
//!
//! **Source**: OpenAI API reference, `logit_bias`; llama.cpp, which excludes tokens with a bias of minus infinity.

/// Adds each bias to its token's logit; minus infinity excludes the token.
pub(super) fn apply(bias: &[(u32, f32)], logits: &mut [f32]) {
    for &(token, bias) in bias {
        let logit = &mut logits[token as usize];
        *logit = match (bias, *logit) {
            (f32::NEG_INFINITY, _) | (_, f32::NEG_INFINITY) => f32::NEG_INFINITY,
            (bias, logit) => (logit + bias).clamp(f32::MIN, f32::MAX),
        };
    }
}
