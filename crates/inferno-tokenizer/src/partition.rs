//! Finding the special tokens in a text.
//!
//! User-defined tokens are always matched; control tokens only if the caller trusts the text. If
//! tokens overlap, the longest one is matched first, anywhere in the text, then the next longest in
//! the remaining text, and so on, each from left to right, as in llama.cpp. Of tokens of equal length,
//! the one with the lower id is matched first, which llama.cpp leaves undefined.
//!
//! The time is O(n log n) in the length of the text, for any overlaps: see [`Finder::select`].

mod automaton;

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::ops::Range;

use crate::vocabulary::{TokenType, Vocabulary};
use automaton::Automaton;

/// A part of a text: a special token, or the text between two.
pub(crate) enum Fragment<'t> {
    Token(u32),
    Text(&'t str),
}

/// Which special tokens absorb adjacent white space. Files do not specify this; it follows from names.
#[derive(Default)]
pub(crate) struct Stripping {
    /// Texts of the tokens that absorb white space before them.
    pub before: &'static [&'static str],
    /// If set, all special tokens except these absorb white space after them.
    pub after_all_but: Option<&'static [&'static str]>,
}

impl Stripping {
    /// The stripping for a pre-tokenizer, an architecture and a model name.
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

/// Finds the special tokens of a vocabulary in texts.
pub(crate) struct Partitioner {
    /// All special tokens.
    special: Finder,
    /// User-defined tokens.
    user_defined: Finder,
    control_edges: Vec<char>,
}

struct Finder {
    automaton: Automaton,
    /// The patterns of the automaton, in the order of matching.
    tokens: Vec<FoundToken>,
}

struct FoundToken {
    id: u32,
    is_control: bool,
    num_bytes: usize,
    strips_before: bool,
    strips_after: bool,
}

/// A matched token, including the white space that it absorbs.
struct Match {
    end: usize,
    id: u32,
    is_control: bool,
}

impl Partitioner {
    pub fn new(vocabulary: &Vocabulary, stripping: &Stripping) -> Self {
        let finder = |wanted: &[TokenType]| {
            let is_wanted = |&id: &u32| {
                wanted.contains(&vocabulary.kind(id)) && !vocabulary.text(id).is_empty()
            };
            let tokens = vocabulary.ids().filter(is_wanted);
            let is_control = |id: u32| vocabulary.kind(id) != TokenType::UserDefined;
            Finder::new(tokens.map(|id| (id, vocabulary.text(id))), is_control, stripping)
        };
        let is_control =
            |id: &u32| [TokenType::Control, TokenType::Unknown].contains(&vocabulary.kind(*id));
        let control_tokens = vocabulary.ids().filter(is_control);
        let edges = control_tokens.flat_map(|id| {
            let mut characters = vocabulary.text(id).chars();
            [characters.next(), characters.next_back()]
        });
        Self {
            special: finder(&[TokenType::Control, TokenType::UserDefined, TokenType::Unknown]),
            user_defined: finder(&[TokenType::UserDefined]),
            control_edges: edges.flatten().collect::<BTreeSet<_>>().into_iter().collect(),
        }
    }

    /// The characters that control tokens begin or end with, in ascending order.
    pub fn control_edges(&self) -> &[char] {
        &self.control_edges
    }

    /// The places of control tokens in a text that is trusted, and their ids.
    pub fn control_tokens(
        &self,
        text: &str,
        plain: &[Range<usize>],
    ) -> impl Iterator<Item = (Range<usize>, u32)> {
        let found = self.special.select(text, plain).into_iter();
        found.filter(|(_, found)| found.is_control).map(|(start, it)| (start..it.end, it.id))
    }

    /// Passes the parts of `text` to `emit` in order. Control tokens that overlap with the ascending ranges `plain` are
    /// text.
    pub fn split<'t>(
        &self,
        text: &'t str,
        parse_special: bool,
        plain: &[Range<usize>],
        mut emit: impl FnMut(Fragment<'t>),
    ) {
        let finder = if parse_special { &self.special } else { &self.user_defined };
        let mut at = 0;
        for (start, taken) in finder.select(text, plain) {
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
    /// Creates a finder for tokens with ascending ids and their texts.
    fn new<'v>(
        tokens: impl Iterator<Item = (u32, &'v str)>,
        is_control: impl Fn(u32) -> bool,
        stripping: &Stripping,
    ) -> Self {
        let mut tokens: Vec<(u32, &str)> = tokens.collect();
        tokens.sort_by_key(|(_, text)| Reverse(text.len()));
        let texts: Vec<&str> = tokens.iter().map(|&(_, text)| text).collect();
        let found_token = |&(id, text): &(u32, &str)| FoundToken {
            id,
            is_control: is_control(id),
            num_bytes: text.len(),
            strips_before: stripping.before.contains(&text),
            strips_after: stripping
                .after_all_but
                .is_some_and(|exceptions| !exceptions.contains(&text)),
        };
        Self { automaton: Automaton::new(&texts), tokens: tokens.iter().map(found_token).collect() }
    }

    /// Returns the matched tokens by their start in `text`. Control tokens that overlap with the ascending ranges `plain` are
    /// not matched.
    ///
    /// Each position where tokens end is queued with the first of them in matching order. If that one
    /// no longer fits after the tokens matched in the meantime, the position is queued again with the
    /// longest one that does. The token that intervened was at least as long as the queued one, so the
    /// available room has at least halved: a position is queued at most as often as the longest token
    /// can be halved.
    fn select(&self, text: &str, plain: &[Range<usize>]) -> BTreeMap<usize, Match> {
        let mut taken: BTreeMap<usize, Match> = BTreeMap::new();
        let positions: Vec<_> = self.automaton.longest_by_end(text).map(Reverse).collect();
        let mut queue = BinaryHeap::from(positions);
        while let Some(Reverse((pattern, end))) = queue.pop() {
            let before = taken.range(..end).next_back();
            let floor = before.map_or(0, |(_, taken)| taken.end);
            if floor >= end {
                continue;
            }
            let mut fitting = Some(pattern);
            let is_unfit = |&pattern: &usize| {
                let token = &self.tokens[pattern];
                token.num_bytes > end - floor
                    || token.is_control && overlaps(plain, &(end - token.num_bytes..end))
            };
            while let Some(longer) = fitting.filter(is_unfit) {
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
                    let FoundToken { id, is_control, .. } = *token;
                    taken.insert(floor + before.len(), Match { end, id, is_control });
                }
            }
        }
        taken
    }
}

/// Whether one of the ascending `ranges` has a byte in common with `range`.
fn overlaps(ranges: &[Range<usize>], range: &Range<usize>) -> bool {
    let next = ranges.partition_point(|other| other.end <= range.start);
    ranges.get(next).is_some_and(|other| other.start < range.end)
}

/// White space as defined by C's `isspace`.
fn is_c_space(c: char) -> bool {
    matches!(c, ' ' | '\t'..='\r')
}
