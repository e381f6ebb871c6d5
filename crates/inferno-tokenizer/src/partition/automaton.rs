//! Finds all occurrences of a set of strings in one pass.
//!
//! **Source**: Aho and Corasick 1975, "Efficient String Matching: An Aid to Bibliographic Search".

use std::collections::HashMap;

use foldhash::fast::RandomState;

/// A node of the trie of all patterns.
type NodeIndex = usize;

const ROOT: NodeIndex = 0;

/// Finds every pattern that ends at each position of a text. Its size is linear in that of the
/// patterns.
pub(super) struct Automaton {
    /// The transitions from the root, which most of a text uses.
    from_root: Box<[NodeIndex; 256]>,
    edges: HashMap<(NodeIndex, u8), NodeIndex, RandomState>,
    /// The state of the longest proper suffix that is in the trie.
    fallbacks: Vec<NodeIndex>,
    /// The longest pattern that ends in each state.
    longest: Vec<Option<usize>>,
    /// For each pattern, the longest other pattern that is its suffix.
    shorter: Vec<Option<usize>>,
}

impl Automaton {
    /// Creates an automaton for distinct, non-empty patterns, which are identified by their index.
    pub fn new(patterns: &[&str]) -> Self {
        let mut automaton = Self {
            from_root: Box::new([ROOT; 256]),
            edges: HashMap::default(),
            fallbacks: vec![ROOT],
            longest: vec![None],
            shorter: vec![None; patterns.len()],
        };
        // The states by depth, with their parents and the bytes of the transitions.
        let mut levels: Vec<Vec<(NodeIndex, u8, NodeIndex)>> = Vec::new();
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
        // The fallback of a state has a lower depth, so it has been computed already.
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

    /// For each position where patterns end, in order: the longest of them, and the position.
    pub fn longest_by_end(&self, text: &str) -> impl Iterator<Item = (usize, usize)> {
        let mut state = ROOT;
        text.bytes().zip(1..).filter_map(move |(byte, end)| {
            state = self.next(state, byte);
            Some((self.longest[state]?, end))
        })
    }

    /// The longest other pattern that is a suffix of this one.
    pub fn shorter(&self, pattern: usize) -> Option<usize> {
        self.shorter[pattern]
    }

    fn next(&self, mut state: NodeIndex, byte: u8) -> NodeIndex {
        while state != ROOT {
            if let Some(&next) = self.edges.get(&(state, byte)) {
                return next;
            }
            state = self.fallbacks[state];
        }
        self.from_root[usize::from(byte)]
    }
}
