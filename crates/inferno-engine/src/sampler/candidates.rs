//! The candidate tokens, and what the truncating stages share.
//!
//! Invariants: never empty once filled; all logits finite; the order is by rising id, or by the key
//! of the stage that truncated last with ties by rising id. Sums run in that order, so that they
//! do not depend on how the standard library happens to select or sort.

use std::cmp::Ordering;

use super::softmax::{self, Softmax};

/// A token that may be drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Candidate {
    pub(super) id: u32,
    pub(super) logit: f32,
}

/// The tokens that remain after the stages so far.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    entries: Vec<Candidate>,
}

/// How many candidates are sorted first when it is not known how many will remain.
const FIRST_RUN: usize = 128;

impl Candidates {
    pub(super) fn clear(&mut self) {
        self.entries.clear();
    }

    /// Replaces the candidates by these tokens and their finite logits.
    pub(super) fn fill(&mut self, tokens: impl Iterator<Item = (u32, f32)>) {
        self.entries.clear();
        self.entries.extend(tokens.map(|(id, logit)| Candidate { id, logit }));
    }

    /// Orders the candidates by rising id.
    pub(super) fn sort_by_id(&mut self) {
        self.entries.sort_unstable_by_key(|entry| entry.id);
    }

    /// Keeps the first `count`.
    pub(super) fn truncate(&mut self, count: usize) {
        self.entries.truncate(count);
    }

    /// Adds the tokens from `first` on whose logits are finite and at least `lowest`.
    pub(super) fn extend(&mut self, first: u32, logits: &[f32], lowest: f32) {
        self.entries.extend(
            (first..)
                .zip(logits)
                .filter(|&(_, &logit)| logit >= lowest && logit != f32::NEG_INFINITY)
                .map(|(id, &logit)| Candidate { id, logit }),
        );
    }

    pub(super) fn as_slice(&self) -> &[Candidate] {
        &self.entries
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn max_logit(&self) -> f32 {
        softmax::max(&self.entries, |entry| entry.logit)
    }

    pub(super) fn retain(&mut self, keep: impl Fn(Candidate) -> bool) {
        self.entries.retain(|&entry| keep(entry));
    }

    /// Keeps the first `count` by rising `key`, ties by rising id, in that order.
    pub(super) fn keep_first(&mut self, count: usize, key: impl Fn(Candidate) -> f32) {
        let order = by_key(key);
        if count < self.entries.len() {
            bring_to_front(&mut self.entries, count, &order);
            self.entries.truncate(count);
        }
        self.entries.sort_unstable_by(&order);
    }

    /// Keeps candidates by rising `key`, ties by rising id, until their probabilities reach
    /// `mass`; at least one.
    ///
    /// Sorts in growing runs from the front, since a few tokens hold nearly all of the mass.
    pub(super) fn keep_mass(
        &mut self,
        mass: f32,
        softmax: Softmax,
        key: impl Fn(Candidate) -> f32,
    ) {
        let order = by_key(key);
        let (mut sorted, mut run, mut reached) = (0, FIRST_RUN, 0.0);
        while sorted < self.entries.len() {
            let rest = &mut self.entries[sorted..];
            let count = run.min(rest.len());
            bring_to_front(rest, count, &order);
            rest[..count].sort_unstable_by(&order);
            for (index, entry) in rest[..count].iter().enumerate() {
                reached += softmax.probability(entry.logit);
                if reached >= f64::from(mass) {
                    self.entries.truncate(sorted + index + 1);
                    return;
                }
            }
            sorted += count;
            run *= 4;
        }
    }

    /// The softmax over the candidates that are left.
    pub(super) fn softmax(&self) -> Softmax {
        Softmax::of(&self.entries, |entry| entry.logit)
    }
}

/// Moves the first `count` by `order` to the front, in any order among themselves.
///
/// When they are few, nearly all of the rest is passed over with one comparison each: the front
/// collects what comes before the last of the best so far, and is cut back whenever it is full.
fn bring_to_front(
    entries: &mut [Candidate],
    count: usize,
    order: impl Fn(&Candidate, &Candidate) -> Ordering,
) {
    let room = 2 * count;
    if count == 0 || count >= entries.len() {
        return;
    }
    if room > entries.len() / 4 {
        entries.select_nth_unstable_by(count - 1, order);
        return;
    }
    let cut_back = |front: &mut [Candidate]| *front.select_nth_unstable_by(count - 1, &order).1;
    let mut last = cut_back(&mut entries[..room]);
    let mut filled = count;
    for index in room..entries.len() {
        if order(&entries[index], &last).is_lt() {
            entries.swap(index, filled);
            filled += 1;
            if filled == room {
                last = cut_back(&mut entries[..room]);
                filled = count;
            }
        }
    }
    cut_back(&mut entries[..filled]);
}

/// Rising key, then rising id; adding zero makes the two zeros one.
fn by_key(key: impl Fn(Candidate) -> f32) -> impl Fn(&Candidate, &Candidate) -> Ordering {
    move |a, b| (key(*a) + 0.0).total_cmp(&(key(*b) + 0.0)).then(a.id.cmp(&b.id))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::whole_row::WholeRow;
    use super::super::{top_k, top_p};
    use super::*;

    proptest! {
        #[test]
        fn partial_selection_keeps_what_a_full_sort_keeps(
            logits in prop::collection::vec((-40i32..40).prop_map(|x| x as f32 / 8.0), 1..1500),
            top_p in 0.01f32..1.0,
            top_k in 1usize..1600,
        ) {
            let mut sorted: Vec<_> = (0u32..).zip(logits.iter().copied()).collect();
            sorted.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            let ids = |candidates: &Candidates| -> Vec<u32> {
                candidates.as_slice().iter().map(|entry| entry.id).collect()
            };

            let mut candidates = Candidates::default();
            WholeRow::default().fill_best(&logits, top_k, &mut candidates);
            top_k::apply(top_k, &mut candidates);
            let mut found = ids(&candidates);
            found.sort_unstable();
            let mut expected: Vec<_> = sorted.iter().take(top_k).map(|&(id, _)| id).collect();
            expected.sort_unstable();
            prop_assert_eq!(found, expected);

            WholeRow::default().fill_best(&logits, 0, &mut candidates);
            let total: f64 = logits.iter().map(|&logit| f64::from(logit).exp()).sum();
            top_p::apply(top_p, &mut candidates);
            let found = ids(&candidates);
            let mass = |count: usize| {
                sorted[..count].iter().map(|&(_, logit)| f64::from(logit).exp()).sum::<f64>() / total
            };
            prop_assert_eq!(&found, &sorted[..found.len()].iter().map(|&(id, _)| id).collect::<Vec<_>>());
            prop_assert!(mass(found.len()) >= f64::from(top_p) - 1e-6);
            prop_assert!(mass(found.len() - 1) < f64::from(top_p) + 1e-6);
        }
    }
}
