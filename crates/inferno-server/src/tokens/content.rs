//! Encoding in the format of llama-server, whose requests have `content`.

use serde::Serialize;
use utoipa::ToSchema;

use crate::ServedModel;

/// The encoded tokens, in the format of llama-server.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ContentTokens {
    tokens: Vec<ContentToken>,
}

/// A token.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum ContentToken {
    /// Its id.
    Id(u32),
    /// With `with_pieces`.
    WithPiece { id: u32, piece: Piece },
}

/// The text of a token.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum Piece {
    Text(String),
    /// The bytes of a token that is not valid UTF-8 by itself.
    Bytes(Vec<u8>),
}

/// Returns the text of each token along with its id if `with_pieces` is set.
pub(super) fn content_tokens(
    tokens: Vec<u32>,
    with_pieces: bool,
    model: &ServedModel,
) -> ContentTokens {
    let tokens = tokens.into_iter().map(|id| match with_pieces {
        true => ContentToken::WithPiece { id, piece: Piece::of(id, model) },
        false => ContentToken::Id(id),
    });
    ContentTokens { tokens: tokens.collect() }
}

impl Piece {
    fn of(id: u32, model: &ServedModel) -> Self {
        let bytes = model.tokenizer().token_bytes(id).unwrap_or_default().into_owned();
        match String::from_utf8(bytes) {
            Ok(text) => Self::Text(text),
            Err(error) => Self::Bytes(error.into_bytes()),
        }
    }
}
