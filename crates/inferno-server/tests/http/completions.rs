//! `/v1/completions`.

use serde_json::{Value, json};

use crate::client::post;
use crate::fixtures::stories;
use crate::server::shared;

const PATH: &str = "/v1/completions";

fn request(prompt: &Value, expected: &Value) -> Value {
    json!({"prompt": prompt, "temperature": 0, "max_tokens": expected["max_tokens"]})
}

#[test]
fn continuations_match_transformers() {
    for expected in stories() {
        let answer = post(shared(), PATH, &request(&expected["prompt"], &expected)).ok();
        assert_eq!(answer["choices"][0]["text"], expected["text"]);
        assert_eq!(answer["object"], "text_completion");
        let tokens = request(&expected["prompt_tokens"], &expected);
        assert_eq!(post(shared(), PATH, &tokens).ok()["choices"], answer["choices"]);

        let mut streamed = request(&expected["prompt"], &expected);
        streamed["stream"] = json!(true);
        streamed["stream_options"] = json!({"include_usage": true});
        let chunks = post(shared(), PATH, &streamed).chunks();
        let text: String =
            chunks.iter().filter_map(|chunk| chunk["choices"][0]["text"].as_str()).collect();
        assert_eq!(text, expected["text"].as_str().unwrap());
        assert_eq!(
            chunks.last().unwrap()["usage"]["completion_tokens"],
            answer["usage"]["completion_tokens"]
        );
    }
}

#[test]
fn several_prompts_are_answered_in_order() {
    let stories = stories();
    let prompts: Vec<_> = stories.iter().map(|story| story["prompt"].clone()).collect();
    let alone = |prompt: &Value| {
        let asked = json!({"prompt": prompt, "temperature": 0, "max_tokens": 8, "echo": true});
        post(shared(), PATH, &asked).ok()["choices"][0]["text"].clone()
    };
    let together = json!({
        "prompt": prompts, "temperature": 0, "max_tokens": 8, "echo": true, "n": 2,
    });
    let answer = post(shared(), PATH, &together).ok();
    let choices = answer["choices"].as_array().unwrap();
    assert_eq!(choices.len(), prompts.len() * 2);
    for (place, choice) in choices.iter().enumerate() {
        assert_eq!(choice["index"], place);
        assert_eq!(choice["text"], alone(&prompts[place / 2]));
        assert!(choice["text"].as_str().unwrap().starts_with(prompts[place / 2].as_str().unwrap()));
    }
    assert_eq!(answer["usage"]["completion_tokens"], 8 * choices.len());
}

#[test]
fn logprobs_accompany_tokens() {
    let expected = &stories()[0];
    let mut asked = request(&expected["prompt"], expected);
    asked["logprobs"] = json!(2);
    asked["max_tokens"] = json!(5);
    let answer = post(shared(), PATH, &asked).ok();
    let choice = &answer["choices"][0];
    let tokens: Vec<String> = serde_json::from_value(choice["logprobs"]["tokens"].clone()).unwrap();
    assert_eq!(tokens.concat(), choice["text"].as_str().unwrap());
    let mut offset = 0;
    for (place, token) in tokens.iter().enumerate() {
        assert_eq!(choice["logprobs"]["text_offset"][place], offset);
        offset += token.chars().count();
        let top = choice["logprobs"]["top_logprobs"][place].as_object().unwrap();
        assert_eq!(top[token], choice["logprobs"]["token_logprobs"][place]);
        assert_eq!(top.len(), 2);
    }
}

#[test]
fn best_of_equal_to_n_returns_all() {
    let asked = json!({"prompt": "Once", "max_tokens": 2, "n": 3, "best_of": 3});
    assert_eq!(post(shared(), PATH, &asked).ok()["choices"].as_array().unwrap().len(), 3);
}

