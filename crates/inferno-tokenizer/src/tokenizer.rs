//! Encoding and decoding with the tokenizer of a file.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use inferno_gguf::Metadata;

use crate::detokenizer::append_piece;
use crate::metadata::{self, Affixes, TokenizerParts};
use crate::model::TokenizerModel;
use crate::partition::{Fragment, Partitioner};
use crate::vocabulary::Vocabulary;
use crate::{Detokenizer, SpecialTokens, TokenizerError};

/// Options of [`Tokenizer::encode`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EncodeOptions {
    /// Whether to add the tokens that the file requires at the start and end of a text, such as BOS.
    pub add_special: bool,
    /// Whether to encode control tokens in the text, such as `<|im_end|>`, as those tokens. Enable it
    /// for rendered chat templates, but not for untrusted text.
    pub parse_special: bool,
}

/// The tokens that remain of two segments, of which the end of the second is omitted. There are no limits by default.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PairLimits {
    /// Maximum number of tokens of the whole input, with special tokens.
    pub whole: Option<usize>,
    /// Maximum number of tokens of the second segment, without special tokens.
    pub second: Option<usize>,
}

/// Two segments as one input, such as a query and a document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TokenPair {
    /// The tokens of both, with the special tokens between and around them.
    pub ids: Vec<u32>,
    /// Where the second segment begins, if models distinguish segments by token types.
    pub second_segment: Option<usize>,
}

/// Encodes text to token ids and decodes them, as defined by a file's metadata.
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
    pub(crate) vocabulary: Arc<Vocabulary>,
    model: TokenizerModel,
    partitioner: Partitioner,
    affixes: Affixes,
}

impl Tokenizer {
    /// Builds the tokenizer that a file's metadata describes.
    ///
    /// **Errors**: a missing key or one of another type; an unsupported tokenizer model or
    /// pre-tokenizer; arrays of inconsistent lengths; ids out of range.
    pub fn from_metadata(metadata: &Metadata) -> Result<Self, TokenizerError> {
        let TokenizerParts { vocabulary, model, partitioner, affixes } = metadata::load(metadata)?;
        Ok(Self { vocabulary: Arc::new(vocabulary), model, partitioner, affixes })
    }

    /// Encodes a prompt at the start of a sequence.
    ///
    /// An empty prompt, which requests unconditional generation, becomes the BOS token, or the EOS token if there is
    /// none, unless `options` already adds a token.
    pub fn encode_prompt(&self, text: &str, options: EncodeOptions) -> Vec<u32> {
        let mut ids = self.encode(text, options);
        if text.is_empty() && ids.is_empty() {
            let special = self.special_tokens();
            ids.extend(special.bos.or(special.eos));
        }
        ids
    }

    /// Encodes `text`.
    ///
    /// Any text can be encoded. Depending on the tokenizer model, characters without a token become
    /// byte tokens or the unknown token; a byte-level vocabulary without tokens for some bytes omits
    /// these.
    pub fn encode(&self, text: &str, options: EncodeOptions) -> Vec<u32> {
        self.encode_with_plain(text, options, &[])
    }

    /// Returns the token that [`encode`](Self::encode) adds before a text, usually BOS; `None` if it adds none.
    pub fn added_bos(&self) -> Option<u32> {
        self.affixes.before
    }

