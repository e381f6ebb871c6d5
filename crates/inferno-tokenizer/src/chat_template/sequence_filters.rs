//! Jinja2's filters of lists and dicts.

use minijinja::value::{Kwargs, from_args};
use minijinja::{Environment, Error, ErrorKind, State, Value};

use super::arguments::{add_filters, bind};
use super::budget::{Text, nested, spend_items};
use super::methods::bound_method;
use super::objects::{Generator, Range};
use super::operators::{add, order};
use super::refused;
use super::text::{quoted, write_str};
use super::types::{
    Type, equal, index_of, items_of, pairs_of, type_name, type_of, undefined_error,
};

type Answer = Result<Value, Error>;

/// Defines the filters of lists and dicts.
pub(super) fn add_sequence_filters(environment: &mut Environment<'static>) {
    add_filters(
        environment,
        &[
            ("attr", attr),
            ("batch", batch),
            ("count", length),
            ("dictsort", dictsort),
            ("first", first),
            ("groupby", groupby),
            ("items", items),
            ("join", join),
            ("last", last),
            ("length", length),
            ("list", list),
            ("map", map),
            ("max", max),
            ("min", min),
            ("reject", reject),
            ("rejectattr", rejectattr),
            ("reverse", reverse),
            ("select", select),
            ("selectattr", selectattr),
            ("slice", slice),
            ("sort", sort),
            ("sum", sum),
            ("unique", unique),
        ],
    );
}

/// The first argument of a filter, which is what it filters.
fn subject(value: Option<Value>) -> Value {
    value.unwrap_or_default()
}

fn is_set(flag: Option<Value>) -> bool {
    flag.is_some_and(|flag| flag.is_true())
}

/// How a filter looks at an item: at an attribute of it, in small letters unless told otherwise.
struct Key {
    attribute: Option<Value>,
    ignores_case: bool,
}

impl Key {
    fn new(attribute: Option<Value>, case_sensitive: Option<Value>) -> Self {
        let attribute = attribute.filter(|attribute| !attribute.is_none());
        Self { attribute, ignores_case: !is_set(case_sensitive) }
    }

    fn of(&self, item: &Value) -> Answer {
        let value = match &self.attribute {
            None => item.clone(),
            Some(attribute) => attribute_of(item, attribute)?,
        };
        Ok(match value.as_str() {
            Some(text) if self.ignores_case => Value::from(text.to_lowercase()),
            _ => value,
        })
    }

    /// Attributes with commas between them, compared one after the other.
    fn of_several(&self, item: &Value) -> Answer {
        match self.attribute.as_ref().and_then(|attribute| attribute.as_str()) {
            Some(attributes) if attributes.contains(',') => attributes
                .split(',')
                .map(|attribute| {
                    let attribute = Some(Value::from(attribute));
                    Self { attribute, ignores_case: self.ignores_case }.of(item)
                })
                .collect::<Result<Vec<_>, _>>()
                .map(Value::from),
            _ => self.of(item),
        }
    }
}

/// An attribute of an item: a number, or names and numbers with points between them.
fn attribute_of(item: &Value, attribute: &Value) -> Answer {
    let Some(path) = attribute.as_str() else {
        return item.get_item(attribute);
    };
    path.split('.').try_fold(item.clone(), |value, part| {
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        match part.parse::<usize>().ok().filter(|_| is_number) {
            Some(index) => value.get_item(&Value::from(index)),
            None => {
                let found = value.get_item(&Value::from(part))?;
                Ok(match found.is_undefined() {
                    true => bound_method(&value, part).unwrap_or(found),
                    false => found,
                })
            }
        }
    })
}

fn attr(_: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    let [value, name] = bind("attr", ["obj", "name"], arguments)?;
    let (value, name) = (subject(value), subject(name));
    let name = name.as_str().ok_or_else(|| refused("attribute name must be string"))?;
    match type_of(&value) {
        Type::Undefined => Err(undefined_error(&value)),
        Type::Other => value.get_attr(name),
        // Items are no attributes.
        _ => Ok(bound_method(&value, name).unwrap_or_default()),
    }
}

fn batch(state: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    let [value, count, filler] = bind("batch", ["value", "linecount", "fill_with"], arguments)?;
    let items = items_of(state, &subject(value))?;
    let count = usize::try_from(index_of(&subject(count))?).unwrap_or(usize::MAX);
    let mut batches = Vec::new();
    let mut batch = Vec::new();
    for item in items {
        if batch.len() == count {
            batches.push(Value::from(std::mem::take(&mut batch)));
        }
        batch.push(item);
    }
    if !batch.is_empty() {
        if let Some(filler) = filler.filter(|filler| !filler.is_none() && batch.len() < count) {
            spend_items(state, count)?;
            batch.resize(count, filler);
        }
        batches.push(Value::from(batch));
    }
    nested(state, Generator::of(batches))
}

