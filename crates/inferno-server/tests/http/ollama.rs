//! Ollama's API. The answers are those of OpenAI's endpoints, which are compared with transformers'.

use std::io::{Read, Write};

use serde_json::{Map, Value, json};

use crate::client::{Reply, connect, get, post, send};
use crate::fixtures::{conversation, conversations, stories};
use crate::server::{shared, strict};

const CHAT: &str = "/api/chat";
const GENERATE: &str = "/api/generate";

/// The request of a conversation, greedy.
fn chat(kind: &str, fields: Value) -> Value {
    let expected = conversation(kind);
    let asked = &expected["request"];
    let mut request = json!({
        "model": "ember",
        "messages": asked["messages"],
        "think": asked["enable_thinking"],
        "options": {"temperature": 0, "num_predict": expected["max_tokens"]},
    });
    if asked["tools"].is_array() {
        request["tools"] = asked["tools"].clone();
    }
    with(request, fields)
}

fn with(mut request: Value, fields: Value) -> Value {
    request.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    request
}

/// The lines of a stream.
fn lines(reply: &Reply) -> Vec<Value> {
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_eq!(reply.header("content-type"), Some("application/x-ndjson"));
    reply.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The message of a status, in Ollama's format.
fn error(reply: &Reply, status: u16) -> String {
    assert_eq!(reply.status, status, "{}", reply.body);
    let body = reply.json();
    assert_eq!(body.as_object().map(Map::len), Some(1), "{body}");
    body["error"].as_str().unwrap().to_owned()
}

/// Joins a field of all lines.
fn joined(lines: &[Value], pointer: &str) -> String {
    lines.iter().filter_map(|line| line.pointer(pointer)?.as_str()).collect()
}

#[test]
fn chats_are_answered_whole_and_line_by_line() {
    for expected in conversations() {
        let kind = expected["kind"].as_str().unwrap();
        if kind == "tool_call" {
            continue;
        }
        let (thinking, content) = match expected["text"].as_str().unwrap().split_once("</think>") {
            Some((thinking, content)) => {
                (Some(thinking.trim_start_matches("<think>").trim()), content.trim())
            }
            None => (None, expected["text"].as_str().unwrap()),
        };
        let whole = post(shared(), CHAT, &chat(kind, json!({"stream": false}))).ok();
        assert_eq!(whole["model"], "ember");
        assert_eq!(whole["message"]["role"], "assistant");
        assert_eq!(whole["message"]["content"], content, "{kind}");
        assert_eq!(whole["message"]["thinking"].as_str(), thinking, "{kind}");
        assert_eq!((&whole["done"], &whole["done_reason"]), (&json!(true), &json!("stop")));
        let num_prompt_tokens = expected["prompt_tokens"].as_array().unwrap().len();
        assert_eq!(whole["prompt_eval_count"], num_prompt_tokens);
        assert_eq!(whole["eval_count"], expected["max_tokens"]);
        for duration in ["total_duration", "prompt_eval_duration", "eval_duration"] {
            assert!(whole[duration].as_u64().unwrap() > 0, "{whole}");
        }

        let lines = lines(&post(shared(), CHAT, &chat(kind, json!({}))));
        assert_eq!(joined(&lines, "/message/content"), content, "{kind}");
        assert_eq!(joined(&lines, "/message/thinking"), thinking.unwrap_or_default(), "{kind}");
        let (last, others) = lines.split_last().unwrap();
        assert!(
            others.iter().all(|line| line["done"] == false && line.get("done_reason").is_none())
        );
        assert_eq!((&last["done"], &last["eval_count"]), (&json!(true), &whole["eval_count"]));
    }
}

#[test]
fn tool_calls_have_objects_as_arguments() {
    let whole = post(shared(), CHAT, &chat("tool_call", json!({"stream": false}))).ok();
    let call = &whole["message"]["tool_calls"][0];
    let expected = json!({"name": "get_weather", "arguments": {"city": "Paris"}});
    assert_eq!(call["function"], expected);
    assert_eq!(whole["message"]["content"], "");

    let lines = lines(&post(shared(), CHAT, &chat("tool_call", json!({}))));
    let calls: Vec<_> =
        lines.iter().filter(|it| it["message"].get("tool_calls").is_some()).collect();
    assert_eq!(calls.len(), 1, "a call is sent whole");
    assert_eq!(calls[0]["message"]["tool_calls"][0]["function"], expected);

    let cut = json!({"stream": false, "options": {"temperature": 0, "num_predict": 16}});
    let cut = post(shared(), CHAT, &chat("tool_call", cut)).ok();
    assert_eq!(cut["done_reason"], "length");
    assert!(
        cut["message"].get("tool_calls").is_none(),
        "arguments that are cut off are no call: {cut}"
    );
}

#[test]
fn a_last_message_of_the_assistant_is_continued() {
    let expected = conversation("plain");
    let text = expected["text"].as_str().unwrap();
    let (start, rest) = text.split_at(text.find(' ').unwrap());
    let question = &expected["request"]["messages"][0];
    let messages = json!([question, {"role": "assistant", "content": start}]);
    let request = chat("plain", json!({"messages": messages, "stream": false}));
    let answer = post(shared(), CHAT, &request).ok();
    assert_eq!(answer["message"]["content"], rest);
}

#[test]
fn formats_constrain_the_answer() {
    let schema = json!({
        "type": "object",
        "properties": {"age": {"type": "integer", "minimum": 1, "maximum": 9}},
        "required": ["age"],
        "additionalProperties": false,
    });
    let options = json!({"temperature": 0, "num_predict": 120});
    let fields = json!({"format": schema, "stream": false, "options": options});
    let chatted = post(shared(), CHAT, &chat("plain", fields.clone())).ok();
    let raw = with(json!({"prompt": "The age of the boy:", "raw": true}), fields.clone());
    let raw = post(shared(), GENERATE, &raw).ok();
    for text in [&chatted["message"]["content"], &raw["response"]] {
        let value: Value = serde_json::from_str(text.as_str().unwrap()).unwrap();
        assert!((1..=9).contains(&value["age"].as_i64().unwrap()), "{value}");
    }
    let json = chat("plain", with(fields, json!({"format": "json"})));
    let json = post(shared(), CHAT, &json).ok();
    assert!(json["message"]["content"].as_str().unwrap().trim_start().starts_with('{'), "{json}");
    let wrong = post(shared(), CHAT, &chat("plain", json!({"format": "yaml"})));
    assert!(error(&wrong, 400).contains("format"));
}

#[test]
fn raw_prompts_are_completed_and_others_are_rendered() {
    for story in stories() {
        let options = json!({"temperature": 0, "num_predict": story["max_tokens"]});
        let request = json!({"prompt": story["prompt"], "raw": true, "options": options});
        let lines = lines(&post(shared(), GENERATE, &request));
        assert_eq!(joined(&lines, "/response"), story["text"].as_str().unwrap());
        assert_eq!(lines.last().unwrap()["done_reason"], "length");
    }
    let expected = conversation("system");
    let messages = &expected["request"]["messages"];
    let request = json!({
        "model": "ember:latest",
        "system": messages[0]["content"],
        "prompt": messages[1]["content"],
        "think": false,
        "stream": false,
        "options": {"temperature": 0},
    });
    let answer = post(shared(), GENERATE, &request).ok();
    assert_eq!(answer["response"], expected["text"]);
    assert_eq!(answer["prompt_eval_count"], expected["prompt_tokens"].as_array().unwrap().len());
}

#[test]
fn gaps_are_filled_as_by_the_completions_of_openai() {
    let openai = json!({"prompt": "Once", "suffix": " happy.", "temperature": 0, "max_tokens": 12});
    let expected = post(shared(), "/v1/completions", &openai).ok();
    let options = json!({"temperature": 0, "num_predict": 12});
    let ollama =
        json!({"prompt": "Once", "suffix": " happy.", "stream": false, "options": options});
    let found = post(shared(), GENERATE, &ollama).ok();
    assert_eq!(found["response"], expected["choices"][0]["text"]);
}

#[test]
fn options_are_honored() {
    let ask = |options: Value| {
        let request = json!({
            "prompt": "Once upon a time", "raw": true, "stream": false, "options": options,
        });
        post(shared(), GENERATE, &request).ok()
    };
    let seeded =
        json!({"seed": 4, "num_predict": 24, "temperature": 1.5, "top_k": 40, "num_ctx": 4096});
    assert_eq!(ask(seeded.clone())["response"], ask(seeded.clone())["response"]);
    assert_ne!(ask(seeded.clone())["response"], ask(with(seeded, json!({"seed": 5})))["response"]);
    let greedy = ask(json!({"temperature": 0, "num_predict": 20}));
    // Without the penalty that the model file recommends.
    let top_1 = ask(json!({"top_k": 1, "num_predict": 20, "repeat_penalty": 1}));
    assert_eq!(greedy["response"], top_1["response"]);
    let text = greedy["response"].as_str().unwrap();
    let word = text.split_whitespace().nth(4).unwrap();
    let stopped = ask(json!({"temperature": 0, "num_predict": 20, "stop": [word]}));
    assert_eq!(stopped["done_reason"], "stop");
    assert!(!stopped["response"].as_str().unwrap().contains(word));
}

#[test]
fn ignored_options_are_reported() {
    let chat = json!({"messages": [{"role": "user", "content": "Hi"}]});
    let requests = [(GENERATE, json!({"prompt": "Hi"})), (CHAT, chat)];
    let ask = |address, more: Value| {
        requests.clone().map(|(path, mut request)| {
            request["options"] = with(json!({"num_predict": 1, "top_k": 5}), more.clone());
            post(address, path, &request)
        })
    };
    let ignored =
        json!({"num_ctx": 4096, "foo": 1, "num_gpu": 99, "tfs_z": 1, "mirostat": 0, "a": null});
    for reply in ask(shared(), ignored) {
        assert_eq!(reply.status, 200, "{}", reply.body);
        let expected = "options.foo, options.num_ctx, options.num_gpu";
        assert_eq!(reply.header("x-inferno-ignored-fields"), Some(expected));
    }
    for reply in ask(strict(), json!({"num_ctx": 4096})) {
        assert_eq!(reply.status, 200, "{}", reply.body);
    }
    for reply in ask(strict(), json!({"foo": 1})) {
        assert_eq!(error(&reply, 400), "unknown field options.foo; remove it");
    }
}

#[test]
fn integers_in_options_may_have_a_decimal_point() {
    let ask = |options: Value| {
        let request = json!({"prompt": "Once", "raw": true, "stream": false, "options": options});
        post(shared(), GENERATE, &request)
    };
    let answer = ask(json!({"num_predict": 3.0, "top_k": 40.0, "seed": 7.0})).ok();
    assert_eq!(answer["eval_count"], 3);
    assert!(error(&ask(json!({"num_predict": 3.5})), 400).contains("options.num_predict"));
}

#[test]
fn long_inputs_keep_the_special_token_at_their_end() {
    let embed = |input: Value| {
        post(shared(), "/api/embed", &json!({"input": input})).ok()["embeddings"][0].clone()
    };
    let end =
        post(shared(), "/tokenize", &json!({"prompt": "<|im_end|>"})).ok()["tokens"][0].clone();
    let long = vec![json!(300); 2000];
    let cut = embed(json!([&long[..1024]]));
    assert_eq!(embed(json!([long])), cut);
    let ended = |len: usize| [&long[..len], std::slice::from_ref(&end)].concat();
    assert_eq!(embed(json!([ended(2000)])), embed(json!([ended(1023)])));
}

#[test]
fn a_request_without_a_prompt_returns_at_once() {
    for (path, body) in [(GENERATE, json!({"model": "ember"})), (CHAT, json!({"messages": []}))] {
        let loaded = post(shared(), path, &with(body, json!({"keep_alive": -1}))).ok();
        assert_eq!((&loaded["done"], &loaded["done_reason"]), (&json!(true), &json!("load")));
    }
}

#[test]
fn embeddings_are_those_of_openai_s_endpoint() {
    let inputs = json!(["Once upon a time", "The sky is blue."]);
    let expected = post(shared(), "/v1/embeddings", &json!({"input": inputs})).ok();
    let found = post(shared(), "/api/embed", &json!({"model": "ember", "input": inputs})).ok();
    for place in 0..2 {
        assert_eq!(found["embeddings"][place], expected["data"][place]["embedding"]);
    }
    assert_eq!(found["prompt_eval_count"], expected["usage"]["prompt_tokens"]);
    let old = json!({"model": "ember", "prompt": inputs[1]});
    let old = post(shared(), "/api/embeddings", &old).ok();
    assert_eq!(old["embedding"], expected["data"][1]["embedding"]);

    let long = "word ".repeat(3000);
    post(shared(), "/api/embed", &json!({"input": long})).ok();
    // Ollama loads a model at such requests.
    for body in [json!({"input": ""}), json!({"input": []}), json!({"input": null}), json!({})] {
        let loaded = post(shared(), "/api/embed", &body).ok();
        assert_eq!(loaded["embeddings"], json!([]));
    }
    for body in [json!({"prompt": ""}), json!({})] {
        let loaded = post(shared(), "/api/embeddings", &body).ok();
        assert_eq!(loaded["embedding"], json!([]));
    }
    let refused = post(shared(), "/api/embed", &json!({"input": long, "truncate": false}));
    assert!(error(&refused, 400).contains("maximum context length"));
}

#[test]
fn the_served_model_is_described() {
    let tags = get(shared(), "/api/tags").ok();
    let model = &tags["models"][0];
    assert_eq!((&model["name"], &model["model"]), (&json!("ember"), &json!("ember")));
    assert!(model["size"].as_u64().unwrap() > 1_000_000, "{model}");
    assert_eq!(model["details"]["format"], "gguf");
    assert_eq!(model["digest"].as_str().unwrap().len(), 16);
    let running = get(shared(), "/api/ps").ok();
    assert_eq!(running["models"][0]["digest"], model["digest"]);
    assert_eq!(running["models"][0]["context_length"], 1024);

    let shown = post(shared(), "/api/show", &json!({"model": "ember"})).ok();
    assert_eq!(shown["details"], model["details"]);
    assert_eq!(shown["model_info"]["general.architecture"], model["details"]["family"]);
    for capability in ["completion", "tools", "thinking", "insert"] {
        assert!(shown["capabilities"].as_array().unwrap().contains(&json!(capability)), "{shown}");
    }
    assert!(shown["template"].as_str().unwrap().contains("{%"));
    let modelfile = shown["modelfile"].as_str().unwrap();
    let source = modelfile.lines().next().unwrap().strip_prefix("FROM ").expect(modelfile);
    assert!(!source.is_empty(), "{modelfile}");
    assert!(get(shared(), "/api/version").ok()["version"].is_string());
}

#[test]
fn models_cannot_be_changed() {
    let pulled = post(shared(), "/api/pull", &json!({"model": "ember:latest"}));
    assert_eq!(lines(&pulled), [json!({"status": "success"})]);
    let other = post(shared(), "/api/pull", &json!({"model": "llama3.2", "stream": false}));
    assert!(error(&other, 404).contains("llama3.2"));
    for path in ["/api/create", "/api/copy", "/api/push"] {
        error(&post(shared(), path, &json!({"model": "ember"})), 501);
    }
    error(&send(shared(), "DELETE", "/api/delete", &[], ""), 501);
    for body in [json!({}), json!({"model": ""})] {
        assert_eq!(error(&post(shared(), "/api/pull", &body), 400), "model is missing");
    }
    error(&post(shared(), "/api/blobs/sha256:0123", &json!({})), 501);
    let head =
        b"HEAD /api/blobs/sha256:0123 HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let mut stream = connect(shared());
    stream.write_all(head).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 501 "), "{answer}");
}

#[test]
fn mistakes_are_named_in_the_format_of_ollama() {
    let image = json!({"messages": [{"role": "user", "content": "Hi", "images": ["aGk="]}]});
    assert!(error(&post(shared(), CHAT, &image), 400).contains("messages[0].images"));
    let image = json!({"prompt": "Hi", "images": ["aGk="]});
    assert!(error(&post(shared(), GENERATE, &image), 400).contains("images"));
    let role = json!({"messages": [{"role": "bob", "content": "Hi"}]});
    assert!(error(&post(shared(), CHAT, &role), 400).contains("messages[0].role"));
    let mirostat = json!({"prompt": "Hi", "options": {"mirostat": 2}});
    assert!(error(&post(shared(), GENERATE, &mirostat), 400).contains("mirostat"));
    let wrong = json!({"prompt": "Hi", "options": {"top_k": "many"}});
    assert!(error(&post(shared(), GENERATE, &wrong), 400).contains("options.top_k"));
    for think in [json!(5), json!("hard")] {
        let request = chat("plain", json!({"think": think}));
        let message = error(&post(shared(), CHAT, &request), 400);
        assert!(message.starts_with("think must be true, false, "), "{message}");
        assert!(message.ends_with(&format!("but is {think}")), "{message}");
    }
    error(&get(shared(), "/api/nothing"), 404);
}

#[test]
fn the_content_type_may_be_missing_unless_a_browser_sends_the_request() {
    let body = json!({"prompt": "Hi", "stream": false, "options": {"num_predict": 1}}).to_string();
    let form = ("content-type", "application/x-www-form-urlencoded");
    send(shared(), "POST", GENERATE, &[form], &body).ok();
    send(shared(), "POST", GENERATE, &[], &body).ok();
    let origin = ("origin", "http://page.example");
    error(&send(shared(), "POST", GENERATE, &[form, origin], &body), 415);
}
