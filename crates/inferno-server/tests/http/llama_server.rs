//! llama-server's own API. The answers are those of OpenAI's endpoints, which are compared with transformers'.

use inferno_gguf::{Metadata, StringArray};
use serde_json::{Value, json};

use crate::client::{get, metric, post};
use crate::fixtures::{chat_request, conversation, later_word, prompts, stories};
use crate::server::{shared, start_changed, start_with_reasoning};

const PATH: &str = "/completion";

fn complete(body: Value) -> Value {
    post(shared(), PATH, &body).ok()
}

fn with(mut request: Value, fields: Value) -> Value {
    request.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    request
}

/// The parts of a stream, which ends without a marker.
fn parts(body: Value) -> Vec<Value> {
    let reply = post(shared(), PATH, &with(body, json!({"stream": true})));
    reply.events().iter().map(|event| serde_json::from_str(&event.data).unwrap()).collect()
}

fn greedy(prompt: &Value, n_predict: u64) -> Value {
    json!({"prompt": prompt, "n_predict": n_predict, "temperature": 0})
}

#[test]
fn prompts_are_completed_whole_and_in_parts() {
    for story in stories() {
        let num_tokens = story["max_tokens"].as_u64().unwrap();
        let request = greedy(&story["prompt"], num_tokens);
        let whole = complete(with(request.clone(), json!({"return_tokens": true})));
        assert_eq!(whole["content"], story["text"]);
        assert_eq!(whole["tokens"], story["tokens"]);
        assert_eq!((&whole["stop"], &whole["stop_type"]), (&json!(true), &json!("limit")));
        assert_eq!(whole["prompt"], story["prompt"]);
        assert_eq!(whole["tokens_predicted"], num_tokens);
        assert_eq!(whole["tokens_evaluated"], story["prompt_tokens"].as_array().unwrap().len());
        assert_eq!(whole["generation_settings"]["n_predict"], num_tokens);
        assert_eq!(whole["truncated"], false);
        let new_line = story["text"].as_str().unwrap().contains('\n');
        assert_eq!(whole["has_new_line"], new_line);
        let timings = &whole["timings"];
        assert_eq!(timings["predicted_n"], num_tokens);
        assert!(timings["predicted_per_token_ms"].as_f64().unwrap() > 0.0, "{timings}");

        let parts = parts(with(request, json!({"timings_per_token": true})));
        let (last, others) = parts.split_last().unwrap();
        let text: String = parts.iter().filter_map(|part| part["content"].as_str()).collect();
        assert_eq!(text, story["text"].as_str().unwrap());
        let tokens: Vec<_> = others.iter().map(|part| part["tokens"][0].clone()).collect();
        assert_eq!(json!(tokens), story["tokens"]);
        for (place, part) in others.iter().enumerate() {
            assert_eq!(
                (&part["stop"], &part["tokens_predicted"]),
                (&json!(false), &json!(place + 1))
            );
            assert_eq!(part["timings"]["predicted_n"], place + 1);
            assert!(part.get("generation_settings").is_none());
        }
        assert_eq!((&last["stop"], &last["has_new_line"]), (&json!(true), &json!(new_line)));
        assert_eq!(last["generation_settings"]["stop"], json!([]));
    }
}

#[test]
fn prompts_may_be_mixtures_of_strings_and_tokens() {
    let story = &stories()[0];
    let expected = complete(greedy(&story["prompt"], 8));
    let tokens = &story["prompt_tokens"];
    assert_eq!(complete(greedy(tokens, 8))["content"], expected["content"]);
    let object = json!({"prompt_string": story["prompt"]});
    assert_eq!(complete(greedy(&object, 8))["content"], expected["content"]);
    let (first, rest) = tokens.as_array().unwrap().split_first().unwrap();
    let ids: Vec<u32> = serde_json::from_value(json!(rest)).unwrap();
    let text = post(shared(), "/detokenize", &json!({"tokens": ids})).ok();
    let mixed = complete(greedy(&json!([first, text["content"]]), 8));
    assert_eq!(mixed["prompt"], story["prompt"]);

    let many = complete(greedy(&json!([story["prompt"], tokens, object]), 8));
    let many = many.as_array().unwrap();
    assert_eq!(many.len(), 3);
    for (index, answer) in many.iter().enumerate() {
        assert_eq!(answer["content"], expected["content"]);
        assert_eq!(answer["index"], index);
    }
    let parts = parts(greedy(&json!([story["prompt"], story["prompt"]]), 4));
    for index in 0..2 {
        let of_prompt = parts.iter().filter(|part| part["index"] == index);
        assert_eq!(of_prompt.filter(|part| part["stop"] == true).count(), 1);
    }
}

