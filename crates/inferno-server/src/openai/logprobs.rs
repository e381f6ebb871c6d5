//! Log-probabilities, in the two shapes of OpenAI's APIs.

use inferno_engine::{SampledToken, TokenLogprobs};
use inferno_tokenizer::Tokenizer;
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

/// Those of a chat completion.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct ChatLogprobs {
    content: Vec<TokenLogprob>,
}

/// One token's, with those of its rivals.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct TokenLogprob {
    token: String,
    logprob: f32,
    bytes: Vec<u8>,
    top_logprobs: Vec<TopLogprob>,
}

/// A rival's.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct TopLogprob {
    token: String,
    logprob: f32,
    bytes: Vec<u8>,
}

impl ChatLogprobs {
    /// Of tokens that have them; `None` where none has.
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

/// JSON has no infinity; -9999 stands for it, as in OpenAI's own answers.
fn finite(logprob: f32) -> f32 {
    logprob.max(-9999.0)
}

fn spelled(id: u32, tokenizer: &Tokenizer) -> (String, Vec<u8>) {
    let bytes = tokenizer.token_bytes(id).unwrap_or_default().into_owned();
    (String::from_utf8_lossy(&bytes).into_owned(), bytes)
}

/// Those of a text completion.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
pub(crate) struct TextLogprobs {
    tokens: Vec<String>,
    token_logprobs: Vec<f64>,
    /// By the texts of the most probable tokens.
    #[schema(value_type = Vec<Object>)]
    top_logprobs: Vec<Map<String, Value>>,
    /// Where each token begins in the text, in characters.
    text_offset: Vec<usize>,
}

impl TextLogprobs {
    /// Adds a token that has them, and moves `offset` past it.
    pub fn push(&mut self, token: &SampledToken, tokenizer: &Tokenizer, offset: &mut usize) {
        let Some(logprobs) = &token.logprobs else {
            return;
        };
        let (text, _) = spelled(token.id, tokenizer);
        let named =
            |&(id, logprob): &(u32, f32)| (spelled(id, tokenizer).0, json!(finite(logprob)));
        let mut top: Map<String, Value> = logprobs.top.iter().map(named).collect();
        // The chosen one is always among them.
        top.insert(text.clone(), json!(finite(logprobs.logprob)));
        self.text_offset.push(*offset);
        *offset += text.chars().count();
        self.tokens.push(text);
        self.token_logprobs.push(f64::from(finite(logprobs.logprob)));
        self.top_logprobs.push(top);
    }

    /// Adds those of the tokens that follow.
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
