//! Statements.

use std::sync::Arc;

use super::Parser;
use crate::error::{Error, Result};
use crate::syntax_tree::{
    Block, Branch, ExpressionKind, ForLoop, Link, MacroDefinition, Parameter, SpecialNames,
    Statement, StatementKind, Target,
};

/// The most branches of one `if`.
const MAX_BRANCHES: usize = 500;

/// The statement that a target belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TargetKind {
    /// May be an attribute of a namespace.
    Set,
    For,
    /// May be named `loop` inside a loop.
    With,
}

impl Parser {
    /// Parses the statement that the tag `name` opens.
    pub(super) fn statement(
        &mut self,
        name: &str,
        line: usize,
        statements: &mut Vec<Statement>,
    ) -> Result<()> {
        let kind = match name {
            "set" => self.set()?,
            "for" => self.for_loop()?,
            "if" => self.if_else(line)?,
            "macro" => {
                let name = self.name()?;
                let parameters = self.signature()?;
                StatementKind::Macro(self.macro_body(name, parameters, "endmacro", line)?)
            }
            "call" => self.call_block(line)?,
            "filter" => {
                let filters = self.filters(true)?;
                StatementKind::Filter { filters, body: self.only_body("endfilter")? }
            }
            "with" => self.with()?,
            "print" => return self.print_tag(line, statements),
            "autoescape" => {
                let enabled = self.expression()?;
                StatementKind::Autoescape { enabled, body: self.only_body("endautoescape")? }
            }
            "block" => self.block()?,
            "generation" => StatementKind::Scope(self.isolated("endgeneration")?),
            "include" | "extends" | "import" | "from" => {
                self.at = self.tag.tokens.len();
                StatementKind::Load
            }
            "break" | "continue" if self.loop_depth == 0 => {
                return Err(Error::syntax(format!("'{name}' outside loop"), line));
            }
            "break" => StatementKind::Break,
            "continue" => StatementKind::Continue,
            _ => return Err(Error::syntax(format!("Encountered unknown tag '{name}'."), line)),
        };
        self.close()?;
        statements.push(Statement { kind, line });
        Ok(())
    }

    /// `{% print a, b %}`, which prints each expression.
    fn print_tag(&mut self, line: usize, statements: &mut Vec<Statement>) -> Result<()> {
        let mut is_first = true;
        while !self.is_end() {
            if !is_first {
                self.expect(",")?;
            }
            is_first = false;
            let kind = StatementKind::Print(self.expression()?);
            statements.push(Statement { kind, line });
        }
        Ok(())
    }

    fn set(&mut self) -> Result<StatementKind> {
        let target = self.target(&[], TargetKind::Set)?;
        if self.skip_operator("=") {
            let value = self.tuple(true, &[], false)?;
            return Ok(StatementKind::Set { target, value });
        }
        let filters = match self.skip_operator("|") {
            true => self.filters(true)?,
            false => Vec::new(),
        };
        Ok(StatementKind::SetBlock { target, filters, body: self.only_body("endset")? })
    }

    fn for_loop(&mut self) -> Result<StatementKind> {
        self.enclosing_loops += 1;
        let target = self.target(&["in"], TargetKind::For)?;
        if !self.skip_name("in") {
            return Err(self.unexpected("in"));
        }
        let items = self.tuple(false, &["recursive"], false)?;
        let filter = self.skip_name("if").then(|| self.expression()).transpose()?;
        let is_recursive = self.skip_name("recursive");
        self.loop_depth += 1;
        self.special_names.push(SpecialNames::default());
        let (body, end) = self.body_of_tag(&["endfor", "else"])?;
        let names = self.special_names.pop().unwrap_or_default();
        self.loop_depth -= 1;
        let otherwise = match end {
            "else" if is_recursive => self.isolated("endfor")?,
            "else" => self.only_body("endfor")?,
            _ => Vec::new(),
        };
        self.enclosing_loops -= 1;
        self.mention(SpecialNames { loop_variable: false, ..names });
        Ok(StatementKind::For(Arc::new(ForLoop {
            target,
            items,
            filter,
            is_recursive,
            uses_loop: is_recursive || names.loop_variable,
            body,
            otherwise,
        })))
    }

    fn if_else(&mut self, mut line: usize) -> Result<StatementKind> {
        let mut branches = Vec::new();
        self.conditional_depth += 1;
        let otherwise = loop {
            let condition = self.tuple(false, &[], false)?;
            let (body, end) = self.body_of_tag(&["elif", "else", "endif"])?;
            branches.push(Branch { condition, body, line });
            line = self.line();
            match end {
                "elif" if branches.len() >= MAX_BRANCHES => {
                    return Err(Error::syntax("too many branches", line));
                }
                "elif" => {}
                "else" => break self.only_body("endif")?,
                _ => break Vec::new(),
            }
        };
        self.conditional_depth -= 1;
        Ok(StatementKind::If { branches, otherwise })
    }

    /// `with`, whose values do not see each other.
    fn with(&mut self) -> Result<StatementKind> {
        let (mut targets, mut values) = (Vec::new(), Vec::new());
        while !self.is_end() && !self.is_operator(":") {
            if !targets.is_empty() {
                self.expect(",")?;
            }
            targets.push(self.target(&[], TargetKind::With)?);
            self.expect("=")?;
            values.push(self.expression()?);
        }
        Ok(StatementKind::With { targets, values, body: self.only_body("endwith")? })
    }

