//! Callables, loops and the other objects that are neither data nor namespaces.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use crate::functions::Function;
use crate::methods::Method;
use crate::syntax_tree::{Block, ForLoop, MacroDefinition};
use crate::value::{Sequence, Value};

#[derive(Debug)]
pub(crate) enum Object {
    /// A global function.
    Function {
        name: &'static str,
        function: Function,
    },
    Macro(Macro),
    /// A method that is not called yet.
    Method {
        receiver: Value,
        name: &'static str,
        method: Method,
    },
    Loop(Loop),
    Cycler {
        items: Sequence,
        index: Cell<usize>,
    },
    Joiner {
        separator: Value,
        is_used: Cell<bool>,
    },
    /// `self`: the blocks of the template by name.
    Blocks(Arc<HashMap<Arc<str>, Arc<Block>>>),
    Block(Arc<Block>),
}

/// A macro, or the body of a call block.
#[derive(Debug)]
pub(crate) struct Macro {
    pub(crate) definition: Arc<MacroDefinition>,
    /// The scope that it was defined in.
    pub(crate) scope: usize,
}

/// The `loop` variable.
#[derive(Debug)]
pub(crate) struct Loop {
    pub(crate) items: Sequence,
    pub(crate) index: Cell<usize>,
    /// How many recursive calls of the loop are active.
    pub(crate) depth: usize,
    /// Identifies the loop in the rendering.
    pub(crate) id: usize,
    /// The scope around the loop, and the loop itself, if it can be called.
    pub(crate) recursive: Option<(usize, Arc<ForLoop>)>,
}

impl Object {
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Function { .. } => "function",
            Self::Macro(_) => "Macro",
            Self::Method { .. } => "builtin_function_or_method",
            Self::Loop(_) => "LoopContext",
            Self::Cycler { .. } => "Cycler",
            Self::Joiner { .. } => "Joiner",
            Self::Blocks(_) => "TemplateReference",
            Self::Block(_) => "BlockReference",
        }
    }

    /// How deep values nest in this object, including itself; 0 if it holds none.
    pub(crate) fn depth(&self) -> usize {
        match self {
            Self::Method { receiver: value, .. } | Self::Joiner { separator: value, .. } => {
                1 + value.depth()
            }
            Self::Loop(Loop { items, .. }) | Self::Cycler { items, .. } => 1 + items.depth(),
            Self::Function { .. } | Self::Macro(_) | Self::Blocks(_) | Self::Block(_) => 0,
        }
    }

    pub(crate) fn is_callable(&self) -> bool {
        !matches!(self, Self::Cycler { .. } | Self::Blocks(_))
    }
}
