//! Which parts of a grammar the lexer may match as a whole.
//!
//! At each position the lexer matches all terminals that the grammar allows there, and as many characters as any of them
//! can. That is wrong if one of them ends, and a character that may come after it also extends another one, or the same:
//! `[ \n]*` before `"\n"`, or `"a"` next to `"ab"` if a `b` may follow. Such parts are divided until none is left.
//! Dividing more than necessary is correct, but slower.

use std::collections::HashSet;
use std::ptr;

use super::automaton::Automaton;
use super::{Expression, Rule};

/// Work on the states of a grammar; beyond it, everything is divided.
const MAX_STEPS: usize = 2_000_000;

/// A part of a grammar, by the address of its expression.
pub(super) type Part = *const Expression;

/// The parts of a grammar that are matched as a whole.
pub(super) struct Lexemes {
    /// Whether each rule is not recursive, and refers to no recursive rule and no token.
    is_regular: Vec<bool>,
    divided: HashSet<Part>,
    divides_all: bool,
}

impl Lexemes {
    /// Finds the lexemes of a grammar that consists of `root`.
    pub(super) fn of(rules: &[Rule], root: &Expression) -> Self {
        let mut lexemes = Self {
            is_regular: vec![false; rules.len()],
            divided: HashSet::new(),
            divides_all: false,
        };
        lexemes.find_regular_rules(rules);
        let mut steps = MAX_STEPS;
        loop {
            let automaton = Automaton::of(rules, root, &lexemes, &mut steps);
            match automaton.and_then(|automaton| automaton.conflicts(&mut steps)) {
                Some(parts) if parts.is_empty() => return lexemes,
                Some(parts) => parts.into_iter().for_each(|part| lexemes.divide(part, rules)),
                None => {
                    lexemes.divides_all = true;
                    return lexemes;
                }
            }
        }
    }

    /// Whether the lexer matches a part of a rule as a whole.
    pub(super) fn is_lexeme(&self, expression: &Expression) -> bool {
        let is_divided = match expression {
            Expression::Class(_) | Expression::Any => false,
            Expression::Literal(text) if text.chars().nth(1).is_none() => false,
            _ => self.divides_all || self.divided.contains(&ptr::from_ref(expression)),
        };
        !is_divided && self.is_regular(expression)
    }

    /// Whether a rule is regular.
    pub(super) fn is_regular_rule(&self, index: usize) -> bool {
        self.is_regular[index]
    }

    fn find_regular_rules(&mut self, rules: &[Rule]) {
        // In both directions: chains of rules that refer to earlier or to later ones are followed at once.
        let both_ways = || (0..rules.len()).rev().chain(0..rules.len());
        let mut has_changed = true;
        while has_changed {
            has_changed = false;
            for index in both_ways() {
                if !self.is_regular[index] && self.is_regular(&rules[index].expression) {
                    self.is_regular[index] = true;
                    has_changed = true;
                }
            }
        }
    }

    fn is_regular(&self, expression: &Expression) -> bool {
        match expression {
            Expression::Literal(_) | Expression::Class(_) | Expression::Any => true,
            Expression::Token(_) => false,
            Expression::Rule(index) => self.is_regular[*index],
            Expression::Sequence(items) | Expression::Choice(items) => {
                items.iter().all(|item| self.is_regular(item))
            }
            Expression::Repeat { expression, .. } => self.is_regular(expression),
        }
    }

    /// Divides a part, and the rule that it refers to, which would be the same part again.
    fn divide(&mut self, part: &Expression, rules: &[Rule]) {
        let mut part = part;
        self.divided.insert(ptr::from_ref(part));
        while let Expression::Rule(index) = part {
            part = &rules[*index].expression;
            self.divided.insert(ptr::from_ref(part));
        }
    }
}
