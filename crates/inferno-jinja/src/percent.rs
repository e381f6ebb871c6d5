//! Python's `text % values`.

use crate::budget::TextBuilder;
use crate::error::{Error, Result};
use crate::format::{Spec, write_number};
use crate::runtime::Runtime;
use crate::text::{float, quoted};
use crate::value::Value;

impl Runtime {
    /// `format % values`: the items of a tuple in order, the entries of a dict by name, anything else
    /// as the only value.
    ///
    /// **Errors**: a malformed format, too many or too few values, a value of the wrong type.
    pub(crate) fn percent(&mut self, format: &str, values: &Value) -> Result<Value> {
        self.budget.scan(format.len())?;
        let positional = match values {
            Value::Tuple(tuple) => tuple.items.as_slice(),
            _ => std::slice::from_ref(values),
        };
        let mut values = Values { positional: positional.iter(), all: values };
        let mut text = self.budget.builder();
        let mut rest = format;
        while let Some((before, after)) = rest.split_once('%') {
            text.push(before)?;
            let directive = Directive::parse(after, &mut values)?;
            rest = directive.rest;
            if directive.kind == '%' {
                text.push("%")?;
                continue;
            }
            let value = match directive.name {
                Some(name) => values.named(name)?,
                None => values.next()?,
            };
            directive.write(self, value, &mut text)?;
        }
        text.push(rest)?;
        // A value with items by key may have more of them than the format uses.
        let may_remain = matches!(
            values.all,
            Value::Dict(_) | Value::List(_) | Value::Range(_) | Value::Undefined(_)
        );
        if !may_remain && values.positional.next().is_some() {
            let message = "not all arguments converted during string formatting";
            return Err(Error::failed(message));
        }
        text.finish(&mut self.budget)
    }
}

/// The values that are formatted.
struct Values<'v> {
    positional: std::slice::Iter<'v, Value>,
    all: &'v Value,
}

impl<'v> Values<'v> {
    fn next(&mut self) -> Result<&'v Value> {
        let missing = || Error::failed("not enough arguments for format string");
        self.positional.next().ok_or_else(missing)
    }

    fn named(&self, name: &str) -> Result<&'v Value> {
        match self.all {
            Value::Dict(dict) => dict.get_text(name).ok_or_else(|| Error::failed(quoted(name))),
            _ => Err(Error::failed("format requires a mapping")),
        }
    }

    /// A width or a precision, digits or `*` for the next value, and what follows it.
    fn count<'f>(&mut self, format: &'f str) -> Result<(Option<i128>, &'f str), Error> {
        if let Some(rest) = format.strip_prefix('*') {
            let count = self.next()?.as_int().ok_or_else(|| Error::failed("* wants int"))?;
            return Ok((Some(count), rest));
        }
        let rest = format.trim_start_matches(|c: char| c.is_ascii_digit());
        let digits = &format[..format.len() - rest.len()];
        match digits.is_empty() {
            true => Ok((None, rest)),
            false => match digits.parse() {
                Ok(count) => Ok((Some(count), rest)),
                Err(_) => Err(Error::failed("width too big")),
            },
        }
    }
}

/// `%(name)flags width.precision kind`
struct Directive<'f> {
    name: Option<&'f str>,
    spec: Spec,
    kind: char,
    /// The format after the directive.
    rest: &'f str,
}

