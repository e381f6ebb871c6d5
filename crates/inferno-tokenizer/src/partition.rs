//! Finding the special tokens in a text, in one pass.
//!
//! User-defined tokens are text and are always found; control tokens only where the caller trusts the text. Of two
//! tokens that start at the same byte the longer wins.

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};

use crate::TokenizerError;
use crate::vocabulary::{TokenKind, Vocabulary};

/// A part of a text: one special token, or what stands between two.
pub(crate) enum Fragment<'t> {
    Token(u32),
    Text(&'t str),
}

/// Which special tokens swallow the white space beside them. Files do not say; it is known by name.
#[derive(Default)]
pub(crate) struct Stripping {
    /// Texts of tokens that swallow white space before them.
    pub before: &'static [&'static str],
    /// Whether all special tokens but these swallow white space after them.
    pub after_all_but: Option<&'static [&'static str]>,
}

impl Stripping {
    /// By the names of the pre-tokenizer, of the architecture and of the model.
    pub fn of(pre_tokenizer: &str, architecture: &str, model_name: &str) -> Self {
        let model_name = model_name.to_ascii_lowercase();
        let jina = ["jina-v2-de", "jina-v2-es", "jina-v2-code"];
        let multilingual = ["nomic-bert-moe", "jina-bert-v3"];
        if jina.iter().any(|name| pre_tokenizer.contains(name))
            || multilingual.iter().any(|name| architecture.contains(name))
        {
            Self {
                before: &["<mask>"],
                ..Self::default()
            }
        } else if ["phi-3", "phi3"]
            .iter()
            .any(|name| model_name.contains(name))
        {
            Self {
                after_all_but: Some(&["<unk>", "<s>", "<|endoftext|>"]),
                ..Self::default()
            }
        } else if model_name.contains("modern-bert") {
            Self {
                before: &["[MASK]"],
                ..Self::default()
            }
        } else {
            Self::default()
        }
    }
}

/// The special tokens of a vocabulary, ready to be found.
pub(crate) struct Partitioner {
    /// All of them.
    special: Option<Finder>,
    /// Those that are text.
    user_defined: Option<Finder>,
}

struct Finder {
    automaton: AhoCorasick,
    tokens: Vec<FoundToken>,
}

struct FoundToken {
    id: u32,
    strips_before: bool,
    strips_after: bool,
}

impl Partitioner {
    pub fn new(vocabulary: &Vocabulary, stripping: &Stripping) -> Result<Self, TokenizerError> {
        let finder = |wanted: &[TokenKind]| {
            let is_wanted = |&id: &u32| {
                wanted.contains(&vocabulary.kind(id)) && !vocabulary.text(id).is_empty()
            };
            Finder::new(vocabulary, vocabulary.ids().filter(is_wanted), stripping)
        };
        Ok(Self {
            special: finder(&[
                TokenKind::Control,
                TokenKind::UserDefined,
                TokenKind::Unknown,
            ])?,
            user_defined: finder(&[TokenKind::UserDefined])?,
        })
    }

    /// Hands the parts of `text` to `emit` in order.
    pub fn split<'t>(
        &self,
        text: &'t str,
        parse_special: bool,
        mut emit: impl FnMut(Fragment<'t>),
    ) {
        let finder = if parse_special {
            &self.special
        } else {
            &self.user_defined
        };
        let mut start = 0;
        if let Some(Finder { automaton, tokens }) = finder {
            while let Some(found) = automaton.find(Input::new(text).range(start..)) {
                let token = &tokens[found.pattern().as_usize()];
                let (before, after) = (&text[start..found.start()], &text[found.end()..]);
                let before = if token.strips_before {
                    before.trim_end_matches(is_c_space)
                } else {
                    before
                };
                if !before.is_empty() {
                    emit(Fragment::Text(before));
                }
                emit(Fragment::Token(token.id));
                let after = if token.strips_after {
                    after.trim_start_matches(is_c_space)
                } else {
                    after
                };
                start = text.len() - after.len();
            }
        }
        if start < text.len() {
            emit(Fragment::Text(&text[start..]));
        }
    }
}

impl Finder {
    /// `None` where there is nothing to find.
    fn new(
        vocabulary: &Vocabulary,
        ids: impl Iterator<Item = u32>,
        stripping: &Stripping,
    ) -> Result<Option<Self>, TokenizerError> {
        let tokens: Vec<FoundToken> = ids
            .map(|id| {
                let text = vocabulary.text(id);
                FoundToken {
                    id,
                    strips_before: stripping.before.contains(&text),
                    strips_after: stripping
                        .after_all_but
                        .is_some_and(|exceptions| !exceptions.contains(&text)),
                }
            })
            .collect();
        if tokens.is_empty() {
            return Ok(None);
        }
        // The automaton whose size is in proportion to the texts.
        let automaton = AhoCorasick::builder()
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .match_kind(MatchKind::LeftmostLongest)
            .build(tokens.iter().map(|token| vocabulary.text(token.id)))
            .map_err(|_| TokenizerError::TooManySpecialTokens {
                count: tokens.len(),
            })?;
        Ok(Some(Self { automaton, tokens }))
    }
}

/// What C's `isspace` counts as white space.
fn is_c_space(c: char) -> bool {
    matches!(c, ' ' | '\t'..='\r')
}