#[test]
fn an_answer_ends_at_a_word_at_the_end_of_generation_and_when_the_context_is_full() {
    let (story, word) = (&stories()[0], later_word(&stories()[0]));
    let num_tokens = story["max_tokens"].as_u64().unwrap();
    let request = with(greedy(&story["prompt"], num_tokens), json!({"stop": [word, ""]}));
    let stopped = complete(request);
    assert_eq!((&stopped["stop_type"], &stopped["stopping_word"]), (&json!("word"), &json!(word)));
    let plain = conversation("plain");
    let ended = complete(greedy(&plain["prompt"], 40));
    assert_eq!((&ended["content"], &ended["stop_type"]), (&plain["text"], &json!("eos")));
    let endless = json!({"prompt": [5, 6], "n_predict": -1, "temperature": 0, "ignore_eos": true});
    let endless = complete(endless);
    assert_eq!((&endless["truncated"], &endless["tokens_cached"]), (&json!(true), &json!(1024)));
    let banned = &endless["generation_settings"]["logit_bias"][0];
    assert_eq!(banned["bias"], Value::Null, "ends of generation are excluded: {banned}");
}

#[test]
fn a_prompt_can_be_read_without_an_answer() {
    let prompt = "Once upon a time there was a boy who had never been read before.";
    let read = complete(json!({"prompt": prompt, "n_predict": 0}));
    assert_eq!((&read["content"], &read["tokens_predicted"]), (&json!(""), &json!(0)));
}

#[test]
fn log_probabilities_are_those_of_openai_s_endpoint() {
    let prompt = &prompts()[0]["prompt"];
    let chat = json!({"prompt": prompt, "max_tokens": 3, "temperature": 0, "logprobs": 4});
    let expected = post(shared(), "/v1/completions", &chat).ok();
    let expected = &expected["choices"][0]["logprobs"];
    let request = with(greedy(prompt, 3), json!({"n_probs": 4}));
    let whole = complete(request.clone());
    let found = whole["completion_probabilities"].as_array().unwrap();
    assert_eq!(found.len(), 3);
    for (place, token) in found.iter().enumerate() {
        assert_eq!(token["token"], expected["tokens"][place]);
        let logprob = expected["token_logprobs"][place].as_f64().unwrap();
        assert!((token["logprob"].as_f64().unwrap() - logprob).abs() < 1e-6);
        assert_eq!(token["top_logprobs"].as_array().unwrap().len(), 4);
        assert_eq!(token["top_logprobs"][0]["id"], token["id"], "greedy");
    }
    let parts = parts(request);
    for (part, token) in parts.iter().zip(found) {
        assert_eq!(&part["completion_probabilities"], &json!([token]));
    }
}

#[test]
fn biases_are_read_in_every_form() {
    let story = &stories()[0];
    let first = &story["tokens"][0];
    let text = post(shared(), "/detokenize", &json!({"tokens": [first]})).ok();
    let forms = [
        json!([[first, -100]]),
        json!([[first, false]]),
        json!([[text["content"], -100]]),
        json!({first.to_string(): -100}),
        json!({text["content"].as_str().unwrap(): false}),
    ];
    let expected = complete(with(greedy(&story["prompt"], 4), json!({"logit_bias": forms[0]})));
    assert_ne!(expected["content"], complete(greedy(&story["prompt"], 4))["content"]);
    for form in forms {
        let biased = complete(with(greedy(&story["prompt"], 4), json!({"logit_bias": form})));
        assert_eq!(biased["content"], expected["content"]);
    }
    let wrong = with(greedy(&story["prompt"], 4), json!({"logit_bias": [[1]]}));
    assert_eq!(post(shared(), PATH, &wrong).error(400)["param"], "logit_bias");
}

