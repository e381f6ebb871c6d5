//! Reads one call as it comes: a JSON object with a name and arguments, or a name and a JSON object.

use super::{CallRules, ToolForm};

/// Reads one call, character by character. Arguments are told as they come, letter for letter.
#[derive(Debug)]
pub(super) struct CallScanner {
    rules: CallRules,
    /// All that was read, and what stood before it.
    raw: String,
    place: Place,
    /// The key that is read, or whose value is.
    key: String,
    /// The value that is read, where it is not told as it comes.
    value: String,
    nesting: Nesting,
    /// That of a tool that may be called.
    name: Option<String>,
    has_arguments: bool,
    /// Whether the name was taken.
    is_told: bool,
    arguments: String,
}

/// What a character did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallEvent {
    GoesOn,
    /// The call ends with it.
    Complete,
    /// This is no call.
    Malformed,
}

/// Where in the object the next character stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before the object.
    Before,
    /// Before a key, or the object's end.
    BeforeKey,
    Key,
    /// Before the colon.
    AfterKey,
    BeforeValue,
    Value,
    /// Before a comma, or the object's end.
    AfterValue,
    /// Within a name that stands before the arguments.
    Name,
}

/// Where a JSON value ends.
#[derive(Debug, Default)]
struct Nesting {
    depth: usize,
    in_string: bool,
    is_escaped: bool,
    /// Neither a string nor in brackets: it ends before what follows.
    is_bare: bool,
}

impl Nesting {
    /// Whether the value ends with this character, its first or a further one.
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
    /// For a call that these rules allow, after the text that begins it.
    pub fn new(rules: CallRules, opening: String) -> Self {
        let place = if rules.form == ToolForm::MistralArgs { Place::Name } else { Place::Before };
        Self {
            rules,
            raw: opening,
            place,
            key: String::new(),
            value: String::new(),
            nesting: Nesting::default(),
            name: None,
            has_arguments: false,
            is_told: false,
            arguments: String::new(),
        }
    }

    /// All that was read, and what stood before it.
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// Whether the name was taken: there is no way back to text.
    pub fn is_told(&self) -> bool {
        self.is_told
    }

    /// The name, once, when this is known to be a call: an object that only has a name may be any.
    pub fn take_name(&mut self) -> Option<String> {
        if self.is_told || !self.has_arguments {
            return None;
        }
        self.is_told = self.name.is_some();
        self.name.clone()
    }

    /// The arguments that came since the last time.
    pub fn take_arguments(&mut self) -> String {
        std::mem::take(&mut self.arguments)
    }

    pub fn push(&mut self, character: char) -> CallEvent {
        self.raw.push(character);
        let is_blank = character.is_ascii_whitespace();
        match (self.place, character) {
            (Place::Name, '{') => {
                let name = self.value.split('[').next().unwrap_or_default().trim().to_owned();
                if self.set_name(name) == CallEvent::Malformed {
                    return CallEvent::Malformed;
                }
                self.key = self.rules.form.arguments_key().to_owned();
                return self.begin_value(character);
            }
            (Place::Name, character) => self.value.push(character),
            (Place::Value, character) => return self.in_value(character),
            (Place::Key, '"') => self.place = Place::AfterKey,
            // Keys that are looked for hold no escapes.
            (Place::Key, character) => self.key.push(character),
            (_, _) if is_blank => {}
            (Place::Before, '{') => self.place = Place::BeforeKey,
            (Place::Before, '[' | ',') if self.rules.form == ToolForm::Mistral => {}
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
        CallEvent::GoesOn
    }

    fn set_name(&mut self, name: String) -> CallEvent {
        if self.name.is_some() || !self.rules.names.contains(&name) {
            return CallEvent::Malformed;
        }
        self.name = Some(name);
        CallEvent::GoesOn
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
        // An object of arguments is told as it comes; a string that holds one is known at its end.
        if self.is_arguments() && self.value.starts_with('{') {
            self.arguments.push(character);
        }
        if !ends {
            return CallEvent::GoesOn;
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
            _ if self.rules.form == ToolForm::MistralArgs => return CallEvent::Complete,
            _ => {}
        }
        CallEvent::GoesOn
    }

    fn end(&self) -> CallEvent {
        if self.is_told { CallEvent::Complete } else { CallEvent::Malformed }
    }
}
