//! GBNF, the grammar language of llama.cpp, translated to llguidance's dialect of Lark.
//!
//! Rules and parts of rules that are not recursive become terminals, which the lexer matches as a whole, unless it could
//! match too much ([`lexemes`]). A grammar without recursion becomes a single terminal.

mod automaton;
mod characters;
mod lark;
mod lexemes;
mod parser;

use crate::GrammarError;

/// An expression of a grammar.
#[derive(Debug, Clone, PartialEq)]
enum Expression {
    Literal(String),
    /// One character of a set.
    Class(CharacterClass),
    /// One character.
    Any,
    /// The token with this id.
    Token(u32),
    /// The rule with this index.
    Rule(usize),
    Sequence(Vec<Expression>),
    Choice(Vec<Expression>),
    Repeat {
        expression: Box<Expression>,
        min: u32,
        max: Option<u32>,
    },
}

/// A set of characters.
#[derive(Debug, Clone, PartialEq)]
struct CharacterClass {
    is_negated: bool,
    /// First and last characters.
    ranges: Vec<(char, char)>,
}

/// A named rule.
#[derive(Debug)]
struct Rule {
    name: String,
    expression: Expression,
}

/// Whether a grammar is GBNF rather than Lark: one of its lines defines a rule with `::=`.
pub(crate) fn is_gbnf(grammar: &str) -> bool {
    grammar.lines().any(|line| {
        let name = line.split_once("::=").map(|(name, _)| name.trim());
        name.is_some_and(|name| !name.is_empty() && name.chars().all(parser::is_name_character))
    })
}

/// Translates a grammar.
///
/// **Errors**: an invalid grammar, with the line; token references by text.
pub(crate) fn to_lark(grammar: &str) -> Result<String, GrammarError> {
    let rules = parser::parse(grammar).map_err(|error| GrammarError(format!("GBNF: {error}")))?;
    Ok(lark::write(&rules))
}

#[cfg(test)]
mod random_grammars;
#[cfg(test)]
mod tests;
