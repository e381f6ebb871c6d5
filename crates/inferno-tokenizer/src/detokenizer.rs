//! Incremental decoding of ids.

use std::fmt;
use std::sync::Arc;

use crate::vocabulary::{TokenType, Vocabulary};
use crate::{TokenizerError, Utf8Decoder};

/// Decodes a stream of ids to text, without splitting characters.
///
/// Bytes of an incomplete character are buffered; invalid bytes become U+FFFD. The concatenated
/// results of [`push`](Self::push) and [`finish`](Self::finish) equal the result of
/// [`Tokenizer::decode`](crate::Tokenizer::decode) for all ids.
///
/// ```no_run
/// # use inferno_tokenizer::{Tokenizer, TokenizerError};
/// # fn stream(tokenizer: &Tokenizer, ids: &[u32]) -> Result<(), TokenizerError> {
/// let mut detokenizer = tokenizer.detokenizer(true);
/// for &id in ids {
///     print!("{}", detokenizer.push(id)?);
/// }
/// print!("{}", detokenizer.finish());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Detokenizer {
    vocabulary: Arc<Vocabulary>,
    skip_special: bool,
    /// Whether the space that encoding adds before the text has yet to be removed.
    strip_space: bool,
    decoder: Utf8Decoder,
    /// The result of the last `push`.
    text: String,
}

impl Detokenizer {
    pub(crate) fn new(vocabulary: Arc<Vocabulary>, skip_special: bool, strip_space: bool) -> Self {
        let (decoder, text) = Default::default();
        Self { vocabulary, skip_special, strip_space, decoder, text }
    }

    /// Decodes the next id and returns the text that it completes, which may be empty.
    ///
    /// **Errors**: [`TokenizerError::UnknownToken`] if the id is out of range; the state is unchanged.
    pub fn push(&mut self, id: u32) -> Result<&str, TokenizerError> {
        self.text.clear();
        append_piece(
            &self.vocabulary,
            id,
            self.skip_special,
            &mut self.strip_space,
            &mut self.decoder.pending,
        )?;
        self.decoder.take(&mut self.text);
        Ok(&self.text)
    }

    /// Ends the stream and returns U+FFFD for an incomplete character, if there is one.
    pub fn finish(self) -> String {
        self.decoder.finish()
    }
}

impl fmt::Debug for Detokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Detokenizer")
            .field("skip_special", &self.skip_special)
            .field("decoder", &self.decoder)
            .finish_non_exhaustive()
    }
}

/// Appends the bytes of `id` to `bytes`, without the space that encoding adds before the text.
pub(crate) fn append_piece(
    vocabulary: &Vocabulary,
    id: u32,
    skip_special: bool,
    strip_space: &mut bool,
    bytes: &mut Vec<u8>,
) -> Result<(), TokenizerError> {
    let piece = vocabulary
        .piece(id)
        .ok_or(TokenizerError::UnknownToken { id, vocab_size: vocabulary.len() })?;
    if vocabulary.is_special(id) {
        if !(skip_special && vocabulary.is_hidden(id)) {
            bytes.extend_from_slice(&piece);
        }
        return Ok(());
    }
    let strip = std::mem::take(strip_space) && vocabulary.kind(id) == TokenType::Normal;
    let piece = if strip { piece.strip_prefix(b" ").unwrap_or(&piece) } else { &piece[..] };
    bytes.extend_from_slice(piece);
    Ok(())
}
