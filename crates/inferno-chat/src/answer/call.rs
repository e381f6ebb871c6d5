//! Incremental parsing of one tool call.

use serde_json::{Map, Value};

use super::ToolCallRules;
use super::calls::after_character;
use super::parameters::ParameterReader;
use crate::form::{ARGUMENTS, ArgumentForm, Head, NAME, compact};

/// Longest text between a name and its arguments, in bytes.
const MAX_MIDDLE_LEN: usize = 256;

/// The usual keys of a call's object, which models write for others.
const NAME_KEY: &str = "name";
const ARGUMENTS_KEY: &str = "arguments";
const PARAMETERS_KEY: &str = "parameters";

/// Parses one tool call, character by character. Arguments in JSON are passed on as they come, verbatim.
#[derive(Debug)]
pub(super) struct CallScanner {
    rules: ToolCallRules,
    /// Everything that was read, including the opening delimiter.
    raw: String,
    place: Place,
    /// What is left of the text before the call, without whitespace.
    lead: String,
    /// The key that is being read, or whose value is.
    key: String,
    /// The value that is being read.
    value: String,
    nesting: Nesting,
    /// The tool that is called, by its index in the rules.
    tool: Option<usize>,
    /// Reads arguments that are parameters.
    parameters: Option<ParameterReader>,
    has_arguments: bool,
    /// Whether the name was returned.
    is_named: bool,
    arguments: String,
}

/// The effect of a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallEvent {
    Incomplete,
    /// The call ends with it.
    Complete,
    /// This is not a call.
    Malformed,
}

/// The position of the next character in the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In the text before the call.
    Lead,
    /// Before the object.
    Before,
    /// Before a key or the end of the object.
    BeforeKey,
    Key,
    /// Before the colon.
    AfterKey,
    BeforeValue,
    Value,
    /// Before a comma or the end of the object.
    AfterValue,
    /// Inside a name before the arguments.
    Name,
    /// Between the name and the arguments.
    Middle,
    /// Inside arguments that are parameters.
    Parameters,
}

/// Finds the end of a JSON value.
#[derive(Debug, Default)]
struct Nesting {
    depth: usize,
    in_string: bool,
    is_escaped: bool,
    /// Neither a string nor in brackets: the value ends before the next delimiter.
    is_bare: bool,
}

impl Nesting {
    /// Whether the value ends with this character.
    fn ends_with(&mut self, character: char, is_first: bool) -> bool {
        if self.in_string {
            match character {
                _ if self.is_escaped => self.is_escaped = false,
                '\\' => self.is_escaped = true,
                '"' => self.in_string = false,
                _ => {}
            }
            return !self.in_string && self.depth == 0;
        }
        match character {
            '"' => self.in_string = true,
            '{' | '[' => self.depth += 1,
            '}' | ']' => {
                self.depth = self.depth.saturating_sub(1);
                return self.depth == 0;
            }
            _ if is_first => self.is_bare = true,
            _ => {}
        }
        false
    }
}

impl CallScanner {
    /// Starts parsing a call after the text `opening`, with this text to come before the call.
    pub(super) fn new(rules: ToolCallRules, opening: String, lead: &str) -> Self {
        let lead = compact(lead);
        let mut scanner = Self {
            rules,
            raw: opening,
            place: Place::Lead,
            lead,
            key: String::new(),
            value: String::new(),
            nesting: Nesting::default(),
            tool: None,
            parameters: None,
            has_arguments: false,
            is_named: false,
            arguments: String::new(),
        };
        if scanner.lead.is_empty() {
            scanner.begin();
        }
        scanner
    }

    /// Starts parsing the arguments of a tool whose name was in the text `opening`; `None` if there is no such tool.
    pub(super) fn with_name(rules: ToolCallRules, opening: String, name: &str) -> Option<Self> {
        let mut scanner = Self::new(rules, opening, "");
        (scanner.set_name(name) == CallEvent::Incomplete).then(|| {
            scanner.place = Place::Middle;
            scanner
        })
    }

    fn begin(&mut self) {
        self.place =
            if *self.rules.form.head() == Head::Text { Place::Name } else { Place::Before };
    }

    /// Everything that was read, including the opening delimiter.
    pub(super) fn raw(&self) -> &str {
        &self.raw
    }

    /// Whether the name was returned, so that this cannot become content again.
    pub(super) fn is_named(&self) -> bool {
        self.is_named
    }

    /// Returns the name, once, as soon as this is certainly a call: an object with a name but without arguments may be
    /// anything.
    pub(super) fn take_name(&mut self) -> Option<String> {
        let tool = self.tool.filter(|_| !self.is_named && self.has_arguments)?;
        self.is_named = true;
        Some(self.rules.tools[tool].name.clone())
    }

    /// Returns the arguments that were read since the last call.
    pub(super) fn take_arguments(&mut self) -> String {
        std::mem::take(&mut self.arguments)
    }

