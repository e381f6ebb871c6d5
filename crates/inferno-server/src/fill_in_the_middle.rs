//! Prompts for models that are trained to fill a gap in a text.

use inferno_tokenizer::{EncodeOptions, SpecialTokens, Tokenizer};

use crate::ServedModel;
use crate::errors::ApiError;

/// The tokens that mark the text before the gap, the text after it, and the gap.
struct GapTokens {
    prefix: u32,
    suffix: u32,
    middle: u32,
}

impl GapTokens {
    fn of(special: &SpecialTokens) -> Option<Self> {
        let SpecialTokens { fim_prefix, fim_suffix, fim_middle, .. } = *special;
        Some(Self { prefix: fim_prefix?, suffix: fim_suffix?, middle: fim_middle? })
    }
}

/// Whether a model with this tokenizer can fill a gap.
pub(crate) fn is_supported(tokenizer: &Tokenizer) -> bool {
    GapTokens::of(tokenizer.special_tokens()).is_some()
}

/// The prompt for the gap between `before` and `after`.
///
/// **Errors**: a model without the required tokens, for which `field` is unsupported.
pub(crate) fn fill_in_the_middle(
    before: &str,
    after: &str,
    add_special: bool,
    field: &str,
    model: &ServedModel,
) -> Result<Vec<u32>, ApiError> {
    let tokenizer = model.tokenizer();
    let special = tokenizer.special_tokens();
    let gap = GapTokens::of(special).ok_or_else(|| {
        ApiError::unsupported(field, "this model has no tokens for filling in the middle")
    })?;
    // Only the token before text: nothing may come between the gap and the completion.
    let mut tokens = match add_special {
        true => tokenizer.encode("", EncodeOptions { add_special, parse_special: false }),
        false => Vec::new(),
    };
    tokens.retain(|&token| Some(token) == special.bos);
    tokens.push(gap.prefix);
    tokens.extend(tokenizer.encode(before, EncodeOptions::default()));
    tokens.push(gap.suffix);
    tokens.extend(tokenizer.encode(after, EncodeOptions::default()));
    tokens.push(gap.middle);
    Ok(tokens)
}
