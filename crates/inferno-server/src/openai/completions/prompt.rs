//! Prompts: texts or tokens, one or several, and gaps to be filled.

use inferno_tokenizer::EncodeOptions;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::ServedModel;
use crate::errors::ApiError;

/// A text, tokens, or several of either.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(
    untagged,
    expecting = "expected a text, a list of texts, a list of token ids, or a list of such lists"
)]
pub(crate) enum PromptField {
    Text(String),
    Tokens(Vec<u32>),
    Texts(Vec<String>),
    TokenLists(Vec<Vec<u32>>),
}

/// A prompt as the model reads it.
pub(super) struct ReadPrompt {
    pub tokens: Vec<u32>,
    /// What each answer begins with.
    pub echo: String,
    /// Tokens at the start that were added to the text.
    pub num_added: usize,
}

impl PromptField {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Text(_) | Self::Tokens(_) => 1,
            Self::Texts(many) => many.len(),
            Self::TokenLists(many) => many.len(),
        }
    }

    /// The tokens of each, as they are.
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

    /// Encodes what is text.
    ///
    /// **Errors**: no prompt, a prompt beyond the context, a token that does not exist, a gap for a model that fills none.
    pub(super) fn read(
        &self,
        suffix: Option<&str>,
        add_special: bool,
        echo: bool,
        model: &ServedModel,
    ) -> Result<Vec<ReadPrompt>, ApiError> {
        let text = |text: &String| {
            let options = EncodeOptions { add_special, parse_special: true };
            let tokens = match suffix {
                Some(suffix) => fill_in_the_middle(text, suffix, add_special, model)?,
                None => model.tokenizer().encode_prompt(text, options),
            };
            // What a text begins with by itself is its own.
            let added = model.tokenizer().special_tokens().bos.filter(|_| add_special);
            let mut is_added = added.is_some() && tokens.first() == added.as_ref();
            if is_added {
                let spelled = model.tokenizer().token_bytes(tokens[0]).unwrap_or_default();
                is_added = !text.as_bytes().starts_with(&spelled);
            }
            let echo = if echo { text.clone() } else { String::new() };
            read(tokens, echo, usize::from(is_added), model)
        };
        let tokens = |tokens: &Vec<u32>| {
            if suffix.is_some() {
                return Err(ApiError::unsupported("suffix", "beside a prompt of tokens"));
            }
            let echo = match echo {
                true => model
                    .tokenizer()
                    .decode(tokens, false)
                    .map_err(|error| ApiError::invalid("prompt", error.to_string()))?,
                false => String::new(),
            };
            read(tokens.clone(), echo, 0, model)
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

/// Checks a prompt's length.
fn read(
    tokens: Vec<u32>,
    echo: String,
    num_added: usize,
    model: &ServedModel,
) -> Result<ReadPrompt, ApiError> {
    let room = model.handle.context_length();
    match tokens.len() {
        0 => Err(ApiError::invalid("prompt", "the prompt has no tokens")),
        len if len >= room => Err(ApiError::context_length_exceeded("prompt", len, room)),
        _ => Ok(ReadPrompt { tokens, echo, num_added }),
    }
}

/// The text before a gap and the text after it, between the tokens that the model has learned for them.
fn fill_in_the_middle(
    before: &str,
    after: &str,
    add_special: bool,
    model: &ServedModel,
) -> Result<Vec<u32>, ApiError> {
    let tokenizer = model.tokenizer();
    let special = tokenizer.special_tokens();
    let (Some(prefix), Some(suffix), Some(middle)) =
        (special.fim_prefix, special.fim_suffix, special.fim_middle)
    else {
        let why = "this model has no tokens for filling in the middle";
        return Err(ApiError::unsupported("suffix", why));
    };
    // Only what a text begins with, as nothing may come between the gap and its filling.
    let mut tokens = match add_special {
        true => tokenizer.encode("", EncodeOptions { add_special, parse_special: false }),
        false => Vec::new(),
    };
    tokens.retain(|&token| Some(token) == special.bos);
    tokens.push(prefix);
    tokens.extend(tokenizer.encode(before, EncodeOptions::default()));
    tokens.push(suffix);
    tokens.extend(tokenizer.encode(after, EncodeOptions::default()));
    tokens.push(middle);
    Ok(tokens)
}
