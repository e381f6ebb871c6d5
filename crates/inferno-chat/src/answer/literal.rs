//! Values as languages with quoted strings write them: Python, JSON, and objects whose strings are between tags.

use serde_json::{Map, Number, Value};

/// Levels of nesting; JSON parsers accept as many.
const MAX_DEPTH: usize = 127;

/// Finds the end of a literal, character by character.
#[derive(Debug, Default)]
pub(super) struct LiteralScanner {
    depth: usize,
    /// The quotation mark of the string that is being read.
    quote: Option<String>,
    is_escaped: bool,
    /// The last characters outside of strings, or inside of one.
    recent: String,
}

impl LiteralScanner {
    /// Whether the literal ended before this character, which is one of `ends`.
    pub(super) fn ends_before(&mut self, character: char, quote: &str, ends: [&str; 2]) -> bool {
        if self.quote.is_none() && self.depth == 0 && self.recent.is_empty() {
            let is_end = |end: &&str| end.trim().starts_with(character);
            if ends.iter().any(is_end) {
                return true;
            }
        }
        self.recent.push(character);
        match &self.quote {
            Some(open) if self.recent.ends_with(open.as_str()) && !self.is_escaped => {
                self.quote = None;
                self.recent.clear();
            }
            Some(open) => {
                self.is_escaped = open.len() == 1 && character == '\\' && !self.is_escaped;
            }
            None => self.outside(character, quote),
        }
        false
    }

    fn outside(&mut self, character: char, quote: &str) {
        let is_mark = matches!(character, '"' | '\'') && !quote.starts_with(self.recent.as_str());
        if self.recent == quote || is_mark {
            let mark = if is_mark { character.to_string() } else { quote.to_owned() };
            (self.quote, self.is_escaped) = (Some(mark), false);
            self.recent.clear();
        } else if !quote.starts_with(self.recent.as_str()) {
            match character {
                '(' | '[' | '{' => self.depth += 1,
                ')' | ']' | '}' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            self.recent.clear();
        }
    }
}

/// Reads a whole literal; `None` if it is none. `quote` encloses strings, next to the quotation marks of Python.
pub(super) fn parse_literal(text: &str, quote: &str) -> Option<Value> {
    let mut reader = Reader { rest: text, quote };
    let value = reader.value(0)?;
    reader.skip_blanks();
    reader.rest.is_empty().then_some(value)
}

struct Reader<'a> {
    rest: &'a str,
    quote: &'a str,
}

impl Reader<'_> {
    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn accept(&mut self, text: &str) -> bool {
        self.skip_blanks();
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        self.skip_blanks();
        if depth > MAX_DEPTH {
            return None;
        }
        match self.rest.chars().next()? {
            '{' => self.object(depth),
            '[' => self.list(("[", "]"), depth),
            '(' => self.list(("(", ")"), depth),
            _ => self.string().map(Value::String).or_else(|| self.word()),
        }
    }

    fn object(&mut self, depth: usize) -> Option<Value> {
        let mut members = Map::new();
        self.accept("{");
        while !self.accept("}") {
            let key = self.string().or_else(|| self.bare(&[':']).map(str::to_owned))?;
            if !self.accept(":") {
                return None;
            }
            members.insert(key, self.value(depth + 1)?);
            if !self.accept(",") && !self.rest.trim_start().starts_with('}') {
                return None;
            }
        }
        Some(Value::Object(members))
    }

    fn list(&mut self, (open, close): (&str, &str), depth: usize) -> Option<Value> {
        let mut items = Vec::new();
        self.accept(open);
        while !self.accept(close) {
            items.push(self.value(depth + 1)?);
            if !self.accept(",") && !self.rest.trim_start().starts_with(close) {
                return None;
            }
        }
        Some(Value::Array(items))
    }

    fn string(&mut self) -> Option<String> {
        self.skip_blanks();
        if self.quote.len() > 1 && self.accept(self.quote) {
            let (text, rest) = self.rest.split_once(self.quote)?;
            self.rest = rest;
            return Some(text.to_owned());
        }
        let mark = self.rest.chars().next().filter(|mark| matches!(mark, '"' | '\''))?;
        let mut is_escaped = false;
        let end = self.rest.char_indices().skip(1).find(|&(_, character)| {
            let is_end = character == mark && !is_escaped;
            is_escaped = character == '\\' && !is_escaped;
            is_end
        });
        let (end, _) = end?;
        let text = &self.rest[1..end];
        self.rest = &self.rest[end + 1..];
        Some(unescaped(text))
    }

    /// Text up to a delimiter.
    fn bare(&mut self, delimiters: &[char]) -> Option<&str> {
        self.skip_blanks();
        let end = self.rest.find(delimiters).unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(text.trim()).filter(|text| !text.is_empty())
    }

    fn word(&mut self) -> Option<Value> {
        match self.bare(&[',', ']', '}', ')', ':'])? {
            "True" | "true" => Some(Value::Bool(true)),
            "False" | "false" => Some(Value::Bool(false)),
            "None" | "null" => Some(Value::Null),
            word => word.parse::<Number>().ok().map(Value::Number),
        }
    }
}

/// The text of a string between its quotation marks. What is not escaped as in JSON remains as it is.
fn unescaped(text: &str) -> String {
    let mut json = String::from("\"");
    let mut is_escaped = false;
    for character in text.chars() {
        match character {
            '\'' if is_escaped => {
                json.pop();
                json.push(character);
            }
            '"' if !is_escaped => json.push_str("\\\""),
            '\n' => json.push_str("\\n"),
            '\r' => json.push_str("\\r"),
            '\t' => json.push_str("\\t"),
            character => json.push(character),
        }
        is_escaped = character == '\\' && !is_escaped;
    }
    json.push('"');
    serde_json::from_str(&json).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn literals_of_all_languages_are_read() {
        let tag = "<|\"|>";
        let cases = [
            ("True", "\"", json!(true)),
            ("None", "\"", json!(null)),
            (" -1.5e3 ", "\"", json!(-1500.0)),
            ("\"a\\n\\\"b\"", "\"", json!("a\n\"b")),
            ("'it\\'s \"x\"'", "\"", json!("it's \"x\"")),
            ("[1, 'a', {'b': False}, ()]", "\"", json!([1, "a", {"b": false}, []])),
            ("{a:<|\"|>x\\\"}y<|\"|>,b:[1,2]}", tag, json!({"a": "x\\\"}y", "b": [1, 2]})),
            ("<|\"|><|\"|>", tag, json!("")),
        ];
        for (text, quote, expected) in cases {
            assert_eq!(parse_literal(text, quote), Some(expected), "{text}");
        }
        for text in ["", "[1", "{\"a\"}", "word", "\"a", "1 2"] {
            assert_eq!(parse_literal(text, "\""), None, "{text}");
        }
        assert_eq!(parse_literal(&"[".repeat(100_000), "\""), None);
    }

    #[test]
    fn a_literal_ends_before_a_separator_outside_of_it() {
        for (text, quote) in [
            ("[1, 2]", "\""),
            ("\"a), \\\" b\"", "\""),
            ("{<|\"|>a<|\"|>:<|\"|>,)\"<|\"|>}", "<|\"|>"),
            ("'),\"'", "\""),
        ] {
            let mut scanner = LiteralScanner::default();
            let whole = format!("{text}, x");
            let end = whole
                .char_indices()
                .find(|&(_, character)| scanner.ends_before(character, quote, [",", ")"]));
            assert_eq!(end.map(|(at, _)| at), Some(text.len()), "{text}");
        }
    }
}
