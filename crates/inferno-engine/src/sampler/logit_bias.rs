//! Adds the requested biases to logits.
//!
//! **Source**: OpenAI API reference, `logit_bias`.

/// Adds each bias to its token's logit.
pub(super) fn apply(bias: &[(u32, f32)], logits: &mut [f32]) {
    for &(token, bias) in bias {
        let logit = &mut logits[token as usize];
        *logit = (*logit + bias).clamp(f32::MIN, f32::MAX);
    }
}
