//! Finding the special tokens in a text.
//!
//! User-defined tokens are text and are always found; control tokens only where the caller trusts
//! the text. Where tokens overlap, the longest is taken first wherever in the text it stands, then
//! the next longest from what is left, and so on, each from left to right: llama.cpp's order. Of
//! tokens of one length the one with the lower id is taken first, which llama.cpp leaves open.
//!
//! The time is n log n in the text, however its matches overlap: see [`Finder::select`].

mod automaton;

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::vocabulary::{TokenKind, Vocabulary};
use automaton::Automaton;

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
            Self { before: &["<mask>"], ..Self::default() }
        } else if ["phi-3", "phi3"].iter().any(|name| model_name.contains(name)) {
            Self { after_all_but: Some(&["<unk>", "<s>", "<|endoftext|>"]), ..Self::default() }
        } else if model_name.contains("modern-bert") {
            Self { before: &["[MASK]"], ..Self::default() }
        } else {
            Self::default()
        }
    }
}

/// The special tokens of a vocabulary, ready to be found.
pub(crate) struct Partitioner {
    /// All of them.
    special: Finder,
    /// Those that are text.
    user_defined: Finder,
}

struct Finder {
    automaton: Automaton,
    /// In the order in which they are taken; the patterns of the automaton.
    tokens: Vec<FoundToken>,
}

struct FoundToken {
    id: u32,
    num_bytes: usize,
    strips_before: bool,
    strips_after: bool,
}

/// What a token takes of a text, with the white space that it swallows.
struct Taken {
    end: usize,
    id: u32,
}

impl Partitioner {
    pub fn new(vocabulary: &Vocabulary, stripping: &Stripping) -> Self {
        let finder = |wanted: &[TokenKind]| {
            let is_wanted = |&id: &u32| {
                wanted.contains(&vocabulary.kind(id)) && !vocabulary.text(id).is_empty()
            };
            let tokens = vocabulary.ids().filter(is_wanted);
            Finder::new(tokens.map(|id| (id, vocabulary.text(id))), stripping)
        };
        Self {
            special: finder(&[TokenKind::Control, TokenKind::UserDefined, TokenKind::Unknown]),
            user_defined: finder(&[TokenKind::UserDefined]),
        }
    }

    /// Hands the parts of `text` to `emit` in order.
    pub fn split<'t>(
        &self,
        text: &'t str,
        parse_special: bool,
        mut emit: impl FnMut(Fragment<'t>),
    ) {
        let finder = if parse_special { &self.special } else { &self.user_defined };
        let mut at = 0;
        for (start, taken) in finder.select(text) {
            if at < start {
                emit(Fragment::Text(&text[at..start]));
            }
            emit(Fragment::Token(taken.id));
            at = taken.end;
        }
        if at < text.len() {
            emit(Fragment::Text(&text[at..]));
        }
    }
}

impl Finder {
    /// Takes ids with their texts, in ascending order.
    fn new<'v>(tokens: impl Iterator<Item = (u32, &'v str)>, stripping: &Stripping) -> Self {
        let mut tokens: Vec<(u32, &str)> = tokens.collect();
        tokens.sort_by_key(|(_, text)| Reverse(text.len()));
        let texts: Vec<&str> = tokens.iter().map(|&(_, text)| text).collect();
        let found_token = |&(id, text): &(u32, &str)| FoundToken {
            id,
            num_bytes: text.len(),
            strips_before: stripping.before.contains(&text),
            strips_after: stripping
                .after_all_but
                .is_some_and(|exceptions| !exceptions.contains(&text)),
        };
        Self { automaton: Automaton::new(&texts), tokens: tokens.iter().map(found_token).collect() }
    }

    /// What the tokens take of `text`, by the place where it begins.
    ///
    /// Each place where tokens end waits in a queue with the first of them to be taken. Where that
    /// one no longer fits behind what was taken meanwhile, the place waits again with the longest
    /// that does. What came between was no shorter than what waited, so the room has halved at
    /// least: no place waits more often than the longest token can be halved.
    fn select(&self, text: &str) -> BTreeMap<usize, Taken> {
        let mut taken: BTreeMap<usize, Taken> = BTreeMap::new();
        let places: Vec<_> = self.automaton.longest_by_end(text).map(Reverse).collect();
        let mut queue = BinaryHeap::from(places);
        while let Some(Reverse((pattern, end))) = queue.pop() {
            let before = taken.range(..end).next_back();
            let floor = before.map_or(0, |(_, taken)| taken.end);
            if floor >= end {
                continue;
            }
            let mut fitting = Some(pattern);
            while let Some(longer) = fitting.filter(|&i| self.tokens[i].num_bytes > end - floor) {
                fitting = self.automaton.shorter(longer);
            }
            match fitting {
                None => {}
                Some(fitting) if fitting != pattern => queue.push(Reverse((fitting, end))),
                Some(_) => {
                    let token = &self.tokens[pattern];
                    let before = &text[floor..end - token.num_bytes];
                    let before = if token.strips_before {
                        before.trim_end_matches(is_c_space)
                    } else {
                        before
                    };
                    let ceiling = taken.range(end..).next().map_or(text.len(), |(&at, _)| at);
                    let after = &text[end..ceiling];
                    let after = if token.strips_after {
                        after.trim_start_matches(is_c_space)
                    } else {
                        after
                    };
                    let end = ceiling - after.len();
                    taken.insert(floor + before.len(), Taken { end, id: token.id });
                }
            }
        }
        taken
    }
}

/// What C's `isspace` counts as white space.
fn is_c_space(c: char) -> bool {
    matches!(c, ' ' | '\t'..='\r')
}
