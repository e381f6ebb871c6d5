//! Finds the form of answers in what a template writes.

use serde_json::{Value, json};

use super::align::{leading_tag, split_between, start_of_last_tag};
use super::parameters::with_parameters;
use super::probe::{
    CONTENT, KEYS, Probe, REASONING, VALUES, answer, arguments, generation_prompt, turn,
};
use super::{
    ARGUMENTS, AnswerForm, ArgumentForm, CallForm, Delimiters, Head, INDEX, NAME, REASONING_CLOSE,
    REASONING_OPEN,
};
use crate::ChatTemplate;

/// The tag before the name of a channel.
const CHANNEL: &str = "<|channel|>";
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
    let has_channels = before.contains(CHANNEL) && before.contains("<|message|>");
    let written = call_form(template, &probe, &reasoning, end);
    // Calls in a form that cannot be read are written into texts.
    probe.writes_calls = written.is_some();
    let mut calls = written.unwrap_or_else(|| CallForm::known(template.source()));
    let before = after_reasoning(before, &reasoning);
    let mut content = content_delimiters(before, end);
    if content.open.is_empty() && probe.writes_calls {
        let recipient = (calls.begins_bare() && *calls.head() == Head::Text).then_some(before);
        content.open = recipient.unwrap_or_default().to_owned();
        if let Some((open, rest)) = divided_opening(template, &probe, &calls) {
            // Two tags, with the content between them, are not distinctive: models omit them if there is none.
            let are_tags = [&open, &rest].iter().all(|text| leading_tag(text) == Some(text.trim()));
            calls.optional_open = are_tags && calls.before().is_empty();
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
    // Without a tag of its own, reasoning begins with what prompts have after the header of an answer.
    let plain = turn(template, &json!({"role": "assistant", "content": CONTENT}), &thinking);
    let header = plain.as_deref().and_then(|text| text.split_once(CONTENT)).unwrap_or_default().0;
    let prompt = generation_prompt(template, &thinking).unwrap_or_default();
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
            // A tag that content also begins with does not mark reasoning, unless channels tell them apart.
            let is_header = header.trim_end().ends_with(open) && !header.contains(CHANNEL);
            let open = match is_header {
                true => prompt.strip_prefix(header.trim_end()).map(str::trim)?,
                false => open,
            };
            let close = closing_of_reasoning(after, end).filter(|_| !open.is_empty())?;
            Some(Delimiters::new(open, close))
        })
        .or_else(|| reasoning_of_prompts(template))
}

/// The tag after reasoning. If it also ends an answer, it is followed by the header of the next part.
fn closing_of_reasoning<'a>(after: &'a str, end: &str) -> Option<&'a str> {
    let close = leading_tag(after)?;
    if Some(close) != leading_tag(end) {
        return Some(close);
    }
    let (between, _) = after.split_once(CONTENT)?;
    let header = between[..start_of_last_tag(between)?].trim();
    (header.len() > close.len()).then_some(header)
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
            (text, ArgumentForm::Parameters(Box::new(form)))
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
    let last = VALUES.iter().filter_map(|value| text.rfind(value)).max().unwrap_or(0);
    // Some templates write another message after the calls.
    let tags = Some(end.trim()).filter(|end| end.contains(['|', '｜']));
    if let Some(at) = tags.and_then(|end| text[last..].find(end)) {
        return &text[..last + at];
    }
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
