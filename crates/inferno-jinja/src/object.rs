//! Callables, loops and the other objects that are neither data nor namespaces.

use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use crate::functions::Function;
use crate::methods::Method;
use crate::syntax_tree::{Block, ForLoop, MacroDefinition};
use crate::value::{Sequence, Value};

#[derive(Debug)]
pub(crate) enum Object {
    Function(Function),
    Macro(Macro),
    /// A method that is not called yet.
    Method {
        receiver: Value,
        name: &'static str,
        method: Method,
    },
    Loop(Loop),
    Cycler {
        items: Vec<Value>,
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
    pub(crate) items: Rc<Sequence>,
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
            Self::Function(_) => "function",
            Self::Macro(_) => "Macro",
            Self::Method { .. } => "builtin_function_or_method",
            Self::Loop(_) => "LoopContext",
            Self::Cycler { .. } => "Cycler",
            Self::Joiner { .. } => "Joiner",
            Self::Blocks(_) => "TemplateReference",
            Self::Block(_) => "BlockReference",
        }
    }

    pub(crate) fn is_callable(&self) -> bool {
        !matches!(self, Self::Cycler { .. } | Self::Blocks(_))
    }
}
