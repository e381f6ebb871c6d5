//! What one rendering may build, so that a template cannot take all memory.

use minijinja::{Error, State, Value};

use super::error::BuiltTooMuch;
use super::refused;
use super::types::{Type, type_of};

/// Bytes of texts and lists that one rendering may build, and print, in all.
pub(super) const MAX_BUILT_BYTES: usize = 256 << 20;
/// How deep lists and dicts may nest; Python prints up to about as many.
const MAX_DEPTH: usize = 200;
/// What an item of a list is counted as.
const ITEM_BYTES: usize = size_of::<Value>();

struct Budget {
    left: usize,
}

fn budget<'s>(state: &'s mut State<'_, '_>) -> &'s mut Budget {
    state.get_or_insert_extension_with(|| Budget { left: MAX_BUILT_BYTES })
}

/// Counts bytes that are about to be built.
///
/// **Errors**: [`BuiltTooMuch`] where no more may be.
pub(super) fn spend(state: &mut State<'_, '_>, num_bytes: usize) -> Result<(), Error> {
    let budget = budget(state);
    match budget.left.checked_sub(num_bytes) {
        Some(left) => {
            budget.left = left;
            Ok(())
        }
        None => Err(too_much()),
    }
}

/// Counts items of a list that is about to be built.
pub(super) fn spend_items(state: &mut State<'_, '_>, num_items: usize) -> Result<(), Error> {
    spend(state, num_items.saturating_mul(ITEM_BYTES))
}

/// A text that grows within the budget; [`Self::finish`] counts it.
pub(super) struct Text {
    text: String,
    limit: usize,
}

impl Text {
    pub(super) fn new(state: &mut State<'_, '_>) -> Self {
        Self { text: String::new(), limit: budget(state).left }
    }

    pub(super) fn push(&mut self, text: &str) -> Result<(), Error> {
        if text.len() > self.limit - self.text.len() {
            return Err(too_much());
        }
        self.text.push_str(text);
        Ok(())
    }

    /// Adds a character `count` times.
    pub(super) fn fill(&mut self, character: char, count: usize) -> Result<(), Error> {
        if count.saturating_mul(character.len_utf8()) > self.limit - self.text.len() {
            return Err(too_much());
        }
        self.text.extend(std::iter::repeat_n(character, count));
        Ok(())
    }

    pub(super) fn finish(self, state: &mut State<'_, '_>) -> Result<String, Error> {
        spend(state, self.text.len())?;
        Ok(self.text)
    }
}

/// A value that was just built of others, if it is not nested too deep to be printed or dropped.
pub(super) fn nested(state: &mut State<'_, '_>, value: Value) -> Result<Value, Error> {
    check_depth(state, &value, MAX_DEPTH)?;
    Ok(value)
}

fn check_depth(state: &mut State<'_, '_>, value: &Value, left: usize) -> Result<(), Error> {
    spend_items(state, 1)?;
    let Some(left) = left.checked_sub(1) else {
        return Err(refused("maximum recursion depth exceeded"));
    };
    match type_of(value) {
        Type::List | Type::Tuple => {
            value.try_iter()?.try_for_each(|item| check_depth(state, &item, left))
        }
        Type::Dict => {
            let object = value.as_object().map(|object| object.try_iter_pairs());
            object.flatten().into_iter().flatten().try_for_each(|(key, item)| {
                check_depth(state, &key, left)?;
                check_depth(state, &item, left)
            })
        }
        Type::Generator => check_depth(state, &super::objects::remaining(value), left),
        Type::Other => stored(value.clone()).map(drop),
        _ => Ok(()),
    }
}

/// A value that a namespace or a list is to hold: what can hold others behind the engine's back
/// could make a ring, which nobody drops.
pub(super) fn stored(value: Value) -> Result<Value, Error> {
    let holds_others = value.as_object().is_some_and(|object| {
        let name = object.type_name();
        name.ends_with("::Namespace") || name.ends_with("::Loop")
    });
    match holds_others {
        true => Err(refused("a namespace or a loop cannot be stored in another value")),
        false => Ok(value),
    }
}

fn too_much() -> Error {
    refused(BuiltTooMuch.to_string()).with_source(BuiltTooMuch)
}
