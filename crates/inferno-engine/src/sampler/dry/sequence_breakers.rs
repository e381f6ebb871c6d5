//! Sequence breakers: strings that no repetition extends across, in the tokens of a vocabulary.

use std::collections::HashMap;
use std::sync::Arc;

use inferno_tokenizer::{EncodeOptions, Tokenizer};
use parking_lot::Mutex;

/// Tokens of a breaker after its first token that are compared.
const MAX_TAIL_TOKENS: usize = 20;

/// Strings that no repetition extends across, found in tokens by their text.
///
/// **Source**: llama.cpp, whose `dry` sampler also finds breakers that begin within a token and end in a later one.
#[derive(Debug, Default)]
pub struct SequenceBreakers {
    /// Whether a token begins a breaker, by id.
    begins: Vec<bool>,
    /// Indices of the tails that complete a breaker after a token.
    tails_of: HashMap<u32, Vec<usize>>,
    /// Tokens at the end of a breaker; none if the token before them contains all of it.
    tails: Vec<Vec<u32>>,
}

impl SequenceBreakers {
    /// Finds `breakers` in the tokens of a vocabulary. Empty strings are ignored.
    pub fn new(tokenizer: &Tokenizer, breakers: &[String]) -> Self {
        let mut begins = vec![false; tokenizer.vocab_size()];
        let mut tails_of = HashMap::<u32, Vec<usize>>::new();
        let (mut tails, mut indices) = (Vec::new(), HashMap::new());
        for (token, begins) in (0..).zip(&mut begins) {
            let text = tokenizer.token_bytes(token).unwrap_or_default();
            for tail in breakers.iter().flat_map(|breaker| tails_after(&text, breaker)) {
                let index = *indices.entry(tail).or_insert_with(|| {
                    tails.push(encode_tail(tokenizer, tail));
                    tails.len() - 1
                });
                *begins = true;
                tails_of.entry(token).or_default().push(index);
            }
        }
        Self { begins, tails_of, tails }
    }

    /// A breaker that one token contains.
    #[cfg(test)]
    pub(super) fn of_token(token: u32) -> Self {
        let mut begins = vec![false; token as usize + 1];
        begins[token as usize] = true;
        Self { begins, tails_of: HashMap::from([(token, vec![0])]), tails: vec![Vec::new()] }
    }

    /// Whether the token contains a breaker.
    pub(super) fn is_breaker(&self, token: u32) -> bool {
        self.tails_of(token).any(<[u32]>::is_empty)
    }

    /// The number of tokens after the last breaker; of all tokens if there is none.
    pub(super) fn tokens_after_last(&self, tokens: &[u32]) -> usize {
        for (index, &token) in tokens.iter().enumerate().rev() {
            let after = &tokens[index + 1..];
            let tails = self.tails_of(token).filter(|tail| after.starts_with(tail));
            if let Some(longest) = tails.map(<[u32]>::len).max() {
                return after.len() - longest;
            }
        }
        tokens.len()
    }

    fn tails_of(&self, token: u32) -> impl Iterator<Item = &[u32]> {
        // Most tokens begin no breaker, and are not searched in the map.
        let begins = self.begins.get(token as usize) == Some(&true);
        let indices = if begins { self.tails_of.get(&token) } else { None };
        indices.into_iter().flatten().map(|&index| self.tails[index].as_slice())
    }
}

fn encode_tail(tokenizer: &Tokenizer, tail: &str) -> Vec<u32> {
    if tail.is_empty() {
        return Vec::new();
    }
    let mut tokens = tokenizer.encode(tail, EncodeOptions::default());
    tokens.truncate(MAX_TAIL_TOKENS);
    tokens
}

/// The parts of `breaker` that must follow `text` to complete it; an empty one if `text` contains it. Parts that begin
/// within a character are omitted.
fn tails_after<'b>(text: &[u8], breaker: &'b str) -> Vec<&'b str> {
    let bytes = breaker.as_bytes();
    let Some(first) = bytes.first().filter(|first| text.contains(first)) else {
        return Vec::new();
    };
    let places = || (0..text.len()).filter(|&start| text[start] == *first);
    if places().any(|start| text[start..].starts_with(bytes)) {
        return vec![""];
    }
    let ends = places().map(|start| &text[start..]).filter(|end| bytes.starts_with(end));
    ends.filter_map(|end| breaker.get(end.len()..)).collect()
}

/// The breakers of the last request that had any; most requests to a server have the same ones.
#[derive(Debug, Default)]
pub(crate) struct SequenceBreakerCache {
    last: Mutex<Option<(Vec<String>, Arc<SequenceBreakers>)>>,
}

impl SequenceBreakerCache {
    /// Finds `breakers` in the tokens of the vocabulary, which is always the same.
    pub(crate) fn get(&self, tokenizer: &Tokenizer, breakers: &[String]) -> Arc<SequenceBreakers> {
        if let Some((cached, found)) = &*self.last.lock()
            && cached == breakers
        {
            return Arc::clone(found);
        }
        let found = Arc::new(SequenceBreakers::new(tokenizer, breakers));
        *self.last.lock() = Some((breakers.to_vec(), Arc::clone(&found)));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_complete_a_breaker_that_begins_in_a_token() {
        for (text, breaker, expected) in [
            (&b"a\nb"[..], "\n", &[""][..]),
            (b"a--", "---", &["-", "--"]),
            (b"a---", "---", &[""]),
            (b"-a", "---", &[]),
            (b"", "---", &[]),
            (b"---", "", &[]),
            // The first of the two bytes of the letter.
            (b"\xc3", "\u{e9}", &[]),
            (b"x\xc3\xa9", "\u{e9}-", &["-"]),
        ] {
            assert_eq!(tails_after(text, breaker), expected, "{text:?} {breaker}");
        }
    }
}