#[test]
fn schemas_and_grammars_constrain_the_answer() {
    let schema = json!({"enum": ["red", "blue"]});
    let answer =
        complete(json!({"prompt": "The color is", "json_schema": schema, "n_predict": 20}));
    assert!(["\"red\"", "\"blue\""].contains(&answer["content"].as_str().unwrap()), "{answer}");
    let grammar = json!({"prompt": "So", "grammar": "start: \"yes\" | \"no\"", "n_predict": 20});
    let answer = complete(grammar.clone());
    assert!(["yes", "no"].contains(&answer["content"].as_str().unwrap()), "{answer}");
    let text = json!({"prompt": "So", "json_schema": "schema.json"});
    let error = post(shared(), PATH, &text).error(400);
    assert!(error["message"].as_str().unwrap().contains("must be an object"), "{error}");
    let both = with(grammar, json!({"json_schema": schema}));
    assert_eq!(post(shared(), PATH, &both).error(400)["param"], "grammar");
    let wrong = json!({"prompt": "So", "grammar": "start: ("});
    assert_eq!(post(shared(), PATH, &wrong).error(400)["param"], "grammar");
}

#[test]
fn openai_s_endpoints_accept_llama_server_s_fields() {
    let request = chat_request(&conversation("plain"));
    let format = json!({"grammar": "start: \"yes\" | \"no\"", "timings_per_token": true});
    let answer = post(shared(), "/v1/chat/completions", &with(request.clone(), format)).ok();
    let content = answer["choices"][0]["message"]["content"].as_str().unwrap();
    assert!(["yes", "no"].contains(&content), "{answer}");
    assert_eq!(answer["timings"]["predicted_n"], answer["usage"]["completion_tokens"]);
    let schema = json!({"prompt": "So", "json_schema": {"const": 7}, "max_tokens": 9});
    let answer = post(shared(), "/v1/completions", &schema).ok();
    assert_eq!(answer["choices"][0]["text"], "7");
    let both = with(schema, json!({"grammar": "start: \"a\""}));
    assert_eq!(post(shared(), "/v1/completions", &both).error(400)["param"], "grammar");

    let streamed = with(request, json!({"stream": true, "timings_per_token": true}));
    let chunks = post(shared(), "/v1/chat/completions", &streamed).chunks();
    let (first, others) = chunks.split_first().unwrap();
    assert!(first.get("timings").is_none(), "nothing has been generated yet: {first}");
    assert_eq!(first["choices"][0]["delta"]["content"], Value::Null);
    let counts = others.iter().map(|chunk| chunk["timings"]["predicted_n"].as_u64().unwrap());
    assert!(counts.is_sorted(), "{chunks:?}");
}

#[test]
fn completions_without_a_prefix_are_answered_in_the_format_of_the_request() {
    let prompt = &stories()[0]["prompt"];
    let expected = complete(greedy(prompt, 4))["content"].clone();
    let native = post(shared(), "/completions", &greedy(prompt, 4));
    assert_eq!(native.header("x-inferno-ignored-fields"), None);
    assert_eq!(native.ok()["content"], expected);
    let openai = json!({"prompt": prompt, "max_tokens": 4, "temperature": 0, "n_predict": null});
    let answer = post(shared(), "/completions", &openai).ok();
    assert_eq!(answer["choices"][0]["text"], expected);
    let prefixed = post(shared(), "/v1/completions", &with(openai, json!({"n_predict": 9})));
    assert_eq!(prefixed.header("x-inferno-ignored-fields"), Some("n_predict"));
    assert_eq!(prefixed.ok()["choices"][0]["text"], expected);
}

#[test]
fn an_answer_can_be_reduced_to_some_fields() {
    let fields = json!(["content", "generation_settings/n_predict", "nothing"]);
    let request = with(greedy(&json!("Once"), 3), json!({"response_fields": fields}));
    let answer = complete(request);
    assert_eq!(answer.as_object().unwrap().len(), 2, "{answer}");
    assert_eq!(answer["generation_settings/n_predict"], 3);
}

