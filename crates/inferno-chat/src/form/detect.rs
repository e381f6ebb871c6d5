//! Finds the form of answers in what a template writes.

use serde_json::{Value, json};

use super::align::{leading_tag, split_between, start_of_last_tag};
use super::probe::{
    self, CONTENT, KEYS, Probe, REASONING, VALUES, answer, arguments, generation_prompt, turn,
};
use super::{
    ARGUMENTS, AnswerForm, ArgumentForm, CallForm, Delimiters, Head, INDEX, KEY, LiteralForm, NAME,
    ParameterForm, REASONING_CLOSE, REASONING_OPEN,
};
use crate::ChatTemplate;

/// Forms of models whose templates describe tools and write no calls: a tag that the template writes around the tools.
const FORMS_BY_TOOLS: &[FormByTools] = &[("<|tool_list_start|>", CallForm::lfm2)];

/// A tag, and the form of calls.
type FormByTools = (&'static str, fn() -> CallForm);

/// Longest text between a reasoning delimiter and the reasoning, in bytes.
const MAX_DELIMITER_LEN: usize = 64;

/// Finds the form of a template's answers, and what the template supports.
pub(crate) fn detect(template: &ChatTemplate) -> (AnswerForm, Probe) {
    let mut probe = Probe::new(template);
    let plain = json!({"role": "assistant", "content": CONTENT});
    let plain = answer(template, &plain, &[]);
    let (before, end) =
        plain.as_deref().and_then(|text| text.split_once(CONTENT)).unwrap_or_default();
    let reasoning = reasoning(template, &probe, end);
    let reasons = reasoning.is_some();
    let reasoning = reasoning.unwrap_or_else(|| Delimiters::new(REASONING_OPEN, REASONING_CLOSE));
    let has_channels = before.contains("<|channel|>") && before.contains("<|message|>");
    let written = call_form(template, &probe, &reasoning, end);
    // Calls in a form that cannot be read are written into texts.
    probe.writes_calls = written.is_some();
    let mut calls = written.unwrap_or_else(|| {
        let prompt = probe::prompt(template).unwrap_or_default();
        let known = FORMS_BY_TOOLS.iter().find(|(tag, _)| prompt.contains(tag));
        known.map_or_else(CallForm::hermes, |(_, form)| form())
    });
    let before = after_reasoning(before, &reasoning);
    let mut content = content_delimiters(before, end);
    if content.open.is_empty() && probe.writes_calls {
        let recipient = (calls.begins_bare() && *calls.head() == Head::Text).then_some(before);
        content.open = recipient.unwrap_or_default().to_owned();
        if let Some((open, rest)) = divided_opening(template, &probe, &calls) {
            (content.open, calls.open) = (open, rest);
        }
    }
    (AnswerForm { reasoning, reasons, content, has_channels, calls: calls.into() }, probe)
}

/// The text after reasoning, if there is any.
fn after_reasoning<'a>(text: &'a str, reasoning: &Delimiters) -> &'a str {
    text.rsplit(reasoning.close.as_str()).next().unwrap_or(text).trim_start()
}

/// The opening of calls before and after the content of the same message, if that is inside of it.
fn divided_opening(
    template: &ChatTemplate,
    probe: &Probe,
    calls: &CallForm,
) -> Option<(String, String)> {
    let mut message = probe.calling_message(&arguments(), 1);
    message["content"] = json!(CONTENT);
    let text = answer(template, &message, &[])?;
    let (before, after) = text.split_once(CONTENT)?;
    let rest = calls.open.strip_prefix(before).filter(|_| !before.trim().is_empty())?;
    (!rest.is_empty() && after.starts_with(rest)).then(|| (before.to_owned(), rest.to_owned()))
}

fn content_delimiters(before: &str, end: &str) -> Delimiters {
    match (leading_tag(before), leading_tag(end)) {
        (Some(open), Some(close)) if open == before.trim() => Delimiters::new(open, close),
        _ => Delimiters::default(),
    }
}

