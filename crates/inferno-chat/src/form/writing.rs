//! Writing calls in a form, for templates that write none.

use serde_json::Value;

use super::{ARGUMENTS, ArgumentForm, CallForm, ID, INDEX, KEY, LiteralForm, NAME, ParameterForm};

impl CallForm {
    /// A list of calls, each a name and its arguments.
    pub(crate) fn write(&self, calls: &[(&str, &Value)]) -> String {
        let calls: Vec<_> = calls
            .iter()
            .enumerate()
            .map(|(index, (name, arguments))| {
                let arguments = match &self.arguments {
                    ArgumentForm::Json => arguments.to_string(),
                    ArgumentForm::Parameters(form) => form.write(arguments),
                };
                let call = self.call.replace(NAME, name).replace(INDEX, &index.to_string());
                call.replace(ID, &format!("{index:09}")).replace(ARGUMENTS, &arguments)
            })
            .collect();
        format!("{}{}{}", self.open, calls.join(&self.separator), self.close)
    }
}

impl ParameterForm {
    fn write(&self, arguments: &Value) -> String {
        let members = arguments.as_object().into_iter().flatten();
        let parameters: Vec<_> = members
            .map(|(key, value)| {
                let is_string = value.is_string();
                let value = match (&self.literals, value) {
                    (Some(literals), value) => literals.write(value),
                    (None, Value::String(text)) => text.clone(),
                    (None, value) => value.to_string(),
                };
                let before_value = if is_string { &self.before_value } else { &self.before_other };
                let after_value = self.after_value.replace(KEY, key);
                format!("{}{key}{before_value}{value}{after_value}", self.before_key)
            })
            .collect();
        format!("{}{}{}", self.open, parameters.join(&self.separator), self.close)
    }
}

impl LiteralForm {
    /// The text of a value.
    pub(crate) fn write(&self, value: &Value) -> String {
        match value {
            Value::Null => self.null().to_owned(),
            Value::Bool(value) => self.word(*value).to_owned(),
            Value::Number(number) => number.to_string(),
            Value::String(text) => self.quoted(text),
            Value::Array(values) => {
                let values: Vec<_> = values.iter().map(|value| self.write(value)).collect();
                format!("[{}]", values.join(self.separator()))
            }
            Value::Object(members) => {
                let members = members.iter().map(|(key, value)| {
                    let key = if self.quotes_keys { self.quoted(key) } else { key.clone() };
                    format!("{key}{}{}", self.colon(), self.write(value))
                });
                format!("{{{}}}", members.collect::<Vec<_>>().join(self.separator()))
            }
        }
    }

    /// A string in quotation marks.
    pub(crate) fn quoted(&self, text: &str) -> String {
        match self.quote.as_str() {
            "\"" => Value::from(text).to_string(),
            "'" => format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'")),
            tag => format!("{tag}{text}{tag}"),
        }
    }

    pub(crate) fn word(&self, value: bool) -> &'static str {
        match (self.is_python, value) {
            (true, true) => "True",
            (true, false) => "False",
            (false, true) => "true",
            (false, false) => "false",
        }
    }

    pub(crate) fn null(&self) -> &'static str {
        if self.is_python { "None" } else { "null" }
    }

    /// The text between items.
    pub(crate) fn separator(&self) -> &'static str {
        if self.is_python { ", " } else { "," }
    }

    /// The text between keys and values.
    pub(crate) fn colon(&self) -> &'static str {
        if self.is_python { ": " } else { ":" }
    }
}