fn slice(state: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    let [value, count, filler] = bind("slice", ["value", "slices", "fill_with"], arguments)?;
    let items = items_of(state, &subject(value))?;
    let count = usize::try_from(index_of(&subject(count))?).unwrap_or(0);
    if count == 0 {
        return Err(refused("integer division or modulo by zero"));
    }
    spend_items(state, count)?;
    let (size, num_longer) = (items.len() / count, items.len() % count);
    let mut rest = items.into_iter();
    let slices = (0..count).map(|index| {
        let mut slice: Vec<Value> =
            rest.by_ref().take(size + usize::from(index < num_longer)).collect();
        if index >= num_longer {
            slice.extend(filler.clone().filter(|filler| !filler.is_none()));
        }
        Value::from(slice)
    });
    let slices = slices.collect();
    nested(state, Generator::of(slices))
}

fn dictsort(state: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    let parameters = ["value", "case_sensitive", "by", "reverse"];
    let [value, case_sensitive, by, is_reversed] = bind("dictsort", parameters, arguments)?;
    let position = match by.as_ref().map(|by| by.as_str()) {
        None | Some(Some("key")) => 0,
        Some(Some("value")) => 1,
        _ => return Err(refused("You can only sort by either \"key\" or \"value\"")),
    };
    let pairs = dict_pairs(state, &subject(value))?;
    let key = Key::new(Some(Value::from(position)), case_sensitive);
    sorted(state, pairs, is_set(is_reversed), |item| key.of(item)).map(Value::from)
}

/// The pairs of a dict, each a tuple.
fn dict_pairs(state: &mut State<'_, '_>, value: &Value) -> Result<Vec<Value>, Error> {
    match type_of(value) {
        Type::Dict => Ok(pairs_of(state, value)?.into_iter().map(Value::from).collect()),
        Type::Undefined => Err(undefined_error(value)),
        _ => {
            let found = type_name(value);
            Err(refused(format!("'{found}' object has no attribute 'items'")))
        }
    }
}

fn first(_: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    let [value] = bind("first", ["seq"], arguments)?;
    let value = subject(value);
    match type_of(&value) {
        Type::None | Type::Bool | Type::Int | Type::Float | Type::Other => {
            Err(refused(format!("'{}' object is not iterable", type_name(&value))))
        }
        _ => Ok(value.try_iter()?.next().unwrap_or_default()),
    }
}

fn last(state: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    let [value] = bind("last", ["seq"], arguments)?;
    let value = subject(value);
    match type_of(&value) {
        Type::Generator | Type::None | Type::Bool | Type::Int | Type::Float | Type::Other => {
            Err(refused(format!("'{}' object is not reversible", type_name(&value))))
        }
        _ => Ok(items_of(state, &value)?.pop().unwrap_or_default()),
    }
}

fn groupby(state: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    let parameters = ["value", "attribute", "default", "case_sensitive"];
    let [value, attribute, default, case_sensitive] = bind("groupby", parameters, arguments)?;
    let default = default.filter(|default| !default.is_none());
    let key = Key::new(attribute, case_sensitive);
    let exact = Key { attribute: key.attribute.clone(), ignores_case: false };
    let or_default = |found: Value| match (&default, found.is_undefined()) {
        (Some(default), true) => default.clone(),
        _ => found,
    };
    let items = items_of(state, &subject(value))?;
    let mut groups: Vec<(Value, Vec<Value>)> = Vec::new();
    for item in sorted(state, items, false, |item| key.of(item).map(or_default))? {
        let found = or_default(key.of(&item)?);
        match groups.last_mut() {
            Some((last, group)) if equal(state, last, &found)? => group.push(item),
            _ => groups.push((found, vec![item])),
        }
    }
    let mut named = Vec::new();
    for (_, group) in groups {
        named.push(Value::from((or_default(exact.of(&group[0])?), group)));
    }
    nested(state, Value::from(named))
}

fn items(state: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    let [value] = bind("items", ["value"], arguments)?;
    let value = subject(value);
    match type_of(&value) {
        Type::Undefined => Ok(Generator::of(Vec::new())),
        Type::Dict => {
            let pairs = Generator::of(dict_pairs(state, &value)?);
            nested(state, pairs)
        }
        _ => Err(refused("Can only get item pairs from a mapping.")),
    }
}

