//! The tokenizer of a file: text to ids and back.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use inferno_gguf::Metadata;

use crate::detokenizer::append_piece;
use crate::model::Model;
use crate::partition::{Fragment, Partitioner};
use crate::vocabulary::Vocabulary;
use crate::{Detokenizer, SpecialTokens, TokenizerError, metadata};

/// How a text is to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EncodeOptions {
    /// Whether to add the tokens that the file wants at the start and the end of a text, such as
    /// BOS.
    pub add_special: bool,
    /// Whether control tokens that are spelled out in the text, such as `<|im_end|>`, are those
    /// tokens. Set it for rendered chat templates; leave it out for text that strangers write.
    pub parse_special: bool,
}

/// Turns text into ids and ids into text, as the file's metadata says.
///
/// ```
/// use inferno_gguf::{Metadata, StringArray};
/// use inferno_tokenizer::{EncodeOptions, Tokenizer};
///
/// let mut metadata = Metadata::new();
/// metadata.insert("tokenizer.ggml.model", "gpt2");
/// metadata.insert("tokenizer.ggml.pre", "qwen2");
/// let tokens: StringArray = ["h", "i", "!", "Ġ", "hi", "Ġhi"].into_iter().collect();
/// metadata.insert("tokenizer.ggml.tokens", tokens);
/// let merges: StringArray = ["h i", "Ġ hi"].into_iter().collect();
/// metadata.insert("tokenizer.ggml.merges", merges);
///
/// let tokenizer = Tokenizer::from_metadata(&metadata)?;
/// let ids = tokenizer.encode("hi hi!", EncodeOptions::default());
/// assert_eq!(ids, [4, 5, 2]);
/// assert_eq!(tokenizer.decode(&ids, true)?, "hi hi!");
/// # Ok::<(), inferno_tokenizer::TokenizerError>(())
/// ```
pub struct Tokenizer {
    vocabulary: Arc<Vocabulary>,
    model: Model,
    partitioner: Partitioner,
    /// Added before and after a text.
    affixes: Affixes,
}

/// The tokens that go before and after a text where the caller wants them.
#[derive(Clone, Copy, Default)]
pub(crate) struct Affixes {
    pub before: Option<u32>,
    pub after: Option<u32>,
}

impl Tokenizer {
    /// Builds the tokenizer that a file's metadata describes.
    ///
    /// **Errors**: a missing or mistyped key; a tokenizer model or a pre-tokenizer that is not
    /// known, with the names that are; arrays that do not fit together; ids out of range.
    pub fn from_metadata(metadata: &Metadata) -> Result<Self, TokenizerError> {
        metadata::load(metadata)
    }

    pub(crate) fn new(
        vocabulary: Vocabulary,
        model: Model,
        partitioner: Partitioner,
        affixes: Affixes,
    ) -> Self {
        Self { vocabulary: Arc::new(vocabulary), model, partitioner, affixes }
    }

    /// The ids of a prompt that stands at the beginning: those of its text.
    ///
    /// An empty one asks for any text. Where nothing is added to it, the token stands for it that begins a text, or
    /// else the one that ends the text before.
    pub fn encode_prompt(&self, text: &str, options: EncodeOptions) -> Vec<u32> {
        let mut ids = self.encode(text, options);
        if text.is_empty() && ids.is_empty() {
            let special = self.special_tokens();
            ids.extend(special.bos.or(special.eos));
        }
        ids
    }

    /// The ids of `text`.
    ///
    /// Any text can be encoded: what no token covers becomes byte tokens or the unknown token, as
    /// the kind of tokenizer has it, or is left out by a byte-level vocabulary that lacks some
    /// bytes.
    pub fn encode(&self, text: &str, options: EncodeOptions) -> Vec<u32> {
        let mut ids = Vec::with_capacity(text.len() / 3 + 2);
        if options.add_special {
            ids.extend(self.affixes.before);
        }
        let mut after_special = true;
        self.partitioner.split(text, options.parse_special, |fragment| match fragment {
            Fragment::Token(id) => {
                ids.push(id);
                after_special = true;
            }
            Fragment::Text(text) => {
                self.model.encode(text, after_special, &mut ids);
                after_special = false;
            }
        });
        if options.add_special {
            ids.extend(self.affixes.after);
        }
        ids
    }

    /// The text of `ids`; bytes that are not UTF-8 become U+FFFD.
    ///
    /// With `skip_special`, control tokens leave no trace, but for the marks around thoughts and tool
    /// calls, such as `<think>`. The space that encoding puts before a text is taken away.
    ///
    /// **Errors**: [`TokenizerError::UnknownToken`] for an id out of range.
    pub fn decode(&self, ids: &[u32], skip_special: bool) -> Result<String, TokenizerError> {
        let bytes = self.decode_bytes(ids, skip_special)?;
        Ok(String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    /// As [`decode`](Self::decode), but the bytes as they are.
    ///
    /// **Errors**: [`TokenizerError::UnknownToken`] for an id out of range.
    pub fn decode_bytes(&self, ids: &[u32], skip_special: bool) -> Result<Vec<u8>, TokenizerError> {
        let mut bytes = Vec::with_capacity(ids.len() * 4);
        let mut strip_space = self.model.adds_leading_space();
        for &id in ids {
            append_piece(&self.vocabulary, id, skip_special, &mut strip_space, &mut bytes)?;
        }
        Ok(bytes)
    }

    /// Decodes a whole text as its ids come.
    pub fn detokenizer(&self, skip_special: bool) -> Detokenizer {
        let strip_space = self.model.adds_leading_space();
        Detokenizer::new(Arc::clone(&self.vocabulary), skip_special, strip_space)
    }

    /// The bytes that one token decodes to, control tokens spelled out; `None` if the id is out of
    /// range.
    pub fn token_bytes(&self, id: u32) -> Option<Cow<'_, [u8]>> {
        self.vocabulary.piece(id)
    }

    /// The token that the file lists with exactly this text, such as `<|im_end|>`.
    pub fn token_id(&self, text: &str) -> Option<u32> {
        self.vocabulary.id(text)
    }

    /// The number of tokens; ids are below it.
    pub fn vocab_size(&self) -> usize {
        self.vocabulary.len()
    }

    /// The tokens with a role.
    pub fn special_tokens(&self) -> &SpecialTokens {
        &self.vocabulary.special
    }

    /// The token that begins a text.
    pub fn bos(&self) -> Option<u32> {
        self.vocabulary.special.bos
    }

    /// The token that ends a text.
    pub fn eos(&self) -> Option<u32> {
        self.vocabulary.special.eos
    }

    /// Whether a model that samples this token has nothing more to say.
    pub fn is_end_of_generation(&self, id: u32) -> bool {
        self.vocabulary.special.end_of_generation.contains(&id)
    }

    /// Whether the token is a control token or the unknown token, and so no text of its own.
    pub fn is_special(&self, id: u32) -> bool {
        (id as usize) < self.vocabulary.len() && self.vocabulary.is_special(id)
    }
}

impl fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokenizer")
            .field("vocab_size", &self.vocab_size())
            .field("special_tokens", self.special_tokens())
            .finish_non_exhaustive()
    }
}