    fn call_block(&mut self, line: usize) -> Result<StatementKind> {
        let parameters = if self.is_operator("(") { self.signature()? } else { Vec::new() };
        let call = self.expression()?;
        let (callee, arguments) = match call.kind {
            ExpressionKind::Chain(base, mut links) => match links.pop() {
                Some(Link::Call(arguments)) => {
                    let kind = ExpressionKind::Chain(base, links);
                    (crate::syntax_tree::Expression { kind, line: call.line }, arguments)
                }
                _ => return Err(Error::syntax("expected call", line)),
            },
            _ => return Err(Error::syntax("expected call", line)),
        };
        let caller = self.macro_body("caller".into(), parameters, "endcall", line)?;
        Ok(StatementKind::Call { callee, arguments, caller })
    }

    fn block(&mut self) -> Result<StatementKind> {
        let name = self.name()?;
        let is_scoped = self.skip_name("scoped");
        self.skip_name("required");
        let body = self.isolated("endblock")?;
        self.skip_name(&name);
        let block = Arc::new(Block { is_scoped, body });
        match self.blocks.insert(Arc::clone(&name), Arc::clone(&block)) {
            None => Ok(StatementKind::Block(block)),
            Some(_) => Err(Error::syntax(format!("block '{name}' defined twice"), self.line)),
        }
    }

    /// A body that no loop around it can be controlled from.
    fn isolated(&mut self, end: &'static str) -> Result<Vec<Statement>> {
        let loop_depth = std::mem::take(&mut self.loop_depth);
        let body = self.only_body(end)?;
        self.loop_depth = loop_depth;
        Ok(body)
    }

    fn macro_body(
        &mut self,
        name: Arc<str>,
        parameters: Vec<Parameter>,
        end: &'static str,
        line: usize,
    ) -> Result<Arc<MacroDefinition>> {
        self.special_names.push(SpecialNames::default());
        let body = self.isolated(end)?;
        let uses = self.special_names.pop().unwrap_or_default();
        self.mention(uses);
        Ok(Arc::new(MacroDefinition { name, parameters, uses, body, line }))
    }

    /// Notes that the innermost open macro or loop mentions these names.
    pub(super) fn mention(&mut self, names: SpecialNames) {
        if let Some(mentioned) = self.special_names.last_mut() {
            mentioned.caller |= names.caller;
            mentioned.varargs |= names.varargs;
            mentioned.kwargs |= names.kwargs;
            mentioned.loop_variable |= names.loop_variable;
        }
    }

    /// The parameters of a macro or a call block, with their defaults.
    fn signature(&mut self) -> Result<Vec<Parameter>> {
        let mut parameters: Vec<Parameter> = Vec::new();
        self.expect("(")?;
        while !self.is_operator(")") {
            if !parameters.is_empty() {
                self.expect(",")?;
            }
            let name = self.name()?;
            if parameters.iter().any(|known| known.name == name) {
                let message = format!("duplicate argument '{name}' in function definition");
                return Err(Error::syntax(message, self.line()));
            }
            let has_default = self.skip_operator("=");
            if !has_default && parameters.last().is_some_and(|last| last.default.is_some()) {
                let message = "non-default argument follows default argument";
                return Err(Error::syntax(message, self.line()));
            }
            let default = has_default.then(|| self.expression()).transpose()?;
            parameters.push(Parameter { name, default });
        }
        self.expect(")")?;
        Ok(parameters)
    }

    /// What is assigned to, up to a name in `ends`: a name, an attribute of a namespace, or a tuple.
    fn target(&mut self, ends: &[&str], kind: TargetKind) -> Result<Target> {
        let mut targets = Vec::new();
        let mut is_tuple = false;
        while !self.is_end() && !self.is_operator(")") && !ends.iter().any(|end| self.is_name(end))
        {
            targets.push(self.single_target(kind)?);
            if !self.skip_operator(",") {
                break;
            }
            is_tuple = true;
            if self.is_operator("=") {
                break;
            }
        }
        match targets.pop() {
            None => Err(self.unexpected("name")),
            Some(target) if !is_tuple => Ok(target),
            Some(target) => {
                targets.push(target);
                Ok(Target::Tuple(targets))
            }
        }
    }

    fn single_target(&mut self, kind: TargetKind) -> Result<Target> {
        if self.skip_operator("(") {
            let target = self.nested(|parser| parser.target(&[], kind))?;
            self.expect(")")?;
            return Ok(target);
        }
        let line = self.line();
        let name = self.name()?;
        match &*name {
            "true" | "false" | "none" | "True" | "False" | "None" => {
                Err(Error::syntax("can't assign to 'const'", line))
            }
            _ if kind == TargetKind::Set && self.skip_operator(".") => {
                Ok(Target::Attribute(name, self.name()?))
            }
            "loop" if kind != TargetKind::With && self.enclosing_loops > 0 => {
                let message = "Can't assign to special loop variable in for-loop target";
                Err(Error::syntax(message, line))
            }
            _ => Ok(Target::Name(name)),
        }
    }
}
