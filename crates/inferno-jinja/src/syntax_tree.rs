//! The syntax tree of a template.

use std::sync::Arc;

use crate::filters::Filter;
use crate::predicates::Predicate;

/// A statement, and the line that errors in it are reported at.
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) kind: StatementKind,
    pub(crate) line: usize,
}

#[derive(Debug)]
pub(crate) enum StatementKind {
    Text(String),
    Print(Expression),
    If {
        branches: Vec<Branch>,
        otherwise: Vec<Statement>,
    },
    For(Arc<ForLoop>),
    Set {
        target: Target,
        value: Expression,
    },
    SetBlock {
        target: Target,
        filters: Vec<Link>,
        body: Vec<Statement>,
    },
    With {
        targets: Vec<Target>,
        values: Vec<Expression>,
        body: Vec<Statement>,
    },
    Macro(Arc<MacroDefinition>),
    Call {
        callee: Expression,
        arguments: ArgumentList,
        caller: Arc<MacroDefinition>,
    },
    Filter {
        filters: Vec<Link>,
        body: Vec<Statement>,
    },
    Block(Arc<Block>),
    Autoescape {
        enabled: Expression,
        body: Vec<Statement>,
    },
    /// `generation`, which only creates a scope.
    Scope(Vec<Statement>),
    Break,
    Continue,
    /// A tag that loads another template, which is never available.
    Load,
}

#[derive(Debug)]
pub(crate) struct Branch {
    pub(crate) condition: Expression,
    pub(crate) body: Vec<Statement>,
    pub(crate) line: usize,
}

#[derive(Debug)]
pub(crate) struct ForLoop {
    pub(crate) target: Target,
    pub(crate) items: Expression,
    pub(crate) filter: Option<Expression>,
    pub(crate) is_recursive: bool,
    /// Whether the body mentions the `loop` variable.
    pub(crate) uses_loop: bool,
    pub(crate) body: Vec<Statement>,
    pub(crate) otherwise: Vec<Statement>,
}

#[derive(Debug)]
pub(crate) struct MacroDefinition {
    pub(crate) name: Arc<str>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) uses: SpecialNames,
    pub(crate) body: Vec<Statement>,
    pub(crate) line: usize,
}

#[derive(Debug)]
pub(crate) struct Parameter {
    pub(crate) name: Arc<str>,
    pub(crate) default: Option<Expression>,
}

/// The names with a special meaning that a macro or a loop mentions.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SpecialNames {
    pub(crate) caller: bool,
    pub(crate) varargs: bool,
    pub(crate) kwargs: bool,
    pub(crate) loop_variable: bool,
}

#[derive(Debug)]
pub(crate) struct Block {
    /// Whether the block sees the variables of the scopes around it.
    pub(crate) is_scoped: bool,
    pub(crate) body: Vec<Statement>,
}

/// What is assigned to.
#[derive(Debug)]
pub(crate) enum Target {
    Name(Arc<str>),
    /// An attribute of a namespace.
    Attribute(Arc<str>, Arc<str>),
    Tuple(Vec<Target>),
}

/// An expression, and the line that Jinja2 reports for it.
#[derive(Debug)]
pub(crate) struct Expression {
    pub(crate) kind: ExpressionKind,
    pub(crate) line: usize,
}

/// Operators and postfixes of one level are lists, not nested, so that long chains need no recursion.
#[derive(Debug)]
pub(crate) enum ExpressionKind {
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(Arc<str>),
    Variable(Arc<str>),
    List(Vec<Expression>),
    Tuple(Vec<Expression>),
    Dict(Vec<(Expression, Expression)>),
    Conditional {
        then: Box<Expression>,
        condition: Box<Expression>,
        otherwise: Option<Box<Expression>>,
    },
    And(Vec<Expression>),
    Or(Vec<Expression>),
    Not(Box<Expression>),
    Compare(Box<Expression>, Vec<(Comparison, Expression)>),
    Binary(Box<Expression>, Vec<(Operator, Expression)>),
    Concatenate(Vec<Expression>),
    /// A sign and its operand; true for a minus.
    Signed(bool, Box<Expression>),
    Chain(Box<Expression>, Vec<Link>),
}

/// What follows an operand.
#[derive(Debug)]
pub(crate) enum Link {
    Attribute(Arc<str>),
    Item(Expression),
    Slice([Option<Expression>; 3]),
    Call(ArgumentList),
    /// A filter; `None` if no filter has this name.
    Filter(Arc<str>, Option<Filter>, ArgumentList),
    /// A test; `None` if no test has this name.
    Test {
        name: Arc<str>,
        predicate: Option<Predicate>,
        arguments: ArgumentList,
        is_negated: bool,
    },
}

#[derive(Debug, Default)]
pub(crate) struct ArgumentList {
    pub(crate) positional: Vec<Expression>,
    pub(crate) named: Vec<(Arc<str>, Expression)>,
    /// `*values`
    pub(crate) unpacked: Option<Box<Expression>>,
    /// `**values`
    pub(crate) unpacked_named: Option<Box<Expression>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    NotIn,
}

impl Comparison {
    /// The comparison of an operator other than `in`.
    pub(crate) fn from_symbol(symbol: &str) -> Option<Self> {
        Some(match symbol {
            "==" => Self::Equal,
            "!=" => Self::NotEqual,
            "<" => Self::Less,
            "<=" => Self::LessOrEqual,
            ">" => Self::Greater,
            ">=" => Self::GreaterOrEqual,
            _ => return None,
        })
    }

    pub(crate) fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::In => "in",
            Self::NotIn => "not in",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Remainder,
    Power,
}
