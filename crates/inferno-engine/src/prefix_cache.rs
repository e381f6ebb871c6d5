//! A radix tree over whole blocks: which blocks of the KV cache hold the keys and values of which tokens.
//!
//! A node is one block; the path to it spells the tokens from position 0 on, so that equal prefixes are
//! the same nodes. Invariants: each block belongs to one node; a user of a node uses all nodes above
//! it, so that unused blocks can always be evicted from the leaves; a node is in `unused_leaves`
//! exactly if it has neither users nor children.
//!
//! **Source**: Zheng et al., SGLang: Efficient Execution of Structured Language Model Programs,
//! section 3 (RadixAttention), with edges of one block each.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};
use std::sync::Arc;

use inferno_backend::BlockId;

/// A node of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PrefixNode(usize);

/// One block with its tokens and its place in the tree.
#[derive(Debug)]
struct Node {
    block: BlockId,
    tokens: Arc<[u32]>,
    parent: Option<PrefixNode>,
    children: HashMap<Arc<[u32]>, PrefixNode>,
    num_users: usize,
    last_use: u64,
}

/// The blocks whose tokens are known, in use or not.
///
/// ```
/// use inferno_backend::BlockId;
/// use inferno_engine::PrefixCache;
///
/// let mut cache = PrefixCache::new(2);
/// let (root, _) = cache.insert(None, &[5, 6], BlockId(7));
/// assert_eq!(cache.lookup(&[5, 6, 9], 1), [root]);
/// assert_eq!(cache.evict(), None, "it is in use");
/// cache.release(&[root]);
/// assert_eq!(cache.evict(), Some((root, BlockId(7))));
/// assert!(cache.lookup(&[5, 6, 9], 1).is_empty());
/// ```
#[derive(Debug)]
pub struct PrefixCache {
    block_tokens: usize,
    nodes: Vec<Option<Node>>,
    /// Vacant entries of `nodes`.
    vacant: Vec<PrefixNode>,
    /// The nodes of the first blocks.
    roots: HashMap<Arc<[u32]>, PrefixNode>,
    /// Ordered by last use.
    unused_leaves: BTreeSet<(u64, PrefixNode)>,
    num_unused: usize,
    num_uses: u64,
}

impl PrefixCache {
    /// Creates an empty tree over blocks of `block_tokens` positions.
    ///
    /// **Panics** if `block_tokens` is 0.
    pub fn new(block_tokens: usize) -> Self {
        assert!(block_tokens > 0, "a block holds at least one position");
        Self {
            block_tokens,
            nodes: Vec::new(),
            vacant: Vec::new(),
            roots: HashMap::new(),
            unused_leaves: BTreeSet::new(),
            num_unused: 0,
            num_uses: 0,
        }
    }

    /// Returns the number of unused blocks, which [`evict`](Self::evict) removes one after another.
    pub fn num_unused(&self) -> usize {
        self.num_unused
    }

    /// Returns the number of blocks in the tree.
    pub fn num_blocks(&self) -> usize {
        self.nodes.len() - self.vacant.len()
    }

    /// Returns the block of a node.
    pub fn block(&self, node: PrefixNode) -> BlockId {
        self.node(node).block
    }

    /// Returns the tokens of a node's block.
    pub fn tokens(&self, node: PrefixNode) -> &[u32] {
        &self.node(node).tokens
    }

    /// Returns the node before this one; `None` for the first.
    pub fn parent(&self, node: PrefixNode) -> Option<PrefixNode> {
        self.node(node).parent
    }

    /// Returns all nodes: those in use first, then the most recently used, and none before its parent.
    pub fn by_recency(&self) -> Vec<PrefixNode> {
        let ranked = |&id: &PrefixNode| {
            let node = self.node(id);
            (node.num_users > 0, node.last_use, Reverse(id))
        };
        // A user of a block uses its parent, so no child ranks higher than its parent.
        let mut next: BinaryHeap<_> = self.roots.values().map(ranked).collect();
        let mut nodes = Vec::with_capacity(self.num_blocks());
        while let Some((_, _, Reverse(id))) = next.pop() {
            nodes.push(id);
            next.extend(self.node(id).children.values().map(ranked));
        }
        nodes
    }

