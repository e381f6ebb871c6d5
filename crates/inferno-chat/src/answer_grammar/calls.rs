//! The grammar of tool calls.

use serde_json::Value;

use super::{Rules, json};
use crate::form::{ARGUMENTS, ArgumentForm, CallForm, Head, ID, INDEX, NAME};
use crate::{Tool, Tools};

impl Rules<'_> {
    /// Adds the rules of one or more calls with their delimiters, and returns the name of the rule.
    ///
    /// The rule `call` is one call without the text before its object or name, and `more_calls` all that follows the first.
    pub(super) fn calls(&mut self, tools: &Tools) -> String {
        let form = self.form.calls.as_ref();
        let names: Vec<_> = tools.callable().map(|tool| self.call(form, tool)).collect();
        self.add(&format!("call: {}", names.join(" | ")));
        let next = self.with_words(&format!("{}{}", form.separator, form.before()));
        let more = match tools.single {
            true => String::new(),
            false => format!("({next} call)*"),
        };
        // Rules must not be empty.
        let close = self.marked(&form.close);
        self.add(&format!("more_calls: ({more} {close} \"\")"));
        let open = self.with_words(&format!("{}{}", form.open, form.before()));
        self.add(&format!("calls: {open} call more_calls"));
        "calls".to_owned()
    }

    /// Adds the rule of a call without the text before its object or name, and returns its name.
    fn call(&mut self, form: &CallForm, tool: &Tool) -> String {
        let arguments = self.arguments(form, tool);
        let name = match form.head() {
            Head::Text => tool.name.clone(),
            Head::Object { .. } | Head::Member => {
                let quoted = Value::from(tool.name.as_str()).to_string();
                quoted[1..quoted.len() - 1].to_owned()
            }
        };
        let call = form.call[form.before().len()..].replace(NAME, &name);
        let parts: Vec<_> = call.split(ARGUMENTS).map(|text| self.with_words(text)).collect();
        self.named("call", &parts.join(&format!(" {arguments} ")))
    }

    /// A text in which placeholders represent ids and numbers; empty for the empty text.
    pub(super) fn with_words(&self, text: &str) -> String {
        let mut parts = Vec::new();
        for part in text.split_inclusive([ID, INDEX]) {
            let (text, word) = match part.chars().next_back() {
                Some(ID) => (part.strip_suffix(ID), "/[a-zA-Z0-9]{9}/"),
                Some(INDEX) => (part.strip_suffix(INDEX), "/[0-9]{1,3}/"),
                _ => (None, ""),
            };
            parts.push(self.marked(text.unwrap_or(part)));
            parts.push(word.to_owned());
        }
        parts.retain(|part| !part.is_empty());
        parts.join(" ")
    }

    /// Adds the rule of a tool's arguments, and returns its name.
    pub(super) fn arguments(&mut self, form: &CallForm, tool: &Tool) -> String {
        match &form.arguments {
            ArgumentForm::Json => self.named("arguments", &json(&tool.parameters, tool.strict)),
            ArgumentForm::Parameters(parameters) => self.parameters(parameters, tool),
        }
    }
}
