//! Log-probabilities, in the two shapes of OpenAI's APIs.

use std::collections::BTreeMap;

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
    /// Null for the first token of a prompt, which nothing comes before.
    token_logprobs: Vec<Option<f64>>,
    /// By the texts of the most probable tokens.
    #[schema(value_type = Vec<Option<Object>>)]
    top_logprobs: Vec<Option<Map<String, Value>>>,
    /// Where each token begins in the text, in characters.
    text_offset: Vec<usize>,
}

impl TextLogprobs {
    /// Adds a token that has them, and moves `offset` past it.
    pub fn push(&mut self, token: &SampledToken, tokenizer: &Tokenizer, offset: &mut usize) {
        if let Some(logprobs) = &token.logprobs {
            self.add(token.id, Some(logprobs), logprobs.top.len(), tokenizer, offset);
        }
    }

    /// Those of a prompt's tokens, with `count` rivals each. The first `num_added` tokens are no part of the text.
    ///
    /// **Shapes**: `logprobs` are those of all tokens but the first.
    pub fn of_prompt(
        tokens: &[u32],
        num_added: usize,
        logprobs: &[TokenLogprobs],
        count: usize,
        tokenizer: &Tokenizer,
    ) -> Self {
        let (mut prompt, mut offset) = (Self::default(), 0);
        let logprobs = std::iter::once(None).chain(logprobs.iter().map(Some));
        for (place, (&id, logprobs)) in tokens.iter().zip(logprobs).enumerate() {
            prompt.add(id, logprobs, count, tokenizer, &mut offset);
            if place < num_added {
                offset = 0;
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
        offset: &mut usize,
    ) {
        let (text, _) = spelled(id, tokenizer);
        let named =
            |&(id, logprob): &(u32, f32)| (spelled(id, tokenizer).0, json!(finite(logprob)));
        self.top_logprobs.push(logprobs.map(|logprobs| {
            let mut top: Map<_, _> = logprobs.top.iter().take(count).map(named).collect();
            // The chosen one is always among them.
            top.insert(text.clone(), json!(finite(logprobs.logprob)));
            top
        }));
        self.token_logprobs.push(logprobs.map(|it| f64::from(finite(it.logprob))));
        self.text_offset.push(*offset);
        *offset += text.chars().count();
        self.tokens.push(text);
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

/// Those of a prompt in vLLM's shape: for each token but the first, which has none, what is known of it and of its rivals, by
/// their ids.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct PromptLogprobs(Vec<Option<BTreeMap<u32, PromptLogprob>>>);

/// What is known of a token that a prompt has, or could have, at its place.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct PromptLogprob {
    logprob: f64,
    /// 1 for the most probable token.
    rank: usize,
    decoded_token: String,
}

impl PromptLogprobs {
    /// Those of a prompt's tokens, with `count` rivals each.
    ///
    /// **Shapes**: `logprobs` are those of all tokens but the first.
    pub fn new(
        tokens: &[u32],
        logprobs: &[TokenLogprobs],
        count: usize,
        tokenizer: &Tokenizer,
    ) -> Self {
        let told = |id: u32, logprob: f32, rank: usize| {
            let decoded_token = spelled(id, tokenizer).0;
            (id, PromptLogprob { logprob: finite(logprob).into(), rank, decoded_token })
        };
        let of_token = |(&id, logprobs): (&u32, &TokenLogprobs)| {
            let rivals = logprobs.top.iter().take(count).enumerate();
            let rivals = rivals.map(|(place, &(id, logprob))| told(id, logprob, place + 1));
            Some(rivals.chain([told(id, logprobs.logprob, logprobs.rank)]).collect())
        };
        let others = tokens.iter().skip(1).zip(logprobs).map(of_token);
        Self(std::iter::once(None).chain(others).collect())
    }
}
