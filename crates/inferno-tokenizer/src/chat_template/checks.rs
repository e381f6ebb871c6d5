//! Jinja2's tests, which stand behind `is`.

use minijinja::value::{Rest, ValueOrKwargs};
use minijinja::{Environment, Error, State, Value, tests};

use super::arguments::bind;
use super::operators::{contains, holds};
use super::refused;
use super::text::text_of;
use super::text_methods::is;
use super::types::{Type, float_of, int_of, type_name, type_of, undefined_error};

/// A test of a value alone.
type Predicate = fn(&Value) -> bool;

/// Defines the tests.
pub(super) fn add_tests(environment: &mut Environment<'static>) {
    let of_type: [(&str, Predicate); 15] = [
        ("defined", |value| !value.is_undefined()),
        ("undefined", Value::is_undefined),
        ("none", Value::is_none),
        ("boolean", |value| type_of(value) == Type::Bool),
        ("true", |value| type_of(value) == Type::Bool && value.is_true()),
        ("false", |value| type_of(value) == Type::Bool && !value.is_true()),
        ("integer", |value| type_of(value) == Type::Int),
        ("float", |value| type_of(value) == Type::Float),
        ("number", |value| float_of(value).is_some()),
        ("string", |value| type_of(value) == Type::Text),
        ("mapping", |value| type_of(value) == Type::Dict),
        ("sequence", is_sequence),
        ("iterable", |value| is_sequence(value) || type_of(value) == Type::Generator),
        ("callable", is_callable),
        ("escaped", Value::is_safe),
    ];
    for (name, test) in of_type {
        environment.add_test(name, move |value: &Value| test(value));
    }
    let comparisons = [
        ("==", "=="),
        ("eq", "=="),
        ("equalto", "=="),
        ("!=", "!="),
        ("ne", "!="),
        ("<", "<"),
        ("lt", "<"),
        ("lessthan", "<"),
        ("<=", "<="),
        ("le", "<="),
        (">", ">"),
        ("gt", ">"),
        ("greaterthan", ">"),
        (">=", ">="),
        ("ge", ">="),
    ];
    for (name, operator) in comparisons {
        environment.add_test(
            name,
            move |state: &mut State<'_, '_>, left: &Value, right: &Value| {
                holds(state, left, operator, right)
            },
        );
    }
    environment.add_test("in", |state: &mut State<'_, '_>, item: &Value, container: &Value| {
        contains(state, container, item)
    });
    for (name, method) in [("lower", "islower"), ("upper", "isupper")] {
        environment.add_test(name, move |state: &mut State<'_, '_>, value: &Value| {
            let text = text_of(state, value)?;
            Ok::<_, Error>(is(&text, method).unwrap_or_default())
        });
    }
    environment
        .add_test("odd", |value: &Value| Ok::<_, Error>(remainder(value, &2.into())? == 1.0));
    environment
        .add_test("even", |value: &Value| Ok::<_, Error>(remainder(value, &2.into())? == 0.0));
    environment.add_test("divisibleby", |arguments: Rest<ValueOrKwargs>| {
        let [value, number] = bind("divisibleby", ["value", "num"], &arguments.into_values())?;
        Ok::<_, Error>(remainder(&value.unwrap_or_default(), &number.unwrap_or_default())? == 0.0)
    });
    environment.add_test("sameas", tests::is_sameas);
    environment.add_test("filter", |state: &State<'_, '_>, name: &Value| {
        name.as_str().is_some_and(|name| tests::is_filter(state, name))
    });
    environment.add_test("test", |state: &State<'_, '_>, name: &Value| {
        name.as_str().is_some_and(|name| tests::is_test(state, name))
    });
}

fn is_sequence(value: &Value) -> bool {
    matches!(
        type_of(value),
        Type::Text | Type::List | Type::Tuple | Type::Dict | Type::Range | Type::Undefined
    )
}

fn is_callable(value: &Value) -> bool {
    // What is undefined can be called, only to fail.
    value.is_undefined()
        || (type_of(value) == Type::Other && !matches!(type_name(value), "Namespace"))
}

/// `value % number`, in Python's sense.
fn remainder(value: &Value, number: &Value) -> Result<f64, Error> {
    if let (Some(value), Some(number)) = (int_of(value), int_of(number)) {
        return match value.checked_rem_euclid(number) {
            Some(remainder) => Ok(remainder as f64),
            None => Err(refused("integer modulo by zero")),
        };
    }
    match (float_of(value), float_of(number)) {
        (Some(value), Some(number)) => Ok(value.rem_euclid(number)),
        _ if value.is_undefined() => Err(undefined_error(value)),
        _ => {
            let (value, number) = (type_name(value), type_name(number));
            Err(refused(format!("unsupported operand type(s) for %: '{value}' and '{number}'")))
        }
    }
}