#[test]
fn best_of_ranks_by_mean_logprob() {
    let ask = |num_choices: usize| {
        json!({
            "prompt": ["Once upon", "The"], "max_tokens": 8, "temperature": 1, "seed": 5, "n": num_choices,
            "ignore_eos": true,
        })
    };
    let mut all = ask(6);
    all["logprobs"] = json!(0);
    let all = post(shared(), PATH, &all).ok();
    let mean = |choice: &Value| {
        let logprobs = choice["logprobs"]["token_logprobs"].as_array().unwrap();
        logprobs.iter().map(|it| it.as_f64().unwrap()).sum::<f64>() / logprobs.len() as f64
    };
    let mut expected = Vec::new();
    for of_prompt in all["choices"].as_array().unwrap().chunks(6) {
        let mut of_prompt: Vec<_> = of_prompt.iter().collect();
        of_prompt.sort_by(|one, other| mean(other).total_cmp(&mean(one)));
        expected.extend(of_prompt[..2].iter().map(|choice| &choice["text"]));
    }
    let mut best = ask(2);
    best["best_of"] = json!(6);
    let best = post(shared(), PATH, &best).ok();
    let choices = best["choices"].as_array().unwrap();
    let texts: Vec<_> = choices.iter().map(|choice| &choice["text"]).collect();
    assert_eq!(texts, expected);
    for (place, choice) in choices.iter().enumerate() {
        assert_eq!((&choice["index"], &choice["logprobs"]), (&json!(place), &Value::Null));
    }
    // Usage counts all computed tokens, including those not returned.
    assert_eq!(best["usage"], all["usage"]);
}

#[test]
fn an_empty_prompt_is_accepted() {
    let asked = json!({"prompt": ["", ""], "max_tokens": 4, "temperature": 0, "echo": true});
    let answer = post(shared(), "/v1/completions", &asked).ok();
    assert_eq!(answer["usage"]["prompt_tokens"], 2, "a token stands for each");
    assert_eq!(answer["choices"][0]["text"], answer["choices"][1]["text"]);
    assert_ne!(answer["choices"][0]["text"], "");
}

#[test]
fn unsupported_fields_are_named() {
    let cases = [
        (json!({"prompt": []}), "prompt"),
        (json!({"prompt": "a", "prompt_logprobs": 21}), "prompt_logprobs"),
        (json!({"prompt": "a", "prompt_logprobs": 1, "stream": true}), "prompt_logprobs"),
        (json!({"prompt": "a", "suffix": "b", "echo": true}), "echo"),
        (json!({"prompt": "a", "best_of": 2, "stream": true}), "best_of"),
        (json!({"prompt": "a", "best_of": 0}), "best_of"),
        (json!({"prompt": ["a", "b"], "best_of": 100}), "best_of"),
        (json!({"prompt": "a", "best_of": 2, "n": 3}), "best_of"),
        (json!({"prompt": "a", "max_tokens": 0}), "max_tokens"),
        (json!({"prompt": "a", "logprobs": 21}), "logprobs"),
        (json!({"prompt": [99999999]}), "prompt"),
        (json!({"prompt": "a", "n": 0}), "n"),
        (json!({"prompt": ["a", "b"], "n": 100}), "n"),
        (json!({"prompt": "a", "messages": []}), "messages"),
    ];
    for (request, param) in cases {
        let error = post(shared(), PATH, &request).error(400);
        assert_eq!(error["param"], param, "{request} {error}");
    }
}

#[test]
fn incomplete_characters_are_not_returned() {
    let tokens =
        post(shared(), "/tokenize", &json!({"prompt": "🦙", "return_token_strs": true})).ok();
    let first =
        tokens["tokens"].as_array().unwrap().iter().zip(tokens["token_strs"].as_array().unwrap());
    let (half, _) =
        first.into_iter().find(|(_, text)| *text == "\u{fffd}").expect("it has several tokens");
    let mut request = json!({
        "prompt": "Once", "max_tokens": 1, "logit_bias": {half.to_string(): 100}, "temperature": 0,
    });
    let whole = post(shared(), PATH, &request).ok();
    assert_eq!(whole["choices"][0]["text"], "");
    assert_eq!(whole["choices"][0]["finish_reason"], "length");
    assert_eq!(whole["usage"]["completion_tokens"], 1);
    request["stream"] = json!(true);
    let chunks = post(shared(), PATH, &request).chunks();
    assert!(chunks.iter().all(|chunk| chunk["choices"][0]["text"] == ""));
}
