//! Incremental parsing of one tool call: a JSON object with a name and arguments, or a name and a JSON object.

use super::{ToolCallFormat, ToolCallRules};

/// Parses one tool call, character by character. Arguments are passed on as they come, verbatim.
#[derive(Debug)]
pub(super) struct CallScanner {
    rules: ToolCallRules,
    /// Everything that was read, including the opening delimiter.
    raw: String,
    place: Place,
    /// The key that is being read, or whose value is.
    key: String,
    /// The value that is being read.
    value: String,
    nesting: Nesting,
    /// The name of a tool that may be called.
    name: Option<String>,
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
    /// Creates a scanner for a call after its opening text.
    pub(super) fn new(rules: ToolCallRules, opening: String) -> Self {
        let place =
            if rules.format == ToolCallFormat::MistralArgs { Place::Name } else { Place::Before };
        Self {
            rules,
            raw: opening,
            place,
            key: String::new(),
            value: String::new(),
            nesting: Nesting::default(),
            name: None,
            has_arguments: false,
            is_named: false,
            arguments: String::new(),
        }
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
        if self.is_named || !self.has_arguments {
            return None;
        }
        self.is_named = self.name.is_some();
        self.name.clone()
    }

    /// Returns the arguments that were read since the last call.
    pub(super) fn take_arguments(&mut self) -> String {
        std::mem::take(&mut self.arguments)
    }

    pub(super) fn push(&mut self, character: char) -> CallEvent {
        self.raw.push(character);
        let is_blank = character.is_ascii_whitespace();
        match (self.place, character) {
            (Place::Name, '{') => {
                let name = self.value.split('[').next().unwrap_or_default().trim().to_owned();
                if self.set_name(name) == CallEvent::Malformed {
                    return CallEvent::Malformed;
                }
                self.key = self.rules.format.arguments_key().to_owned();
                return self.begin_value(character);
            }
            (Place::Name, character) => self.value.push(character),
            (Place::Value, character) => return self.in_value(character),
            (Place::Key, '"') => self.place = Place::AfterKey,
            // The relevant keys contain no escapes.
            (Place::Key, character) => self.key.push(character),
            (_, _) if is_blank => {}
            (Place::Before, '{') => self.place = Place::BeforeKey,
            (Place::Before, '[' | ',') if self.rules.format == ToolCallFormat::Mistral => {}
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

    fn set_name(&mut self, name: String) -> CallEvent {
        if self.name.is_some() || !self.rules.names.contains(&name) {
            return CallEvent::Malformed;
        }
        self.name = Some(name);
        CallEvent::Incomplete
    }

    fn is_arguments(&self) -> bool {
        self.key == "arguments" || self.key == "parameters"
    }

    fn begin_value(&mut self, first: char) -> CallEvent {
        if self.is_arguments() {
            if !matches!(first, '{' | '"') {
                return CallEvent::Malformed;
            }
            self.has_arguments = true;
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
        match self.key.as_str() {
            "name" => match serde_json::from_str::<String>(&self.value) {
                Ok(name) => return self.set_name(name),
                Err(_) => return CallEvent::Malformed,
            },
            _ if self.is_arguments() && self.value.starts_with('"') => {
                match serde_json::from_str::<String>(&self.value) {
                    Ok(text) => self.arguments.push_str(&text),
                    Err(_) => return CallEvent::Malformed,
                }
            }
            _ if self.rules.format == ToolCallFormat::MistralArgs => return CallEvent::Complete,
            _ => {}
        }
        CallEvent::Incomplete
    }

    fn end(&self) -> CallEvent {
        if self.is_named { CallEvent::Complete } else { CallEvent::Malformed }
    }
}
