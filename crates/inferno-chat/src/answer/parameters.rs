//! Incremental conversion of parameters, written as elements or keyword arguments, to a JSON object.

use serde_json::Value;

use super::call::CallEvent;
use super::literal::{LiteralScanner, parse_literal};
use crate::form::{KEY, ParameterForm, compact};
use crate::schema::{resolved, types};

/// The longest whitespace between the end of an enclosed value and the text after it, in bytes.
const MAX_BLANKS: usize = 64;

/// Longest key, in bytes.
const MAX_KEY_LEN: usize = 1024;

/// Reads the parameters of one call, character by character. Values are converted to the types of their schemas.
#[derive(Debug)]
pub(super) struct ParameterReader {
    form: ParameterForm,
    /// The schema of the arguments.
    schema: Value,
    place: Place,
    /// What was read in this place.
    text: String,
    key: String,
    /// The text after the current value.
    after_value: String,
    /// Whether the current value is a string, if the text before it shows that.
    is_string: Option<bool>,
    num_values: usize,
    /// Bytes of a string value that were passed on; `None` if it is passed on as a whole.
    streamed: Option<usize>,
    scanner: LiteralScanner,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before the first parameter.
    Open,
    /// Before a parameter or the end.
    Between,
    Key,
    Value,
}

/// A value without quotation marks in the text after its key.
struct RawValue {
    start: usize,
    /// Its end, if the text after it is there.
    end: Option<usize>,
    /// The text up to here is certainly a part of it.
    known: usize,
}

impl ParameterReader {
    /// Creates a reader for parameters that match a schema.
    pub(super) fn new(form: &ParameterForm, schema: &Value) -> Self {
        Self {
            form: form.clone(),
            schema: schema.clone(),
            place: Place::Open,
            text: String::new(),
            key: String::new(),
            after_value: String::new(),
            is_string: None,
            num_values: 0,
            streamed: None,
            scanner: LiteralScanner::default(),
        }
    }

    /// Whether the text is certainly a list of parameters.
    pub(super) fn has_begun(&self) -> bool {
        self.place != Place::Open
    }

    /// Reads one character, and appends the JSON that is certain by now.
    pub(super) fn push(&mut self, character: char, json: &mut String) -> CallEvent {
        match self.place {
            Place::Open => self.open(character, json),
            Place::Between => self.between(character, json),
            Place::Key => self.key(character),
            Place::Value if self.form.literals.is_some() => self.literal(character, json),
            Place::Value => self.raw_value(character, json),
        }
    }

    fn go(&mut self, place: Place) -> CallEvent {
        self.place = place;
        self.text.clear();
        CallEvent::Incomplete
    }

    fn open(&mut self, character: char, json: &mut String) -> CallEvent {
        let open = compact(&self.form.open);
        if !open.is_empty() {
            if character.is_whitespace() {
                return CallEvent::Incomplete;
            }
            self.text.push(character);
            if self.text != open {
                return match open.starts_with(&self.text) {
                    true => CallEvent::Incomplete,
                    false => CallEvent::Malformed,
                };
            }
        }
        json.push('{');
        self.go(Place::Between);
        if open.is_empty() { self.between(character, json) } else { CallEvent::Incomplete }
    }

    fn between(&mut self, character: char, json: &mut String) -> CallEvent {
        if character.is_whitespace() {
            return CallEvent::Incomplete;
        }
        self.text.push(character);
        let close = compact(&self.form.close);
        let before_key = compact(&self.form.before_key);
        let separator =
            if self.num_values > 0 { compact(&self.form.separator) } else { String::new() };
        let start = separator + &before_key;
        if self.text == close {
            json.push('}');
            CallEvent::Complete
        } else if close.starts_with(&self.text) {
            CallEvent::Incomplete
        } else if let Some(key) = self.text.strip_prefix(&start).filter(|_| !start.is_empty()) {
            let key = key.to_owned();
            self.go(Place::Key);
            // The end may begin like a parameter.
            key.chars().fold(CallEvent::Incomplete, |_, character| self.key(character))
        } else if start.starts_with(&self.text) {
            CallEvent::Incomplete
        } else if start.is_empty() {
            self.place = Place::Key;
            CallEvent::Incomplete
        } else {
            CallEvent::Malformed
        }
    }

    fn key(&mut self, character: char) -> CallEvent {
        if !character.is_whitespace() {
            self.text.push(character);
        }
        let ends = [&self.form.before_value, &self.form.before_other].map(|end| compact(end));
        let key_of =
            |end: &String| self.text.strip_suffix(end.as_str()).filter(|_| !end.is_empty());
        if let Some((end, key)) = ends.iter().find_map(|end| Some((end, key_of(end)?))) {
            self.is_string = (ends[0] != ends[1]).then_some(*end == ends[0]);
            let quote = self.form.literals.as_ref().map_or("", |literals| literals.quote.as_str());
            let unquoted = key.trim_matches(['"', '\'']);
            let inner = key.strip_prefix(quote).and_then(|key| key.strip_suffix(quote));
            self.key = inner.filter(|_| !quote.is_empty()).unwrap_or(unquoted).to_owned();
            self.after_value = self.form.after_value.replace(KEY, &self.key);
            let property = self.property();
            let types = types(&property, &self.schema);
            let is_string = self.is_string.unwrap_or_else(|| {
                types.is_some_and(|types| types.iter().all(|name| *name == "string"))
            });
            self.streamed = (is_string && self.form.literals.is_none()).then_some(0);
            self.scanner = LiteralScanner::default();
            return self.go(Place::Value);
        }
        match self.text.len() > MAX_KEY_LEN {
            true => CallEvent::Malformed,
            false => CallEvent::Incomplete,
        }
    }

