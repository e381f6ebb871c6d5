//! The grammar of arguments that are elements or keyword arguments, each value held to its schema.

use serde_json::{Map, Value};

use super::{Rules, json, literal, regex_literal, regex_of};
use crate::Tool;
use crate::form::{Delimiters, KEY, ParameterForm};
use crate::schema::{constants, resolved, types};

/// Longest strings whose length is enforced: the states of the lexer grow with it.
const MAX_LENGTH: u64 = 1000;

/// The types of JSON except strings.
const TYPES_BUT_STRING: [&str; 5] = ["null", "boolean", "number", "array", "object"];

/// One parameter or member: its rule, and whether it must be written.
pub(super) struct Item {
    pub(super) rule: String,
    pub(super) is_required: bool,
}

impl Rules<'_> {
    /// Adds the rules of a tool's parameters, and returns the name of the rule.
    pub(super) fn parameters(&mut self, form: &ParameterForm, tool: &Tool) -> String {
        let schema = resolved(&tool.parameters, &tool.parameters);
        let [open, separator, close] =
            [&form.open, &form.separator, &form.close].map(|text| self.marked(text));
        let list = match schema["properties"].as_object() {
            Some(properties) => {
                let items: Vec<_> = properties
                    .iter()
                    .map(|(key, property)| Item {
                        rule: self.parameter(form, key, property, tool),
                        is_required: is_required(schema, key),
                    })
                    .collect();
                self.sequence(&items, &separator)
            }
            None => {
                let any = self.any_parameter(form, tool);
                format!("({any} ({separator} {any})*)?")
            }
        };
        self.named("arguments", &format!("{open} {list} {close}"))
    }

    /// Items in their order, of which only the required ones must be there, with separators.
    pub(super) fn sequence(&mut self, items: &[Item], separator: &str) -> String {
        // From the end: what follows an item, and what the list is if no item came before.
        let (mut following, mut first) = (String::new(), String::new());
        for item in items.iter().rev() {
            let rule = &item.rule;
            let begun = format!("{rule} {following}");
            first = match (item.is_required, first.is_empty()) {
                (true, _) => begun,
                (false, true) => format!("({begun})?"),
                (false, false) => self.named("items", &format!("{begun} | {first}")),
            };
            let next = match item.is_required {
                true => format!("{separator} {rule} {following}"),
                false => format!("({separator} {rule})? {following}"),
            };
            following = self.named("items", &next);
        }
        first
    }

    fn parameter(
        &mut self,
        form: &ParameterForm,
        key: &str,
        schema: &Value,
        tool: &Tool,
    ) -> String {
        let after = form.after_value.replace(KEY, key);
        let head = |rules: &Self, before_value: &str| {
            rules.marked(&format!("{}{key}{before_value}", form.before_key))
        };
        let string_head = head(self, &form.before_value);
        let body = match &form.literals {
            Some(literals) => {
                let value = self.literal_value(literals, schema, tool, 0);
                format!("{string_head} {value} {}", self.marked(&after))
            }
            None if form.before_value == form.before_other => {
                let values = self.raw_values(form, &after, schema, tool, false);
                let values: Vec<_> = values.into_iter().flatten().collect();
                format!("{string_head} ({})", values.join(" | "))
            }
            None => {
                let other_head = head(self, &form.before_other);
                let values = self.raw_values(form, &after, schema, tool, true).into_iter();
                let bodies = values.zip([string_head, other_head]);
                let bodies = bodies.filter_map(|(value, head)| Some(format!("{head} {}", value?)));
                bodies.collect::<Vec<_>>().join(" | ")
            }
        };
        self.named("parameter", &body)
    }

    fn any_parameter(&mut self, form: &ParameterForm, tool: &Tool) -> String {
        let [before_key, before_value] =
            [&form.before_key, &form.before_value].map(|text| self.marked(text));
        let value = match (&form.literals, form.after_value.split_once(KEY)) {
            (Some(literals), _) => self.literal_value(literals, &Value::Bool(true), tool, 0),
            (None, None) => self.raw_text(form, "TEXT", &form.after_value),
            (None, Some((before, after))) => {
                let value = self.up_to("value", "TEXT", before);
                format!("{value} /[a-zA-Z_][a-zA-Z0-9_]*/ {}", self.marked(after))
            }
        };
        let body = format!("{before_key} /[a-zA-Z_][a-zA-Z0-9_]*/ {before_value} {value}");
        self.named("parameter", &body)
    }

    /// Strings and other values without quotation marks, with the text after them; `None` if the schema allows none.
    /// `is_typed` if the text before a value shows its type.
    fn raw_values(
        &mut self,
        form: &ParameterForm,
        after: &str,
        schema: &Value,
        tool: &Tool,
        is_typed: bool,
    ) -> [Option<String>; 2] {
        let end = self.marked(after);
        let schema = resolved(schema, &tool.parameters);
        if let Some(values) = constants(schema, &tool.parameters) {
            return [true, false].map(|is_string| {
                let texts = values.iter().filter(|value| value.is_string() == is_string);
                let texts: Vec<_> = texts
                    .map(|value| literal(&value.as_str().map_or(value.to_string(), str::to_owned)))
                    .collect();
                (!texts.is_empty()).then(|| format!("({}) {end}", texts.join(" | ")))
            });
        }
        let names = types(schema, &tool.parameters);
        let allows_string = names.as_ref().is_none_or(|names| names.contains(&"string"));
        let string = allows_string.then(|| {
            let terminal = self.raw_string(schema);
            self.raw_text(form, &terminal, after)
        });
        let mut others = names.unwrap_or_else(|| TYPES_BUT_STRING.to_vec());
        others.retain(|name| *name != "string");
        // Any text is a string, also that of other values.
        let is_other = !others.is_empty() && (is_typed || !allows_string);
        let other = is_other.then(|| {
            let mut schema = with_definitions(schema, &tool.parameters);
            if allows_string {
                schema["type"] = others.into();
            }
            format!("{} {end}", self.named("value", &json(&schema, tool.strict)))
        });
        [string, other]
    }

    /// A string without quotation marks, with the text after it. If strings may be enclosed, this one is if it begins so.
    fn raw_text(&mut self, form: &ParameterForm, terminal: &str, after: &str) -> String {
        let Some(Delimiters { open, close }) = &form.enclosure else {
            return self.up_to("value", terminal, after);
        };
        // Intersections are few, so any text has one.
        let plain = match terminal {
            "TEXT" => "PLAIN".to_owned(),
            terminal => format!("PLAIN_{terminal}"),
        };
        if plain != "PLAIN" || !std::mem::replace(&mut self.has_plain, true) {
            self.needs_text |= terminal == "TEXT";
            self.add(&format!(r"{plain}: {terminal} & ~/\s*{}(.|\n)*/", regex_of(open)));
        }
        let plain = self.up_to("value", &plain, after);
        let enclosed = self.up_to("value", terminal, &format!("{close}{after}"));
        format!("({plain} | {} {enclosed})", literal(open))
    }

    /// The terminal of a string of any text, within the bounds of its schema.
    pub(super) fn raw_string(&mut self, schema: &Value) -> String {
        let mut parts = Vec::new();
        // Of the constructs that begin with `(?`, only groups without a capture are supported.
        let is_plain = |pattern: &&str| pattern.split("(?").skip(1).all(|it| it.starts_with(':'));
        if let Some(pattern) = schema["pattern"].as_str().filter(is_plain) {
            let start = if pattern.starts_with('^') { "" } else { r"(.|\n)*" };
            let inner = pattern.strip_prefix('^').unwrap_or(pattern);
            let (inner, end) = match without_end_anchor(inner) {
                Some(inner) => (inner, ""),
                None => (inner, r"(.|\n)*"),
            };
            parts.push(regex_literal(&format!("{start}({inner}){end}")));
        }
        let length = |key: &str| schema[key].as_u64().filter(|length| *length <= MAX_LENGTH);
        let (min, max) = (length("minLength"), length("maxLength"));
        if min.is_some() || max.is_some() {
            let max = max.map_or(String::new(), |max| max.to_string());
            parts.push(format!(r"/(.|\n){{{},{max}}}/", min.unwrap_or(0)));
        }
        self.needs_text = true;
        if parts.is_empty() {
            return "TEXT".to_owned();
        }
        let name = format!("STRING_{}", self.num_rules);
        self.num_rules += 1;
        self.add(&format!("{name}: {}", parts.join(" & ")));
        name
    }
}

/// A pattern without the anchor at its end, if it has one. An escaped dollar is none.
fn without_end_anchor(pattern: &str) -> Option<&str> {
    let inner = pattern.strip_suffix('$')?;
    let num_backslashes = inner.len() - inner.trim_end_matches('\\').len();
    num_backslashes.is_multiple_of(2).then_some(inner)
}

pub(super) fn is_required(schema: &Value, key: &str) -> bool {
    schema["required"].as_array().is_some_and(|keys| keys.iter().any(|name| name == key))
}

/// A part of a schema with the definitions of the whole, to which it may refer.
fn with_definitions(schema: &Value, root: &Value) -> Value {
    let mut fields = schema.as_object().cloned().unwrap_or_else(Map::new);
    for name in ["$defs", "definitions"] {
        if let Some(definitions) = root.get(name) {
            fields.entry(name).or_insert_with(|| definitions.clone());
        }
    }
    Value::Object(fields)
}
