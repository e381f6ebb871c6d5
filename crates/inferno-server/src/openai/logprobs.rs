//! Log-probabilities, in the formats of OpenAI's APIs and vLLM.

use std::collections::BTreeMap;

use inferno_engine::{SampledToken, TokenLogprobs};
use inferno_tokenizer::{Tokenizer, Utf8Decoder};
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

/// Log-probabilities of a chat completion.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct ChatLogprobs {
    content: Vec<TokenLogprob>,
}

/// Log-probability of a generated token, with the most probable alternatives.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct TokenLogprob {
    token: String,
    logprob: f32,
    bytes: Vec<u8>,
    top_logprobs: Vec<TopLogprob>,
}

/// Log-probability of an alternative token.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct TopLogprob {
    token: String,
    logprob: f32,
    bytes: Vec<u8>,
}

impl ChatLogprobs {
    /// Log-probabilities of the tokens that have them; `None` if none has.
    pub fn of<'t>(
        tokens: impl IntoIterator<Item = &'t SampledToken>,
        tokenizer: &Tokenizer,
    ) -> Option<Self> {
        let content: Vec<_> = tokens
            .into_iter()
            .filter_map(|token| {
                Some(TokenLogprob::of(token.id, token.logprobs.as_ref()?, tokenizer))
            })
            .collect();
        (!content.is_empty()).then_some(Self { content })
    }
}

impl TokenLogprob {
    fn of(id: u32, logprobs: &TokenLogprobs, tokenizer: &Tokenizer) -> Self {
        let (token, bytes) = spelled(id, tokenizer);
        let top_logprobs = logprobs.top.iter().map(|&(id, logprob)| {
            let (token, bytes) = spelled(id, tokenizer);
            TopLogprob { token, logprob: finite(logprob), bytes }
        });
        let logprob = finite(logprobs.logprob);
        Self { token, logprob, bytes, top_logprobs: top_logprobs.collect() }
    }
}

/// JSON has no infinity; -9999 represents it, as in OpenAI's API.
pub(crate) fn finite(logprob: f32) -> f32 {
    logprob.max(-9999.0)
}

/// The text and the bytes of a token.
pub(crate) fn spelled(id: u32, tokenizer: &Tokenizer) -> (String, Vec<u8>) {
    let bytes = tokenizer.token_bytes(id).unwrap_or_default().into_owned();
    (String::from_utf8_lossy(&bytes).into_owned(), bytes)
}

