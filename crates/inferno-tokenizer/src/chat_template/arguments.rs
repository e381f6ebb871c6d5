//! Arguments by position and by name, as Python binds them.

use minijinja::value::{Kwargs, Rest, ValueOrKwargs, from_args};
use minijinja::{Environment, Error, State, Value};

use super::refused;

/// The arguments of a call, in the order of `parameters`; `None` for those that were not given.
///
/// **Errors**: too many arguments, one given twice, or one with a name that is not known.
pub(super) fn bind<const N: usize>(
    function: &str,
    parameters: [&str; N],
    arguments: &[Value],
) -> Result<[Option<Value>; N], Error> {
    let (positional, named): (&[Value], Kwargs) = from_args(arguments)?;
    if positional.len() > N {
        let given = positional.len();
        return Err(refused(format!("{function}() takes at most {N} arguments ({given} given)")));
    }
    let mut bound = [const { None }; N];
    for (slot, value) in bound.iter_mut().zip(positional) {
        *slot = Some(value.clone());
    }
    for name in named.args() {
        let Some(index) = parameters.iter().position(|parameter| *parameter == name) else {
            return Err(refused(format!(
                "{function}() got an unexpected keyword argument '{name}'"
            )));
        };
        if bound[index].is_some() {
            return Err(refused(format!("{function}() got multiple values for argument '{name}'")));
        }
        bound[index] = Some(named.peek(name)?);
    }
    Ok(bound)
}

/// A function that binds its arguments itself.
pub(super) type Variadic = fn(&mut State<'_, '_>, &[Value]) -> Result<Value, Error>;

/// Makes a function of one that binds its arguments itself.
pub(super) fn variadic(
    function: Variadic,
) -> impl Fn(&mut State<'_, '_>, Rest<ValueOrKwargs>) -> Result<Value, Error> + Send + Sync + 'static
{
    move |state, arguments| function(state, &arguments.into_values())
}

/// Defines filters.
pub(super) fn add_filters(
    environment: &mut Environment<'static>,
    filters: &[(&'static str, Variadic)],
) {
    for &(name, filter) in filters {
        environment.add_filter(name, variadic(filter));
    }
}
