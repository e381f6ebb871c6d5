//! Jinja2's syntax to the small part of it that minijinja is given.
//!
//! minijinja reads and runs templates nearly as Jinja2 does. Where the two differ, the template is
//! written anew, tag by tag, before minijinja sees it:
//!
//! - Whitespace control and line ends are resolved; data becomes the printing of a text, so that
//!   whatever a template writes, in a macro too, passes the formatter that counts it.
//! - Operators become filters ([`super::operators`]): they follow Python's types and its errors,
//!   and what they build is counted.
//! - The name of a method that is not called, such as `d.items`, is the method and not an item.
//! - `{% generation %}`, which transformers adds, becomes `{% with %}`.
//! - Calls of macros that use `varargs` or `kwargs` gather them first.
//!
//! Every tag stays on the line it began on, so that errors name it.

use std::collections::BTreeMap;

use super::expression::Parameter;
use super::lexer::{Piece, Tag, TokenKind, pieces};
use super::token_stream::Expressions;

/// The most tokens of a tag: operators in a chain nest in the engine, each a step of its stack.
const MAX_TOKENS: usize = 2000;
/// The most branches of an `if`, which nest in the engine too.
const MAX_BRANCHES: usize = 500;

/// A template that is no Jinja template.
pub(super) struct MalformedTemplate {
    /// What Jinja2 says.
    pub message: String,
    /// The line, from 1.
    pub line: usize,
}

pub(super) fn malformed(message: impl Into<String>, line: usize) -> MalformedTemplate {
    MalformedTemplate { message: message.into(), line }
}

/// The parameters of the macros that use `varargs` or `kwargs`, by name.
pub(super) type VariadicMacros = BTreeMap<String, Vec<String>>;

/// The template as minijinja is given it.
///
/// **Errors**: what Jinja2 would not lex or parse; minijinja finds the tags that do not match.
pub(super) fn rewrite(source: &str) -> Result<String, MalformedTemplate> {
    let pieces = pieces(source)?;
    let mut writer = Writer {
        text: String::with_capacity(source.len() * 2),
        line: 1,
        open_ifs: Vec::new(),
        variadic: variadic_macros(&pieces),
    };
    for piece in &pieces {
        if let Piece::Print(tag) | Piece::Statement(tag) = piece
            && tag.tokens.len() > MAX_TOKENS
        {
            return Err(malformed("too long an expression", tag.line));
        }
        match piece {
            Piece::Data(data) => {
                writer.text.push_str("{{");
                writer.text.push_str(&quoted(data));
                writer.text.push_str("}}");
            }
            Piece::Print(tag) => writer.print(tag)?,
            Piece::Statement(tag) => writer.statement(tag)?,
        }
    }
    Ok(writer.text)
}

/// A text as a literal on one line.
pub(super) fn quoted(text: &str) -> String {
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push('"');
    for character in text.chars() {
        match character {
            '"' => literal.push_str("\\\""),
            '\\' => literal.push_str("\\\\"),
            '\n' => literal.push_str("\\n"),
            '\r' => literal.push_str("\\r"),
            other => literal.push(other),
        }
    }
    literal.push('"');
    literal
}

struct Writer {
    text: String,
    /// The line that has been written up to.
    line: usize,
    /// The branches of every `if` that has not ended.
    open_ifs: Vec<usize>,
    variadic: VariadicMacros,
}

impl Writer {
    fn open(&mut self, opening: &str, line: usize) {
        self.text.push_str(opening);
        let missing = line.saturating_sub(self.line);
        self.text.extend(std::iter::repeat_n('\n', missing));
        self.line += missing;
        self.text.push(' ');
    }

    fn print(&mut self, tag: &Tag) -> Result<(), MalformedTemplate> {
        let line = line_of(tag);
        let mut expressions = Expressions::of(tag, "end of print statement", &self.variadic);
        let expression = expressions.tuple(true, &[])?;
        expressions.finish()?;
        self.open("{{", line);
        self.text.push_str(&expression);
        self.text.push_str(" }}");
        Ok(())
    }

