//! The variables that are visible at a point of a template.

use std::collections::HashMap;
use std::sync::Arc;

use crate::value::Value;

/// A tree of scopes, each with its parent. Macros and recursive loops refer to the scope that they
/// were defined in by its index.
pub(super) struct Scopes {
    scopes: Vec<Scope>,
    current: usize,
}

struct Scope {
    variables: HashMap<Arc<str>, Value, foldhash::fast::RandomState>,
    parent: Option<usize>,
    /// Whether something refers to the scope, so that it must outlive its statement.
    is_captured: bool,
}

impl Scopes {
    /// The outermost scope.
    pub(super) const ROOT: usize = 0;

    pub(super) fn new() -> Self {
        let root = Scope { variables: HashMap::default(), parent: None, is_captured: true };
        Self { scopes: vec![root], current: Self::ROOT }
    }

    /// Enters a new scope inside the scope `parent`, and returns the one to go back to.
    pub(super) fn enter(&mut self, parent: usize) -> usize {
        let scope =
            Scope { variables: HashMap::default(), parent: Some(parent), is_captured: false };
        self.scopes.push(scope);
        std::mem::replace(&mut self.current, self.scopes.len() - 1)
    }

    /// Leaves the current scope.
    pub(super) fn leave(&mut self, previous: usize) {
        let is_last = self.current + 1 == self.scopes.len();
        if is_last && !self.scopes[self.current].is_captured {
            self.scopes.pop();
        }
        self.current = previous;
    }

    pub(super) fn current(&self) -> usize {
        self.current
    }

    /// The current scope, which will be referred to later.
    pub(super) fn capture(&mut self) -> usize {
        self.scopes[self.current].is_captured = true;
        self.current
    }

    /// Sets a variable of the current scope.
    pub(super) fn set(&mut self, name: Arc<str>, value: Value) {
        self.scopes[self.current].variables.insert(name, value);
    }

    /// The variable of this name in the innermost scope that has one.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        let mut next = Some(self.current);
        while let Some(scope) = next.map(|index| &self.scopes[index]) {
            if let Some(value) = scope.variables.get(name) {
                return Some(value);
            }
            next = scope.parent;
        }
        None
    }
}
