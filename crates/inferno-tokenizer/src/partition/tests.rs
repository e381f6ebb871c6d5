use proptest::prelude::*;

use std::ops::Range;
use std::slice;

use super::{Finder, Stripping};

/// The specification: for each token, longest first, split every remaining piece of text.
fn cut_token_by_token(tokens: &[(u32, &str)], text: &str) -> Vec<(usize, u32)> {
    let mut tokens = tokens.to_vec();
    tokens.sort_by_key(|(id, text)| (usize::MAX - text.len(), *id));
    let mut left = vec![(0, text.len())];
    let mut found = Vec::new();
    for (id, token) in tokens {
        let mut still_left = Vec::new();
        for (mut at, end) in left {
            while let Some(before) = text[at..end].find(token) {
                let start = at + before;
                found.push((start, id));
                still_left.push((at, start));
                at = start + token.len();
            }
            still_left.push((at, end));
        }
        left = still_left;
    }
    found.sort_unstable();
    found
}

fn select(tokens: &[(u32, &str)], text: &str) -> Vec<(usize, u32)> {
    select_outside(tokens, text, 0..0)
}

/// The tokens outside of `plain`, of which those with even ids are control tokens.
fn select_outside(tokens: &[(u32, &str)], text: &str, plain: Range<usize>) -> Vec<(usize, u32)> {
    let is_control = |id: u32| id.is_multiple_of(2);
    let finder = Finder::new(tokens.iter().copied(), is_control, &Stripping::default());
    let taken = finder.select(text, slice::from_ref(&plain));
    taken.iter().map(|(&start, taken)| (start, taken.id)).collect()
}

#[test]
fn a_longer_token_further_right_is_matched_first() {
    let tokens = [(0, "ab"), (1, "bcd")];
    assert_eq!(select(&tokens, "abcd"), [(1, 1)]);
    assert_eq!(select(&tokens, "abababcd"), [(0, 0), (2, 0), (5, 1)]);
}

#[test]
fn control_tokens_are_not_matched_in_plain_text() {
    let tokens = [(0, "<a>"), (1, "<b>"), (2, "a>")];
    let text = "<a><b><a><b><a>";
    assert_eq!(select_outside(&tokens, text, 6..12), [(0, 0), (3, 1), (9, 1), (12, 0)]);
    // One byte is enough, and shorter tokens that end at the same place are matched.
    assert_eq!(select_outside(&tokens, "<a>", 0..1), [(1, 2)]);
    assert_eq!(select_outside(&tokens, "<a><a>", 2..4), [(4, 2)]);
    assert_eq!(select_outside(&tokens, "<a><a>", 3..3), [(0, 0), (3, 0)]);
}

proptest! {
    #[test]
    fn the_queue_matches_the_same_tokens_as_splitting_token_by_token(
        texts in prop::collection::btree_set("[abc]{1,6}", 0..12),
        text in "[abc]{0,60}",
    ) {
        let tokens: Vec<(u32, &str)> = (0..).zip(texts.iter().map(String::as_str)).collect();
        prop_assert_eq!(select(&tokens, &text), cut_token_by_token(&tokens, &text));
    }
}
