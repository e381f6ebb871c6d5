//! A trie of byte strings.

use std::collections::HashMap;

use foldhash::fast::RandomState;

/// A trie with an id for each string.
#[derive(Default)]
pub(super) struct Trie {
    children: HashMap<(u32, u8), u32, RandomState>,
    /// The id at each node; node 0 is the root.
    ids: Vec<Option<u32>>,
}

impl Trie {
    pub fn insert(&mut self, key: &[u8], id: u32) {
        if self.ids.is_empty() {
            self.ids.push(None);
        }
        let mut node = 0;
        for &byte in key {
            let next_free = self.ids.len() as u32;
            node = *self.children.entry((node, byte)).or_insert(next_free);
            if node == next_free {
                self.ids.push(None);
            }
        }
        self.ids[node as usize] = Some(id);
    }

    /// The lengths and ids of the strings that `text` starts with, shortest first.
    pub fn prefixes(&self, text: &[u8]) -> impl Iterator<Item = (usize, u32)> {
        let mut node = 0;
        let nodes = text.iter().map_while(move |&byte| {
            node = *self.children.get(&(node, byte))?;
            Some(node)
        });
        nodes.enumerate().filter_map(|(index, node)| Some((index + 1, self.ids[node as usize]?)))
    }
}
