//! The methods of Python's lists, tuples and dicts; those of texts are in [`super::text_methods`].

use minijinja::value::Tuple;
use minijinja::{Error, ErrorKind, State, Value};

use super::arguments::bind;
use super::objects::BoundMethod;
use super::refused;
use super::text_methods::{TEXT_METHODS, call_text_method};
use super::types::{Type, equal, index_of, items_of, pairs_of, type_name, type_of};

const DICT_METHODS: [&str; 6] = ["get", "items", "keys", "values", "copy", "fromkeys"];
const LIST_METHODS: [&str; 3] = ["index", "count", "copy"];
/// Methods that change their object, which Jinja2's sandbox forbids.
const UNSAFE_DICT_METHODS: [&str; 5] = ["clear", "pop", "popitem", "setdefault", "update"];
const UNSAFE_LIST_METHODS: [&str; 8] =
    ["append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"];

/// Whether a name is a method's of some Python type.
pub(super) fn is_method_name(name: &str) -> bool {
    [&TEXT_METHODS[..], &DICT_METHODS, &LIST_METHODS, &UNSAFE_DICT_METHODS, &UNSAFE_LIST_METHODS]
        .iter()
        .any(|methods| methods.contains(&name))
}

/// A method of a value that is not called yet; `None` where its type has none of this name.
pub(super) fn bound_method(value: &Value, name: &str) -> Option<Value> {
    let (methods, forbidden): (&[&str], &[&str]) = methods_of(value);
    if forbidden.contains(&name) {
        return Some(Value::UNDEFINED);
    }
    methods
        .contains(&name)
        .then(|| Value::from_object(BoundMethod { value: value.clone(), name: name.to_owned() }))
}

fn methods_of(value: &Value) -> (&'static [&'static str], &'static [&'static str]) {
    match type_of(value) {
        Type::Text => (&TEXT_METHODS, &[]),
        Type::Dict => (&DICT_METHODS, &UNSAFE_DICT_METHODS),
        Type::List => (&LIST_METHODS, &UNSAFE_LIST_METHODS),
        Type::Tuple | Type::Range => (&["index", "count"], &[]),
        _ => (&[], &[]),
    }
}

/// Calls a method that minijinja does not know.
pub(super) fn call_method(
    state: &mut State<'_, '_>,
    value: &Value,
    method: &str,
    arguments: &[Value],
) -> Result<Value, Error> {
    let (methods, forbidden) = methods_of(value);
    let type_name = type_name(value);
    if forbidden.contains(&method) {
        return Err(refused(format!(
            "access to attribute '{method}' of '{type_name}' object is unsafe."
        )));
    }
    if !methods.contains(&method) {
        let is_item = match type_of(value) {
            Type::Dict => {
                value.as_object().is_some_and(|dict| dict.get_value(&method.into()).is_some())
            }
            kind => kind == Type::Other,
        };
        let unknown = Error::from(ErrorKind::UnknownMethod);
        return Err(match value.is_undefined() || is_item {
            // minijinja looks for an item of this name that can be called.
            true => unknown,
            false if value.is_none() => refused(format!("'None' has no attribute '{method}'")),
            false => refused(format!("'{type_name} object' has no attribute '{method}'")),
        });
    }
    match value.as_str() {
        Some(text) => call_text_method(state, text, method, arguments),
        None if type_of(value) == Type::Dict => call_dict_method(state, value, method, arguments),
        None => call_list_method(state, value, method, arguments),
    }
}

fn call_dict_method(
    state: &mut State<'_, '_>,
    dict: &Value,
    method: &str,
    arguments: &[Value],
) -> Result<Value, Error> {
    if method == "get" {
        let (key, default): (Value, Option<Value>) = match arguments {
            [.., last] if last.is_kwargs() => {
                return Err(refused("dict.get() takes no keyword arguments"));
            }
            _ => minijinja::value::from_args(arguments)?,
        };
        if matches!(type_of(&key), Type::List | Type::Dict) {
            return Err(refused(format!("unhashable type: '{}'", type_name(&key))));
        }
        let found = dict.as_object().and_then(|dict| dict.get_value(&key));
        return Ok(found.or(default).unwrap_or_else(|| Value::from(())));
    }
    let [] = bind(method, [], arguments)?;
    let pairs = pairs_of(state, dict)?;
    Ok(match method {
        "items" => pairs.into_iter().map(|(key, item)| Value::from((key, item))).collect(),
        "keys" => pairs.into_iter().map(|(key, _)| key).collect(),
        "values" => pairs.into_iter().map(|(_, item)| item).collect(),
        "copy" => dict.clone(),
        _ => return Err(ErrorKind::UnknownMethod.into()),
    })
}