    /// Returns the nodes whose blocks hold the start of `tokens`, at most `max_num_blocks`. The caller does
    /// not use them until it [acquires](Self::acquire) them.
    pub fn lookup(&self, tokens: &[u32], max_num_blocks: usize) -> Vec<PrefixNode> {
        let mut path = Vec::new();
        let mut children = &self.roots;
        for tokens in tokens.chunks_exact(self.block_tokens).take(max_num_blocks) {
            let Some(&child) = children.get(tokens) else {
                break;
            };
            path.push(child);
            children = &self.node(child).children;
        }
        path
    }

    /// Adds a user to each node of a path that begins at the root.
    pub fn acquire(&mut self, path: &[PrefixNode]) {
        for &node in path {
            self.use_node(node);
        }
    }

    /// Removes one user from each node of a path.
    ///
    /// **Panics** when a node has no user.
    pub fn release(&mut self, path: &[PrefixNode]) {
        self.num_uses += 1;
        for &id in path.iter().rev() {
            let num_uses = self.num_uses;
            let node = self.node_mut(id);
            assert!(node.num_users > 0, "an unused block was released");
            node.num_users -= 1;
            node.last_use = num_uses;
            if node.num_users == 0 {
                let is_leaf = node.children.is_empty();
                self.num_unused += 1;
                if is_leaf {
                    self.unused_leaves.insert((num_uses, id));
                }
            }
        }
    }

    /// Adds `block`, which holds `tokens` after those of `parent`, and uses it for the caller, which uses
    /// `parent` already. If the tree has these tokens, their node is used instead. Returns the node, and
    /// whether it has `block`.
    ///
    /// **Panics** unless `tokens` fill a block.
    pub fn insert(
        &mut self,
        parent: Option<PrefixNode>,
        tokens: &[u32],
        block: BlockId,
    ) -> (PrefixNode, bool) {
        assert_eq!(tokens.len(), self.block_tokens, "only whole blocks are shared");
        if let Some(&node) = self.children(parent).get(tokens) {
            self.use_node(node);
            return (node, false);
        }
        let tokens: Arc<[u32]> = tokens.into();
        let node = Node {
            block,
            tokens: Arc::clone(&tokens),
            parent,
            children: HashMap::new(),
            num_users: 1,
            last_use: 0,
        };
        let id = self.vacant.pop().unwrap_or_else(|| {
            self.nodes.push(None);
            PrefixNode(self.nodes.len() - 1)
        });
        self.nodes[id.0] = Some(node);
        match parent {
            Some(parent) => self.node_mut(parent).children.insert(tokens, id),
            None => self.roots.insert(tokens, id),
        };
        (id, true)
    }

    /// Removes a node that the caller alone uses and that no other node follows, so that its block can
    /// be written again. Returns false and changes nothing if it has other users or children.
    pub fn withdraw(&mut self, id: PrefixNode) -> bool {
        let node = self.node(id);
        if node.num_users != 1 || !node.children.is_empty() {
            return false;
        }
        let node = self.nodes[id.0].take().expect("it was just read");
        self.vacant.push(id);
        match node.parent {
            // Its user uses the parent too, which is therefore no unused leaf.
            Some(parent) => self.node_mut(parent).children.remove(&node.tokens),
            None => self.roots.remove(&node.tokens),
        };
        true
    }

    /// Removes the least recently used of the unused leaves, and returns it with its block; `None` if all are in use.
    pub fn evict(&mut self) -> Option<(PrefixNode, BlockId)> {
        let (_, id) = self.unused_leaves.pop_first()?;
        let node = self.nodes[id.0].take().expect("a leaf is in the tree");
        self.vacant.push(id);
        self.num_unused -= 1;
        let Some(parent_id) = node.parent else {
            self.roots.remove(&node.tokens);
            return Some((id, node.block));
        };
        let parent = self.node_mut(parent_id);
        parent.children.remove(&node.tokens);
        if parent.children.is_empty() && parent.num_users == 0 {
            let entry = (parent.last_use, parent_id);
            self.unused_leaves.insert(entry);
        }
        Some((id, node.block))
    }

    /// The children of `parent`, by the tokens of their blocks.
    fn children(&self, parent: Option<PrefixNode>) -> &HashMap<Arc<[u32]>, PrefixNode> {
        match parent {
            Some(parent) => &self.node(parent).children,
            None => &self.roots,
        }
    }

    fn use_node(&mut self, id: PrefixNode) {
        let node = self.node_mut(id);
        node.num_users += 1;
        if node.num_users == 1 {
            let entry = (node.last_use, id);
            self.num_unused -= 1;
            self.unused_leaves.remove(&entry);
        }
    }

