//! Random answers that the grammar allows are parsed to calls whose arguments satisfy their schema, in the form of every template.
//!
//! `INFERNO_ORACLE` names the folder of a real vocabulary; without it there is nothing to check.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use crate::shared::{CALLS_ALONE, byte_tokens, calling, own_templates, real_templates, written};
use inferno_chat::{
    AnswerDelta, AnswerOptions, AnswerSetup, ChatRequest, ChatTemplate, GRAMMAR_STACK_BYTES,
    GrammarCompiler, Tool, ToolChoice, Tools,
};
use inferno_gguf::{Gguf, Metadata, StringArray};
use inferno_tokenizer::{ConstraintState, EncodeOptions, TokenMask, Tokenizer};
use serde_json::{Value, json};

/// More tokens than any answer needs.
const MAX_TOKENS: usize = 4000;

fn tools(choice: ToolChoice, single: bool) -> Tools {
    let parameters = json!({
        "type": "object",
        "properties": {
            "color": {"enum": ["red", "deep \"blue\""]},
            "size": {"type": "integer", "minimum": 3, "maximum": 40},
            "flag": {"type": "boolean"},
            "note": {"type": "string", "maxLength": 8},
            "price": {"type": "string", "pattern": r"^US\$", "maxLength": 9},
            "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1, "maxItems": 3},
            "place": {
                "type": "object", "properties": {"x": {"type": "integer", "minimum": 0, "maximum": 9}},
                "required": ["x"], "additionalProperties": false,
            },
        },
        "required": ["color", "tags"],
        "additionalProperties": false,
    });
    let tool = |name: &str, parameters: &Value| Tool {
        name: name.to_owned(),
        description: Some("Does something.".to_owned()),
        parameters: parameters.clone(),
        strict: false,
    };
    let none = json!({"type": "object", "properties": {}, "additionalProperties": false});
    Tools { list: vec![tool("paint", &parameters), tool("stop", &none)], choice, single }
}

/// What is wrong with a call.
fn problem(name: &str, arguments: &str) -> Option<String> {
    let Ok(Value::Object(arguments)) = serde_json::from_str(arguments) else {
        return Some(format!("{arguments:?} is no JSON object"));
    };
    if name == "stop" {
        return (!arguments.is_empty()).then(|| format!("{arguments:?}"));
    }
    let is_missing = |key: &&str| !arguments.contains_key(*key);
    if let Some(key) = ["color", "tags"].iter().find(|key| is_missing(key)) {
        return Some(format!("{key} is missing"));
    }
    let is_valid = |(key, value): &(&String, &Value)| match key.as_str() {
        "color" => [json!("red"), json!("deep \"blue\"")].contains(value),
        "size" => value.as_i64().is_some_and(|size| (3..=40).contains(&size)),
        "flag" => value.is_boolean(),
        "note" => value.as_str().is_some_and(|text| text.chars().count() <= 8),
        "price" => {
            value.as_str().is_some_and(|text| text.starts_with("US$") && text.chars().count() <= 9)
        }
        "tags" => value.as_array().is_some_and(|tags| {
            (1..=3).contains(&tags.len()) && tags.iter().all(|tag| *tag == "a" || *tag == "b")
        }),
        "place" => value["x"].as_i64().is_some_and(|x| (0..=9).contains(&x)),
        _ => false,
    };
    let invalid = arguments.iter().find(|member| !is_valid(member));
    invalid.map(|(key, value)| format!("{key}: {value}"))
}

/// A small generator of random numbers (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

struct Vocabulary {
    tokenizer: Arc<Tokenizer>,
    grammars: GrammarCompiler,
    /// Whether it has the control tokens of the templates that are tested with it.
    has_tags: bool,
}

impl Vocabulary {
    fn new(metadata: &Metadata, has_tags: bool) -> Self {
        let tokenizer = Arc::new(Tokenizer::from_metadata(metadata).unwrap());
        let grammars = GrammarCompiler::new(Arc::clone(&tokenizer), tokenizer.vocab_size());
        Self { tokenizer, grammars, has_tags }
    }

    /// A token for each byte, and control tokens.
    fn with_tags(tags: &BTreeSet<String>) -> Self {
        let mut tokens = byte_tokens();
        let mut kinds = vec![1i32; tokens.len()];
        // With these, <|end|> does not end an answer.
        let ends = ["<|return|>", "<|call|>", "<|the_end|>"].map(str::to_owned);
        tokens.extend(tags.iter().filter(|tag| !ends.contains(tag)).cloned());
        tokens.extend(ends);
        kinds.resize(tokens.len(), 3);
        let mut metadata = Metadata::new();
        metadata.insert("tokenizer.ggml.model", "gpt2");
        metadata.insert("tokenizer.ggml.pre", "qwen2");
        metadata.insert("tokenizer.ggml.eos_token_id", tokens.len() as u32 - 1);
        metadata.insert("tokenizer.ggml.tokens", tokens.into_iter().collect::<StringArray>());
        metadata.insert("tokenizer.ggml.token_type", kinds);
        let merges = std::iter::empty::<String>().collect::<StringArray>();
        metadata.insert("tokenizer.ggml.merges", merges);
        Self::new(&metadata, true)
    }
}

