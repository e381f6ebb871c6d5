//! `/v1/embeddings`.

use std::net::SocketAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use inferno_gguf::Metadata;
use serde_json::{Value, json};

use crate::client::post;
use crate::fixtures::prompts;
use crate::server::{shared, start_changed, strict};

const PATH: &str = "/v1/embeddings";
/// The minimum cosine similarity between 8-bit products of the embedded model and float32.
const MIN_COSINE: f64 = 0.995;

fn numbers(list: &Value) -> Vec<f64> {
    serde_json::from_value(list.clone()).expect("they are numbers")
}

fn cosine(one: &[f64], other: &[f64]) -> f64 {
    assert_eq!(one.len(), other.len());
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

/// Compares with the vectors of transformers under `pooling` in the fixture.
fn check(address: SocketAddr, pooling: &str) {
    let expected = prompts();
    let texts: Vec<_> = expected.iter().map(|it| it["prompt"].clone()).collect();
    let answer = post(address, PATH, &json!({"input": texts, "model": "ember"})).ok();
    assert_eq!((&answer["object"], &answer["model"]), (&json!("list"), &json!("ember")));
    assert_eq!(answer["data"].as_array().unwrap().len(), texts.len());
    let mut num_tokens = 0;
    for (place, expected) in expected.iter().enumerate() {
        let found = &answer["data"][place];
        assert_eq!((&found["object"], &found["index"]), (&json!("embedding"), &json!(place)));
        let vector = numbers(&found["embedding"]);
        assert!((cosine(&vector, &vector) - 1.0).abs() < 1e-5, "its length is 1");
        let cosine = cosine(&vector, &numbers(&expected[pooling]));
        assert!(cosine > MIN_COSINE, "{place}: {cosine}");
        num_tokens += expected["prompt_tokens"].as_array().unwrap().len();
    }
    assert_eq!(answer["usage"]["prompt_tokens"], num_tokens);
    assert_eq!(answer["usage"]["total_tokens"], num_tokens);
}

#[test]
fn the_last_hidden_state_matches_transformers() {
    check(shared(), "last");
}

#[test]
fn the_pooling_type_of_the_file_is_used() {
    let server = start_changed(|metadata: &mut Metadata| {
        metadata.insert("qwen3.pooling_type", 1_u32);
    });
    check(server.address, "mean");
    server.stop();
    server.join();
}

#[test]
fn all_input_and_encoding_formats_are_accepted() {
    let expected = &prompts()[0];
    let (text, tokens) = (&expected["prompt"], &expected["prompt_tokens"]);
    let ask = |input: Value| post(shared(), PATH, &json!({"input": input})).ok()["data"].clone();
    let data = ask(text.clone());
    for input in [json!([text]), tokens.clone(), json!([tokens])] {
        assert_eq!(ask(input), data);
    }
    let asked = json!({"input": text, "encoding_format": "base64", "dimensions": 256});
    let found = post(shared(), PATH, &asked).ok()["data"][0]["embedding"].clone();
    let bytes = STANDARD.decode(found.as_str().unwrap()).unwrap();
    let floats: Vec<f32> =
        bytes.chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect();
    let as_numbers: Vec<f32> = serde_json::from_value(data[0]["embedding"].clone()).unwrap();
    assert_eq!(floats, as_numbers);
}

#[test]
fn fewer_dimensions_are_normalized_again() {
    let ask = |more: Value| {
        let mut request = json!({"input": "A small boy."});
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        numbers(&post(shared(), PATH, &request).ok()["data"][0]["embedding"])
    };
    let (all, found) = (ask(json!({})), ask(json!({"dimensions": 64})));
    assert_eq!(found.len(), 64);
    assert!((cosine(&found, &found) - 1.0).abs() < 1e-5);
    let length = cosine(&all[..64], &all[..64]).sqrt();
    for (found, all) in found.iter().zip(&all) {
        assert!((found - all / length).abs() < 1e-5);
    }
    let raw = ask(json!({"normalize": false}));
    let length = cosine(&raw, &raw).sqrt();
    assert!((length - 1.0).abs() > 1e-2);
    assert!((cosine(&raw, &all) / length - 1.0).abs() < 1e-5);
}

#[test]
fn inputs_are_truncated_on_request_only() {
    let (short, long) = (vec![5; 10], vec![5; 30]);
    let ask = |input: &[u32], more: Value| {
        let mut request = json!({"input": input});
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        post(shared(), PATH, &request).ok()["data"][0]["embedding"].clone()
    };
    let expected = ask(&short, json!({}));
    assert_ne!(ask(&long, json!({})), expected);
    assert_eq!(ask(&long, json!({"truncate_prompt_tokens": 10})), expected);
}

#[test]
fn more_inputs_than_queue_slots_are_accepted() {
    let texts: Vec<_> = (0..300).map(|number| format!("Number {number}.")).collect();
    let answer = post(shared(), PATH, &json!({"input": texts})).ok();
    let data = answer["data"].as_array().unwrap();
    assert_eq!(data.len(), 300);
    let alone = post(shared(), PATH, &json!({"input": texts[299]})).ok();
    assert_eq!(data[299]["embedding"], alone["data"][0]["embedding"]);
}

#[test]
fn unsupported_fields_are_named() {
    let long: Vec<u32> = vec![5; 1025];
    let cases = [
        (json!({}), "input"),
        (json!({"input": []}), "input"),
        (json!({"input": ""}), "input"),
        (json!({"input": ["a", ""]}), "input"),
        (json!({"input": [99999]}), "input"),
        (json!({"input": long}), "input"),
        (json!({"input": vec!["a"; 2049]}), "input"),
        (json!({"input": {"text": "a"}}), "input"),
        (json!({"input": "a", "dimensions": 257}), "dimensions"),
        (json!({"input": "a", "dimensions": 0}), "dimensions"),
        (json!({"input": "a", "encoding_format": "hex"}), "encoding_format"),
        (json!({"input": "a", "truncate_prompt_tokens": 0}), "truncate_prompt_tokens"),
        (json!({"input": "a", "temperature": 1}), "temperature"),
    ];
    for (request, param) in cases {
        let error = post(strict(), PATH, &request).error(400);
        assert_eq!(error["param"], param, "{error}");
    }
    post(shared(), PATH, &json!({"input": "a", "model": "other"})).error(404);
}