    fn statement(&mut self, tag: &Tag) -> Result<(), MalformedTemplate> {
        let mut rest = Expressions::of(tag, "end of statement block", &self.variadic);
        let Some(keyword) = rest.skip_any_name() else {
            return Err(malformed("tag name expected", tag.line));
        };
        match (keyword.as_str(), self.open_ifs.last_mut()) {
            ("if", _) => self.open_ifs.push(1),
            ("elif", Some(num_branches)) if *num_branches >= MAX_BRANCHES => {
                return Err(malformed("too many branches", tag.line));
            }
            ("elif", Some(num_branches)) => *num_branches += 1,
            ("endif", _) => drop(self.open_ifs.pop()),
            _ => {}
        }
        let mut delimiters = ("{%", "%}");
        let written = match keyword.as_str() {
            "set" => set(&mut rest)?,
            "for" => for_loop(&mut rest)?,
            "if" | "elif" => {
                let condition = rest.tuple(false, &[])?;
                format!("{keyword} {condition}")
            }
            "macro" => macro_header(&mut rest, &self.variadic)?,
            "call" => {
                let signature = match rest.is_operator("(") {
                    true => signature(&rest.signature()?),
                    false => String::new(),
                };
                format!("call{signature} {}", rest.bare_call()?)
            }
            "filter" => format!("filter {}", rest.filters(true)?),
            "with" => with(&mut rest)?,
            "print" => {
                delimiters = ("{{", "}}");
                rest.tuple(true, &[])?
            }
            "autoescape" => format!("autoescape {}", rest.expression()?),
            "block" => {
                let name = rest.name()?;
                rest.skip_name("scoped");
                format!("block {name}")
            }
            "generation" => "with".to_owned(),
            "endgeneration" => "endwith".to_owned(),
            "endblock" => {
                rest.skip_any_name();
                keyword
            }
            // There is nothing to load from.
            "include" | "extends" | "import" | "from" => {
                delimiters = ("{{", "}}");
                rest.skip_all();
                "_no_loader()".to_owned()
            }
            "else" | "endif" | "endfor" | "endset" | "endmacro" | "endcall" | "endfilter"
            | "endwith" | "endautoescape" | "break" | "continue" => keyword,
            other => {
                return Err(malformed(format!("Encountered unknown tag '{other}'."), tag.line));
            }
        };
        rest.skip_operator(":");
        rest.finish()?;
        self.open(delimiters.0, tag.line);
        self.text.push_str(&written);
        self.text.push(' ');
        self.text.push_str(delimiters.1);
        Ok(())
    }
}

/// The line that Jinja2 names where an expression fails: that of the last operator of its outermost
/// chain, the first line where that is none.
fn line_of(tag: &Tag) -> usize {
    let first = tag.tokens.first().map_or(tag.line, |token| token.line);
    let mut depth = 0;
    let mut sum = None;
    for (index, token) in tag.tokens.iter().enumerate() {
        match &token.kind {
            TokenKind::Operator("(" | "[" | "{") => depth += 1,
            TokenKind::Operator(")" | "]" | "}") => depth -= 1,
            // These bind less than a sum.
            TokenKind::Operator("," | "==" | "!=" | "<" | "<=" | ">" | ">=") if depth == 0 => {
                return first;
            }
            TokenKind::Name(name) if depth == 0 => {
                if matches!(name.as_str(), "if" | "or" | "and" | "not" | "in" | "is") {
                    return first;
                }
            }
            TokenKind::Operator("+" | "-") if depth == 0 && index > 0 => sum = Some(token.line),
            _ => {}
        }
    }
    sum.unwrap_or(first)
}

fn set(rest: &mut Expressions<'_>) -> Result<String, MalformedTemplate> {
    let target = rest.target(&[])?;
    if rest.skip_operator("=") {
        let value = rest.tuple(true, &[])?;
        // What a namespace holds must not hold the namespace.
        let check = if target.contains('.') { "|_stored" } else { "" };
        return Ok(format!("set {target} = {value}{check}"));
    }
    match rest.is_operator("|") {
        true => {
            rest.expect("|")?;
            Ok(format!("set {target} | {}", rest.filters(true)?))
        }
        false => Ok(format!("set {target}")),
    }
}