/// The tags in a text that vocabularies have as control tokens, such as `<|channel|>` and `[TOOL_CALLS]`.
fn control_tags(text: &str) -> BTreeSet<String> {
    let is_tag = |tag: &str| match tag.starts_with('<') {
        true => tag.contains(['|', '｜']) && !tag.contains([' ', '=', '"', '\n']),
        false => tag[1..tag.len() - 1].chars().all(|it| it.is_ascii_uppercase() || it == '_'),
    };
    let starts = text.match_indices(['<', '[']);
    let tags = starts.filter_map(|(start, bracket)| {
        let end = text[start..].find(if bracket == "<" { '>' } else { ']' })?;
        Some(&text[start..=start + end]).filter(|tag| tag.len() > 2 && is_tag(tag))
    });
    tags.map(str::to_owned).collect()
}

/// The names and arguments of the calls in a random answer, with its text; or why there is none.
fn sample(
    vocabulary: &Vocabulary,
    template: &ChatTemplate,
    tools: &Tools,
    random: &mut Random,
) -> Result<(String, Vec<(String, String)>), String> {
    let tokenizer = &vocabulary.tokenizer;
    let mut request = ChatRequest::new([json!({"role": "user", "content": "Go."})]);
    request.tools = Some(tools.list.iter().map(Tool::for_template).collect());
    let prompt = template.render_prompt(&request).map_err(|error| error.to_string())?;
    let options = AnswerOptions { tools: tools.clone(), ..AnswerOptions::default() };
    let setup = AnswerSetup::new(template, &prompt, tokenizer, &vocabulary.grammars, &options)
        .map_err(|error| error.to_string())?;
    let mut constraint = setup.constraint.as_ref().unwrap().fork();
    let mut parser = setup.parser();
    let (mut tokens, mut deltas, mut text) = (Vec::new(), Vec::new(), String::new());
    let mut forced: Vec<u32> = Vec::new();
    let mut mask = TokenMask::new(tokenizer.vocab_size());
    while tokens.len() < MAX_TOKENS {
        mask.clear();
        constraint.mask(&mut mask).map_err(|error| format!("{text:?}: {error:?}"))?;
        let allowed: Vec<u32> =
            (0..tokenizer.vocab_size() as u32).filter(|&token| mask.allows(token)).collect();
        if allowed.is_empty() {
            return Err(format!("no token is allowed after {text:?}"));
        }
        if forced.is_empty() && parser.is_reasoning() {
            forced = tokenizer.encode(closing_of(&prompt, &text), EncodeOptions::default());
            forced.reverse();
        }
        let token = forced.pop().unwrap_or_else(|| allowed[random.below(allowed.len())]);
        if tokenizer.is_end_of_generation(token) {
            parser.finish(&mut deltas);
            return Ok((text, calls(deltas)));
        }
        tokens.push(token);
        let state = constraint.accept(token).map_err(|error| format!("{text:?}: {error:?}"))?;
        let bytes = tokenizer.decode_bytes(&tokens, false).map_err(|error| error.to_string())?;
        let known = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
        parser.push(known.get(text.len()..).unwrap_or_default(), &mut deltas);
        text = known.to_owned();
        if state == ConstraintState::Complete {
            parser.finish(&mut deltas);
            return Ok((text, calls(deltas)));
        }
    }
    Err(format!("the answer does not end: {text:?}"))
}

/// The closing tag of the reasoning that is open.
fn closing_of(prompt: &str, text: &str) -> &'static str {
    let before = format!("{prompt}{text}");
    let opens = [
        ("<think>", "</think>"),
        ("[THINK]", "[/THINK]"),
        ("<|START_THINKING|>", "<|END_THINKING|>"),
        ("<seed:think>", "</seed:think>"),
        ("<|inner_prefix|>", "<|inner_suffix|>"),
        ("<|channel>thought", "<channel|>"),
        ("<|channel|>analysis<|message|>", "<|end|>"),
    ];
    let last = opens.iter().max_by_key(|(open, _)| before.rfind(open).map_or(0, |at| at + 1));
    last.map_or("</think>", |(_, close)| close)
}

fn calls(deltas: Vec<AnswerDelta>) -> Vec<(String, String)> {
    let mut calls: Vec<(String, String)> = Vec::new();
    for delta in deltas {
        match delta {
            AnswerDelta::ToolCall { name, .. } => calls.push((name, String::new())),
            AnswerDelta::Arguments { index, text } => calls[index].1 += &text,
            AnswerDelta::Reasoning(_) | AnswerDelta::Content(_) => {}
        }
    }
    calls
}

