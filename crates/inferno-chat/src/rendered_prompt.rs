//! Rendered prompts in which the contents of messages cannot act as control tokens.
//!
//! A user, a document or the result of a tool may contain the text of a control token such as `<|im_end|>`. Parsed as that
//! token, it would end the message and begin another one in the name of anybody. So the prompt remembers which of its
//! characters come from contents, and control tokens are parsed only outside of them.
//!
//! Templates trim, quote and compare contents, so that places cannot be computed. Instead, the characters that control
//! tokens begin or end with are replaced in the contents by as many private ones, before rendering, and put back in the result.
//! If that result differs from a normal rendering, because the template looks for such characters itself, only those of
//! complete control tokens are replaced. Control tokens in assistant messages are kept: a model
//! reads its earlier answers as it wrote them.

use std::collections::HashSet;
use std::ops::Range;

use inferno_tokenizer::{EncodeOptions, Tokenizer};
use serde_json::{Map, Value};

use crate::{ChatRequest, ChatTemplate, ChatTemplateError};

/// The planes of private characters.
const PRIVATE: Range<u32> = 0xF_0000..0x11_0000;

/// A prompt, and which of its characters come from the contents of messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedPrompt {
    text: String,
    /// Byte ranges in which no control token is parsed, ascending and disjoint.
    plain: Vec<Range<usize>>,
}

impl RenderedPrompt {
    /// A prompt that is trusted as a whole.
    fn trusted(text: String) -> Self {
        Self { text, plain: Vec::new() }
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text.
    pub fn into_text(self) -> String {
        self.text
    }

    /// Encodes the prompt. Chat templates write all special tokens themselves, so none is added.
    pub fn encode(&self, tokenizer: &Tokenizer) -> Vec<u32> {
        let options = EncodeOptions { add_special: false, parse_special: true };
        tokenizer.encode_with_plain(&self.text, options, &self.plain)
    }

    /// The control tokens of the prompt, in order.
    fn control_tokens(&self, tokenizer: &Tokenizer) -> Vec<u32> {
        tokenizer.control_tokens(&self.text, &self.plain).map(|(_, id)| id).collect()
    }
}

impl ChatTemplate {
    /// Renders a request with `render`, so that control tokens in it are encoded as text, except in assistant messages and
    /// unless [`with_parsed_contents`](Self::with_parsed_contents) was called.
    ///
    /// The text is what `render` returns, unless the template treats control tokens in contents specially. `render` may be
    /// called with different contents, up to three times.
    ///
    /// **Errors**: those of `render`.
    pub fn render_with_plain_contents(
        &self,
        request: &ChatRequest,
        tokenizer: &Tokenizer,
        render: impl Fn(&ChatRequest) -> Result<String, ChatTemplateError>,
    ) -> Result<RenderedPrompt, ChatTemplateError> {
        let text = render(request)?;
        let edges = tokenizer.control_edges();
        let mut has_edges = false;
        with_contents(request, &mut |content| {
            has_edges |= content.contains(edges);
            String::new()
        });
        if !has_edges || self.parses_contents() {
            return Ok(RenderedPrompt::trusted(text));
        }
        let stand_ins = StandIns::of(edges, [self.source(), &text]);
        let everywhere =
            |content: &str| stand_ins.replaced(content, std::iter::once(0..content.len()));
        let protected = render(&with_contents(request, &mut { everywhere }))?;
        let protected = stand_ins.restored(&protected);
        if protected.text == text {
            return Ok(protected);
        }
        let in_tokens = |content: &str| {
            let places = tokenizer.control_tokens(content, &[]).map(|(place, _)| place);
            stand_ins.replaced(content, places)
        };
        let found = render(&with_contents(request, &mut { in_tokens }));
        let found = found.map(|text| stand_ins.restored(&text));
        // Several contents may form a token together.
        let control_tokens = protected.control_tokens(tokenizer);
        match found {
            Ok(found) if found.control_tokens(tokenizer) == control_tokens => Ok(found),
            _ => Ok(protected),
        }
    }
}

/// The request with all strings replaced, except those of assistant messages and roles.
fn with_contents(request: &ChatRequest, replace: &mut dyn FnMut(&str) -> String) -> ChatRequest {
    let mut replaced = request.clone();
    for message in &mut replaced.messages {
        if message["role"] != "assistant"
            && let Some(fields) = message.as_object_mut()
        {
            let fields = fields.iter_mut().filter(|(name, _)| *name != "role");
            fields.for_each(|(_, value)| replace_strings(value, replace));
        }
    }
    replaced.tools.iter_mut().flatten().for_each(|tool| replace_strings(tool, replace));
    replaced.variables.values_mut().for_each(|value| replace_strings(value, replace));
    replaced
}

/// Replaces the strings and keys in a value. JSON has at most 128 levels, so this recursion is bounded.
fn replace_strings(value: &mut Value, replace: &mut dyn FnMut(&str) -> String) {
    match value {
        Value::String(text) => *text = replace(text),
        Value::Array(items) => items.iter_mut().for_each(|item| replace_strings(item, replace)),
        Value::Object(fields) => {
            let replaced = std::mem::take(fields).into_iter().map(|(name, mut value)| {
                replace_strings(&mut value, replace);
                (replace(&name), value)
            });
            *fields = replaced.collect::<Map<_, _>>();
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Private characters that stand for others, one for each.
struct StandIns<'a> {
    characters: &'a [char],
    /// The first private character.
    first: u32,
}

impl<'a> StandIns<'a> {
    /// Chooses private characters that are in none of the texts, as far as there are any.
    fn of(characters: &'a [char], texts: [&str; 2]) -> Self {
        let len = characters.len() as u32;
        let block = |character: char| {
            PRIVATE
                .contains(&u32::from(character))
                .then(|| (u32::from(character) - PRIVATE.start) / len)
        };
        let used: HashSet<u32> =
            texts.iter().flat_map(|text| text.chars()).filter_map(block).collect();
        let num_blocks = (PRIVATE.end - PRIVATE.start) / len;
        let free = (0..num_blocks).find(|block| !used.contains(block)).unwrap_or(0);
        Self { characters, first: PRIVATE.start + free * len }
    }

    /// The text with stand-ins in these ascending places.
    fn replaced(&self, text: &str, places: impl IntoIterator<Item = Range<usize>>) -> String {
        let (mut replaced, mut at) = (String::with_capacity(text.len()), 0);
        for place in places {
            replaced.push_str(&text[at..place.start]);
            replaced.extend(text[place.clone()].chars().map(|character| self.stand_in(character)));
            at = place.end;
        }
        replaced.push_str(&text[at..]);
        replaced
    }

    fn stand_in(&self, character: char) -> char {
        let index = self.characters.binary_search(&character).ok();
        let stand_in = index.and_then(|index| char::from_u32(self.first + index as u32));
        stand_in.unwrap_or(character)
    }

    /// The text with the characters that the stand-ins represent, which are plain.
    fn restored(&self, text: &str) -> RenderedPrompt {
        let mut prompt = RenderedPrompt::trusted(String::with_capacity(text.len()));
        for character in text.chars() {
            let index = u32::from(character).checked_sub(self.first);
            let original = index.and_then(|index| self.characters.get(index as usize));
            let start = prompt.text.len();
            prompt.text.push(*original.unwrap_or(&character));
            let end = prompt.text.len();
            match (original, prompt.plain.last_mut()) {
                (None, _) => {}
                (Some(_), Some(last)) if last.end == start => last.end = end,
                (Some(_), _) => prompt.plain.push(start..end),
            }
        }
        prompt
    }
}

#[cfg(test)]
mod tests;
