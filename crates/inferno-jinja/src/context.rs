//! The variables that a template is rendered with.

use serde_json::Value as Json;

use crate::functions::Clock;
use crate::value::Value;

/// The variables of one rendering, and what `strftime_now` returns.
#[derive(Debug, Default)]
pub struct Context {
    pub(crate) variables: Vec<(String, Value)>,
    pub(crate) clock: Clock,
}

impl Context {
    /// A context without variables; `strftime_now` reads the local time.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a variable; a later value replaces an earlier one.
    pub fn set(&mut self, name: impl Into<String>, value: &Json) {
        self.variables.push((name.into(), Value::from_json(value)));
    }

    /// Sets a variable to a string.
    pub fn set_text(&mut self, name: impl Into<String>, text: &str) {
        self.variables.push((name.into(), Value::from(text)));
    }

    /// Sets a variable to a list.
    pub fn set_list(&mut self, name: impl Into<String>, items: &[Json]) {
        self.variables.push((name.into(), Value::from_json_list(items)));
    }

    /// Makes `strftime_now` return this text for every format, so that renderings are repeatable.
    pub fn fix_time(&mut self, text: impl Into<String>) {
        self.clock = Clock::Fixed(text.into());
    }
}