    /// The schema of the current parameter.
    fn property(&self) -> Value {
        let schema = resolved(&self.schema, &self.schema);
        let (properties, additional) = (&schema["properties"], &schema["additionalProperties"]);
        properties.get(&self.key).unwrap_or(additional).clone()
    }

    fn literal(&mut self, character: char, json: &mut String) -> CallEvent {
        let (separator, close) = (self.form.separator.as_str(), self.form.close.as_str());
        let quote = self.form.literals.as_ref().map_or("\"", |literals| literals.quote.as_str());
        if !self.scanner.ends_before(character, quote, [separator, close]) {
            self.text.push(character);
            return CallEvent::Incomplete;
        }
        let value = parse_literal(&self.text, quote);
        // What is no literal is a string without quotation marks.
        let value = value.unwrap_or_else(|| Value::from(self.text.trim()));
        self.begin_value(json);
        json.push_str(&value.to_string());
        self.go(Place::Between);
        self.between(character, json)
    }

    fn raw_value(&mut self, character: char, json: &mut String) -> CallEvent {
        self.text.push(character);
        let Some(RawValue { start, end, known }) = self.find_raw_value() else {
            return CallEvent::Incomplete;
        };
        if let Some(end) = end {
            let value = self.text.get(start..end).unwrap_or_default().to_owned();
            match self.streamed {
                Some(streamed) if streamed > 0 => json.push_str(&escaped(&value[streamed..])),
                _ => {
                    let text = match self.is_string {
                        Some(true) => Value::from(value.as_str()).to_string(),
                        Some(false) | None => raw_to_json(&value, &self.property(), &self.schema),
                    };
                    self.begin_value(json);
                    json.push_str(
                        text.strip_suffix('"').filter(|_| self.streamed.is_some()).unwrap_or(&text),
                    );
                }
            }
            if self.streamed.is_some() {
                json.push('"');
            }
            return self.go(Place::Between);
        }
        if let Some(streamed) = self.streamed {
            let value = self.text.get(start..).unwrap_or_default();
            let mut known = known.saturating_sub(start);
            while !value.is_char_boundary(known) {
                known -= 1;
            }
            if known > streamed {
                let text = escaped(&value[streamed..known]);
                if streamed == 0 {
                    self.begin_value(json);
                    json.push('"');
                }
                json.push_str(&text);
                self.streamed = Some(known);
            }
        }
        CallEvent::Incomplete
    }

    /// Finds the value in the text after the key; `None` if it is too short to decide.
    fn find_raw_value(&self) -> Option<RawValue> {
        let text = self.text.as_str();
        let (before, after) = (self.form.before_value.as_str(), self.after_value.as_str());
        let blanks_before = &before[before.trim_end().len()..];
        let blanks_after = &after[..after.len() - after.trim_start().len()];
        let after = if after.trim().is_empty() { after } else { after.trim() };
        let start = if text.starts_with(blanks_before) { blanks_before.len() } else { 0 };
        if let Some(enclosure) = &self.form.enclosure {
            let value = text[start..].trim_start();
            if let Some(inner) = value.strip_prefix(&enclosure.open) {
                let start = text.len() - inner.len();
                let inner_before = inner
                    .strip_suffix(after)
                    .and_then(|it| it.trim_end().strip_suffix(&enclosure.close));
                // What encloses the value ends it if only whitespace and the text after the value follow, so it is near the end.
                let window = enclosure.close.len() + after.len() + MAX_BLANKS;
                let first = inner.len().saturating_sub(window);
                let tail = &inner.as_bytes()[first..];
                let closes = |bytes: &[u8]| bytes == enclosure.close.as_bytes();
                let known = tail.windows(enclosure.close.len()).rposition(closes);
                let known = match known {
                    Some(at) => first + at,
                    None => inner.len().saturating_sub(enclosure.close.len()),
                };
                let end = inner_before.map(|value| start + value.len());
                return Some(RawValue { start, end, known: start + known });
            }
            if enclosure.open.starts_with(value) {
                return None;
            }
        }
        let value = text.strip_suffix(after);
        let value = value.map(|value| value.strip_suffix(blanks_after).unwrap_or(value));
        let known = text.len().saturating_sub(after.len() + blanks_after.len());
        Some(RawValue { start, end: value.map(str::len), known })
    }

    fn begin_value(&mut self, json: &mut String) {
        if self.num_values > 0 {
            json.push_str(", ");
        }
        self.num_values += 1;
        json.push_str(&Value::from(self.key.as_str()).to_string());
        json.push_str(": ");
    }
}

/// The text of a JSON string, without quotation marks.
fn escaped(text: &str) -> String {
    let json = Value::from(text).to_string();
    json[1..json.len() - 1].to_owned()
}

/// Converts a value without quotation marks to JSON, in the type of its schema.
fn raw_to_json(text: &str, schema: &Value, root: &Value) -> String {
    let types = types(schema, root);
    let allows = |name: &str| types.as_ref().is_none_or(|types| types.contains(&name));
    let is_allowed = |value: &Value| match value {
        Value::Null => allows("null"),
        Value::Bool(_) => allows("boolean"),
        Value::Number(number) => {
            allows("number") || allows("integer") && (number.is_i64() || number.is_u64())
        }
        Value::String(_) => !allows("string"),
        Value::Array(_) => allows("array"),
        Value::Object(_) => allows("object"),
    };
    let trimmed = text.trim();
    if serde_json::from_str::<Value>(trimmed).is_ok_and(|value| is_allowed(&value)) {
        return trimmed.to_owned();
    }
    match parse_literal(trimmed, "\"").filter(is_allowed) {
        Some(value) => value.to_string(),
        None => Value::from(text).to_string(),
    }
}
