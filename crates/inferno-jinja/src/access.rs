//! Attributes and items: `value.name` and `value[key]`.

use std::rc::Rc;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::methods;
use crate::object::{Loop, Object};
use crate::operators::position;
use crate::runtime::Runtime;
use crate::value::{Undefined, Value};

impl Runtime {
    /// `value.name`: a method or an attribute, otherwise an item; undefined if there is neither.
    ///
    /// **Errors**: an undefined value.
    pub(crate) fn attribute(&mut self, value: &Value, name: &Arc<str>) -> Result<Value> {
        self.budget.scan(name.len())?;
        if let Some(found) = self.own_attribute(value, name)? {
            return Ok(found);
        }
        let item = match value {
            Value::Dict(dict) => dict.get_text(name),
            _ => None,
        };
        Ok(item.cloned().unwrap_or_else(|| {
            Value::Undefined(Rc::new(Undefined::Attribute(value.type_name(), Arc::clone(name))))
        }))
    }

    /// `value[key]`: an item, otherwise a method or an attribute; undefined if there is neither.
    ///
    /// **Errors**: an undefined value.
    pub(crate) fn item(&mut self, value: &Value, key: &Value) -> Result<Value> {
        if let Some(item) = self.own_item(value, key)? {
            return Ok(item);
        }
        match key {
            Value::Text(name) => {
                let name = Arc::from(&**name);
                let found = self.own_attribute(value, &name)?;
                let undefined = || Undefined::Attribute(value.type_name(), name);
                Ok(found.unwrap_or_else(|| Value::Undefined(Rc::new(undefined()))))
            }
            _ => {
                let key = self.repr_of(key)?;
                Ok(Value::Undefined(Rc::new(Undefined::Item(value.type_name(), key))))
            }
        }
    }

    fn own_item(&mut self, value: &Value, key: &Value) -> Result<Option<Value>> {
        let index = |len| key.as_int().and_then(|index| position(index, len));
        Ok(match value {
            Value::Undefined(undefined) => return Err(Error::failed(undefined.to_string())),
            Value::Dict(dict) => match self.key(key) {
                Ok(key) => dict.get(&key).cloned(),
                Err(error @ (Error::TooManySteps { .. } | Error::TooManyBytes { .. })) => {
                    return Err(error);
                }
                Err(_) => None,
            },
            Value::List(list) | Value::Tuple(list) => {
                index(list.items.len()).map(|index| list.items[index].clone())
            }
            Value::Range(range) => index(range.len()).map(|index| range.at(index)),
            Value::Text(text) if key.as_int().is_some() => {
                self.budget.scan(text.len())?;
                let character = index(text.chars().count()).and_then(|at| text.chars().nth(at));
                character.map(|c| Value::from(c.encode_utf8(&mut [0; 4]) as &str))
            }
            _ => None,
        })
    }

    /// What Python's `getattr` finds, as far as the sandbox allows it.
    pub(crate) fn own_attribute(
        &mut self,
        value: &Value,
        name: &Arc<str>,
    ) -> Result<Option<Value>> {
        if let Value::Undefined(undefined) = value {
            return Err(Error::failed(undefined.to_string()));
        }
        if let Some((name, method)) = methods::find(value, name) {
            let receiver = value.clone();
            return self.object(Object::Method { receiver, name, method }).map(Some);
        }
        if methods::is_forbidden(value, name) {
            return Ok(Some(Value::undefined(format!(
                "access to attribute '{name}' of '{}' object is unsafe.",
                value.type_name()
            ))));
        }
        Ok(match value {
            Value::Namespace(index) => self.namespaces[*index].get_text(name).cloned(),
            Value::Tuple(tuple) => {
                let field = tuple.fields.iter().position(|field| **field == **name);
                field.map(|field| tuple.items[field].clone())
            }
            Value::Object(object) => object_attribute(object, name),
            _ => None,
        })
    }
}

fn object_attribute(object: &Object, name: &str) -> Option<Value> {
    let text = |text: &Arc<str>| Value::from(&**text);
    match (object, name) {
        (Object::Loop(current), _) => loop_attribute(current, name),
        (Object::Macro(called), "name") => Some(text(&called.definition.name)),
        (Object::Macro(called), "arguments") => {
            let names = called.definition.parameters.iter().map(|parameter| text(&parameter.name));
            Some(Value::tuple(names.collect()))
        }
        (Object::Macro(called), "catch_varargs") => {
            Some(Value::Bool(called.definition.uses.varargs))
        }
        (Object::Macro(called), "catch_kwargs") => Some(Value::Bool(called.definition.uses.kwargs)),
        (Object::Macro(called), "caller") => Some(Value::Bool(called.definition.uses.caller)),
        (Object::Cycler { items, index }, "current") => Some(items.items[index.get()].clone()),
        (Object::Blocks(blocks), _) => {
            blocks.get(name).map(|block| Value::object(Object::Block(Arc::clone(block))))
        }
        _ => None,
    }
}

fn loop_attribute(current: &Loop, name: &str) -> Option<Value> {
    let (index, len) = (current.index.get(), current.items.items.len());
    let number = |number: usize| Some(Value::Int(number as i128));
    let item = |item: Option<&Value>, reason: &str| {
        Some(item.cloned().unwrap_or_else(|| Value::undefined(reason)))
    };
    match name {
        "index" => number(index + 1),
        "index0" => number(index),
        "revindex" => number(len.saturating_sub(index)),
        "revindex0" => number(len.saturating_sub(index + 1)),
        "length" => number(len),
        "first" => Some(Value::Bool(index == 0)),
        "last" => Some(Value::Bool(index + 1 >= len)),
        "depth" => number(current.depth + 1),
        "depth0" => number(current.depth),
        "previtem" => {
            let previous = index.checked_sub(1).and_then(|index| current.items.items.get(index));
            item(previous, "there is no previous item")
        }
        "nextitem" => item(current.items.items.get(index + 1), "there is no next item"),
        _ => None,
    }
}
