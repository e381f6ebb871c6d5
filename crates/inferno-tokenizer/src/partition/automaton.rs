//! Finding where texts end in another text, in one pass.
//!
//! **Source**: Aho and Corasick 1975, "Efficient String Matching: An Aid to Bibliographic Search".

use std::collections::HashMap;

use foldhash::fast::RandomState;

/// A node of the trie of all patterns.
type State = usize;

const ROOT: State = 0;

/// Knows, for each place in a text, every pattern that ends there. Its size is in proportion to the
/// patterns.
pub(super) struct Automaton {
    /// Where each byte leads from the root, which is where most of a text is read.
    from_root: Box<[State; 256]>,
    edges: HashMap<(State, u8), State, RandomState>,
    /// The state of the longest proper suffix that is in the trie.
    fallbacks: Vec<State>,
    /// The longest pattern that ends in each state.
    longest: Vec<Option<usize>>,
    /// For each pattern, the longest other one that it ends with.
    shorter: Vec<Option<usize>>,
}

impl Automaton {
    /// Patterns are known by their position; none is empty and none occurs twice.
    pub fn new(patterns: &[&str]) -> Self {
        let mut automaton = Self {
            from_root: Box::new([ROOT; 256]),
            edges: HashMap::default(),
            fallbacks: vec![ROOT],
            longest: vec![None],
            shorter: vec![None; patterns.len()],
        };
        // The states with their parents and the bytes between, by depth.
        let mut levels: Vec<Vec<(State, u8, State)>> = Vec::new();
        for (i, pattern) in patterns.iter().enumerate() {
            let mut state = ROOT;
            for (depth, byte) in pattern.bytes().enumerate() {
                let new = automaton.longest.len();
                let next = *automaton.edges.entry((state, byte)).or_insert(new);
                if next == new {
                    automaton.longest.push(None);
                    automaton.fallbacks.push(ROOT);
                    if levels.len() == depth {
                        levels.push(Vec::new());
                    }
                    levels[depth].push((state, byte, next));
                }
                state = next;
            }
            automaton.longest[state] = Some(i);
        }
        // What a state falls back to is less deep, and so known already.
        for (parent, byte, state) in levels.into_iter().flatten() {
            if parent == ROOT {
                automaton.from_root[usize::from(byte)] = state;
            } else {
                automaton.fallbacks[state] = automaton.next(automaton.fallbacks[parent], byte);
            }
            let inherited = automaton.longest[automaton.fallbacks[state]];
            match automaton.longest[state] {
                Some(pattern) => automaton.shorter[pattern] = inherited,
                None => automaton.longest[state] = inherited,
            }
        }
        automaton
    }

    /// The longest pattern that ends at each place where one ends, with that place, in order.
    pub fn longest_by_end(&self, text: &str) -> impl Iterator<Item = (usize, usize)> {
        let mut state = ROOT;
        text.bytes().zip(1..).filter_map(move |(byte, end)| {
            state = self.next(state, byte);
            Some((self.longest[state]?, end))
        })
    }

    /// The longest other pattern that this one ends with.
    pub fn shorter(&self, pattern: usize) -> Option<usize> {
        self.shorter[pattern]
    }

    fn next(&self, mut state: State, byte: u8) -> State {
        while state != ROOT {
            if let Some(&next) = self.edges.get(&(state, byte)) {
                return next;
            }
            state = self.fallbacks[state];
        }
        self.from_root[usize::from(byte)]
    }
}