/// Finds the delimiters of reasoning. `end` is what ends an answer.
fn reasoning(template: &ChatTemplate, probe: &Probe, end: &str) -> Option<Delimiters> {
    let thinking = [("enable_thinking", json!(true)), ("thinking", json!(true))];
    let messages = [probe.calling_message(&arguments(), 1), json!({"role": "assistant"})];
    let fields = ["reasoning_content", "reasoning", "thinking"];
    let in_field = fields.iter().flat_map(|field| {
        messages.iter().map(|message| {
            let mut message = message.clone();
            message[*field] = json!(REASONING);
            if message.get("content").is_none() {
                message["content"] = json!(CONTENT);
            }
            message
        })
    });
    let part = |kind: &str| json!({"type": kind, kind: REASONING});
    let in_content = [
        json!([part("thinking"), {"type": "text", "text": CONTENT}]),
        json!({"blocks": [{"type": "thoughts", "text": REASONING}, {"type": "response", "text": CONTENT}]}),
    ];
    let in_content = in_content.map(|content| json!({"role": "assistant", "content": content}));
    in_field
        .chain(in_content)
        .find_map(|message| {
            let text = turn(template, &message, &thinking)?;
            let (before, after) = text.split_once(REASONING)?;
            let open = before[start_of_last_reasoning_tag(before)?..].trim_end();
            let close = leading_tag(after).filter(|close| Some(*close) != leading_tag(end))?;
            Some(Delimiters::new(open, close))
        })
        .or_else(|| reasoning_of_prompts(template))
}

/// The start of the tag before reasoning, with a word after it such as in `<|channel>thought`.
fn start_of_last_reasoning_tag(before: &str) -> Option<usize> {
    start_of_last_tag(before).or_else(|| {
        let start = before.rfind('<')?;
        (before.len() - start <= MAX_DELIMITER_LEN).then_some(start)
    })
}

/// The delimiters of reasoning that a template writes only in prompts, open or closed.
fn reasoning_of_prompts(template: &ChatTemplate) -> Option<Delimiters> {
    let plain = turn(template, &json!({"role": "assistant", "content": CONTENT}), &[])?;
    let (header, _) = plain.split_once(CONTENT)?;
    let thinking = [None, Some(true), Some(false)];
    let prompts = thinking.iter().filter_map(|thinking| {
        let variables = thinking.map(|thinks| ("enable_thinking", json!(thinks)));
        generation_prompt(template, variables.as_slice())
    });
    let prompts: Vec<_> = prompts.collect();
    let headers = prompts.iter().map(String::as_str).chain([header]);
    let shortest = headers.min_by_key(|text| text.len())?;
    prompts.iter().find_map(|prompt| {
        let added = prompt.strip_prefix(shortest.trim_end())?;
        let open = leading_tag(added).filter(|tag| !tag.contains(['/', '|', '｜']))?;
        let close = format!("{}/{}", &open[..1], &open[1..]);
        Some(Delimiters::new(open, &close))
    })
}