fn for_loop(rest: &mut Expressions<'_>) -> Result<String, MalformedTemplate> {
    let target = rest.target(&["in"])?;
    if !rest.skip_name("in") {
        return Err(rest.unexpected("in"));
    }
    let items = rest.tuple(false, &["recursive"])?;
    let mut written = format!("for {target} in {items}|_iterated");
    if rest.skip_name("if") {
        written.push_str(" if ");
        written.push_str(&rest.expression()?);
    }
    if rest.skip_name("recursive") {
        written.push_str(" recursive");
    }
    Ok(written)
}

/// `with`, whose values do not see each other.
fn with(rest: &mut Expressions<'_>) -> Result<String, MalformedTemplate> {
    let (mut targets, mut values) = (Vec::new(), Vec::new());
    while !rest.is_end() && !rest.is_operator(":") {
        if !targets.is_empty() {
            rest.expect(",")?;
        }
        targets.push(rest.target(&["="])?);
        rest.expect("=")?;
        values.push(rest.expression()?);
    }
    Ok(match targets.len() {
        0 => "with".to_owned(),
        1 => format!("with {} = {}", targets[0], values[0]),
        _ => format!("with ({}) = ({})", targets.join(", "), values.join(", ")),
    })
}

fn signature(parameters: &[Parameter]) -> String {
    let written = parameters.iter().map(|Parameter { name, default }| match default {
        Some(default) => format!("{name}={default}"),
        None => name.clone(),
    });
    format!("({})", written.collect::<Vec<_>>().join(", "))
}

/// `macro`; defaults that may name parameters before them are set in the body, where they see them.
fn macro_header(
    rest: &mut Expressions<'_>,
    variadic: &VariadicMacros,
) -> Result<String, MalformedTemplate> {
    let name = rest.name()?;
    let mut parameters = rest.signature()?;
    let mut defaults = String::new();
    for index in 1..parameters.len() {
        let (before, others) = parameters.split_at_mut(index);
        let Parameter { name, default } = &mut others[0];
        let is_dependent =
            |default: &mut String| before.iter().any(|parameter| default.contains(&parameter.name));
        if let Some(default) = default.take_if(is_dependent) {
            defaults.push_str(&format!(
                " %}}{{% set {name} = ({default} if ({name} is undefined()) else {name})"
            ));
        }
    }
    if variadic.contains_key(&name) {
        parameters.extend([("varargs", "()"), ("kwargs", "{}")].map(|(name, default)| Parameter {
            name: name.to_owned(),
            default: Some(default.to_owned()),
        }));
    }
    Ok(format!("macro {name}{}{defaults}", signature(&parameters)))
}

/// The macros whose bodies name `varargs` or `kwargs`, with the names of their parameters.
fn variadic_macros(pieces: &[Piece]) -> VariadicMacros {
    let mut found = VariadicMacros::new();
    let mut open: Vec<(String, Vec<String>)> = Vec::new();
    for piece in pieces {
        let (Piece::Print(tag) | Piece::Statement(tag)) = piece else { continue };
        let names: Vec<&str> = tag.tokens.iter().filter_map(|token| token.name()).collect();
        match (piece, names.as_slice()) {
            (Piece::Statement(_), ["macro", name, ..]) => {
                open.push(((*name).to_owned(), parameter_names(tag)));
            }
            (Piece::Statement(_), ["endmacro", ..]) => {
                open.pop();
            }
            _ if names.iter().any(|name| matches!(*name, "varargs" | "kwargs")) => {
                found.extend(open.last().cloned());
            }
            _ => {}
        }
    }
    found
}

/// The names in a macro's brackets that stand behind `(` or `,` and outside of further brackets.
fn parameter_names(tag: &Tag) -> Vec<String> {
    let mut depth = 0;
    let mut names = Vec::new();
    for pair in tag.tokens.windows(2) {
        match &pair[0].kind {
            TokenKind::Operator("(" | "[" | "{") => depth += 1,
            TokenKind::Operator(")" | "]" | "}") => depth -= 1,
            _ => {}
        }
        if depth == 1 && matches!(pair[0].kind, TokenKind::Operator("(" | ",")) {
            names.extend(pair[1].name().map(str::to_owned));
        }
    }
    names
}
