//! Prompt log-probabilities of `/v1/completions`: `echo` with `logprobs`, and `prompt_logprobs`.

use serde_json::{Value, json};

use crate::client::{get, post};
use crate::fixtures::{prompts, stories};
use crate::server::shared;

const PATH: &str = "/v1/completions";
/// Tolerance of the embedded model's 8-bit products compared with float32, in nats. Improbable tokens have larger errors.
const TOLERANCE: f64 = 0.3;
const RELATIVE_TOLERANCE: f64 = 0.02;

/// A request that scores a prompt and generates nothing.
fn scoring(prompt: &Value) -> Value {
    json!({"prompt": prompt, "max_tokens": 0, "echo": true, "logprobs": 1, "temperature": 0})
}

fn strings(list: &Value) -> Vec<String> {
    serde_json::from_value(list.clone()).expect("they are texts")
}

#[test]
fn echoed_logprobs_match_transformers() {
    let (mut sum, mut count) = (0.0, 0);
    for expected in prompts() {
        let answer = post(shared(), PATH, &scoring(&expected["prompt"])).ok();
        assert_eq!(answer["usage"]["completion_tokens"], 0);
        let choice = &answer["choices"][0];
        assert_eq!(choice["finish_reason"], "length");
        assert_eq!(choice["text"], expected["prompt"]);
        let logprobs = &choice["logprobs"];
        assert_eq!(logprobs["token_logprobs"][0], Value::Null);
        assert_eq!(logprobs["top_logprobs"][0], Value::Null);
        let found: Vec<f64> =
            serde_json::from_value(json!(logprobs["token_logprobs"].as_array().unwrap()[1..]))
                .unwrap();
        let expected: Vec<f64> = serde_json::from_value(expected["logprobs"].clone()).unwrap();
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            let tolerance = TOLERANCE + RELATIVE_TOLERANCE * expected.abs();
            assert!((found - expected).abs() < tolerance, "{found} {expected}");
            sum += found - expected;
            count += 1;
        }
    }
    // Rounding errors have both signs.
    assert!((sum / f64::from(count)).abs() < 0.05, "{}", sum / f64::from(count));
}

#[test]
fn a_prompt_that_fills_the_context_is_scored() {
    let props = get(shared(), "/props").ok();
    let context = props["default_generation_settings"]["n_ctx"].as_u64().unwrap() as usize;
    let prompt = |len: usize| json!(vec![5; len]);
    let answer = post(shared(), PATH, &scoring(&prompt(context))).ok();
    let scored = answer["choices"][0]["logprobs"]["token_logprobs"].as_array().unwrap();
    assert_eq!(scored.len(), context);
    let too_long = post(shared(), PATH, &scoring(&prompt(context + 1)));
    assert_eq!(too_long.error(400)["code"], "context_length_exceeded");
    let mut generating = scoring(&prompt(context));
    generating["max_tokens"] = json!(1);
    assert_eq!(post(shared(), PATH, &generating).error(400)["code"], "context_length_exceeded");
}

#[test]
fn tokens_that_continue_a_character_have_its_offset() {
    let asked =
        json!({"prompt": "日本 x", "max_tokens": 2, "echo": true, "logprobs": 0, "temperature": 0});
    let choice = &post(shared(), PATH, &asked).ok()["choices"][0];
    let text = choice["text"].as_str().unwrap().chars().count();
    let offsets: Vec<usize> =
        serde_json::from_value(choice["logprobs"]["text_offset"].clone()).unwrap();
    // The vocabulary has neither character: three bytes each. " x" is one token.
    assert_eq!(offsets[..7], [0, 0, 0, 1, 1, 1, 2]);
    assert!(offsets[7..].iter().all(|offset| (4..=text).contains(offset)), "{offsets:?}");
}

#[test]
fn offsets_continue_from_the_prompt_into_the_answer() {
    let expected = &stories()[0];
    let mut asked = scoring(&expected["prompt"]);
    asked["max_tokens"] = json!(6);
    asked["n"] = json!(2);
    let answer = post(shared(), PATH, &asked).ok();
    for choice in answer["choices"].as_array().unwrap() {
        let text: Vec<char> = choice["text"].as_str().unwrap().chars().collect();
        let tokens = strings(&choice["logprobs"]["tokens"]);
        assert_eq!(tokens.len(), expected["prompt_tokens"].as_array().unwrap().len() + 6);
        assert_eq!(tokens.concat(), choice["text"].as_str().unwrap());
        for (place, token) in tokens.iter().enumerate() {
            let start = choice["logprobs"]["text_offset"][place].as_u64().unwrap() as usize;
            let there: String = text[start..start + token.chars().count()].iter().collect();
            assert_eq!(&there, token);
            if place > 0 {
                let top = choice["logprobs"]["top_logprobs"][place].as_object().unwrap();
                assert_eq!(top[token], choice["logprobs"]["token_logprobs"][place]);
            }
        }
    }
    assert_eq!(answer["choices"][0]["logprobs"], answer["choices"][1]["logprobs"]);
}

