//! A grammar as an automaton over characters that knows where lexemes begin and end.
//!
//! Rules that are not lexemes have one copy of their states, and their ends lead to what comes after each use of them. So
//! the automaton accepts more than the grammar, and any property of all its strings also holds for the grammar's.

use std::collections::HashSet;
use std::rc::Rc;

use super::characters::CharacterSet;
use super::lexemes::{Lexemes, Part};
use super::{Expression, Rule};

/// Rules inside rules inside of a lexeme.
const MAX_DEPTH: usize = 500;
/// Maximum number of states and of ranges of characters; each takes up to 200 bytes.
const MAX_SIZE: usize = 100_000;

pub(super) struct Automaton<'a> {
    states: Vec<State<'a>>,
    characters: Vec<Edge>,
    /// Ranges of characters of all edges.
    num_ranges: usize,
}

#[derive(Default)]
struct State<'a> {
    /// The lexeme that this state is inside of.
    lexeme: Option<&'a Expression>,
    /// Indices of the edges with characters.
    characters: Vec<usize>,
    /// States that are reached without a character, and whether the lexeme ends there.
    empty: Vec<(usize, bool)>,
}

/// An edge with one character.
struct Edge {
    set: CharacterSet,
    to: usize,
}

/// The edges with the next character: inside of the lexeme, and after its end.
struct Next {
    inside: Vec<usize>,
    after: Vec<usize>,
}

struct Builder<'a, 'b> {
    rules: &'a [Rule],
    lexemes: &'b Lexemes,
    automaton: Automaton<'a>,
    /// First and last states of the rules that are not lexemes.
    ends: Vec<Option<(usize, usize)>>,
    /// Rules whose states are not complete.
    waiting: Vec<usize>,
    depth: usize,
    steps: &'b mut usize,
}

impl<'a> Automaton<'a> {
    /// Creates the automaton of `root`; `None` if that takes more than `steps`, or too much memory.
    pub(super) fn of(
        rules: &'a [Rule],
        root: &'a Expression,
        lexemes: &Lexemes,
        steps: &mut usize,
    ) -> Option<Self> {
        let automaton = Self { states: Vec::new(), characters: Vec::new(), num_ranges: 0 };
        let (ends, waiting) = (vec![None; rules.len()], Vec::new());
        let mut builder = Builder { rules, lexemes, automaton, ends, waiting, depth: 0, steps };
        let [start, end] = [builder.state(None), builder.state(None)];
        builder.add(root, start, end, None)?;
        while let Some(index) = builder.waiting.pop() {
            let (start, end) = builder.ends[index]?;
            builder.add(&rules[index].expression, start, end, None)?;
        }
        Some(builder.automaton)
    }

    /// The lexemes that a character may extend where another lexeme ends and the same character may follow it; `None` if
    /// finding them takes more than `steps`.
    pub(super) fn conflicts(&self, steps: &mut usize) -> Option<Vec<&'a Expression>> {
        let mut next: Vec<Option<Rc<Next>>> = self.states.iter().map(|_| None).collect();
        let (mut pairs, mut seen) = (Vec::new(), HashSet::new());
        let (mut conflicts, mut found) = (Vec::new(), HashSet::<Part>::new());
        let start = self.next(0, steps)?;
        // At the start, every lexeme begins.
        let all = [&start.inside[..], &start.after].concat();
        self.step_both(&all, &all, &mut pairs, &mut seen, steps)?;
        while let Some((one, other)) = pairs.pop() {
            let mut of = |state: usize| {
                if next[state].is_none() {
                    next[state] = Some(Rc::new(self.next(state, steps)?));
                }
                next[state].clone()
            };
            let (ones, others) = (of(one)?, of(other)?);
            self.step_both(&ones.inside, &others.inside, &mut pairs, &mut seen, steps)?;
            self.step_both(&ones.after, &others.after, &mut pairs, &mut seen, steps)?;
            for (state, inside, after) in
                [(one, &ones.inside, &others.after), (other, &others.inside, &ones.after)]
            {
                let Some(lexeme) = self.states[state].lexeme else { continue };
                if self.common(inside, after, steps)?.next().is_some() && found.insert(lexeme) {
                    conflicts.push(lexeme);
                }
            }
        }
        Some(conflicts)
    }

    /// Adds the pairs of states that the same character leads to.
    fn step_both(
        &self,
        ones: &[usize],
        others: &[usize],
        pairs: &mut Vec<(usize, usize)>,
        seen: &mut HashSet<(usize, usize)>,
        steps: &mut usize,
    ) -> Option<()> {
        for (one, other) in self.common(ones, others, steps)? {
            let pair = (one.to.min(other.to), one.to.max(other.to));
            if seen.insert(pair) {
                pairs.push(pair);
            }
        }
        Some(())
    }

    /// The pairs of edges with a common character.
    fn common<'b>(
        &'b self,
        ones: &'b [usize],
        others: &'b [usize],
        steps: &mut usize,
    ) -> Option<impl Iterator<Item = (&'b Edge, &'b Edge)>> {
        *steps = steps.checked_sub(1 + ones.len() * others.len())?;
        let edge = |&index: &usize| &self.characters[index];
        let pairs = ones
            .iter()
            .flat_map(move |one| others.iter().map(move |other| (edge(one), edge(other))));
        Some(pairs.filter(|(one, other)| one.set.intersects(&other.set)))
    }

    /// The edges with the character after a state.
    fn next(&self, state: usize, steps: &mut usize) -> Option<Next> {
        let mut next = Next { inside: Vec::new(), after: Vec::new() };
        let mut open = vec![(state, false)];
        let mut seen = HashSet::from([(state, false)]);
        while let Some((state, is_after)) = open.pop() {
            let State { characters, empty, .. } = &self.states[state];
            *steps = steps.checked_sub(1 + characters.len() + empty.len())?;
            let edges = if is_after { &mut next.after } else { &mut next.inside };
            edges.extend(characters);
            let reached = empty.iter().map(|&(to, ends)| (to, is_after || ends));
            open.extend(reached.filter(|reached| seen.insert(*reached)));
        }
        Some(next)
    }
}