    /// Encodes `text`, of which some byte ranges are not trusted: control tokens that overlap with them are text, as if
    /// `options` did not parse them. `plain` is ascending and disjoint.
    pub fn encode_with_plain(
        &self,
        text: &str,
        options: EncodeOptions,
        plain: &[Range<usize>],
    ) -> Vec<u32> {
        let mut ids = Vec::with_capacity(text.len() / 3 + 2);
        if options.add_special {
            ids.extend(self.affixes.before);
        }
        let mut after_special = true;
        self.partitioner.split(text, options.parse_special, plain, |fragment| match fragment {
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

    /// Encodes two segments as one input: `[CLS] first [SEP] second [SEP]`, or with the separators of RoBERTa,
    /// `<s> first </s></s> second </s>`. Control tokens in them are text. If there are more tokens than `limits`
    /// allow, the end of `second` is omitted.
    pub fn encode_pair(&self, first: &str, second: &str, limits: PairLimits) -> TokenPair {
        let special = self.special_tokens();
        let end = special.separator.or(self.affixes.after).or(special.eos);
        let is_doubled = end.is_some_and(|id| self.vocabulary.text(id) == "</s>");
        let mut ids: Vec<u32> = self.affixes.before.into_iter().collect();
        ids.extend(self.encode(first, EncodeOptions::default()));
        ids.extend(end);
        ids.extend(end.filter(|_| is_doubled));
        let start = ids.len();
        ids.extend(self.encode(second, EncodeOptions::default()));
        let whole = limits.whole.unwrap_or(usize::MAX).saturating_sub(usize::from(end.is_some()));
        let second = start.saturating_add(limits.second.unwrap_or(usize::MAX));
        ids.truncate(whole.min(second).max(start));
        ids.extend(end);
        let has_types = matches!(self.model, TokenizerModel::WordPiece(_));
        TokenPair { ids, second_segment: has_types.then_some(start) }
    }

    /// The characters that control tokens begin or end with, in ascending order.
    pub fn control_edges(&self) -> &[char] {
        self.partitioner.control_edges()
    }

    /// The byte ranges of the control tokens in `text` outside of the ranges `plain`, with their ids.
    pub fn control_tokens(
        &self,
        text: &str,
        plain: &[Range<usize>],
    ) -> impl Iterator<Item = (Range<usize>, u32)> {
        self.partitioner.control_tokens(text, plain)
    }

    /// Decodes `ids`; bytes that are not UTF-8 become U+FFFD.
    ///
    /// With `skip_special`, control tokens are omitted, except for the tags around reasoning and tool
    /// calls, such as `<think>`. The space that encoding adds before a text is removed.
    ///
    /// **Errors**: [`TokenizerError::UnknownToken`] for an id out of range.
    pub fn decode(&self, ids: &[u32], skip_special: bool) -> Result<String, TokenizerError> {
        let bytes = self.decode_bytes(ids, skip_special)?;
        Ok(String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    /// Like [`decode`](Self::decode), but returns the bytes unchanged.
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

    /// Creates a decoder for a stream of ids.
    pub fn detokenizer(&self, skip_special: bool) -> Detokenizer {
        let strip_space = self.model.adds_leading_space();
        Detokenizer::new(Arc::clone(&self.vocabulary), skip_special, strip_space)
    }

    /// The bytes that a token decodes to, including control tokens; `None` if the id is out of range.
    pub fn token_bytes(&self, id: u32) -> Option<Cow<'_, [u8]>> {
        self.vocabulary.piece(id)
    }

    /// The token with exactly this text in the file, such as `<|im_end|>`.
    pub fn token_id(&self, text: &str) -> Option<u32> {
        self.vocabulary.id(text)
    }

    /// Number of tokens; ids are less than this.
    pub fn vocab_size(&self) -> usize {
        self.vocabulary.len()
    }

    /// The tokens with a special role.
    pub fn special_tokens(&self) -> &SpecialTokens {
        &self.vocabulary.special
    }

    /// The token at the beginning of a text.
    pub fn bos(&self) -> Option<u32> {
        self.vocabulary.special.bos
    }

    /// The token at the end of a text.
    pub fn eos(&self) -> Option<u32> {
        self.vocabulary.special.eos
    }

    /// Whether generation ends after this token.
    pub fn is_end_of_generation(&self, id: u32) -> bool {
        self.vocabulary.special.end_of_generation.contains(&id)
    }

    /// Whether the token is a control token or the unknown token rather than text.
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