fn join(state: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    let [value, separator, attribute] = bind("join", ["value", "d", "attribute"], arguments)?;
    let key = Key { ignores_case: false, ..Key::new(attribute, None) };
    let mut text = Text::new(state);
    for (index, item) in items_of(state, &subject(value))?.iter().enumerate() {
        if let Some(separator) = separator.as_ref().filter(|_| index > 0) {
            write_str(separator, &mut text)?;
        }
        write_str(&key.of(item)?, &mut text)?;
    }
    text.finish(state).map(Value::from)
}

fn length(_: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    let [value] = bind("length", ["obj"], arguments)?;
    let value = subject(value);
    match type_of(&value) {
        Type::Undefined => Ok(Value::from(0)),
        Type::Text | Type::List | Type::Tuple | Type::Dict | Type::Range => {
            Ok(Value::from(value.len().unwrap_or(0)))
        }
        _ => Err(refused(format!("object of type '{}' has no len()", type_name(&value)))),
    }
}

fn list(state: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    let [value] = bind("list", ["value"], arguments)?;
    items_of(state, &subject(value)).map(Value::from)
}

fn map(state: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    let (positional, named): (&[Value], Kwargs) = from_args(arguments)?;
    let (value, rest) = positional.split_first().ok_or_else(|| refused("map wants a value"))?;
    if !value.is_true() {
        return Ok(Generator::of(Vec::new()));
    }
    let items = items_of(state, value)?;
    let mapped = if rest.is_empty() && named.has("attribute") {
        let attribute: Value = named.get("attribute")?;
        let default: Option<Value> = named.get("default")?;
        if let Some(name) = named.args().find(|name| !matches!(*name, "attribute" | "default")) {
            return Err(refused(format!("Unexpected keyword argument {}", quoted(name))));
        }
        let default = default.filter(|default| !default.is_none());
        items
            .iter()
            .map(|item| {
                let found = attribute_of(item, &attribute)?;
                Ok(if found.is_undefined() { default.clone().unwrap_or(found) } else { found })
            })
            .collect::<Result<_, Error>>()?
    } else {
        let name = rest.first().ok_or_else(|| refused("map requires a filter argument"))?;
        let name = name.as_str().unwrap_or_default().to_owned();
        let mut mapped = Vec::with_capacity(items.len());
        for item in items {
            let mut given = vec![item];
            given.extend(arguments[2..].iter().cloned());
            let value = state.apply_filter(&name, &given).map_err(|error| match error.kind() {
                ErrorKind::UnknownFilter => refused(format!("No filter named {}.", quoted(&name))),
                _ => error,
            })?;
            mapped.push(value);
        }
        mapped
    };
    nested(state, Generator::of(mapped))
}

fn choose(
    state: &mut State<'_, '_>,
    arguments: &[Value],
    by_attribute: bool,
    wanted: bool,
) -> Answer {
    let (value, rest) = arguments.split_first().ok_or_else(|| refused("a value is missing"))?;
    if !value.is_true() {
        return Ok(Generator::of(Vec::new()));
    }
    let (attribute, rest) = match (by_attribute, rest.split_first()) {
        (false, _) => (None, rest),
        (true, Some((attribute, rest))) => (Some(attribute), rest),
        (true, None) => return Err(refused("Missing parameter for attribute name")),
    };
    let mut chosen = Vec::new();
    for item in items_of(state, value)? {
        let looked_at = match attribute {
            Some(attribute) => attribute_of(&item, attribute)?,
            None => item.clone(),
        };
        let holds = match rest.split_first() {
            None => looked_at.is_true(),
            Some((name, others)) => {
                let mut given = vec![looked_at];
                given.extend(others.iter().cloned());
                let name = name.as_str().unwrap_or_default();
                state.perform_test(name, &given).map_err(|error| match error.kind() {
                    ErrorKind::UnknownTest => refused(format!("No test named {}.", quoted(name))),
                    _ => error,
                })?
            }
        };
        if holds == wanted {
            chosen.push(item);
        }
    }
    Ok(Generator::of(chosen))
}

fn select(state: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    choose(state, arguments, false, true)
}

fn reject(state: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    choose(state, arguments, false, false)
}

fn selectattr(state: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    choose(state, arguments, true, true)
}

fn rejectattr(state: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    choose(state, arguments, true, false)
}

fn extreme(state: &mut State<'_, '_>, name: &str, operator: &str, arguments: &[Value]) -> Answer {
    let [value, case_sensitive, attribute] =
        bind(name, ["value", "case_sensitive", "attribute"], arguments)?;
    let key = Key::new(attribute, case_sensitive);
    let mut best: Option<(Value, Value)> = None;
    for item in items_of(state, &subject(value))? {
        let found = key.of(&item)?;
        let is_better = match &best {
            None => true,
            Some((best, _)) => {
                let order = order(state, operator, &found, best)?;
                order.is_some_and(
                    |order| if operator == "<" { order.is_lt() } else { order.is_gt() },
                )
            }
        };
        if is_better {
            best = Some((found, item));
        }
    }
    Ok(best.map(|(_, item)| item).unwrap_or_default())
}