#[test]
fn prompt_logprobs_equal_generation_logprobs() {
    for expected in stories() {
        let said = post(
            shared(),
            PATH,
            &json!({"prompt": expected["prompt_tokens"], "temperature": 0, "logprobs": 1,
                "max_tokens": expected["tokens"].as_array().unwrap().len()}),
        )
        .ok();
        let mut whole = expected["prompt_tokens"].as_array().unwrap().clone();
        let len = whole.len();
        whole.extend(expected["tokens"].as_array().unwrap().iter().cloned());
        let read = post(shared(), PATH, &scoring(&json!(whole))).ok();
        let read = read["choices"][0]["logprobs"]["token_logprobs"].as_array().unwrap();
        let said = said["choices"][0]["logprobs"]["token_logprobs"].as_array().unwrap();
        // Candidates have a sum of exponentials of their own, whose rounding differs.
        assert_eq!(read[len..].len(), said.len());
        for (read, said) in read[len..].iter().zip(said) {
            let difference = read.as_f64().expect("a number") - said.as_f64().expect("a number");
            assert!(difference.abs() < 2e-5, "{read} and {said}");
        }
    }
}

#[test]
fn a_stream_begins_with_the_prompt_logprobs() {
    let expected = &stories()[1];
    let mut asked = scoring(&expected["prompt"]);
    asked["max_tokens"] = json!(4);
    let whole = post(shared(), PATH, &asked).ok()["choices"][0].clone();
    asked["stream"] = json!(true);
    let chunks = post(shared(), PATH, &asked).chunks();
    assert_eq!(chunks[0]["choices"][0]["text"], expected["prompt"]);
    for list in ["tokens", "token_logprobs", "top_logprobs", "text_offset"] {
        let parts = chunks.iter().filter_map(|it| it["choices"][0]["logprobs"][list].as_array());
        let joined: Vec<Value> = parts.flatten().cloned().collect();
        assert_eq!(json!(joined), whole["logprobs"][list]);
    }
}

#[test]
fn vllm_s_format_has_the_same_values_by_token_id() {
    let expected = &prompts()[0];
    let mut asked = scoring(&expected["prompt"]);
    asked["prompt_logprobs"] = json!(2);
    let choice = post(shared(), PATH, &asked).ok()["choices"][0].clone();
    let told = choice["prompt_logprobs"].as_array().unwrap();
    let ids = expected["prompt_tokens"].as_array().unwrap();
    assert_eq!(told.len(), ids.len());
    assert_eq!(told[0], Value::Null);
    for (place, told) in told.iter().enumerate().skip(1) {
        let own = &told[ids[place].to_string()];
        assert_eq!(own["logprob"], choice["logprobs"]["token_logprobs"][place]);
        assert_eq!(own["decoded_token"], choice["logprobs"]["tokens"][place]);
        let mut ranks: Vec<_> =
            told.as_object().unwrap().values().map(|it| it["rank"].as_u64().unwrap()).collect();
        ranks.sort_unstable();
        // The two most probable tokens, and the prompt token if it is not one of them.
        assert_eq!(ranks[..2], [1, 2]);
        assert_eq!(ranks.get(2).copied(), own["rank"].as_u64().filter(|&rank| rank > 2));
    }
}

#[test]
fn echo_without_generation_returns_all_prompts() {
    let prompts = json!(["Once upon", "One day"]);
    let asked = json!({"prompt": prompts, "max_tokens": 0, "echo": true});
    let answer = post(shared(), PATH, &asked).ok();
    let choices = answer["choices"].as_array().unwrap();
    assert_eq!(json!(choices.iter().map(|it| it["text"].clone()).collect::<Vec<_>>()), prompts);
    assert!(choices.iter().all(|choice| choice["logprobs"].is_null()));
    assert!(answer["usage"]["prompt_tokens"].as_u64() > Some(1));
}
