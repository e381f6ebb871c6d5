//! The grammar of tool calls.

use super::{Rules, json, literal, regex_of};
use crate::form::{ARGUMENTS, ArgumentForm, CallForm, CallOpening, ID, INDEX, NAME};
use crate::{Tool, Tools};

impl Rules<'_> {
    /// Adds the rules of one or more calls with their delimiters, and returns the name of the rule.
    ///
    /// The rule `call` is one call without the text before its object or name, and `more_calls` all that follows the first.
    pub(super) fn calls(&mut self, tools: &Tools) -> String {
        let form = self.form.calls.as_ref();
        let calls: Vec<_> = tools.callable().map(|tool| self.call(form, tool)).collect();
        self.add(&format!("call: {}", calls.join(" | ")));
        let next = self.with_words(&format!("{}{}", form.separator, form.before()));
        let more = match tools.single {
            true => String::new(),
            false => format!("({next} call)*"),
        };
        // Rules must not be empty.
        let close = self.marked(&form.close);
        self.add(&format!("more_calls: ({more} {close} \"\")"));
        let open = self.with_words(&format!("{}{}", form.open, form.before()));
        let optional = if form.optional_open { "?" } else { "" };
        let open = if open.is_empty() { open } else { format!("({open}){optional}") };
        self.add(&format!("calls: {open} call more_calls"));
        "calls".to_owned()
    }

    /// A call without the text before its object or name.
    fn call(&mut self, form: &CallForm, tool: &Tool) -> String {
        let arguments = self.arguments(form, tool);
        let name = form.written_name(&tool.name);
        let call = &form.call[form.before().len()..];
        let rule = |rules: &Self, text: &str| {
            let parts: Vec<_> = text.split(ARGUMENTS).map(|text| rules.with_words(text)).collect();
            parts.join(&format!(" {arguments} "))
        };
        match call.split_once(NAME) {
            Some((before, after)) if !before.contains(ARGUMENTS) => {
                let after = rule(self, after);
                let text = self.with_words(&format!("{before}{name}"));
                self.after_names.push((name, after.clone()));
                format!("{text} {after}")
            }
            _ => rule(self, &call.replace(NAME, &name)),
        }
    }

    /// The rule of text up to the opening of a call and the name of a tool, and the rest of that call; `None` if names do not
    /// come first. [`AnswerParser`](crate::AnswerParser) finds calls in the same way.
    fn opened_calls(&mut self) -> Option<String> {
        let form = self.form.calls.as_ref();
        // The opening ends with the inner one, if there is one.
        let opening = form.inner_opening().or_else(|| form.opening())?;
        let begins_line = opening.begins_line();
        let CallOpening { tag, rest, .. } = opening;
        if self.opened_calls.is_some() {
            return self.opened_calls.clone();
        }
        let before = match begins_line {
            true => r"((.|\n)*\n)?[ \t]*",
            false => r"(.|\n)*",
        };
        let opening = format!(r"{before}{}{}\s*", regex_of(&tag), loosely(&rest));
        let mut calls = Vec::new();
        for (name, after) in self.after_names.clone() {
            // The text ends with the shortest name.
            if self.after_names.iter().any(|(it, _)| *it != name && name.starts_with(it)) {
                continue;
            }
            let longer = self.after_names.iter().filter_map(|(other, after)| {
                let rest = other.strip_prefix(name.as_str()).filter(|rest| !rest.is_empty())?;
                Some(format!("{} {after}", literal(rest)))
            });
            let rests: Vec<_> = [after].into_iter().chain(longer).collect();
            let begun = format!("opened_{}", self.num_rules);
            self.num_rules += 1;
            self.add(&format!("{begun}[lazy]: /{opening}{}/", regex_of(&name)));
            calls.push(format!("{begun} ({})", rests.join(" | ")));
        }
        self.needs_text = true;
        self.opened_calls = (!calls.is_empty()).then(|| self.named("opened", &calls.join(" | ")));
        self.opened_calls.clone()
    }

    /// The rule of text up to a call without a trigger, and that call; `None` if there are none.
    pub(super) fn calls_in_text(&mut self) -> Option<String> {
        self.form.calls.inner_opening().and_then(|_| self.opened_calls())
    }

    /// The rule of reasoning that a call ends, with this call; `None` if there are none.
    pub(super) fn calls_in_reasoning(&mut self) -> Option<String> {
        let spelled = self.opened_calls()?;
        let form = self.form.calls.as_ref();
        // A trigger that is a token of its own may also be spelled out.
        Some(match form.opening().filter(|it| self.is_control(&it.tag)) {
            Some(_) => {
                let open = self.with_words(&format!("{}{}", form.open, form.before()));
                format!("({spelled} | TEXT {open} call)")
            }
            None => spelled,
        })
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

/// A regular expression of a text with whitespace anywhere, in which placeholders represent words.
fn loosely(text: &str) -> String {
    let character = |character: char| match character {
        ID | INDEX => r"[\w.\-\s]*".to_owned(),
        character => format!(r"\s*{}", regex_of(&character.to_string())),
    };
    text.chars().map(character).collect()
}
