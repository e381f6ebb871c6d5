//! Which parts of a grammar the lexer may match as a whole.
//!
//! A lexer matches as many characters as it can. That is right for a part of a grammar unless a character that could
//! extend a complete match may also come after it: `[ \n]*` before `"\n"` would take the line end as well.

use super::characters::CharacterSet;
use super::{Expression, Rule};

/// Facts about each rule, by its index.
pub(super) struct Analysis {
    /// Whether it is not recursive, and refers to no recursive rule and no token.
    pub(super) is_regular: Vec<bool>,
    /// Whether it matches the empty text.
    is_nullable: Vec<bool>,
    /// Characters that its matches begin with.
    first: Vec<CharacterSet>,
    /// Characters that may extend one of its matches to a longer one.
    extending: Vec<CharacterSet>,
    /// Characters that may come after it.
    pub(super) following: Vec<CharacterSet>,
}

impl Analysis {
    pub(super) fn of(rules: &[Rule]) -> Self {
        let sets = || vec![CharacterSet::default(); rules.len()];
        let flags = || vec![false; rules.len()];
        let mut analysis = Self {
            is_regular: flags(),
            is_nullable: flags(),
            first: sets(),
            extending: sets(),
            following: sets(),
        };
        // In both directions: chains of rules that refer to earlier or to later ones are followed at once.
        let both_ways = || (0..rules.len()).rev().chain(0..rules.len());
        while both_ways().fold(false, |has_changed, index| {
            analysis.update(index, &rules[index].expression) | has_changed
        }) {}
        while both_ways().fold(false, |has_changed, index| {
            let after = analysis.following[index].clone();
            analysis.add_following(&rules[index].expression, &after) | has_changed
        }) {}
        analysis
    }

    /// Whether the lexer may match a rule as a whole wherever it is used.
    pub(super) fn is_terminal(&self, index: usize) -> bool {
        self.is_regular[index] && !self.extending[index].intersects(&self.following[index])
    }

    /// Whether the lexer may match a part of a rule as a whole if one of `after` may come after it.
    pub(super) fn is_lexeme(&self, expression: &Expression, after: &CharacterSet) -> bool {
        self.regular(expression) && !self.extending(expression).intersects(after)
    }

    /// Updates the facts about a rule except what follows it; returns whether they changed.
    fn update(&mut self, index: usize, expression: &Expression) -> bool {
        let (is_regular, is_nullable) = (self.regular(expression), self.nullable(expression));
        let has_changed =
            (self.is_regular[index], self.is_nullable[index]) != (is_regular, is_nullable);
        (self.is_regular[index], self.is_nullable[index]) = (is_regular, is_nullable);
        let (first, extending) = (self.first(expression), self.extending(expression));
        has_changed | self.first[index].extend(&first) | self.extending[index].extend(&extending)
    }

    /// Records that `after` may come after `expression`, for the rules in it; returns whether that was new.
    fn add_following(&mut self, expression: &Expression, after: &CharacterSet) -> bool {
        match expression {
            Expression::Rule(index) => self.following[*index].extend(after),
            Expression::Sequence(items) => {
                let (mut after, mut has_changed) = (after.clone(), false);
                for item in items.iter().rev() {
                    has_changed |= self.add_following(item, &after);
                    after = self.before(item, &after);
                }
                has_changed
            }
            Expression::Choice(choices) => choices
                .iter()
                .fold(false, |has_changed, choice| self.add_following(choice, after) | has_changed),
            Expression::Repeat { expression, max, .. } => {
                let after = self.after_repetition(expression, *max, after);
                self.add_following(expression, &after)
            }
            Expression::Literal(_)
            | Expression::Class(_)
            | Expression::Any
            | Expression::Token(_) => false,
        }
    }

    /// What may come next before `item`, if `after` may come after it.
    pub(super) fn before(&self, item: &Expression, after: &CharacterSet) -> CharacterSet {
        let mut before = self.first(item);
        if self.nullable(item) {
            before.extend(after);
        }
        before
    }

    /// What may come after one repetition.
    pub(super) fn after_repetition(
        &self,
        expression: &Expression,
        max: Option<u32>,
        after: &CharacterSet,
    ) -> CharacterSet {
        let mut after = after.clone();
        if max.is_none_or(|max| max > 1) {
            after.extend(&self.first(expression));
        }
        after
    }

    fn regular(&self, expression: &Expression) -> bool {
        match expression {
            Expression::Literal(_) | Expression::Class(_) | Expression::Any => true,
            Expression::Token(_) => false,
            Expression::Rule(index) => self.is_regular[*index],
            Expression::Sequence(items) | Expression::Choice(items) => {
                items.iter().all(|item| self.regular(item))
            }
            Expression::Repeat { expression, .. } => self.regular(expression),
        }
    }

    fn nullable(&self, expression: &Expression) -> bool {
        match expression {
            Expression::Literal(text) => text.is_empty(),
            Expression::Class(_) | Expression::Any | Expression::Token(_) => false,
            Expression::Rule(index) => self.is_nullable[*index],
            Expression::Sequence(items) => items.iter().all(|item| self.nullable(item)),
            Expression::Choice(choices) => choices.iter().any(|choice| self.nullable(choice)),
            Expression::Repeat { expression, min, .. } => *min == 0 || self.nullable(expression),
        }
    }

    fn first(&self, expression: &Expression) -> CharacterSet {
        match expression {
            Expression::Literal(text) => {
                text.chars().next().map(CharacterSet::of_character).unwrap_or_default()
            }
            Expression::Class(class) => CharacterSet::of_class(class),
            Expression::Any => CharacterSet::all(),
            Expression::Token(_) => CharacterSet::default(),
            Expression::Rule(index) => self.first[*index].clone(),
            Expression::Sequence(items) => {
                let none = CharacterSet::default();
                items.iter().rev().fold(none, |after, item| self.before(item, &after))
            }
            Expression::Choice(choices) => self.union(choices, Self::first),
            Expression::Repeat { expression, .. } => self.first(expression),
        }
    }

    /// Characters that may extend a complete match, which includes the empty one.
    fn extending(&self, expression: &Expression) -> CharacterSet {
        match expression {
            Expression::Literal(_)
            | Expression::Class(_)
            | Expression::Any
            | Expression::Token(_) => CharacterSet::default(),
            Expression::Rule(index) => self.extending[*index].clone(),
            Expression::Sequence(items) => {
                items.iter().fold(CharacterSet::default(), |before, item| {
                    let mut extending = self.extending(item);
                    if self.nullable(item) {
                        extending.extend(&before);
                    }
                    extending
                })
            }
            Expression::Choice(choices) => self.union(choices, Self::extending),
            Expression::Repeat { expression, min, max } => {
                let mut extending = self.extending(expression);
                if *min == 0 || *max != Some(1) {
                    extending.extend(&self.first(expression));
                }
                extending
            }
        }
    }

    fn union(
        &self,
        expressions: &[Expression],
        of: fn(&Self, &Expression) -> CharacterSet,
    ) -> CharacterSet {
        let mut union = CharacterSet::default();
        for expression in expressions {
            union.extend(&of(self, expression));
        }
        union
    }
}
