//! The grammar of values in a language that quotes strings, such as Python.

use serde_json::{Value, json};

use super::parameters::{Item, is_required};
use super::{Rules, json as json_rule, literal};
use crate::Tool;
use crate::form::LiteralForm;
use crate::schema::{listed, resolved, types};

/// Levels of values in values whose schemas are enforced.
const MAX_DEPTH: usize = 8;
/// Most values in the schemas of an answer that are enforced: references and alternatives repeat them.
const MAX_VALUES: usize = 4000;
/// Most items of a list whose number is enforced.
const MAX_ITEMS: u64 = 100;

impl Rules<'_> {
    /// A value that matches a schema.
    pub(super) fn literal_value(
        &mut self,
        form: &LiteralForm,
        schema: &Value,
        tool: &Tool,
        depth: usize,
    ) -> String {
        let schema = resolved(schema, &tool.parameters);
        let parts =
            ["enum", "anyOf", "oneOf"].map(|key| schema[key].as_array().map_or(0, Vec::len));
        let num_properties = schema["properties"].as_object().map_or(0, serde_json::Map::len);
        self.num_values += 1 + parts.iter().sum::<usize>() + num_properties;
        if depth > MAX_DEPTH || self.num_values > MAX_VALUES {
            return self.any_literal(form, tool);
        }
        if let Some(values) = listed(schema) {
            let texts = values.iter().map(|value| self.marked(&form.write(value)));
            return format!("({})", texts.collect::<Vec<_>>().join(" | "));
        }
        if let Some(options) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
            let options =
                options.iter().map(|schema| self.literal_value(form, schema, tool, depth + 1));
            let options: Vec<_> = options.collect();
            return format!("({})", options.join(" | "));
        }
        let Some(names) = types(schema, &tool.parameters) else {
            return self.any_literal(form, tool);
        };
        self.literal_of_types(form, schema, tool, depth, &names)
    }

    fn literal_of_types(
        &mut self,
        form: &LiteralForm,
        schema: &Value,
        tool: &Tool,
        depth: usize,
        names: &[&str],
    ) -> String {
        let options = names.iter().map(|name| match *name {
            "string" => self.literal_string(form, schema, tool),
            "object" => self.literal_object(form, schema, tool, depth),
            "array" => self.literal_list(form, schema, tool, depth),
            "boolean" => format!("({} | {})", literal(form.word(true)), literal(form.word(false))),
            "null" => literal(form.null()),
            name => {
                let mut number = schema.clone();
                number["type"] = json!(name);
                let rule = json_rule(&number, tool.strict);
                self.named("number", &rule)
            }
        });
        let options: Vec<_> = options.collect();
        format!("({})", options.join(" | "))
    }

    fn literal_string(&mut self, form: &LiteralForm, schema: &Value, tool: &Tool) -> String {
        if form.quote == "\"" {
            let mut string = schema.clone();
            string["type"] = json!("string");
            let rule = json_rule(&string, tool.strict);
            return self.named("string", &rule);
        }
        let quote = self.marked(&form.quote);
        let terminal = self.raw_string(schema);
        if terminal == "TEXT" && form.quote == "'" {
            // As the reader of answers does, it takes an escaped quotation mark for a part of the text.
            let text = self.named("string", r"/([^'\\]|\\(.|\n))*'/");
            return format!("{quote} {text}");
        }
        let text = self.up_to("string", &terminal, &form.quote);
        format!("{quote} {text}")
    }

    fn literal_list(
        &mut self,
        form: &LiteralForm,
        schema: &Value,
        tool: &Tool,
        depth: usize,
    ) -> String {
        let item = self.literal_value(form, &schema["items"], tool, depth + 1);
        let item = self.named("item", &item);
        let bound = |key: &str| schema[key].as_u64().filter(|bound| *bound <= MAX_ITEMS);
        let (min, max) = (bound("minItems").unwrap_or(0), bound("maxItems"));
        let more = max.map_or(String::new(), |max| max.saturating_sub(1).to_string());
        let separator = literal(form.separator());
        let items = format!("{item} ({separator} {item}){{{},{more}}}", min.saturating_sub(1));
        match (min, max) {
            (_, Some(0)) => "\"[]\"".to_owned(),
            (0, _) => format!("\"[\" ({items})? \"]\""),
            _ => format!("\"[\" {items} \"]\""),
        }
    }

    fn literal_object(
        &mut self,
        form: &LiteralForm,
        schema: &Value,
        tool: &Tool,
        depth: usize,
    ) -> String {
        let separator = literal(form.separator());
        let Some(properties) = schema["properties"].as_object() else {
            let value = self.literal_value(form, &schema["additionalProperties"], tool, depth + 1);
            let quote = if form.quotes_keys { self.marked(&form.quote) } else { String::new() };
            let colon = literal(form.colon());
            let member = format!("{quote} /[a-zA-Z_][a-zA-Z0-9_]*/ {quote} {colon} {value}");
            let member = self.named("member", &member);
            return format!("\"{{\" ({member} ({separator} {member})*)? \"}}\"");
        };
        let mut items = Vec::new();
        for (key, property) in properties {
            let key_text = if form.quotes_keys { form.quoted(key) } else { key.clone() };
            let head = self.marked(&format!("{key_text}{}", form.colon()));
            let value = self.literal_value(form, property, tool, depth + 1);
            let rule = self.named("member", &format!("{head} {value}"));
            items.push(Item { rule, is_required: is_required(schema, key) });
        }
        format!("\"{{\" {} \"}}\"", self.sequence(&items, &separator))
    }

    /// Any value: a constant, a number, or a string.
    fn any_literal(&mut self, form: &LiteralForm, tool: &Tool) -> String {
        if self.any_literal.is_none() {
            let names = ["string", "number", "boolean", "null"];
            let value = self.literal_of_types(form, &json!({}), tool, MAX_DEPTH, &names);
            self.any_literal = Some(self.named("any", &value));
        }
        self.any_literal.clone().unwrap_or_default()
    }
}