/// Finds the form of calls; `None` if the template writes none, or not in a way that can be read.
fn call_form(
    template: &ChatTemplate,
    probe: &Probe,
    reasoning: &Delimiters,
    end: &str,
) -> Option<CallForm> {
    let num_calls = if probe.writes_parallel_calls { 2 } else { 1 };
    let text = probe.writes_calls.then(|| probe.calls(template, num_calls)).flatten()?;
    let text = without_end(after_reasoning(&text, reasoning), end);
    let (text, arguments) = match with_json_arguments(text) {
        Some(text) => (text, ArgumentForm::Json),
        None => {
            let (text, form) = with_parameters(template, probe, text)?;
            (text, ArgumentForm::Parameters(form))
        }
    };
    let text = with_index(&text);
    // Some objects have the arguments before the name.
    let [one, other] = match text.find(NAME)? < text.find(ARGUMENTS)? {
        true => [NAME, ARGUMENTS],
        false => [ARGUMENTS, NAME],
    };
    let (first, calls) = text.split_once(one)?;
    let mut segments = calls.split(one).map(|segment| segment.split_once(other));
    let (middle, between) = segments.next()??;
    let form = match segments.next() {
        None => {
            let call = format!("{first}{one}{middle}{other}{between}");
            // Llama's templates write one call, and the models separate several.
            let separator = if leading_tag(first).is_some() { "" } else { "; " };
            CallForm::new(["", &call, separator, ""], arguments)
        }
        Some(last) => {
            let (_, last) = last?;
            let (after, separator, before) = split_between(first, between, last);
            let call = format!("{before}{one}{middle}{other}{after}");
            let (open, close) = (first.strip_suffix(before)?, last.strip_prefix(after)?);
            CallForm::new([open, &call, separator, close], arguments)
        }
    };
    (one == NAME || *form.head() != Head::Text).then_some(form)
}

/// The text without what ends an answer: what plain answers end with as well, or a tag where plain answers end with another.
fn without_end<'a>(text: &'a str, end: &str) -> &'a str {
    if let Some(text) = text.strip_suffix(end) {
        return text;
    }
    let (Some(start), Some(end_start)) = (start_of_last_tag(text), start_of_last_tag(end)) else {
        return text;
    };
    let tag = text[start..].trim_end();
    match tag == end[end_start..].trim_end() || !tag.starts_with("</") {
        true => &text[..start],
        false => text,
    }
}

/// Numbers between calls count them.
fn with_index(text: &str) -> String {
    let mut replaced = String::new();
    let mut characters = text.chars().peekable();
    let mut is_word = false;
    while let Some(character) = characters.next() {
        if !character.is_ascii_digit() || is_word {
            is_word = character.is_alphanumeric() || character == '_';
            replaced.push(character);
            continue;
        }
        let mut digits = character.to_string();
        while let Some(digit) = characters.next_if(char::is_ascii_digit) {
            digits.push(digit);
        }
        is_word = characters.peek().is_some_and(|next| next.is_alphanumeric() || *next == '_');
        match is_word {
            true => replaced.push_str(&digits),
            false => replaced.push(INDEX),
        }
    }
    replaced
}

/// Replaces arguments that are JSON objects; `None` if there are others.
fn with_json_arguments(text: &str) -> Option<String> {
    let (mut replaced, mut rest) = (String::new(), text);
    while let Some(key) = rest.find(KEYS[0]) {
        let start = rest[..key].rfind('{')?;
        let mut values = serde_json::Deserializer::from_str(&rest[start..]).into_iter::<Value>();
        if !values.next()?.is_ok_and(|value| value == arguments()) {
            return None;
        }
        replaced.push_str(&rest[..start]);
        replaced.push(ARGUMENTS);
        rest = &rest[start + values.byte_offset()..];
    }
    Some(replaced + rest)
}

