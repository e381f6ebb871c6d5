//! Python's `str.format`.

mod number;
mod spec;

pub(crate) use number::write_number;
pub(crate) use spec::Spec;

use crate::arguments::Arguments;
use crate::budget::TextBuilder;
use crate::error::{Error, Result};
use crate::runtime::Runtime;
use crate::text::quoted;
use crate::value::Value;

/// The replacement fields of one `str.format` call.
struct Fields<'a> {
    arguments: &'a Arguments,
    numbering: Option<Numbering>,
}

/// How the fields of a format string that have no names are numbered: one string has one way.
enum Numbering {
    /// `{}`: the fields are counted.
    Automatic {
        /// The index of the next field.
        next: usize,
    },
    /// `{0}`
    Manual,
}

impl Runtime {
    /// `format.format(…)`
    ///
    /// **Errors**: a malformed format string, a missing argument, an unsuitable format specification.
    pub(crate) fn format(&mut self, format: &str, arguments: &Arguments) -> Result<Value> {
        let mut fields = Fields { arguments, numbering: None };
        let text = fields.format(self, format, true)?;
        text.finish(&mut self.budget)
    }
}

impl Fields<'_> {
    fn format(
        &mut self,
        runtime: &mut Runtime,
        format: &str,
        can_nest: bool,
    ) -> Result<TextBuilder> {
        runtime.budget.scan(format.len())?;
        let mut text = runtime.budget.builder();
        let mut rest = format;
        while let Some(at) = rest.find(['{', '}']) {
            text.push(&rest[..at])?;
            let brace = &rest[at..=at];
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix(brace) {
                text.push(brace)?;
                rest = after;
                continue;
            }
            if brace == "}" {
                return Err(Error::failed("Single '}' encountered in format string"));
            }
            let end = field_end(rest)
                .ok_or_else(|| Error::failed("expected '}' before end of string"))?;
            self.write_field(runtime, &rest[..end], can_nest, &mut text)?;
            rest = &rest[end + 1..];
        }
        text.push(rest)?;
        Ok(text)
    }

    /// Writes one field: `name!conversion:specification`.
    fn write_field(
        &mut self,
        runtime: &mut Runtime,
        field: &str,
        can_nest: bool,
        text: &mut TextBuilder,
    ) -> Result<()> {
        let (name, spec) = field.split_once(':').unwrap_or((field, ""));
        let (name, conversion) = match name.split_once('!') {
            Some((name, conversion)) => (name, Some(conversion)),
            None => (name, None),
        };
        let value = self.look_up(runtime, name)?;
        let spec = match can_nest && spec.contains('{') {
            true => self.format(runtime, spec, false)?.into_string(&mut runtime.budget)?,
            false => spec.to_owned(),
        };
        let value = match conversion {
            None => value,
            Some("s") => Value::Text(runtime.text_of(&value)?),
            Some(conversion @ ("r" | "a")) => {
                let repr = match conversion {
                    "a" => runtime.ascii_of(&value)?,
                    _ => runtime.repr_of(&value)?,
                };
                runtime.budget.text(repr)?
            }
            Some(_) => return Err(Error::failed("unknown conversion specifier")),
        };
        write_value(runtime, &value, &spec, text)
    }

    /// The position of a field that has neither a name nor a number.
    fn next_position(&mut self) -> Result<usize> {
        let position = match self.numbering {
            None => 0,
            Some(Numbering::Automatic { next }) => next,
            Some(Numbering::Manual) => {
                return Err(Error::failed(
                    "cannot switch from manual field specification to automatic field numbering",
                ));
            }
        };
        self.numbering = Some(Numbering::Automatic { next: position + 1 });
        Ok(position)
    }

    /// The position that a field names: a number; `None` for a name.
    fn named_position(&mut self, first: &str) -> Result<Option<usize>> {
        let Ok(position) = first.parse() else { return Ok(None) };
        if let Some(Numbering::Automatic { .. }) = self.numbering {
            return Err(Error::failed(
                "cannot switch from automatic field numbering to manual field specification",
            ));
        }
        self.numbering = Some(Numbering::Manual);
        Ok(Some(position))
    }

    /// The value that a field names: `0`, `name`, `name[key]`, `name.attribute`.
    fn look_up(&mut self, runtime: &mut Runtime, name: &str) -> Result<Value> {
        let (first, mut path) = name.split_at(name.find(['.', '[']).unwrap_or(name.len()));
        let position = match first {
            "" => Some(self.next_position()?),
            _ => self.named_position(first)?,
        };
        let found = match position {
            Some(at) => self.arguments.positional.get(at),
            None => {
                runtime.budget.work(self.arguments.named.len())?;
                let named = self.arguments.named.iter().find(|(name, _)| **name == *first);
                named.map(|(_, value)| value)
            }
        };
        let mut value = found.cloned().ok_or_else(|| match position {
            Some(at) => {
                let message = "out of range for positional args tuple";
                Error::failed(format!("Replacement index {at} {message}"))
            }
            None => Error::failed(quoted(first)),
        })?;
        while !path.is_empty() {
            let (key, after) = if let Some(inner) = path.strip_prefix('[') {
                inner
                    .split_once(']')
                    .ok_or_else(|| Error::failed("Missing ']' in format string"))?
            } else if let Some(inner) = path.strip_prefix('.') {
                inner.split_at(inner.find(['.', '[']).unwrap_or(inner.len()))
            } else {
                let message = "Only '.' or '[' may follow ']' in format field specifier";
                return Err(Error::failed(message));
            };
            if key.is_empty() {
                return Err(Error::failed("Empty attribute in format string"));
            }
            path = after;
            let key = match key.parse() {
                Ok(index) => Value::Int(index),
                Err(_) => runtime.budget.text(key)?,
            };
            value = runtime.item(&value, &key)?;
        }
        Ok(value)
    }
}

/// The position of a field's closing brace.
fn field_end(rest: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, character) in rest.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => return Some(at),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

fn write_value(runtime: &Runtime, value: &Value, spec: &str, text: &mut TextBuilder) -> Result<()> {
    if spec.is_empty() {
        return runtime.write_str(value, text);
    }
    let (mut spec, kind) = Spec::parse(spec)?;
    match value {
        Value::Text(value) => {
            if spec.is_zero_padded && spec.alignment.is_none() {
                spec.alignment = Some('<');
            }
            match kind {
                None | Some('s') if spec.sign.is_some() => {
                    Err(Error::failed("Sign not allowed in string format specifier"))
                }
                None | Some('s') if spec.grouping.is_some() => {
                    Err(Error::failed("Cannot specify ',' with 's'."))
                }
                None | Some('s') => spec.write_text(value, text),
                Some(kind) => Err(number::unknown(kind, "str")),
            }
        }
        Value::Int(_) | Value::Bool(_) => match kind.unwrap_or('d') {
            'd' | 'n' | 'x' | 'X' | 'o' | 'b' | 'c' if spec.precision.is_some() => {
                Err(Error::failed("Precision not allowed in integer format specifier"))
            }
            kind => write_number(&spec, kind, value, text),
        },
        Value::Float(_) => write_number(&spec, kind.unwrap_or('\0'), value, text),
        _ => {
            let name = value.type_name();
            Err(Error::failed(format!("unsupported format string passed to {name}.__format__")))
        }
    }
}
