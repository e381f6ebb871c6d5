//! Statements.

use std::cell::Cell;
use std::sync::Arc;

use super::Renderer;
use super::scopes::Scopes;
use crate::arguments::Arguments;
use crate::error::{Error, Result};
use crate::functions::check_attribute;
use crate::object::{Loop, Macro, Object};
use crate::syntax_tree::{
    ArgumentList, Block, Expression, ForLoop, Link, MacroDefinition, Statement, StatementKind,
    Target,
};
use crate::value::{Sequence, Value};

/// How a sequence of statements ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    Next,
    Break,
    Continue,
}

impl Renderer<'_> {
    /// Executes statements up to one that breaks or continues a loop.
    pub(super) fn statements(&mut self, statements: &[Statement]) -> Result<Flow> {
        self.nested(|renderer| {
            for statement in statements {
                let flow = renderer.statement(statement);
                match flow.map_err(|error| error.at(statement.line))? {
                    Flow::Next => {}
                    flow => return Ok(flow),
                }
            }
            Ok(Flow::Next)
        })
    }

    fn statement(&mut self, statement: &Statement) -> Result<Flow> {
        self.runtime.budget.work(1)?;
        match &statement.kind {
            StatementKind::Text(text) => self.write(text)?,
            StatementKind::Print(expression) => {
                let value = self.evaluate(expression)?;
                self.write_value(&value)?;
            }
            StatementKind::If { branches, otherwise } => {
                for branch in branches {
                    let condition = self.evaluate(&branch.condition);
                    if condition.map_err(|error| error.at(branch.line))?.is_true() {
                        return self.statements(&branch.body);
                    }
                }
                return self.statements(otherwise);
            }
            StatementKind::For(definition) => return self.for_statement(definition),
            StatementKind::Set { target, value } => {
                let value = self.evaluate(value)?;
                self.assign(target, value)?;
            }
            StatementKind::SetBlock { target, filters, body } => {
                return self.set_block(target, filters, body);
            }
            StatementKind::With { targets, values, body } => {
                return self.with(targets, values, body);
            }
            StatementKind::Macro(definition) => {
                let value = self.macro_value(definition)?;
                self.runtime.budget.scan(definition.name.len())?;
                self.scopes.set(Arc::clone(&definition.name), value);
            }
            StatementKind::Call { callee, arguments, caller } => {
                self.call_block(callee, arguments, caller)?;
            }
            StatementKind::Filter { filters, body } => {
                let (text, flow) = self.captured(|renderer| renderer.scoped(body))?;
                if flow == Flow::Next {
                    let text = self.filtered(text, filters)?;
                    self.write_value(&text)?;
                }
                return Ok(flow);
            }
            StatementKind::Block(block) => self.block(block)?,
            StatementKind::Autoescape { enabled, body } => {
                let enabled = self.evaluate(enabled)?.is_true();
                let outer = std::mem::replace(&mut self.escapes, enabled);
                let flow = self.scoped(body)?;
                self.escapes = outer;
                return Ok(flow);
            }
            StatementKind::Scope(body) => return self.scoped(body),
            StatementKind::Break => return Ok(Flow::Break),
            StatementKind::Continue => return Ok(Flow::Continue),
            StatementKind::Load => {
                return Err(Error::failed("no loader for this environment specified"));
            }
        }
        Ok(Flow::Next)
    }

    /// Executes statements in a new scope.
    fn scoped(&mut self, body: &[Statement]) -> Result<Flow> {
        let previous = self.scopes.enter(self.scopes.current());
        let flow = self.statements(body)?;
        self.scopes.leave(previous);
        Ok(flow)
    }

    fn set_block(&mut self, target: &Target, filters: &[Link], body: &[Statement]) -> Result<Flow> {
        let (text, flow) = self.captured(|renderer| renderer.scoped(body))?;
        if flow == Flow::Next {
            let value = self.filtered(text, filters)?;
            self.assign(target, value)?;
        }
        Ok(flow)
    }

    fn filtered(&mut self, mut value: Value, filters: &[Link]) -> Result<Value> {
        for filter in filters {
            value = self.link(value, filter)?;
        }
        Ok(value)
    }

    fn with(
        &mut self,
        targets: &[Target],
        values: &[Expression],
        body: &[Statement],
    ) -> Result<Flow> {
        let values = values.iter().map(|value| self.evaluate(value));
        let values = values.collect::<Result<Vec<_>, _>>()?;
        let previous = self.scopes.enter(self.scopes.current());
        for (target, value) in targets.iter().zip(values) {
            self.assign(target, value)?;
        }
        let flow = self.statements(body)?;
        self.scopes.leave(previous);
        Ok(flow)
    }

    /// A macro defined in the current scope.
    fn macro_value(&mut self, definition: &Arc<MacroDefinition>) -> Result<Value> {
        // The memory of the scope that the macro captures, and of the macro itself.
        self.runtime.budget.allocate(256)?;
        let (definition, scope) = (Arc::clone(definition), self.scopes.capture());
        Ok(Value::object(Object::Macro(Macro { definition, scope })))
    }

    fn call_block(
        &mut self,
        callee: &Expression,
        arguments: &ArgumentList,
        caller: &Arc<MacroDefinition>,
    ) -> Result<()> {
        let callee = self.evaluate(callee)?;
        let mut arguments = self.arguments(Vec::new(), arguments)?;
        arguments.named.push(("caller".into(), self.macro_value(caller)?));
        let text = self.call(&callee, arguments)?;
        self.write_value(&text)
    }

    /// Renders a block, which sees the variables of the template, or all if it is scoped.
    pub(super) fn block(&mut self, block: &Block) -> Result<()> {
        let parent = if block.is_scoped { self.scopes.current() } else { Scopes::ROOT };
        let previous = self.scopes.enter(parent);
        self.statements(&block.body)?;
        self.scopes.leave(previous);
        Ok(())
    }

    /// Assigns a value to a name, to an attribute of a namespace, or to several targets.
    pub(super) fn assign(&mut self, target: &Target, value: Value) -> Result<()> {
        match target {
            Target::Name(name) => {
                self.runtime.budget.scan(name.len())?;
                self.scopes.set(Arc::clone(name), value);
                Ok(())
            }
            Target::Attribute(name, attribute) => {
                self.runtime.budget.scan(name.len() + attribute.len())?;
                check_attribute(attribute)?;
                let Some(Value::Namespace(index)) = self.scopes.get(name) else {
                    return Err(Error::failed("cannot assign attribute on non-namespace object"));
                };
                self.runtime.set_attribute(*index, attribute, value)
            }
            Target::Tuple(targets) => {
                let items = self.runtime.items(&value)?;
                let (expected, found) = (targets.len(), items.len());
                if found > expected {
                    let message = format!("too many values to unpack (expected {expected})");
                    return Err(Error::failed(message));
                }
                if found < expected {
                    return Err(Error::failed(format!(
                        "not enough values to unpack (expected {expected}, got {found})"
                    )));
                }
                let mut pairs = targets.iter().zip(items);
                pairs.try_for_each(|(target, item)| self.assign(target, item))
            }
        }
    }

    fn for_statement(&mut self, definition: &Arc<ForLoop>) -> Result<Flow> {
        let items = self.evaluate(&definition.items)?;
        match definition.is_recursive {
            true => {
                let scope = self.scopes.capture();
                let text = self.recursive_loop(definition, &items, scope, 0)?;
                self.write_value(&text)?;
                Ok(Flow::Next)
            }
            false => self.for_loop(definition, &items, None),
        }
    }

    /// Runs a recursive loop over `items`, `depth` calls deep, and returns what it writes.
    pub(super) fn recursive_loop(
        &mut self,
        definition: &Arc<ForLoop>,
        items: &Value,
        scope: usize,
        depth: usize,
    ) -> Result<Value> {
        self.nested(|renderer| {
            let previous = renderer.scopes.enter(scope);
            let (text, _) = renderer
                .captured(|renderer| renderer.for_loop(definition, items, Some((scope, depth))))?;
            renderer.scopes.leave(previous);
            Ok(text)
        })
    }

    /// Runs a loop over `items`; a recursive one has a scope and a depth.
    fn for_loop(
        &mut self,
        definition: &Arc<ForLoop>,
        items: &Value,
        recursive: Option<(usize, usize)>,
    ) -> Result<Flow> {
        let mut items = self.runtime.items(items)?;
        let mut current = None;
        if definition.uses_loop {
            // The length of the loop must be known, so all items are filtered first.
            items = self.filtered_items(definition, items)?;
            self.runtime.budget.allocate_items(items.len() + 4)?;
            self.num_loops += 1;
            current = Some(self.runtime.object(Object::Loop(Loop {
                items: Sequence::of(items.clone()),
                index: Cell::new(0),
                depth: recursive.map_or(0, |(_, depth)| depth),
                id: self.num_loops,
                recursive: recursive.map(|(scope, _)| (scope, Arc::clone(definition))),
            }))?);
        }
        // As in Jinja2, an iteration that breaks or continues the loop does not prevent its `else`.
        let mut runs_else = true;
        for (index, item) in items.into_iter().enumerate() {
            self.runtime.budget.work(1)?;
            let previous = self.scopes.enter(self.scopes.current());
            self.assign(&definition.target, item)?;
            let is_kept = match &definition.filter {
                Some(filter) if !definition.uses_loop => self.evaluate(filter)?.is_true(),
                _ => true,
            };
            if !is_kept {
                self.scopes.leave(previous);
                continue;
            }
            if let Some(value @ Value::Object(object)) = &current {
                if let Object::Loop(current) = &**object {
                    current.index.set(index);
                }
                self.scopes.set("loop".into(), value.clone());
            }
            let flow = self.statements(&definition.body)?;
            self.scopes.leave(previous);
            match flow {
                Flow::Next => runs_else = false,
                Flow::Continue => {}
                Flow::Break => break,
            }
        }
        match runs_else {
            true => self.scoped(&definition.otherwise),
            false => Ok(Flow::Next),
        }
    }

    fn filtered_items(&mut self, definition: &ForLoop, items: Vec<Value>) -> Result<Vec<Value>> {
        let Some(filter) = &definition.filter else { return Ok(items) };
        let mut kept = Vec::new();
        for item in items {
            let previous = self.scopes.enter(self.scopes.current());
            self.assign(&definition.target, item.clone())?;
            if self.evaluate(filter)?.is_true() {
                kept.push(item);
            }
            self.scopes.leave(previous);
        }
        Ok(kept)
    }

    /// Renders the body of a macro with its arguments bound to its parameters.
    pub(super) fn call_macro(&mut self, called: &Macro, arguments: Arguments) -> Result<Value> {
        let definition = &*called.definition;
        self.nested(|renderer| {
            let previous = renderer.scopes.enter(called.scope);
            renderer
                .bind_parameters(definition, arguments)
                .map_err(|error| error.at(definition.line))?;
            let (text, _) = renderer.captured(|renderer| renderer.statements(&definition.body))?;
            renderer.scopes.leave(previous);
            Ok(text)
        })
    }
}