    pub(super) fn push(&mut self, character: char) -> CallEvent {
        self.raw.push(character);
        let is_blank = character.is_whitespace();
        match (self.place, character) {
            (Place::Lead, character) => match after_character(&self.lead, character) {
                Some(lead) => {
                    self.lead = lead.to_owned();
                    if self.lead.is_empty() {
                        self.begin();
                    }
                }
                None => return CallEvent::Malformed,
            },
            (Place::Name, character) => return self.in_name(character),
            (Place::Middle, '{') => {
                self.key = ARGUMENTS_KEY.to_owned();
                return self.begin_value(character);
            }
            (Place::Middle, character) => {
                self.value.push(character);
                if self.value.len() > MAX_MIDDLE_LEN {
                    return CallEvent::Malformed;
                }
            }
            (Place::Parameters, character) => return self.in_parameters(character),
            (Place::Value, character) => return self.in_value(character),
            (Place::Key, '"') => {
                self.place = Place::AfterKey;
                if *self.rules.form.head() == Head::Member {
                    let name = std::mem::replace(&mut self.key, ARGUMENTS_KEY.to_owned());
                    return self.set_name(&name);
                }
            }
            // The relevant keys contain no escapes.
            (Place::Key, character) => self.key.push(character),
            (_, _) if is_blank => {}
            (Place::Before, '{') => self.place = Place::BeforeKey,
            (Place::BeforeKey, '"') => {
                self.key.clear();
                self.place = Place::Key;
            }
            (Place::AfterKey, ':') => self.place = Place::BeforeValue,
            (Place::BeforeValue, character) => return self.begin_value(character),
            (Place::AfterValue, ',') => self.place = Place::BeforeKey,
            (Place::AfterValue, '}') => return self.end(),
            _ => return CallEvent::Malformed,
        }
        CallEvent::Incomplete
    }

    /// Reads a name in text, up to a character that begins what follows it.
    fn in_name(&mut self, character: char) -> CallEvent {
        let form = &self.rules.form;
        let middle = form.call.split([NAME, ARGUMENTS]).nth(1).unwrap_or_default();
        let next = match &form.arguments {
            ArgumentForm::Json => middle.trim_start(),
            ArgumentForm::Parameters(parameters) => parameters.open.trim_start(),
        };
        let is_end = character.is_whitespace()
            || matches!(character, '{' | '[' | '<')
            || next.starts_with(character);
        if !is_end {
            self.value.push(character);
            return CallEvent::Incomplete;
        }
        if self.value.is_empty() && character.is_whitespace() {
            return CallEvent::Incomplete;
        }
        let name = std::mem::take(&mut self.value);
        if self.set_name(&name) == CallEvent::Malformed {
            return CallEvent::Malformed;
        }
        self.raw.pop();
        self.place = if self.parameters.is_some() { Place::Parameters } else { Place::Middle };
        self.push(character)
    }

    fn in_parameters(&mut self, character: char) -> CallEvent {
        let Some(parameters) = &mut self.parameters else { return CallEvent::Malformed };
        let event = parameters.push(character, &mut self.arguments);
        self.has_arguments |= parameters.has_begun();
        event
    }

    fn set_name(&mut self, name: &str) -> CallEvent {
        let tool = self.rules.tools.iter().position(|tool| tool.name == name);
        if self.tool.is_some() || tool.is_none() {
            return CallEvent::Malformed;
        }
        self.tool = tool;
        if let (ArgumentForm::Parameters(form), Some(tool)) = (&self.rules.form.arguments, tool) {
            let schema = &self.rules.tools[tool].parameters;
            self.parameters = Some(ParameterReader::new(form, schema));
        }
        CallEvent::Incomplete
    }

    fn is_arguments(&self) -> bool {
        let key = match self.rules.form.head() {
            Head::Object { arguments_key, .. } => arguments_key,
            Head::Member | Head::Text => ARGUMENTS_KEY,
        };
        [key, ARGUMENTS_KEY, PARAMETERS_KEY].contains(&self.key.as_str())
    }

    fn is_name(&self) -> bool {
        match self.rules.form.head() {
            Head::Object { name_key, .. } => self.key == *name_key || self.key == NAME_KEY,
            Head::Member | Head::Text => false,
        }
    }

    fn begin_value(&mut self, first: char) -> CallEvent {
        if self.is_arguments() {
            if !matches!(first, '{' | '"') {
                return CallEvent::Malformed;
            }
            // A string is only known to contain arguments at its end.
            self.has_arguments = first == '{';
        }
        self.nesting = Nesting::default();
        self.value.clear();
        self.place = Place::Value;
        self.take_in_value(first, true)
    }

    fn in_value(&mut self, character: char) -> CallEvent {
        if self.nesting.is_bare && matches!(character, ',' | '}' | ']') {
            self.raw.pop();
            self.place = Place::AfterValue;
            return self.push(character);
        }
        self.take_in_value(character, false)
    }

    fn take_in_value(&mut self, character: char, is_first: bool) -> CallEvent {
        let ends = self.nesting.ends_with(character, is_first);
        self.value.push(character);
        // An object of arguments is passed on as it comes; a string that contains one is decoded at its end.
        if self.is_arguments() && self.value.starts_with('{') {
            self.arguments.push(character);
        }
        if !ends {
            return CallEvent::Incomplete;
        }
        self.place = Place::AfterValue;
        if self.is_name() {
            return match serde_json::from_str::<String>(&self.value) {
                Ok(name) => self.set_name(&name),
                Err(_) => CallEvent::Malformed,
            };
        }
        if self.is_arguments() && self.value.starts_with('"') {
            let Some(arguments) = arguments_in_string(&self.value) else {
                return CallEvent::Malformed;
            };
            self.arguments.push_str(&arguments);
            self.has_arguments = true;
        }
        match self.rules.form.head() {
            Head::Text => CallEvent::Complete,
            Head::Object { .. } | Head::Member => CallEvent::Incomplete,
        }
    }

    fn end(&self) -> CallEvent {
        if self.tool.is_some() && self.has_arguments {
            CallEvent::Complete
        } else {
            CallEvent::Malformed
        }
    }
}

/// The arguments in a JSON string: an object, or nothing for no arguments; `None` if it contains anything else.
fn arguments_in_string(json: &str) -> Option<String> {
    let text: String = serde_json::from_str(json).ok()?;
    match text.trim().is_empty() {
        true => Some("{}".to_owned()),
        false => serde_json::from_str::<Map<String, Value>>(&text).is_ok().then_some(text),
    }
}
