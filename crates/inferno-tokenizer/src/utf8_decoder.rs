//! Incremental decoding of UTF-8.

/// Decodes UTF-8 that arrives in pieces, without splitting characters.
///
/// Bytes of an incomplete character are buffered; invalid bytes become U+FFFD.
///
/// ```
/// # use inferno_tokenizer::Utf8Decoder;
/// let (mut decoder, mut text) = (Utf8Decoder::default(), String::new());
/// decoder.push(b"na\xc3", &mut text);
/// assert_eq!(text, "na");
/// decoder.push(b"\xafve", &mut text);
/// assert_eq!(text, "naïve");
/// ```
#[derive(Debug, Clone, Default)]
pub struct Utf8Decoder {
    /// Bytes of an incomplete character, between two pieces.
    pub(crate) pending: Vec<u8>,
}

impl Utf8Decoder {
    /// Appends the characters that `bytes` complete to `text`.
    pub fn push(&mut self, bytes: &[u8], text: &mut String) {
        self.pending.extend_from_slice(bytes);
        self.take(text);
    }

    /// Moves all complete characters to `text`.
    pub(crate) fn take(&mut self, text: &mut String) {
        let mut consumed = 0;
        for chunk in self.pending.utf8_chunks() {
            text.push_str(chunk.valid());
            consumed += chunk.valid().len();
            let at_end = consumed + chunk.invalid().len() == self.pending.len();
            if at_end && may_still_complete(chunk.invalid()) {
                break;
            }
            if !chunk.invalid().is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
            consumed += chunk.invalid().len();
        }
        self.pending.drain(..consumed);
    }

    /// Ends the stream and returns U+FFFD for an incomplete character, if there is one.
    pub fn finish(self) -> String {
        String::from_utf8_lossy(&self.pending).into_owned()
    }
}

/// Whether `bytes`, which are not valid UTF-8, are the start of a character.
fn may_still_complete(bytes: &[u8]) -> bool {
    !bytes.is_empty() && std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}
