//! `/tokenize`, `/detokenize` and rendering of conversations.

use serde_json::json;

use crate::client::post;
use crate::fixtures::{chat_request, conversations, stories};
use crate::server::shared;

#[test]
fn token_ids_match_hugging_face_tokenizers() {
    for expected in stories() {
        let request = json!({"prompt": expected["prompt"], "return_token_strs": true});
        let reply = post(shared(), "/tokenize", &request).ok();
        assert_eq!(reply["tokens"], expected["prompt_tokens"]);
        assert_eq!(reply["count"], expected["prompt_tokens"].as_array().unwrap().len());
        assert_eq!(reply["max_model_len"], 1024);
        let texts: Vec<String> = serde_json::from_value(reply["token_strs"].clone()).unwrap();
        assert_eq!(texts.concat(), expected["prompt"].as_str().unwrap());
        let back = post(shared(), "/detokenize", &json!({"tokens": reply["tokens"]})).ok();
        assert_eq!(back["prompt"], expected["prompt"]);
        assert_eq!(back["content"], expected["prompt"], "the name in llama-server's format");
    }
}

#[test]
fn rendered_conversations_match_jinja2() {
    for expected in conversations() {
        let mut request = chat_request(&expected);
        let rendered = post(shared(), "/v1/chat/completions/render", &request).ok();
        assert_eq!(rendered["prompt"], expected["prompt"]);
        assert_eq!(rendered["token_ids"], expected["prompt_tokens"]);
        for field in ["temperature", "max_tokens"] {
            request.as_object_mut().unwrap().remove(field);
        }
        let tokens = post(shared(), "/tokenize", &request).ok();
        assert_eq!(tokens["tokens"], expected["prompt_tokens"]);
    }
}

#[test]
fn mistakes_are_named() {
    let address = shared();
    post(address, "/tokenize", &json!({})).error(400);
    post(address, "/tokenize", &json!({"prompt": "a", "messages": []})).error(400);
    let tools = json!({"prompt": "a", "tools": []});
    assert_eq!(post(address, "/tokenize", &tools).error(400)["param"], "tools");
    let messages = json!([{"role": "user", "content": "Hi"}]);
    let twice = json!({"messages": messages, "chat_template_kwargs": {"messages": []}});
    let refused = post(address, "/tokenize", &twice).error(400);
    assert_eq!(refused["param"], "chat_template_kwargs.messages");
    assert_eq!(
        post(address, "/detokenize", &json!({"tokens": [99999999]})).error(400)["param"],
        "tokens"
    );
    assert_eq!(
        post(address, "/detokenize", &json!({"tokens": [-1]})).error(400)["param"],
        "tokens[0]"
    );
    assert_eq!(post(address, "/detokenize", &json!({})).error(400)["param"], "tokens");
}