#[test]
fn what_is_unavailable_is_rejected_by_name() {
    let fields = [
        ("mirostat", json!(2)),
        ("xtc_probability", json!(0.5)),
        ("dry_base", json!(0.5)),
        ("dry_sequence_breakers", json!(["-".repeat(41)])),
        ("post_sampling_probs", json!(true)),
        ("lora", json!([{"id": 0, "scale": 1.0}])),
        ("n_indent", json!(4)),
        ("t_max_predict_ms", json!(100)),
        ("n_probs", json!(1001)),
    ];
    // As many alternatives are only streamed.
    let many = json!({"prompt": "Once", "n_probs": 1000, "n_predict": 1500});
    assert_eq!(post(shared(), PATH, &many).error(400)["param"], "n_probs");
    for (field, value) in fields {
        let request = with(greedy(&json!("Once"), 3), json!({field: value}));
        assert_eq!(post(shared(), PATH, &request).error(400)["param"], field);
    }
    let image = json!({"prompt": {"prompt_string": "Hi", "multimodal_data": ["aGk="]}});
    assert_eq!(post(shared(), PATH, &image).error(400)["param"], "prompt.multimodal_data");
    for prompt in [json!([]), json!(5), json!({}), json!([1, {}]), json!(null)] {
        post(shared(), PATH, &json!({"prompt": prompt})).error(400);
    }
    post(shared(), PATH, &json!({"prompt": "word ".repeat(3000)})).error(400);
}

#[test]
fn dry_prevents_repetitions() {
    let plain = greedy(&json!("A man. A man. A man. A"), 8);
    // Without a repetition, a token that occurred is penalized by a length of 0.
    let dry = json!({"dry_multiplier": 100, "dry_allowed_length": 0, "dry_sequence_breakers": []});
    let settings = complete(with(plain.clone(), dry.clone()))["generation_settings"].clone();
    assert_eq!(settings["dry_multiplier"], 100.0);
    assert_eq!(
        (&settings["dry_base"], &settings["dry_penalty_last_n"]),
        (&json!(1.75), &json!(-1))
    );
    assert_eq!(settings["dry_sequence_breakers"], json!([]));
    let text = |fields: Value| complete(with(plain.clone(), fields))["content"].clone();
    assert_ne!(text(dry.clone()), text(json!({})));
    assert_eq!(text(json!({"dry_multiplier": 100, "dry_penalty_last_n": 0})), text(json!({})));
    let chat = json!({"messages": [{"role": "user", "content": "A man. A man. A man."}], "temperature": 0, "max_tokens": 8});
    let chat = post(shared(), "/v1/chat/completions", &with(chat, dry));
    assert_eq!(chat.header("x-inferno-ignored-fields"), None);
    chat.ok();
}

#[test]
fn gaps_are_filled() {
    let gap = json!({"input_prefix": "Once", "input_suffix": " happy.", "n_predict": 12, "temperature": 0});
    let filled = post(shared(), "/infill", &gap).ok();
    let openai = json!({"prompt": "Once", "suffix": " happy.", "temperature": 0, "max_tokens": 12});
    let expected = post(shared(), "/v1/completions", &openai).ok();
    assert_eq!(filled["content"], expected["choices"][0]["text"]);

    let files = json!([{"filename": "a.txt", "text": "A boy."}, {"text": "A girl."}]);
    let more = with(gap.clone(), json!({"prompt": " upon", "input_extra": files}));
    let more = post(shared(), "/infill", &more).ok();
    let prompt = more["prompt"].as_str().unwrap();
    assert!(prompt.ends_with("<|fim_suffix|> happy.<|fim_middle|> upon"), "{prompt}");
    let places =
        ["a.txt", "A boy.", "A girl.", "<|fim_prefix|>"].map(|it| prompt.find(it).unwrap());
    assert!(places.is_sorted(), "{prompt}");
    for wrong in [json!([{"filename": "a"}]), json!([{"filename": 1, "text": "a"}]), json!([{}])] {
        post(shared(), "/infill", &with(gap.clone(), json!({"input_extra": wrong}))).error(400);
    }
}

