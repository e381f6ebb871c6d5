//! How contexts and continuations become tokens.
//!
//! **Source**: lm-evaluation-harness, `TemplateLM._encode_pair`, `get_rolling_token_windows`, and `HFLM.tok_encode`.

use inferno_engine::ScoringRequest;
use inferno_tokenizer::{EncodeOptions, Tokenizer};

use super::python_text::is_space;
use crate::Error;
use crate::evaluation::EvaluationError;

/// Encodes strings for one model.
pub(super) struct Encoder<'a> {
    tokenizer: &'a Tokenizer,
    /// The token before a text without a context: BOS, or EOS for vocabularies without.
    prefix: u32,
    /// The text of `prefix`.
    prefix_text: String,
    /// Maximum number of tokens that are computed at once.
    context_length: usize,
}

impl<'a> Encoder<'a> {
    /// **Errors**: [`EvaluationError::NoPrefixToken`].
    pub(super) fn new(tokenizer: &'a Tokenizer, context_length: usize) -> Result<Self, Error> {
        let prefix = tokenizer
            .bos()
            .or(tokenizer.eos())
            .ok_or(Error::Evaluation(EvaluationError::NoPrefixToken))?;
        let prefix_text = tokenizer.decode(&[prefix], false)?;
        Ok(Self { tokenizer, prefix, prefix_text, context_length })
    }

    /// Encodes a context with a continuation: those tokens of both together that follow as many tokens as the context has
    /// alone. Spaces at the end of the context belong to the continuation. A context that is too long loses its beginning;
    /// the second value is whether it did.
    ///
    /// **Errors**: a reason why the continuation cannot be scored.
    pub(super) fn pair(
        &self,
        context: &str,
        continuation: &str,
    ) -> Result<(ScoringRequest, bool), String> {
        let (mut context, continuation) = if context.is_empty() {
            let mut continuation = self.encode_plain(continuation);
            match continuation.first() == Some(&self.prefix) {
                true => (vec![continuation.remove(0)], continuation),
                false => (vec![self.prefix], continuation),
            }
        } else {
            let kept = context.trim_end_matches(is_space);
            let whole = format!("{context}{continuation}");
            let mut tokens = self.encode(kept);
            let num_context = tokens.len();
            let continuation = self.encode(&whole).into_iter().skip(num_context).collect();
            if tokens.is_empty() {
                tokens.push(self.prefix);
            }
            (tokens, continuation)
        };
        if continuation.is_empty() {
            return Err("a choice has no tokens of its own after the context".to_owned());
        }
        if continuation.len() > self.context_length {
            return Err(format!(
                "a choice has {} tokens, but the context length is {}; increase --context",
                continuation.len(),
                self.context_length
            ));
        }
        // The last token is not computed.
        let num_kept = (self.context_length + 1).saturating_sub(continuation.len());
        let num_dropped = context.len().saturating_sub(num_kept);
        context.drain(..num_dropped);
        Ok((ScoringRequest { context, continuation }, num_dropped > 0))
    }

    /// Encodes a text in windows, each of which is computed from an empty context. All tokens are scored once: those of the
    /// first window after the prefix token, those of others after as many tokens as fit before them, at least one.
    pub(super) fn rolling(&self, text: &str) -> Vec<ScoringRequest> {
        let tokens = self.encode(text);
        let length = self.context_length;
        let mut windows = Vec::new();
        let first = length.min(tokens.len());
        if first > 0 {
            let continuation = tokens[..first].to_vec();
            windows.push(ScoringRequest { context: vec![self.prefix], continuation });
        }
        let mut num_scored = first;
        while num_scored < tokens.len() {
            let end = (num_scored + length).min(tokens.len());
            windows.push(ScoringRequest {
                context: tokens[end - length - 1..num_scored].to_vec(),
                continuation: tokens[num_scored..end].to_vec(),
            });
            num_scored = end;
        }
        windows
    }

    /// Encodes a text with BOS if the vocabulary adds it and the text does not begin with it.
    fn encode(&self, text: &str) -> Vec<u32> {
        let has_prefix = !self.prefix_text.is_empty() && text.starts_with(&self.prefix_text);
        let bos = self.tokenizer.added_bos().filter(|_| !has_prefix);
        bos.into_iter().chain(self.encode_plain(text)).collect()
    }

    fn encode_plain(&self, text: &str) -> Vec<u32> {
        self.tokenizer.encode(text, EncodeOptions { add_special: false, parse_special: true })
    }
}