    fn node(&self, id: PrefixNode) -> &Node {
        self.nodes[id.0]
            .as_ref()
            .expect("only vacant entries have no node, and nothing refers to them")
    }

    fn node_mut(&mut self, id: PrefixNode) -> &mut Node {
        self.nodes[id.0]
            .as_mut()
            .expect("only vacant entries have no node, and nothing refers to them")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone)]
    enum Action {
        /// A text is read: its cached start is taken, the rest is added.
        Read(Vec<u32>),
        Release(usize),
        Evict,
    }

    fn action() -> impl Strategy<Value = Action> {
        prop_oneof![
            3 => prop::collection::vec(0u32..2, 0..10).prop_map(Action::Read),
            2 => any::<usize>().prop_map(Action::Release),
            1 => Just(Action::Evict),
        ]
    }

    proptest! {
        #[test]
        fn a_block_is_known_by_its_tokens_and_given_up_only_when_nobody_uses_it(
            actions in prop::collection::vec(action(), 0..100),
        ) {
            let mut cache = PrefixCache::new(2);
            let mut readers: Vec<Vec<PrefixNode>> = Vec::new();
            // Where each block's tokens begin, for blocks that were given to the cache.
            let mut contents: HashMap<BlockId, Vec<u32>> = HashMap::new();
            let mut next_block = 0;
            for action in actions {
                match action {
                    Action::Read(text) => {
                        let mut path = cache.lookup(&text, usize::MAX);
                        cache.acquire(&path);
                        for (count, node) in path.iter().enumerate() {
                            prop_assert_eq!(&contents[&cache.block(*node)], &text[..2 * count + 2]);
                        }
                        for end in (2 * path.len() + 2..=text.len()).step_by(2) {
                            let block = BlockId(next_block);
                            next_block += 1;
                            let tokens = &text[end - 2..end];
                            let (node, is_new) = cache.insert(path.last().copied(), tokens, block);
                            prop_assert!(is_new, "the lookup would have found it");
                            contents.insert(block, text[..end].to_vec());
                            let again = cache.insert(path.last().copied(), tokens, BlockId(u32::MAX));
                            prop_assert_eq!(again, (node, false));
                            path.push(node);
                            cache.release(&path);
                            cache.acquire(&path[..path.len() - 1]);
                        }
                        readers.push(path);
                    }
                    Action::Release(which) if !readers.is_empty() => {
                        let path = readers.swap_remove(which % readers.len());
                        cache.release(&path);
                    }
                    Action::Release(_) => {}
                    Action::Evict => {
                        let num_unused = cache.num_unused();
                        match cache.evict() {
                            Some((_, block)) => {
                                let gone = contents.remove(&block).expect("it was in the tree");
                                let is_used = |path: &Vec<PrefixNode>| {
                                    path.iter().any(|&node| cache.block(node) == block)
                                };
                                prop_assert!(!readers.iter().any(is_used));
                                let mut left = contents.values();
                                prop_assert!(!left.any(|text| text.starts_with(&gone)));
                                prop_assert_eq!(cache.num_unused(), num_unused - 1);
                            }
                            None => prop_assert_eq!(num_unused, 0),
                        }
                    }
                }
                let used: BTreeSet<_> = readers.iter().flatten().collect();
                prop_assert_eq!(cache.num_blocks(), contents.len());
                prop_assert_eq!(used.len() + cache.num_unused(), contents.len());
            }
            readers.iter().for_each(|path| cache.release(path));
            while cache.evict().is_some() {}
            prop_assert_eq!((cache.num_blocks(), cache.num_unused()), (0, 0));
        }
    }

    #[test]
    fn the_leaf_that_was_not_used_for_longest_goes_first() {
        let mut cache = PrefixCache::new(1);
        let (trunk, _) = cache.insert(None, &[0], BlockId(0));
        let mut leaf = |token: u32| {
            cache.acquire(&[trunk]);
            [trunk, cache.insert(Some(trunk), &[token], BlockId(token)).0]
        };
        let (first, second) = (leaf(1), leaf(2));
        cache.release(&second);
        cache.release(&first);
        cache.release(&[trunk]);
        let order: Vec<_> = std::iter::from_fn(|| Some(cache.evict()?.1)).collect();
        assert_eq!(order, [BlockId(2), BlockId(1), BlockId(0)]);
    }
}