impl<'f> Directive<'f> {
    /// Parses a directive after its `%`.
    fn parse(format: &'f str, values: &mut Values<'_>) -> Result<Self> {
        let named = format.strip_prefix('(').and_then(|name| name.split_once(')'));
        let (name, mut rest) = match named {
            Some((name, rest)) => (Some(name), rest),
            None => (None, format),
        };
        let mut spec = Spec::default();
        while let Some(flag) = rest.chars().next().filter(|flag| "-+ 0#".contains(*flag)) {
            match flag {
                '-' => spec.alignment = Some('<'),
                '0' => spec.is_zero_padded = true,
                '#' => spec.is_alternate = true,
                ' ' if spec.sign == Some('+') => {}
                sign => spec.sign = Some(sign),
            }
            rest = &rest[1..];
        }
        let (width, after) = values.count(rest)?;
        rest = after;
        if let Some(width) = width {
            if width < 0 {
                spec.alignment = Some('<');
            }
            spec.width = usize::try_from(width.unsigned_abs()).unwrap_or(usize::MAX);
        }
        if let Some(after) = rest.strip_prefix('.') {
            let (precision, after) = values.count(after)?;
            let precision = precision.unwrap_or(0).max(0);
            spec.precision = Some(usize::try_from(precision).unwrap_or(usize::MAX));
            rest = after;
        }
        rest = rest.trim_start_matches(['h', 'l', 'L']);
        let kind = rest.chars().next().ok_or_else(|| Error::failed("incomplete format"))?;
        // A minus wins over a zero.
        spec.is_zero_padded &= spec.alignment != Some('<');
        spec.fill = if spec.is_zero_padded { '0' } else { ' ' };
        let default = if spec.is_zero_padded { '=' } else { '>' };
        spec.alignment = spec.alignment.or(Some(default));
        Ok(Self { name, spec, kind, rest: &rest[kind.len_utf8()..] })
    }

    fn write(self, runtime: &mut Runtime, value: &Value, text: &mut TextBuilder) -> Result<()> {
        let kind = self.kind;
        match kind {
            's' | 'r' | 'a' | 'c' => self.write_text(runtime, value, text),
            'd' | 'i' | 'u' => {
                let number = match value {
                    Value::Float(number) if number.abs() < i128::MAX as f64 => {
                        Some(number.trunc() as i128)
                    }
                    Value::Float(number) => {
                        let number = float(*number);
                        return Err(Error::failed(format!("cannot convert {number} to integer")));
                    }
                    _ => value.as_int(),
                };
                let number = number.ok_or_else(|| unsuitable(kind, "a real number", value))?;
                write_number(&self.spec, 'd', &Value::Int(number), text)
            }
            'x' | 'X' | 'o' => {
                let number = value.as_int().ok_or_else(|| unsuitable(kind, "an integer", value))?;
                write_number(&self.spec, kind, &Value::Int(number), text)
            }
            'e' | 'E' | 'f' | 'F' | 'g' | 'G' => {
                let number = value.as_float().ok_or_else(|| {
                    Error::failed(format!("must be real number, not {}", value.type_name()))
                })?;
                write_number(&self.spec, kind, &Value::Float(number), text)
            }
            other => Err(Error::failed(format!("unsupported format character '{other}'"))),
        }
    }

    fn write_text(
        mut self,
        runtime: &mut Runtime,
        value: &Value,
        text: &mut TextBuilder,
    ) -> Result<()> {
        self.spec.fill = ' ';
        if self.spec.alignment == Some('=') {
            self.spec.alignment = Some('>');
        }
        match self.kind {
            's' => self.spec.write_text(&runtime.text_of(value)?, text),
            'c' => self.spec.write_text(&character(value)?.to_string(), text),
            'a' => self.spec.write_text(&runtime.ascii_of(value)?, text),
            _ => self.spec.write_text(&runtime.repr_of(value)?, text),
        }
    }
}

/// A character, or the one with this number.
fn character(value: &Value) -> Result<char> {
    let character = match (value.as_int(), value.as_text()) {
        (Some(number), _) => u32::try_from(number).ok().and_then(char::from_u32),
        (None, Some(text)) => {
            let mut characters = text.chars();
            characters.next().filter(|_| characters.next().is_none())
        }
        _ => None,
    };
    character.ok_or_else(|| Error::failed("%c requires an int or a unicode character"))
}

fn unsuitable(kind: char, expected: &str, value: &Value) -> Error {
    let found = value.type_name();
    Error::failed(format!("%{kind} format: {expected} is required, not {found}"))
}
