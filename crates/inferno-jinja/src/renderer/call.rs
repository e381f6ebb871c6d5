//! Calls.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use super::Renderer;
use crate::arguments::Arguments;
use crate::error::{Error, Result};
use crate::object::Object;
use crate::syntax_tree::{ArgumentList, MacroDefinition};
use crate::value::Value;

impl Renderer<'_> {
    /// Evaluates the arguments of a call, after those in `positional`.
    pub(super) fn arguments(
        &mut self,
        mut positional: Vec<Value>,
        list: &ArgumentList,
    ) -> Result<Arguments> {
        for argument in &list.positional {
            positional.push(self.evaluate(argument)?);
        }
        let mut arguments = Arguments::positional(positional);
        for (name, value) in &list.named {
            arguments.named.push((Arc::clone(name), self.evaluate(value)?));
        }
        if let Some(unpacked) = &list.unpacked {
            let items = self.evaluate(unpacked)?;
            arguments.positional.extend(self.runtime.items(&items)?);
        }
        if let Some(unpacked) = &list.unpacked_named {
            let Value::Dict(entries) = self.evaluate(unpacked)? else {
                return Err(Error::failed("argument after ** must be a mapping"));
            };
            self.runtime.budget.allocate_items(entries.len().saturating_mul(2))?;
            for (name, _) in &arguments.named {
                self.runtime.budget.scan(name.len())?;
                if entries.get_text(name).is_some() {
                    let message = format!("got multiple values for keyword argument '{name}'");
                    return Err(Error::failed(message));
                }
            }
            for (name, value) in entries.iter() {
                let name =
                    name.as_text().ok_or_else(|| Error::failed("keywords must be strings"))?;
                arguments.named.push((name.shared(), value.clone()));
            }
        }
        Ok(arguments)
    }

    /// Calls a value.
    ///
    /// **Errors**: a value that cannot be called, and whatever the call fails with.
    pub(super) fn call(&mut self, callee: &Value, arguments: Arguments) -> Result<Value> {
        let Value::Object(object) = callee else {
            return Err(callee.misuse(|found| format!("'{found}' object is not callable")));
        };
        match &**object {
            Object::Function { function, .. } => function(&mut self.runtime, arguments),
            Object::Method { receiver, method, .. } => {
                method(&mut self.runtime, receiver, arguments)
            }
            Object::Macro(called) => self.call_macro(called, arguments),
            Object::Joiner { separator, is_used } => Ok(match is_used.replace(true) {
                true => separator.clone(),
                false => Value::from(""),
            }),
            Object::Block(block) => {
                let block = Arc::clone(block);
                let (text, ()) =
                    self.captured(|renderer| renderer.nested(|renderer| renderer.block(&block)))?;
                Ok(text)
            }
            Object::Loop(current) => {
                let Some((scope, definition)) = &current.recursive else {
                    return Err(Error::failed(
                        "The loop must have the 'recursive' marker to be called recursively.",
                    ));
                };
                let (scope, definition) = (*scope, Arc::clone(definition));
                let [items] = arguments.bind_all("loop", ["iterable"])?;
                self.recursive_loop(&definition, &items, scope, current.depth + 1)
            }
            Object::Cycler { .. } | Object::Blocks(_) => {
                Err(Error::failed(format!("'{}' object is not callable", object.type_name())))
            }
        }
    }

    /// Sets the parameters of a macro in the current scope, as Jinja2 binds them.
    pub(super) fn bind_parameters(
        &mut self,
        definition: &MacroDefinition,
        mut arguments: Arguments,
    ) -> Result<()> {
        let (name, num_parameters) = (&definition.name, definition.parameters.len());
        let num_positional = arguments.positional.len();
        let excess = arguments.positional.split_off(num_positional.min(num_parameters));
        let mut parameters = definition.parameters.iter();
        for (value, parameter) in arguments.positional.drain(..).zip(parameters.by_ref()) {
            self.scopes.set(Arc::clone(&parameter.name), value);
        }
        let is_parameter = definition.parameters.iter().any(|known| &*known.name == "caller");
        let caller = (definition.uses.caller && !is_parameter).then_some("caller");
        let missing = parameters.as_slice();
        let names = missing.iter().map(|parameter| &*parameter.name).chain(caller);
        let mut found = self.take_named(&mut arguments, names)?.into_iter();
        let mut defaulted = Vec::new();
        for (parameter, value) in missing.iter().zip(found.by_ref()) {
            match value {
                Some(value) => self.scopes.set(Arc::clone(&parameter.name), value),
                None => defaulted.push(parameter),
            }
        }
        if let Some(caller) = found.next() {
            let caller = caller.unwrap_or_else(|| Value::undefined("No caller defined"));
            self.scopes.set("caller".into(), caller);
        }
        if definition.uses.kwargs {
            let named = std::mem::take(&mut arguments.named);
            let entries = named.into_iter().map(|(name, value)| (name.into(), value));
            let entries = self.runtime.dict(entries.collect())?;
            self.scopes.set("kwargs".into(), entries);
        } else if let Some((unknown, _)) = arguments.named.first() {
            let message = format!("macro '{name}' takes no keyword argument '{unknown}'");
            return Err(Error::failed(message));
        }
        if definition.uses.varargs {
            let excess = self.runtime.tuple(excess)?;
            self.scopes.set("varargs".into(), excess);
        } else if !excess.is_empty() {
            let message =
                format!("macro '{name}' takes not more than {num_parameters} argument(s)");
            return Err(Error::failed(message));
        }
        for parameter in defaulted {
            let value = match &parameter.default {
                Some(default) => self.evaluate(default)?,
                None => {
                    let reason = format!("parameter '{}' was not provided", parameter.name);
                    Value::undefined(reason)
                }
            };
            self.scopes.set(Arc::clone(&parameter.name), value);
        }
        Ok(())
    }

    /// Removes the keyword arguments with these names, and returns their values in the order of the names.
    fn take_named<'n>(
        &mut self,
        arguments: &mut Arguments,
        names: impl Iterator<Item = &'n str>,
    ) -> Result<Vec<Option<Value>>> {
        let positions: HashMap<&str, usize> = names.zip(0..).collect();
        let mut found = vec![None; positions.len()];
        for (name, value) in std::mem::take(&mut arguments.named) {
            self.runtime.budget.scan(name.len())?;
            match positions.get(&*name) {
                Some(&position) if found[position].is_none() => found[position] = Some(value),
                _ => arguments.named.push((name, value)),
            }
        }
        Ok(found)
    }

    /// `self`: the blocks of the template.
    pub(super) fn blocks(&self) -> Value {
        Value::Object(Rc::new(Object::Blocks(Arc::clone(&self.template.blocks))))
    }
}
