//! `suffix`: fill-in-the-middle, for models with the required tokens.

use inferno_gguf::{Metadata, StringArray};
use serde_json::{Value, json};

use crate::client::post;
use crate::server::{shared, start_changed};

const PATH: &str = "/v1/completions";

#[test]
fn the_infill_prompt_matches_qwen_s_documentation() {
    let (before, after) = ("Once upon a time, ", " and they were happy.");
    let ask = |prompt: &str, suffix: Value| {
        let asked = json!({
            "prompt": prompt, "suffix": suffix, "temperature": 0, "max_tokens": 12, "logprobs": 0,
        });
        post(shared(), PATH, &asked).ok()
    };
    let filled = ask(before, json!(after));
    let spelled = format!("<|fim_prefix|>{before}<|fim_suffix|>{after}<|fim_middle|>");
    let expected = ask(&spelled, Value::Null);
    assert_eq!(filled["choices"], expected["choices"]);
    assert_eq!(filled["usage"]["prompt_tokens"], expected["usage"]["prompt_tokens"]);

    let tokens = json!({"prompt": [5, 6], "suffix": after});
    assert_eq!(post(shared(), PATH, &tokens).error(400)["param"], "suffix");
    let echo = json!({"prompt": before, "suffix": after, "echo": true});
    assert_eq!(post(shared(), PATH, &echo).error(400)["param"], "echo");
}

/// Renames the fill-in-the-middle tokens so that they are not recognized.
fn without_marks(metadata: &mut Metadata) {
    let tokens: &StringArray = metadata.required("tokenizer.ggml.tokens").expect("it has tokens");
    let renamed: StringArray =
        tokens.iter().map(|token| token.replace("<|fim_", "<|other_")).collect();
    metadata.insert("tokenizer.ggml.tokens", renamed);
}

#[test]
fn a_model_without_infill_tokens_is_an_error() {
    let server = start_changed(without_marks);
    let asked = json!({"prompt": "a", "suffix": "b"});
    let error = post(server.address, PATH, &asked).error(400);
    assert_eq!(error["param"], "suffix");
    assert_eq!(error["code"], "unsupported_parameter");
    assert!(error["message"].as_str().unwrap().contains("filling in the middle"), "{error}");
    server.stop();
    server.join();
}
