//! Sets of characters.

use super::CharacterClass;

/// A set with more ranges is replaced by that of all characters.
const MAX_RANGES: usize = 256;

/// The code points of a set: disjoint ranges in ascending order, with first and last.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct CharacterSet(Vec<(u32, u32)>);

impl CharacterSet {
    /// All characters.
    pub(super) fn all() -> Self {
        Self(vec![(0, char::MAX as u32)])
    }

    pub(super) fn of_character(character: char) -> Self {
        Self(vec![(u32::from(character), u32::from(character))])
    }

    /// A token, as a number after all characters.
    pub(super) fn of_token(id: u32) -> Self {
        let number = (char::MAX as u32 + 1).saturating_add(id);
        Self(vec![(number, number)])
    }

    pub(super) fn of_class(class: &CharacterClass) -> Self {
        let ranges = class.ranges.iter().map(|&(first, last)| (u32::from(first), u32::from(last)));
        let set = Self::of_ranges(ranges.collect());
        if class.is_negated { set.complement() } else { set }
    }

    fn of_ranges(mut ranges: Vec<(u32, u32)>) -> Self {
        ranges.sort_unstable();
        let mut merged: Vec<(u32, u32)> = Vec::new();
        for (first, last) in ranges {
            match merged.last_mut() {
                Some(before) if first <= before.1.saturating_add(1) => {
                    before.1 = before.1.max(last)
                }
                _ => merged.push((first, last)),
            }
        }
        if merged.len() > MAX_RANGES { Self::all() } else { Self(merged) }
    }

    fn complement(&self) -> Self {
        let (mut ranges, mut next) = (Vec::new(), 0);
        for &(first, last) in &self.0 {
            if next < first {
                ranges.push((next, first - 1));
            }
            next = last + 1;
        }
        if next <= char::MAX as u32 {
            ranges.push((next, char::MAX as u32));
        }
        Self(ranges)
    }

    pub(super) fn num_ranges(&self) -> usize {
        self.0.len()
    }

    /// Whether there is a common character.
    pub(super) fn intersects(&self, other: &Self) -> bool {
        let (mut ones, mut others) = (self.0.iter().peekable(), other.0.iter().peekable());
        while let (Some(one), Some(two)) = (ones.peek(), others.peek()) {
            if one.1 < two.0 {
                ones.next();
            } else if two.1 < one.0 {
                others.next();
            } else {
                return true;
            }
        }
        false
    }
}
