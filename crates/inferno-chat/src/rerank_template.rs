//! Templates of the pairs that rerankers score.

use std::ops::Range;

use inferno_gguf::{GgufError, Metadata};
use inferno_tokenizer::{EncodeOptions, PairLimits, Tokenizer};

/// The key of files: a text with the placeholders `{query}` and `{document}`.
const KEY: &str = "tokenizer.chat_template.rerank";

/// A text with placeholders for a query and a document, which a decoder answers.
///
/// ```
/// use inferno_chat::RerankTemplate;
///
/// let template = RerankTemplate::new("Query: {query} Document: {document}<|im_end|>");
/// let (text, plain) = template.render("what?", "{query}");
/// assert_eq!(text, "Query: what? Document: {query}<|im_end|>");
/// assert_eq!(plain, [7..12, 23..30]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RerankTemplate {
    text: String,
}

impl RerankTemplate {
    /// A template with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into() }
    }

    /// The template of a file, if it has one.
    ///
    /// **Errors**: a key of another type.
    pub fn from_metadata(metadata: &Metadata) -> Result<Option<Self>, GgufError> {
        Ok(metadata.optional::<&str>(KEY)?.map(Self::new))
    }

    /// Inserts a query and a document, and encodes the text. If there are more tokens than `limits` allow, the end of the
    /// document is omitted, as far as there is one.
    pub fn encode(
        &self,
        tokenizer: &Tokenizer,
        query: &str,
        document: &str,
        limits: PairLimits,
    ) -> Vec<u32> {
        let encode = |document: &str| {
            let (text, plain) = self.render(query, document);
            let options = EncodeOptions { add_special: false, parse_special: true };
            tokenizer.encode_with_plain(&text, options, &plain)
        };
        if limits == PairLimits::default() {
            return encode(document);
        }
        let all = tokenizer.encode(document, EncodeOptions::default());
        let mut num_kept = limits.second.unwrap_or(usize::MAX).min(all.len());
        loop {
            let ids = match num_kept == all.len() {
                true => encode(document),
                false => {
                    let bytes = tokenizer.decode_bytes(&all[..num_kept], false);
                    let kept = String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned();
                    // A character may be cut.
                    encode(kept.trim_end_matches(char::REPLACEMENT_CHARACTER))
                }
            };
            let excess = ids.len().saturating_sub(limits.whole.unwrap_or(usize::MAX));
            if excess == 0 || num_kept == 0 {
                return ids;
            }
            num_kept = num_kept.saturating_sub(excess);
        }
    }

    /// Inserts a query and a document. Returns the text, and the byte ranges that they have in it, in which control tokens are
    /// text.
    pub fn render(&self, query: &str, document: &str) -> (String, Vec<Range<usize>>) {
        let (mut text, mut inserted) = (String::new(), Vec::new());
        let mut rest = self.text.as_str();
        let placeholders = [("{query}", query), ("{document}", document)];
        loop {
            let found = placeholders
                .iter()
                .filter_map(|(name, value)| rest.find(name).map(|at| (at, *name, *value)));
            let Some((at, name, value)) = found.min() else { break };
            text.push_str(&rest[..at]);
            inserted.push(text.len()..text.len() + value.len());
            text.push_str(value);
            rest = &rest[at + name.len()..];
        }
        text.push_str(rest);
        (text, inserted)
    }
}