/// Renames the tokens around gaps.
fn without_gap_tokens(metadata: &mut Metadata) {
    let tokens: &StringArray = metadata.required("tokenizer.ggml.tokens").unwrap();
    let tokens: StringArray = tokens.iter().map(|it| it.replace("<|fim_", "<|other_")).collect();
    metadata.insert("tokenizer.ggml.tokens", tokens);
}

#[test]
fn a_model_without_tokens_for_gaps_fills_none() {
    let server = start_changed(without_gap_tokens);
    let gap = json!({"input_prefix": "a", "input_suffix": "b"});
    assert_eq!(post(server.address, "/infill", &gap).error(400)["param"], "input_suffix");
    server.stop();
    server.join();
}

#[test]
fn text_is_encoded_in_both_formats() {
    let story = &stories()[0];
    let request = json!({"content": story["prompt"], "add_special": true});
    let encoded = post(shared(), "/tokenize", &request).ok();
    assert_eq!(encoded, json!({"tokens": story["prompt_tokens"]}));
    let pieces = json!({"content": "a🦙", "with_pieces": true});
    let pieces = post(shared(), "/tokenize", &pieces).ok();
    let pieces = pieces["tokens"].as_array().unwrap();
    assert_eq!(pieces[0]["piece"], "a");
    let is_bytes = |token: &Value| token["piece"].is_array() && token["id"].is_number();
    assert!(pieces[1..].iter().any(is_bytes), "a part of a character is bytes: {pieces:?}");
    let plain = json!({"content": "<|im_end|>", "parse_special": false});
    let plain = post(shared(), "/tokenize", &plain).ok();
    assert!(plain["tokens"].as_array().unwrap().len() > 1, "{plain}");
    let both = json!({"content": "a", "prompt": "a"});
    assert_eq!(post(shared(), "/tokenize", &both).error(400)["param"], "content");
}

#[test]
fn conversations_are_rendered_and_counted() {
    let expected = conversation("system");
    let request = chat_request(&expected);
    let rendered = post(shared(), "/apply-template", &request).ok();
    assert_eq!(rendered, json!({"prompt": expected["prompt"]}));
    for path in ["/v1/chat/completions/input_tokens", "/chat/completions/input_tokens"] {
        let counted = post(shared(), path, &request).ok();
        assert_eq!(counted["input_tokens"], expected["prompt_tokens"].as_array().unwrap().len());
    }
}

#[test]
fn verbose_answers_contain_the_prompt_and_the_parameters() {
    let expected = conversation("plain");
    let request = chat_request(&expected);
    let verbose = with(request.clone(), json!({"verbose": true, "n": 2}));
    let answer = post(shared(), "/v1/chat/completions", &verbose).ok();
    let details = &answer["__verbose"];
    assert_eq!(details["prompt"], expected["prompt"]);
    assert_eq!(details["content"], answer["choices"][0]["message"]["content"]);
    assert_eq!(details["generation_settings"]["n_predict"], expected["max_tokens"]);
    for fields in [json!({}), json!({"verbose": false})] {
        let answer = post(shared(), "/v1/chat/completions", &with(request.clone(), fields)).ok();
        assert!(answer.get("__verbose").is_none(), "{answer}");
    }
}