fn check_all(vocabulary: &Vocabulary) {
    let mut failures = Vec::new();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut templates = own_templates();
    templates.extend(real_templates());
    for (name, template) in templates {
        for (choice, single) in [
            (ToolChoice::Required, false),
            (ToolChoice::Required, true),
            (ToolChoice::Named("paint".to_owned()), true),
        ] {
            let tools = tools(choice.clone(), single);
            let place = format!("{name}, {choice:?}, single: {single}");
            match sample(vocabulary, &template, &tools, &mut random) {
                Err(error) => failures.push(format!("{place}: {error}")),
                Ok((text, calls)) => {
                    let is_named = |(name, _): &(String, String)| {
                        choice == ToolChoice::Required || name == "paint"
                    };
                    if calls.is_empty() || !calls.iter().all(is_named) || single && calls.len() > 1
                    {
                        failures.push(format!("{place}: {calls:?} in {text:?}"));
                    }
                    let problems = calls.iter().filter_map(|(name, it)| problem(name, it));
                    failures.extend(problems.map(|it| format!("{place}: {it} in {text:?}")));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n\n"));
}

/// Whether the constraint of answers to a question allows a text.
fn allows(
    vocabulary: &Vocabulary,
    template: &ChatTemplate,
    tools: &Tools,
    text: &str,
) -> Result<bool, String> {
    let tokenizer = &vocabulary.tokenizer;
    let mut request = ChatRequest::new([json!({"role": "user", "content": "What now?"})]);
    request.tools = Some(tools.list.iter().map(Tool::for_template).collect());
    request.set("enable_thinking", true);
    let prompt = template.render_prompt(&request).map_err(|error| error.to_string())?;
    let options = AnswerOptions { tools: tools.clone(), ..AnswerOptions::default() };
    let setup = AnswerSetup::new(template, &prompt, tokenizer, &vocabulary.grammars, &options)
        .map_err(|error| error.to_string())?;
    let mut constraint = setup.constraint.as_ref().unwrap().fork();
    let mut mask = TokenMask::new(tokenizer.vocab_size());
    let reasoning = if setup.parser().is_reasoning() { closing_of(&prompt, "") } else { "" };
    let text = format!("{reasoning}{text}");
    let options = EncodeOptions { add_special: false, parse_special: vocabulary.has_tags };
    for token in tokenizer.encode(&text, options) {
        mask.clear();
        constraint.mask(&mut mask).map_err(|error| format!("{text:?}: {error:?}"))?;
        if !mask.allows(token) {
            return Ok(false);
        }
        constraint.accept(token).map_err(|error| format!("{text:?}: {error:?}"))?;
    }
    Ok(true)
}

/// Checks that calls which a template writes are allowed next to content, and others are not.
fn check_written(common: &Vocabulary) {
    let mut failures = Vec::new();
    let mut templates = own_templates();
    templates.extend(real_templates());
    let tools = tools(ToolChoice::Auto, false);
    for (name, template) in templates {
        for (color, content, expected) in
            [("red", "", true), ("red", "Yes.", true), ("blue", "", false), ("blue", "Yes.", false)]
        {
            let call = ("paint", json!({"color": color, "tags": ["a"]}));
            let mut message = calling(&[call]);
            message["content"] = json!(content);
            let Some((text, _)) = written(&template, &tools, &message) else { continue };
            let text = text.as_str();
            // Some templates omit content next to calls, or write it where no call can follow, or lists as Python does.
            let is_alone = CALLS_ALONE.contains(&name.as_str());
            let is_before = text.find(content).is_some_and(|at| Some(at) < text.find("paint"));
            if !is_before || is_alone || text.contains("'a'") {
                continue;
            }
            let own = Vocabulary::with_tags(&control_tags(text));
            for vocabulary in [common, &own] {
                match allows(vocabulary, &template, &tools, text) {
                    Ok(found) if found == expected => {}
                    other => failures.push(format!("{name}, {color}: {text:?} is {other:?}")),
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n\n"));
}

/// Runs a check with a real vocabulary and the stack that grammars need.
fn with_vocabulary(check: fn(&Vocabulary)) {
    let Some(oracle) = std::env::var_os("INFERNO_ORACLE") else {
        let _ = writeln!(std::io::stderr(), "skipped: INFERNO_ORACLE is not set");
        return;
    };
    let path = Path::new(&oracle).join("vocab/ggml-vocab-qwen2.gguf");
    let file = Gguf::open(path).unwrap();
    let vocabulary = Vocabulary::new(file.metadata(), false);
    let thread = thread::Builder::new().stack_size(GRAMMAR_STACK_BYTES);
    thread.spawn(move || check(&vocabulary)).unwrap().join().unwrap();
}

#[test]
fn random_answers_in_all_forms_are_calls_that_satisfy_their_schema() {
    with_vocabulary(check_all);
}

#[test]
fn calls_that_templates_write_are_allowed_in_free_text_if_they_satisfy_their_schema() {
    with_vocabulary(check_written);
}