/// Replaces arguments that are parameters, and finds their form.
fn with_parameters(
    template: &ChatTemplate,
    probe: &Probe,
    text: &str,
) -> Option<(String, ParameterForm)> {
    let text = with_repeated_keys(text);
    let last = text.rsplit(NAME).next()?;
    let [first, before_value, between, same, end] = around(last)?;
    if before_value != same {
        return None;
    }
    let before_number = before_number(template, probe).unwrap_or_else(|| before_value.to_owned());
    let quote = quote(before_value, between, end, &before_number);
    let before_value = before_value.strip_suffix(quote)?;
    let before_other = if quote.is_empty() { before_number } else { before_value.to_owned() };
    let (between, end) = (between.strip_prefix(quote)?, end.strip_prefix(quote)?);
    let (after_value, separator, before_key) = split_between(first, between, end);
    let open = first.strip_suffix(before_key)?;
    let rest = end.strip_prefix(after_value)?.trim_start();
    let close = leading_tag(rest)
        .or_else(|| end_of_elements(rest, before_key))
        .or_else(|| rest.get(..rest.chars().next()?.len_utf8()))?;
    let literals = (!quote.is_empty()).then(|| literals(template, probe, quote));
    let [open, before_key, before_value] = [open, before_key, before_value].map(str::to_owned);
    let [after_value, separator, close] = [after_value, separator, close].map(str::to_owned);
    let form = ParameterForm {
        open,
        before_key,
        before_value,
        before_other,
        after_value,
        separator,
        close,
        literals,
    };
    let (before, calls) = text.split_once(NAME)?;
    let mut replaced = before.to_owned();
    for call in calls.split(NAME) {
        let [_, _, _, _, end] = around(call)?;
        let end = end.strip_prefix(quote)?.strip_prefix(form.after_value.as_str())?;
        replaced.extend([NAME, ARGUMENTS]);
        replaced.push_str(end.trim_start().strip_prefix(form.close.as_str())?);
    }
    Some((replaced, form))
}

/// The closing tag after the last of several elements, with the text that all tags begin with.
fn end_of_elements<'a>(text: &'a str, before_key: &str) -> Option<&'a str> {
    let start = text.find("</").filter(|&start| before_key.trim().starts_with(&text[..start]))?;
    let end = text[start..].find('>')?;
    Some(&text[..=start + end])
}

/// The text in which keys after their values, as in `</key>`, are placeholders.
fn with_repeated_keys(text: &str) -> String {
    let mut replaced = text.to_owned();
    for (key, value) in KEYS.into_iter().zip(VALUES) {
        let mut parts = replaced.split(value).map(str::to_owned).collect::<Vec<_>>();
        for part in parts.iter_mut().skip(1) {
            // The next value has a key of its own before it.
            let own = part.find(NAME).unwrap_or(part.len());
            if part[..own].contains(key) {
                *part = part.replacen(key, &KEY.to_string(), 1);
            }
        }
        replaced = parts.join(value);
    }
    replaced
}

/// The text between a key and a value that is a number.
fn before_number(template: &ChatTemplate, probe: &Probe) -> Option<String> {
    const NUMBER: u32 = 73_519;
    let text = probe.call_with(template, json!(NUMBER))?;
    let (_, after) = text.split_once(KEYS[0])?;
    let (before, _) = after.split_once(&NUMBER.to_string())?;
    Some(before.to_owned())
}

/// The texts around the keys and values of a call.
fn around(call: &str) -> Option<[&str; 5]> {
    let (first, rest) = call.split_once(KEYS[0])?;
    let (before_value, rest) = rest.split_once(VALUES[0])?;
    let (between, rest) = rest.split_once(KEYS[1])?;
    let (same, end) = rest.split_once(VALUES[1])?;
    Some([first, before_value, between, same, end])
}

/// The quotation mark on both sides of a string, which numbers do not have; empty if there is none.
fn quote<'a>(before: &'a str, between: &str, end: &str, before_number: &str) -> &'a str {
    let is_around = |text: &&str| between.starts_with(*text) && end.starts_with(*text);
    if let Some(quote) = before.strip_prefix(before_number).filter(is_around) {
        return quote;
    }
    let is_quote = |text: &&str| text.contains(['"', '\'']) && is_around(text);
    let mut suffixes = before.char_indices().map(|(at, _)| &before[at..]);
    suffixes.find(is_quote).unwrap_or_default()
}

fn literals(template: &ChatTemplate, probe: &Probe, quote: &str) -> LiteralForm {
    let nested = json!({VALUES[0]: true});
    let text = probe.call_with(template, nested).unwrap_or_default();
    let before_key = text.split_once(VALUES[0]).map_or("", |(before, _)| before);
    LiteralForm {
        quote: quote.to_owned(),
        is_python: text.contains("True"),
        quotes_keys: before_key.ends_with(['"', '\'']) || before_key.ends_with(quote),
    }
}
