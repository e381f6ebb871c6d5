//! Prompts: text or tokens, one or several, and fill-in-the-middle.

use inferno_tokenizer::EncodeOptions;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::ServedModel;
use crate::errors::ApiError;
use crate::fill_in_the_middle::fill_in_the_middle;

/// A string, tokens, or several of either.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(
    untagged,
    expecting = "expected a string, an array of strings, an array of token ids, or an array of such arrays"
)]
pub(crate) enum PromptField {
    Text(String),
    Tokens(Vec<u32>),
    Texts(Vec<String>),
    TokenLists(Vec<Vec<u32>>),
}

/// An encoded prompt.
pub(super) struct EncodedPrompt {
    pub tokens: Vec<u32>,
    /// Text that each answer starts with.
    pub echo: String,
    /// Special tokens that were added before the text.
    pub num_added: usize,
}

impl PromptField {
    /// Whether there is no prompt, or a single one without text.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Text(text) => text.is_empty(),
            Self::Tokens(tokens) => tokens.is_empty(),
            Self::Texts(many) => many.is_empty(),
            Self::TokenLists(many) => many.is_empty(),
        }
    }

    /// Number of prompts.
    pub fn len(&self) -> usize {
        match self {
            Self::Text(_) | Self::Tokens(_) => 1,
            Self::Texts(many) => many.len(),
            Self::TokenLists(many) => many.len(),
        }
    }

    /// The tokens of each prompt, unchecked.
    pub fn tokens(&self, add_special: bool, model: &ServedModel) -> Vec<Vec<u32>> {
        let options = EncodeOptions { add_special, parse_special: true };
        let encode = |text: &String| model.tokenizer().encode(text, options);
        match self {
            Self::Text(one) => vec![encode(one)],
            Self::Tokens(one) => vec![one.clone()],
            Self::Texts(many) => many.iter().map(encode).collect(),
            Self::TokenLists(many) => many.clone(),
        }
    }

    /// Encodes the prompts, after each of which `room` tokens must fit.
    ///
    /// **Errors**: no prompt, a prompt that exceeds the context, a token outside the vocabulary, a suffix for a model without
    /// fill-in-the-middle tokens.
    pub(super) fn read(
        &self,
        suffix: Option<&str>,
        add_special: bool,
        echo: bool,
        room: usize,
        model: &ServedModel,
    ) -> Result<Vec<EncodedPrompt>, ApiError> {
        let text = |text: &String| {
            let options = EncodeOptions { add_special, parse_special: true };
            let tokens = match suffix {
                Some(suffix) => fill_in_the_middle(text, suffix, add_special, "suffix", model)?,
                None => model.tokenizer().encode_prompt(text, options),
            };
            // Text that spells the token itself was not added to.
            let added = model.tokenizer().special_tokens().bos.filter(|_| add_special);
            let mut is_added = added.is_some() && tokens.first() == added.as_ref();
            if is_added {
                let spelled = model.tokenizer().token_bytes(tokens[0]).unwrap_or_default();
                is_added = !text.as_bytes().starts_with(&spelled);
            }
            let echo = if echo { text.clone() } else { String::new() };
            read(tokens, echo, usize::from(is_added), room, model)
        };
        let tokens = |tokens: &Vec<u32>| {
            if suffix.is_some() {
                return Err(ApiError::unsupported(
                    "suffix",
                    "it cannot be combined with a prompt of tokens",
                ));
            }
            let echo = match echo {
                true => model
                    .tokenizer()
                    .decode(tokens, false)
                    .map_err(|error| ApiError::invalid("prompt", error.to_string()))?,
                false => String::new(),
            };
            read(tokens.clone(), echo, 0, room, model)
        };
        let prompts: Vec<_> = match self {
            Self::Text(one) => vec![text(one)?],
            Self::Tokens(one) => vec![tokens(one)?],
            Self::Texts(many) => many.iter().map(text).collect::<Result<_, _>>()?,
            Self::TokenLists(many) => many.iter().map(tokens).collect::<Result<_, _>>()?,
        };
        match prompts.is_empty() {
            true => Err(ApiError::invalid("prompt", "there must be at least one prompt")),
            false => Ok(prompts),
        }
    }
}

/// Checks the length of a prompt, after which `room` tokens must fit.
fn read(
    tokens: Vec<u32>,
    echo: String,
    num_added: usize,
    room: usize,
    model: &ServedModel,
) -> Result<EncodedPrompt, ApiError> {
    let context_length = model.handle.context_length();
    match tokens.len() {
        0 => Err(ApiError::invalid("prompt", "the prompt has no tokens")),
        len if len + room > context_length => {
            Err(ApiError::context_length_exceeded("prompt", len, context_length))
        }
        _ => Ok(EncodedPrompt { tokens, echo, num_added }),
    }
}