/// The text of tokens with all their spaces, as llama-server returns prompts.
pub(crate) fn spelled_text(ids: &[u32], tokenizer: &Tokenizer) -> String {
    let bytes: Vec<u8> = ids
        .iter()
        .flat_map(|&id| tokenizer.token_bytes(id).unwrap_or_default().into_owned())
        .collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Log-probabilities of a text completion.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
pub(crate) struct TextLogprobs {
    tokens: Vec<String>,
    /// Null for the first token of a prompt, which has no context.
    token_logprobs: Vec<Option<f64>>,
    /// The most probable tokens at each position, by their text.
    #[schema(value_type = Vec<Option<Object>>)]
    top_logprobs: Vec<Option<Map<String, Value>>>,
    /// Offset of each token in the text, in characters; that of the character that a token continues.
    text_offset: Vec<usize>,
}

/// The end of a text that tokens are added to.
#[derive(Debug, Clone, Default)]
pub(crate) struct TextPosition {
    /// Number of complete characters.
    num_chars: usize,
    decoder: Utf8Decoder,
}

impl TextPosition {
    /// The end of `text`.
    pub fn after(text: &str) -> Self {
        Self { num_chars: text.chars().count(), ..Self::default() }
    }

    /// The offset of a token with these bytes: that of the character that it continues, if it does.
    fn start_of(&mut self, bytes: &[u8]) -> usize {
        let continues = bytes.first().is_none_or(|byte| matches!(byte, 0x80..=0xBF));
        if !continues {
            self.num_chars += std::mem::take(&mut self.decoder).finish().chars().count();
        }
        self.num_chars
    }

    /// Moves past the bytes of a token.
    fn advance(&mut self, bytes: &[u8]) {
        let mut text = String::new();
        self.decoder.push(bytes, &mut text);
        self.num_chars += text.chars().count();
    }
}

impl TextLogprobs {
    /// Adds a token if it has log-probabilities, and moves `position` past it.
    pub fn push(
        &mut self,
        token: &SampledToken,
        tokenizer: &Tokenizer,
        position: &mut TextPosition,
    ) {
        if let Some(logprobs) = &token.logprobs {
            self.add(token.id, Some(logprobs), logprobs.top.len(), tokenizer, position);
        }
    }

    /// Log-probabilities of a prompt, with `count` alternatives per token. The first `num_added` tokens are not part of the text.
    ///
    /// **Shapes**: `logprobs` has one entry for each token but the first.
    pub fn of_prompt(
        tokens: &[u32],
        num_added: usize,
        logprobs: &[TokenLogprobs],
        count: usize,
        tokenizer: &Tokenizer,
    ) -> Self {
        let (mut prompt, mut position) = (Self::default(), TextPosition::default());
        let logprobs = std::iter::once(None).chain(logprobs.iter().map(Some));
        for (place, (&id, logprobs)) in tokens.iter().zip(logprobs).enumerate() {
            prompt.add(id, logprobs, count, tokenizer, &mut position);
            if place < num_added {
                position = TextPosition::default();
            }
        }
        prompt
    }

    fn add(
        &mut self,
        id: u32,
        logprobs: Option<&TokenLogprobs>,
        count: usize,
        tokenizer: &Tokenizer,
        position: &mut TextPosition,
    ) {
        let (text, bytes) = spelled(id, tokenizer);
        let named =
            |&(id, logprob): &(u32, f32)| (spelled(id, tokenizer).0, json!(finite(logprob)));
        self.top_logprobs.push(logprobs.map(|logprobs| {
            let mut top: Map<_, _> = logprobs.top.iter().take(count).map(named).collect();
            // The chosen token is always included.
            top.insert(text.clone(), json!(finite(logprobs.logprob)));
            top
        }));
        self.token_logprobs.push(logprobs.map(|it| f64::from(finite(it.logprob))));
        self.text_offset.push(position.start_of(&bytes));
        position.advance(&bytes);
        self.tokens.push(text);
    }

    /// Appends the log-probabilities of the following tokens.
    pub fn extend(&mut self, further: Self) {
        self.tokens.extend(further.tokens);
        self.token_logprobs.extend(further.token_logprobs);
        self.top_logprobs.extend(further.top_logprobs);
        self.text_offset.extend(further.text_offset);
    }

    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }
}

/// Log-probabilities of a prompt in vLLM's format: one map of token ids per position; null for the first.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct PromptLogprobs(Vec<Option<BTreeMap<String, PromptLogprob>>>);

/// Log-probability of a token at a position of the prompt.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct PromptLogprob {
    logprob: f64,
    /// 1 for the most probable token.
    rank: usize,
    decoded_token: String,
}

impl PromptLogprobs {
    /// Log-probabilities of a prompt, with `count` alternatives per token.
    ///
    /// **Shapes**: `logprobs` has one entry for each token but the first.
    pub fn new(
        tokens: &[u32],
        logprobs: &[TokenLogprobs],
        count: usize,
        tokenizer: &Tokenizer,
    ) -> Self {
        let entry = |id: u32, logprob: f32, rank: usize| {
            let decoded_token = spelled(id, tokenizer).0;
            (id.to_string(), PromptLogprob { logprob: finite(logprob).into(), rank, decoded_token })
        };
        let of_token = |(&id, logprobs): (&u32, &TokenLogprobs)| {
            let top = logprobs.top.iter().take(count).enumerate();
            let top = top.map(|(place, &(id, logprob))| entry(id, logprob, place + 1));
            Some(top.chain([entry(id, logprobs.logprob, logprobs.rank)]).collect())
        };
        let others = tokens.iter().skip(1).zip(logprobs).map(of_token);
        Self(std::iter::once(None).chain(others).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_character_share_its_offset_and_broken_ones_count() {
        let mut position = TextPosition::after("ab");
        let mut offsets = |bytes: &[u8]| {
            let start = position.start_of(bytes);
            position.advance(bytes);
            start
        };
        let parts: [&[u8]; 6] = [b"\xe6", b"\x97", b"\xa5", b"c\xe6", b"d", b"e"];
        // The text is "ab日c\u{fffd}de".
        assert_eq!(parts.map(&mut offsets), [2, 2, 2, 3, 5, 6]);
    }
}
