//! Parses expressions as Jinja2 does, and writes them with filters for operators.
//!
//! Every method returns the text of an operand: something that a filter, a call or a subscript can
//! follow without brackets around it.

use super::lexer::{Token, TokenKind};
use super::methods;
use super::syntax::{MalformedTemplate, malformed, quoted};
use super::token_stream::Expressions;

/// A parameter of a macro.
pub(super) struct Parameter {
    pub name: String,
    pub default: Option<String>,
}

type Written = Result<String, MalformedTemplate>;

impl Expressions<'_> {
    /// What is assigned to: a name, an attribute of a namespace, or several, up to one of `ends`.
    pub(super) fn target(&mut self, ends: &[&str]) -> Written {
        let mut targets = Vec::new();
        let mut is_tuple = false;
        loop {
            if self.is_end() || self.is_operator("=") || ends.iter().any(|end| self.is_name(end)) {
                break;
            }
            targets.push(if self.skip_operator("(") {
                self.descend()?;
                let inner = self.target(&[])?;
                self.expect(")")?;
                self.depth -= 1;
                inner
            } else {
                let line = self.line();
                let name = self.name()?;
                if matches!(name.as_str(), "true" | "false" | "none" | "True" | "False" | "None") {
                    return Err(malformed(format!("can't assign to '{name}'"), line));
                }
                match self.skip_operator(".") {
                    true => format!("{name}.{}", self.name()?),
                    false => name,
                }
            });
            if !self.skip_operator(",") {
                break;
            }
            is_tuple = true;
            if self.is_operator(")") {
                break;
            }
        }
        match targets.as_slice() {
            [] => Err(self.unexpected("name")),
            [target] if !is_tuple => Ok(target.clone()),
            [target] => Ok(format!("({target},)")),
            targets => Ok(format!("({})", targets.join(", "))),
        }
    }

    /// The parameters of a macro or of a call block, with their defaults.
    pub(super) fn signature(&mut self) -> Result<Vec<Parameter>, MalformedTemplate> {
        let mut parameters = Vec::new();
        self.expect("(")?;
        while !self.is_operator(")") {
            if !parameters.is_empty() {
                self.expect(",")?;
            }
            let name = self.name()?;
            let has_default = self.skip_operator("=");
            let default = has_default.then(|| self.expression()).transpose()?;
            parameters.push(Parameter { name, default });
        }
        self.expect(")")?;
        Ok(parameters)
    }

    /// An expression, or several with commas between them, which are a tuple.
    pub(super) fn tuple(&mut self, with_condition: bool, ends: &[&str]) -> Written {
        let mut items = Vec::new();
        let mut is_tuple = false;
        loop {
            if self.is_end() || self.is_operator(")") || ends.iter().any(|end| self.is_name(end)) {
                break;
            }
            items.push(if with_condition { self.expression()? } else { self.or()? });
            if !self.skip_operator(",") {
                break;
            }
            is_tuple = true;
        }
        match items.as_slice() {
            [] if self.is_operator(")") => Ok("()".to_owned()),
            [] => {
                let message = format!("Expected an expression, got '{}'", self.current());
                Err(malformed(message, self.line()))
            }
            [item] if !is_tuple => Ok(item.clone()),
            [item] => Ok(format!("(({item},)|_nested)")),
            items => Ok(format!("(({})|_nested)", items.join(", "))),
        }
    }

    pub(super) fn expression(&mut self) -> Written {
        self.descend()?;
        let mut written = self.or()?;
        while self.skip_name("if") {
            let condition = self.or()?;
            written = match self.skip_name("else") {
                true => format!("({written} if {condition} else {})", self.expression()?),
                false => format!("({written} if {condition})"),
            };
        }
        self.depth -= 1;
        Ok(written)
    }

    fn or(&mut self) -> Written {
        let mut operands = vec![self.and()?];
        while self.skip_name("or") {
            operands.push(self.and()?);
        }
        Ok(bracketed(operands, " or "))
    }

    fn and(&mut self) -> Written {
        let mut operands = vec![self.not()?];
        while self.skip_name("and") {
            operands.push(self.not()?);
        }
        Ok(bracketed(operands, " and "))
    }

    fn not(&mut self) -> Written {
        let mut is_negated = false;
        let mut any = false;
        while self.skip_name("not") {
            is_negated = !is_negated;
            any = true;
        }
        let operand = self.compare()?;
        Ok(match (any, is_negated) {
            (false, _) => operand,
            (true, true) => format!("(not {operand})"),
            (true, false) => format!("(not (not {operand}))"),
        })
    }

    fn compare(&mut self) -> Written {
        let first = self.sum()?;
        let mut arguments = Vec::new();
        let mut last = "";
        loop {
            last = match self.peek() {
                Some(TokenKind::Operator(operator @ ("==" | "!=" | "<" | "<=" | ">" | ">="))) => {
                    operator
                }
                Some(TokenKind::Name(name)) if name == "in" => "in",
                Some(TokenKind::Name(name))
                    if name == "not"
                        && self.tokens.get(self.at + 1).and_then(Token::name) == Some("in") =>
                {
                    self.at += 1;
                    "not in"
                }
                _ => break,
            };
            self.at += 1;
            let operand = self.sum()?;
            arguments.push(format!("\"{last}\", {operand}"));
        }
        let _ = last;
        Ok(match arguments.is_empty() {
            true => first,
            false => format!("({first}|_compare({}))", arguments.join(", ")),
        })
    }

    fn sum(&mut self) -> Written {
        self.binary(&[("+", "_add"), ("-", "_subtract")], Self::concat)
    }

    fn concat(&mut self) -> Written {
        let first = self.product()?;
        let mut others = Vec::new();
        while self.skip_operator("~") {
            others.push(self.product()?);
        }
        Ok(match others.is_empty() {
            true => first,
            false => format!("({first}|_concat({}))", others.join(", ")),
        })
    }

    fn product(&mut self) -> Written {
        let operators =
            [("*", "_multiply"), ("/", "_divide"), ("//", "_floor_divide"), ("%", "_remainder")];
        self.binary(&operators, Self::power)
    }

    fn power(&mut self) -> Written {
        self.binary(&[("**", "_power")], |this| this.unary(true))
    }

    fn binary(
        &mut self,
        operators: &[(&str, &str)],
        operand: impl Fn(&mut Self) -> Written,
    ) -> Written {
        let mut written = operand(self)?;
        let mut is_chain = false;
        while let Some((_, filter)) =
            operators.iter().find(|(operator, _)| self.is_operator(operator))
        {
            self.at += 1;
            let right = operand(self)?;
            written = format!("{written}|{filter}({right})");
            is_chain = true;
        }
        Ok(if is_chain { format!("({written})") } else { written })
    }

    fn unary(&mut self, with_filters: bool) -> Written {
        self.descend()?;
        let operand = if self.skip_operator("-") {
            format!("({}|_negative)", self.unary(false)?)
        } else if self.skip_operator("+") {
            format!("({}|_positive)", self.unary(false)?)
        } else {
            self.primary()?
        };
        let mut written = self.postfix(operand)?;
        if with_filters {
            loop {
                if self.is_operator("|") {
                    self.at += 1;
                    written = format!("({written}|{})", self.filters(false)?);
                } else if self.is_name("is") {
                    written = self.test(written)?;
                } else if self.is_operator("(") {
                    written = format!("{written}({})", self.arguments()?.join(", "));
                } else {
                    break;
                }
            }
        }
        self.depth -= 1;
        Ok(written)
    }

    fn primary(&mut self) -> Written {
        let line = self.line();
        let Some(token) = self.peek() else {
            return Err(malformed(format!("unexpected '{}'", self.end), line));
        };
        self.at += 1;
        Ok(match token {
            TokenKind::Name(name) => name.clone(),
            TokenKind::Text(text) => {
                let mut text = text.clone();
                while let Some(TokenKind::Text(more)) = self.peek() {
                    text.push_str(more);
                    self.at += 1;
                }
                quoted(&text)
            }
            TokenKind::Integer(digits) => match digits.parse::<i128>() {
                Ok(_) => digits.clone(),
                Err(_) => return Err(malformed("the number is too large", line)),
            },
            TokenKind::Float(value) if value.is_finite() => format!("{value:?}"),
            TokenKind::Float(_) => "(\"inf\"|float)".to_owned(),
            TokenKind::Operator("(") => {
                let inner = self.tuple(true, &[])?;
                self.expect(")")?;
                inner
            }
            TokenKind::Operator("[") => {
                let items = self.items("]", |this| this.expression())?;
                self.nested(format!("[{}]", items.join(", ")), items.is_empty())
            }
            TokenKind::Operator("{") => {
                let items = self.items("}", |this| {
                    let key = this.expression()?;
                    this.expect(":")?;
                    Ok(format!("{key}: {}", this.expression()?))
                })?;
                self.nested(format!("{{{}}}", items.join(", ")), items.is_empty())
            }
            TokenKind::Operator(operator) => {
                return Err(malformed(format!("unexpected '{operator}'"), line));
            }
        })
    }

    fn nested(&self, literal: String, is_empty: bool) -> String {
        if is_empty { literal } else { format!("({literal}|_nested)") }
    }

    /// What stands between commas up to a closing bracket; a comma may come last.
    fn items(
        &mut self,
        closing: &str,
        item: impl Fn(&mut Self) -> Written,
    ) -> Result<Vec<String>, MalformedTemplate> {
        let mut items = Vec::new();
        while !self.is_operator(closing) {
            if !items.is_empty() {
                self.expect(",")?;
                if self.is_operator(closing) {
                    break;
                }
            }
            items.push(item(self)?);
        }
        self.expect(closing)?;
        Ok(items)
    }

    fn postfix(&mut self, mut written: String) -> Written {
        loop {
            if self.skip_operator(".") {
                let line = self.line();
                written = match self.peek() {
                    Some(TokenKind::Name(name)) => {
                        self.at += 1;
                        self.attribute(&written, name)?
                    }
                    Some(TokenKind::Integer(digits)) => {
                        self.at += 1;
                        format!("{written}[{digits}]")
                    }
                    _ => return Err(malformed("expected name or number", line)),
                };
            } else if self.skip_operator("[") {
                written = self.subscript(&written)?;
            } else if self.is_operator("(") {
                written = self.call(&written)?;
            } else {
                return Ok(written);
            }
        }
    }

    fn attribute(&mut self, object: &str, name: &str) -> Written {
        let is_call = self.is_operator("(");
        if is_call && name == "cycle" {
            let arguments = self.arguments()?;
            return Ok(format!("({object}|_cycle({}))", arguments.join(", ")));
        }
        if !is_call && methods::is_method_name(name) {
            return Ok(format!("({object}|_attribute(\"{name}\"))"));
        }
        let is_number = object.starts_with(|c: char| c.is_ascii_digit());
        Ok(if is_number { format!("({object}).{name}") } else { format!("{object}.{name}") })
    }

    fn subscript(&mut self, object: &str) -> Written {
        let mut bounds = [const { None }; 3];
        let mut colons = 0;
        loop {
            if self.skip_operator(":") {
                colons += 1;
                if colons > 2 {
                    return Err(self.unexpected("]"));
                }
            } else if self.skip_operator("]") {
                break;
            } else if bounds[colons].is_none() {
                bounds[colons] = Some(self.expression()?);
            } else {
                return Err(self.unexpected(","));
            }
        }
        match (colons, bounds) {
            (0, [Some(index), _, _]) => Ok(format!("{object}[{index}]")),
            (0, _) => Ok(format!("{object}[()]")),
            (_, bounds) => {
                let bounds = bounds.map(|bound| bound.unwrap_or_else(|| "none".to_owned()));
                Ok(format!("({object}|_slice({}))", bounds.join(", ")))
            }
        }
    }

    fn call(&mut self, function: &str) -> Written {
        let arguments = self.arguments()?;
        Ok(match self.variadic.get(function) {
            None => format!("{function}({})", arguments.join(", ")),
            Some(parameters) => {
                let names: Vec<String> = parameters.iter().map(|name| quoted(name)).collect();
                let names = format!("[{}]", names.join(", "));
                let all: Vec<String> = std::iter::once(names).chain(arguments).collect();
                format!("{function}(**_macro_arguments({}))", all.join(", "))
            }
        })
    }

    /// The call of a call block, which nothing may be written around.
    pub(super) fn bare_call(&mut self) -> Written {
        let line = self.line();
        let written = self.unary(false)?;
        match written.ends_with(')') && !written.starts_with('(') {
            true => Ok(written),
            false => Err(malformed("expected call", line)),
        }
    }

    fn arguments(&mut self) -> Result<Vec<String>, MalformedTemplate> {
        self.expect("(")?;
        self.items(")", |this| {
            if this.skip_operator("*") {
                return Ok(format!("*{}", this.expression()?));
            }
            if this.skip_operator("**") {
                return Ok(format!("**{}", this.expression()?));
            }
            let is_named = matches!(
                this.tokens.get(this.at + 1).map(|token| &token.kind),
                Some(TokenKind::Operator("="))
            );
            match this.tokens.get(this.at).and_then(Token::name).filter(|_| is_named) {
                Some(name) => {
                    this.at += 2;
                    Ok(format!("{name}={}", this.expression()?))
                }
                None => this.expression(),
            }
        })
    }

    /// Filters, from behind the first `|`; a chain of them where `all` are asked for.
    pub(super) fn filters(&mut self, all: bool) -> Written {
        let mut written = self.filter()?;
        while all && self.skip_operator("|") {
            written = format!("{written}|{}", self.filter()?);
        }
        Ok(written)
    }

    fn filter(&mut self) -> Written {
        let name = self.dotted_name()?;
        match self.is_operator("(") {
            true => Ok(format!("{name}({})", self.arguments()?.join(", "))),
            false => Ok(name),
        }
    }

    fn dotted_name(&mut self) -> Written {
        let mut name = self.name()?;
        while self.skip_operator(".") {
            name = format!("{name}.{}", self.name()?);
        }
        Ok(name)
    }

    fn test(&mut self, value: String) -> Written {
        self.at += 1;
        let is_negated = self.skip_name("not");
        let name = self.dotted_name()?;
        let arguments = match self.peek() {
            Some(TokenKind::Operator("(")) => self.arguments()?,
            Some(TokenKind::Name(name)) if matches!(name.as_str(), "else" | "or" | "and") => {
                Vec::new()
            }
            Some(TokenKind::Name(name)) if name == "is" => {
                let message = "You cannot chain multiple tests with is";
                return Err(malformed(message, self.line()));
            }
            // Jinja2 takes these for the test's argument too, and finds no name there.
            Some(TokenKind::Name(name)) if matches!(name.as_str(), "if" | "in" | "not") => {
                Vec::new()
            }
            Some(
                TokenKind::Name(_)
                | TokenKind::Text(_)
                | TokenKind::Integer(_)
                | TokenKind::Float(_)
                | TokenKind::Operator("[" | "{"),
            ) => {
                let argument = self.primary()?;
                vec![self.postfix(argument)?]
            }
            _ => Vec::new(),
        };
        let written = format!("({value} is {name}({}))", arguments.join(", "));
        Ok(if is_negated { format!("(not {written})") } else { written })
    }
}

fn bracketed(operands: Vec<String>, operator: &str) -> String {
    match <[String; 1]>::try_from(operands) {
        Ok([operand]) => operand,
        Err(operands) => format!("({})", operands.join(operator)),
    }
}
