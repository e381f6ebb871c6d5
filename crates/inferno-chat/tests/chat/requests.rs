//! What goes into a template, and what is refused before it runs.

use inferno_chat::{ChatRequest, ChatTemplate, ChatTemplateError};
use inferno_gguf::{Metadata, StringArray};
use serde_json::{Value, json};

fn request(fields: Value) -> Result<ChatRequest, ChatTemplateError> {
    ChatRequest::from_json(fields.as_object().unwrap().clone())
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn file() -> Metadata {
    let mut metadata = Metadata::new();
    metadata.insert("tokenizer.ggml.model", "gpt2");
    let tokens: StringArray = ["a", "<bos>", "<eos>"].into_iter().collect();
    metadata.insert("tokenizer.ggml.tokens", tokens);
    metadata.insert("tokenizer.ggml.bos_token_id", 1_u32);
    metadata.insert("tokenizer.ggml.eos_token_id", 2_u32);
    metadata
}

#[test]
fn a_file_without_a_template_has_none() {
    assert!(ChatTemplate::from_metadata(&file()).unwrap().is_none());
}

#[test]
fn the_template_of_a_file_knows_its_special_tokens() {
    let mut metadata = file();
    metadata.insert("tokenizer.chat_template", "{{ bos_token }}|{{ eos_token }}|{{ pad_token }}");
    let template = ChatTemplate::from_metadata(&metadata).unwrap().unwrap();
    assert_eq!(template.render(&ChatRequest::new([])).unwrap(), "<bos>|<eos>|");
}

#[test]
fn a_template_for_tools_is_used_where_there_are_tools() {
    let mut metadata = file();
    metadata.insert("tokenizer.chat_template", "plain");
    metadata.insert("tokenizer.chat_template.tool_use", "{{ tools|length }} tools");
    let template = ChatTemplate::from_metadata(&metadata).unwrap().unwrap();
    let render = |fields| template.render(&request(fields).unwrap()).unwrap();
    assert_eq!(render(json!({"messages": []})), "plain");
    assert_eq!(render(json!({"messages": [], "tools": null})), "plain");
    assert_eq!(render(json!({"messages": [], "tools": [{"name": "f"}]})), "1 tools");
}

#[test]
fn further_fields_are_variables_of_the_template() {
    let template = ChatTemplate::new("{{ enable_thinking }} {{ x.y }} {{ documents }}").unwrap();
    let fields = json!({"messages": [], "enable_thinking": false, "x": {"y": 2}});
    assert_eq!(template.render(&request(fields).unwrap()).unwrap(), "False 2 None");
}

#[test]
fn a_request_of_another_shape_is_refused_by_its_field() {
    let message = |fields| request(fields).unwrap_err().to_string();
    assert_eq!(message(json!({})), "messages must be a list of objects, found nothing");
    assert_eq!(
        message(json!({"messages": "hi"})),
        "messages must be a list of objects, found a text"
    );
    assert_eq!(
        message(json!({"messages": [user("hi"), 7]})),
        "messages[1] must be an object, found a number"
    );
    assert_eq!(
        message(json!({"messages": [], "tools": {}})),
        "tools must be a list of objects, found an object"
    );
    assert_eq!(
        message(json!({"messages": [], "add_generation_prompt": 1})),
        "add_generation_prompt must be true or false, found a number"
    );
}

#[test]
fn a_malformed_template_is_refused_with_its_line() {
    let error = ChatTemplate::new("fine\n{% for x in %}").unwrap_err();
    assert!(matches!(error, ChatTemplateError::Syntax { line: 2, .. }), "{error}");
}

#[test]
fn a_template_refuses_a_conversation_in_its_own_words() {
    let template = ChatTemplate::new("\n\n{{ raise_exception('No ' ~ 'way!') }}").unwrap();
    let error = template.render(&ChatRequest::new([])).unwrap_err();
    assert!(matches!(error, ChatTemplateError::Raised { line: 3, .. }), "{error}");
    assert!(error.to_string().ends_with("No way!"), "{error}");
}