fn call_list_method(
    state: &mut State<'_, '_>,
    list: &Value,
    method: &str,
    arguments: &[Value],
) -> Result<Value, Error> {
    if method == "copy" {
        let [] = bind("copy", [], arguments)?;
        return Ok(list.clone());
    }
    let [wanted, start, stop] = bind(method, ["value", "start", "stop"], arguments)?;
    let wanted = wanted.ok_or_else(|| refused(format!("{method} expected 1 argument, got 0")))?;
    let items = items_of(state, list)?;
    let bound = |value: Option<Value>, default: usize| match value {
        None => Ok(default),
        Some(value) => {
            let (index, len) = (index_of(&value)?, items.len() as i128);
            let index = if index < 0 { index + len } else { index };
            Ok::<_, Error>(usize::try_from(index.clamp(0, len)).unwrap_or(0))
        }
    };
    let (start, stop) = (bound(start, 0)?, bound(stop, items.len())?);
    let mut count = 0;
    for (index, item) in items.iter().enumerate().take(stop).skip(start) {
        if equal(state, item, &wanted)? {
            if method == "index" {
                return Ok(Value::from(index));
            }
            count += 1;
        }
    }
    match method {
        "count" => Ok(Value::from(count)),
        _ => Err(refused(format!("{} is not in list", super::text::repr_of(state, &wanted)?))),
    }
}

/// `dict(mapping, **items)`
pub(super) fn dict(state: &mut State<'_, '_>, arguments: &[Value]) -> Result<Value, Error> {
    let (positional, named): (&[Value], minijinja::value::Kwargs) =
        minijinja::value::from_args(arguments)?;
    let mut pairs = Vec::new();
    match positional {
        [] => {}
        [source] if type_of(source) == Type::Dict => pairs = pairs_of(state, source)?,
        [source] => {
            for pair in items_of(state, source)? {
                match items_of(state, &pair)?.as_slice() {
                    [key, item] => pairs.push((key.clone(), item.clone())),
                    other => {
                        let found = other.len();
                        return Err(refused(format!(
                            "dictionary update sequence element has length {found}; 2 is required"
                        )));
                    }
                }
            }
        }
        _ => {
            let given = positional.len();
            return Err(refused(format!("dict expected at most 1 argument, got {given}")));
        }
    }
    for name in named.args() {
        pairs.push((Value::from(name), named.peek(name)?));
    }
    super::budget::nested(state, Value::from_pairs(pairs))
}

/// The arguments of a call of a macro that uses `varargs` or `kwargs`, by name.
pub(super) fn macro_arguments(arguments: &[Value]) -> Result<Value, Error> {
    let (positional, named): (&[Value], minijinja::value::Kwargs) =
        minijinja::value::from_args(arguments)?;
    let Some((names, values)) = positional.split_first() else {
        return Ok(Value::from_pairs(Vec::<(Value, Value)>::new()));
    };
    let names: Vec<Value> = names.try_iter()?.collect();
    let mut pairs: Vec<(Value, Value)> =
        names.iter().cloned().zip(values.iter().cloned()).collect();
    let mut others = Vec::new();
    for name in named.args() {
        let pair = (Value::from(name), named.peek(name)?);
        let is_parameter = name == "caller" || names.contains(&pair.0);
        if is_parameter { pairs.push(pair) } else { others.push(pair) }
    }
    let rest: Vec<Value> = values.iter().skip(names.len()).cloned().collect();
    pairs.push((Value::from("varargs"), Value::from(Tuple::from(rest))));
    pairs.push((Value::from("kwargs"), Value::from_pairs(others)));
    Ok(Value::from_pairs(pairs))
}