#[test]
fn a_prompt_that_continues_a_message_has_no_start_of_an_answer() {
    let messages =
        json!([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hel"}]);
    let both = json!({
        "messages": messages, "add_generation_prompt": true, "continue_final_message": true,
    });
    for path in ["/v1/chat/completions", "/apply-template", "/tokenize"] {
        let error = post(shared(), path, &both).error(400);
        assert_eq!(error["param"], "continue_final_message", "{path}");
    }
    let continued = with(both, json!({"add_generation_prompt": false}));
    let prompt = post(shared(), "/apply-template", &continued).ok()["prompt"].clone();
    assert!(prompt.as_str().unwrap().ends_with("\n\nHel"), "{prompt}");
}

#[test]
fn reasoning_is_on_by_default_if_the_server_is_started_so() {
    let server = start_with_reasoning();
    let rendered = |address, more: Value| {
        let request = json!({"messages": [{"role": "user", "content": "Hi"}]});
        let rendered = post(address, "/apply-template", &with(request, more)).ok();
        rendered["prompt"].as_str().unwrap().to_owned()
    };
    let switch = |thinks: bool| json!({"chat_template_kwargs": {"enable_thinking": thinks}});
    let (on, off) = (rendered(shared(), switch(true)), rendered(shared(), switch(false)));
    assert_ne!(on, off);
    assert_eq!(rendered(shared(), json!({})), off);
    assert_eq!(rendered(server.address, json!({})), on);
    assert_eq!(rendered(server.address, switch(false)), off);
    server.stop();
    server.join();
}

#[test]
fn inputs_of_embeddings_may_be_mixtures() {
    let embed = |input: Value| {
        let answer = post(shared(), "/v1/embeddings", &json!({"input": input})).ok();
        answer["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["embedding"].clone())
            .collect::<Vec<_>>()
    };
    let hello = post(shared(), "/tokenize", &json!({"prompt": "hello"})).ok()["tokens"].clone();
    let expected = embed(json!("hello world"));
    let parts = json!([{"type": "text", "text": "hello "}, {"type": "text", "text": "world"}]);
    let (object, mixed) = (json!({"content": parts}), [hello[0].clone()].into_iter());
    let tokens = hello.as_array().unwrap().iter().skip(1).cloned();
    let mixed: Vec<_> = mixed.chain(tokens).chain([json!(" world")]).collect();
    for input in [object.clone(), json!(mixed), json!({"prompt_string": "hello world"})] {
        assert_eq!(embed(input.clone()), expected, "{input}");
    }
    let many = embed(json!(["hello world", object, mixed]));
    assert_eq!(many, [expected.clone(), expected.clone(), expected].concat());
    let image = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}});
    for wrong in [json!({"content": "text"}), json!({"content": [image]}), json!([[5, {}]])] {
        post(shared(), "/v1/embeddings", &json!({"input": wrong})).error(400);
    }
}

#[test]
fn inputs_are_embedded() {
    let expected = post(shared(), "/v1/embeddings", &json!({"input": ["Hello", "world"]})).ok();
    let found = post(shared(), "/embedding", &json!({"content": ["Hello", "world"]})).ok();
    for place in 0..2 {
        assert_eq!(found[place]["embedding"][0], expected["data"][place]["embedding"]);
        assert_eq!(found[place]["index"], place);
    }
}

#[test]
fn metrics_have_llama_server_s_names_as_well() {
    complete(greedy(&json!("Once upon a time"), 4));
    for (name, other) in [
        ("llamacpp:tokens_predicted_total ", "vllm:generation_tokens_total"),
        ("llamacpp:prompt_tokens_cached_total ", "vllm:prompt_tokens_cached_total"),
    ] {
        // Other tests run at the same time.
        let before = metric(shared(), other);
        let found = metric(shared(), name);
        assert!(before <= found && found <= metric(shared(), other), "{name}");
    }
    assert!(metric(shared(), "llamacpp:predicted_tokens_seconds ") > 0.0);
    assert!(metric(shared(), "llamacpp:n_tokens_max ") > 4.0);
    assert!(get(shared(), "/metrics").header("process-start-time-unix").is_some());
}

#[test]
fn the_server_is_described() {
    let props = get(shared(), "/props").ok();
    assert_eq!(props["default_generation_settings"]["n_ctx"], 1024);
    assert!(props["default_generation_settings"]["params"]["temperature"].is_number());
    assert!(props["model_path"].as_str().unwrap().ends_with("ember.gguf"));
    assert!(props["chat_template"].as_str().unwrap().contains("{%"));
    assert_eq!(props["model_alias"], "ember");
    let slots = get(shared(), "/slots").ok();
    assert_eq!(slots.as_array().unwrap().len(), props["total_slots"].as_u64().unwrap() as usize);
    assert_eq!(slots[0]["n_ctx"], 1024);
    assert_eq!(get(shared(), "/lora-adapters").ok(), json!([]));
    post(shared(), "/lora-adapters", &json!([{"id": 0, "scale": 1.0}])).error(400);
}
