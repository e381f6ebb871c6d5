//! Incremental decoding of ids.

use std::fmt;
use std::sync::Arc;

use crate::TokenizerError;
use crate::vocabulary::{TokenType, Vocabulary};

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
    /// Bytes of an incomplete character.
    pending: Vec<u8>,
    /// The result of the last `push`.
    text: String,
}

impl Detokenizer {
    pub(crate) fn new(vocabulary: Arc<Vocabulary>, skip_special: bool, strip_space: bool) -> Self {
        Self { vocabulary, skip_special, strip_space, pending: Vec::new(), text: String::new() }
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
            &mut self.pending,
        )?;
        let mut consumed = 0;
        for chunk in self.pending.utf8_chunks() {
            self.text.push_str(chunk.valid());
            consumed += chunk.valid().len();
            let at_end = consumed + chunk.invalid().len() == self.pending.len();
            if at_end && may_still_complete(chunk.invalid()) {
                break;
            }
            if !chunk.invalid().is_empty() {
                self.text.push(char::REPLACEMENT_CHARACTER);
            }
            consumed += chunk.invalid().len();
        }
        self.pending.drain(..consumed);
        Ok(&self.text)
    }

    /// Ends the stream and returns U+FFFD for an incomplete character, if there is one.
    pub fn finish(self) -> String {
        String::from_utf8_lossy(&self.pending).into_owned()
    }
}

impl fmt::Debug for Detokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Detokenizer")
            .field("skip_special", &self.skip_special)
            .field("pending", &self.pending)
            .finish_non_exhaustive()
    }
}

/// Whether `bytes`, which are not valid UTF-8, are the start of a character.
fn may_still_complete(bytes: &[u8]) -> bool {
    !bytes.is_empty() && std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
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