impl<'a> Builder<'a, '_> {
    fn state(&mut self, lexeme: Option<&'a Expression>) -> usize {
        self.automaton.states.push(State { lexeme, ..State::default() });
        self.automaton.states.len() - 1
    }

    fn connect(&mut self, from: usize, to: usize) {
        self.automaton.states[from].empty.push((to, false));
    }

    /// Adds an edge with a character. Outside of lexemes, it is one of its own.
    fn character(&mut self, set: CharacterSet, from: usize, to: usize, is_inside: bool) {
        let target = if is_inside { to } else { self.state(None) };
        self.automaton.num_ranges += set.num_ranges();
        self.automaton.states[from].characters.push(self.automaton.characters.len());
        self.automaton.characters.push(Edge { set, to: target });
        if !is_inside {
            self.automaton.states[target].empty.push((to, true));
        }
    }

    /// Adds an expression between two states, inside of a lexeme or not.
    fn add(
        &mut self,
        expression: &'a Expression,
        from: usize,
        to: usize,
        lexeme: Option<&'a Expression>,
    ) -> Option<()> {
        *self.steps = self.steps.checked_sub(1)?;
        if self.automaton.states.len() + self.automaton.num_ranges > MAX_SIZE {
            return None;
        }
        if lexeme.is_none() && self.lexemes.is_lexeme(expression) {
            let [start, end] = [0; 2].map(|_| self.state(Some(expression)));
            self.connect(from, start);
            self.automaton.states[end].empty.push((to, true));
            return self.add(expression, start, end, Some(expression));
        }
        match expression {
            Expression::Literal(text) => self.literal(text, from, to, lexeme)?,
            Expression::Class(class) => {
                self.character(CharacterSet::of_class(class), from, to, lexeme.is_some());
            }
            Expression::Any => self.character(CharacterSet::all(), from, to, lexeme.is_some()),
            Expression::Token(id) => {
                self.character(CharacterSet::of_token(*id), from, to, lexeme.is_some());
            }
            Expression::Rule(index) => self.rule(*index, from, to, lexeme)?,
            Expression::Sequence(items) => {
                let mut from = from;
                for item in items {
                    let next = self.state(lexeme);
                    self.add(item, from, next, lexeme)?;
                    from = next;
                }
                self.connect(from, to);
            }
            Expression::Choice(choices) => {
                for choice in choices {
                    self.add(choice, from, to, lexeme)?;
                }
            }
            Expression::Repeat { expression, min, max } => {
                // Outside of lexemes, the number of repetitions makes no difference.
                let (min, max) = if lexeme.is_some() { (*min, *max) } else { (0, None) };
                self.repeat(expression, (min, max), (from, to), lexeme)?;
            }
        }
        Some(())
    }

    /// Adds a rule: its expression inside of a lexeme, else its states, which all uses share.
    fn rule(
        &mut self,
        index: usize,
        from: usize,
        to: usize,
        lexeme: Option<&'a Expression>,
    ) -> Option<()> {
        if lexeme.is_some() {
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return None;
            }
            self.add(&self.rules[index].expression, from, to, lexeme)?;
            self.depth -= 1;
            return Some(());
        }
        if self.ends[index].is_none() {
            self.ends[index] = Some((self.state(None), self.state(None)));
            self.waiting.push(index);
        }
        let (start, end) = self.ends[index]?;
        self.connect(from, start);
        self.connect(end, to);
        Some(())
    }

    fn literal(
        &mut self,
        text: &str,
        from: usize,
        to: usize,
        lexeme: Option<&'a Expression>,
    ) -> Option<()> {
        *self.steps = self.steps.checked_sub(text.len())?;
        let mut from = from;
        for character in text.chars() {
            let next = self.state(lexeme);
            let set = CharacterSet::of_character(character);
            self.character(set, from, next, lexeme.is_some());
            from = next;
        }
        self.connect(from, to);
        Some(())
    }

    fn repeat(
        &mut self,
        expression: &'a Expression,
        (min, max): (u32, Option<u32>),
        (from, to): (usize, usize),
        lexeme: Option<&'a Expression>,
    ) -> Option<()> {
        let mut from = from;
        for count in 0..max.unwrap_or(min) {
            if count >= min {
                self.connect(from, to);
            }
            let next = self.state(lexeme);
            self.add(expression, from, next, lexeme)?;
            from = next;
        }
        if max.is_none() {
            let [start, end] = [0; 2].map(|_| self.state(lexeme));
            self.connect(from, start);
            self.add(expression, start, end, lexeme)?;
            self.connect(end, start);
            from = start;
        }
        self.connect(from, to);
        Some(())
    }
}