fn min(state: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    extreme(state, "min", "<", arguments)
}

fn max(state: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    extreme(state, "max", ">", arguments)
}

fn reverse(state: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    let [value] = bind("reverse", ["value"], arguments)?;
    let value = subject(value);
    if let Some(text) = value.as_str() {
        return Ok(Value::from(text.chars().rev().collect::<String>()));
    }
    let mut items = match type_of(&value) {
        Type::None | Type::Bool | Type::Int | Type::Float | Type::Other => {
            return Err(refused("argument must be iterable"));
        }
        _ => items_of(state, &value)?,
    };
    items.reverse();
    Ok(match type_of(&value) {
        Type::Generator => Value::from(items),
        _ => Generator::of(items),
    })
}

fn sort(state: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    let parameters = ["value", "reverse", "case_sensitive", "attribute"];
    let [value, is_reversed, case_sensitive, attribute] = bind("sort", parameters, arguments)?;
    let key = Key::new(attribute, case_sensitive);
    let items = items_of(state, &subject(value))?;
    sorted(state, items, is_set(is_reversed), |item| key.of_several(item)).map(Value::from)
}

/// Sorts, keeping the order of what is equal.
fn sorted(
    state: &mut State<'_, '_>,
    items: Vec<Value>,
    is_reversed: bool,
    key: impl Fn(&Value) -> Answer,
) -> Result<Vec<Value>, Error> {
    let mut keyed = Vec::with_capacity(items.len());
    for item in items {
        keyed.push((key(&item)?, item));
    }
    // By merging: the standard sorts panic where an order is none, as with NaN.
    let mut width = 1;
    while width < keyed.len() {
        let mut merged = Vec::with_capacity(keyed.len());
        for pair in keyed.chunks(width * 2) {
            let (mut left, mut right) = pair.split_at(width.min(pair.len()));
            while let (Some(a), Some(b)) = (left.first(), right.first()) {
                let order = match is_reversed {
                    false => order(state, "<", &b.0, &a.0)?,
                    true => order(state, "<", &a.0, &b.0)?,
                };
                let taken = match order.is_some_and(|order| order.is_lt()) {
                    true => &mut right,
                    false => &mut left,
                };
                merged.push(taken[0].clone());
                *taken = &taken[1..];
            }
            merged.extend_from_slice(left);
            merged.extend_from_slice(right);
        }
        keyed = merged;
        width *= 2;
    }
    Ok(keyed.into_iter().map(|(_, item)| item).collect())
}

fn sum(state: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    let [value, attribute, start] = bind("sum", ["iterable", "attribute", "start"], arguments)?;
    let key = Key { ignores_case: false, ..Key::new(attribute, None) };
    let start = start.unwrap_or_else(|| Value::from(0));
    if type_of(&start) == Type::Text {
        return Err(refused("sum() can't sum strings [use ''.join(seq) instead]"));
    }
    let items = items_of(state, &subject(value))?;
    items.iter().try_fold(start, |sum, item| add(state, &sum, &key.of(item)?))
}

fn unique(state: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    let [value, case_sensitive, attribute] =
        bind("unique", ["value", "case_sensitive", "attribute"], arguments)?;
    let key = Key::new(attribute, case_sensitive);
    let mut seen: Vec<Value> = Vec::new();
    let mut chosen = Vec::new();
    'items: for item in items_of(state, &subject(value))? {
        let found = key.of(&item)?;
        if matches!(type_of(&found), Type::List | Type::Dict) {
            return Err(refused(format!("unhashable type: '{}'", type_name(&found))));
        }
        for other in &seen {
            if equal(state, other, &found)? {
                continue 'items;
            }
        }
        seen.push(found);
        chosen.push(item);
    }
    Ok(Generator::of(chosen))
}

/// `range(stop)`, `range(start, stop)` or `range(start, stop, step)`
pub(super) fn range(_: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    let number = |value: &Value| {
        i64::try_from(index_of(value)?).map_err(|_| refused("the number is too large"))
    };
    match arguments {
        [stop] => Range::of(0, number(stop)?, 1),
        [start, stop] => Range::of(number(start)?, number(stop)?, 1),
        [start, stop, step] => Range::of(number(start)?, number(stop)?, number(step)?),
        _ => {
            let given = arguments.len();
            Err(refused(format!("range expected 1 to 3 arguments, got {given}")))
        }
    }
}
