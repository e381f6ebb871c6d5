//! Health, version, models, metrics and the OpenAPI description.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use crate::client::{get, post, send};
use crate::server::{shared, start};

#[test]
fn the_model_is_listed_under_all_its_names() {
    let models = get(shared(), "/v1/models").ok();
    assert_eq!(models["object"], "list");
    let names: Vec<_> = models["data"].as_array().unwrap().iter().map(|it| &it["id"]).collect();
    assert_eq!(names, [&json!("ember"), &json!("alias")]);
    // In the format of Anthropic's clients.
    let ends = [&models["first_id"], &models["last_id"], &models["has_more"]];
    assert_eq!(ends, [&json!("ember"), &json!("alias"), &json!(false)]);
    let one = get(shared(), "/v1/models/alias").ok();
    assert_eq!((&one["type"], &one["display_name"]), (&json!("model"), &json!("alias")));
    assert_eq!(one["max_model_len"], 1024);
    // The recommendation of the file, see models/ember.md.
    let sampling = json!({"temperature": 0.1, "top_p": 0.9, "top_k": 0, "min_p": 0.0});
    assert_eq!(one["default_sampling_params"], sampling);
    assert_eq!(one["takes_messages"], true);
    assert_eq!(one["takes_enable_thinking"], true);
    assert_eq!(one["enable_thinking_default"], false);
    assert_eq!(get(shared(), "/version").ok()["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(get(shared(), "/health").ok()["status"], "ready");
}

/// The metrics of the dashboards in vLLM's repository (examples/observability), except those of adapters, images and
/// remote caches.
const READ_BY_DASHBOARDS: &[&str] = &[
    "http_request_duration_seconds_bucket",
    "http_requests_total",
    "process_cpu_seconds_total",
    "process_open_fds",
    "process_start_time_seconds",
    "vllm:e2e_request_latency_seconds_bucket",
    "vllm:engine_sleep_state",
    "vllm:generation_tokens_total",
    "vllm:inter_token_latency_seconds_bucket",
    "vllm:iteration_tokens_total_bucket",
    "vllm:kv_cache_usage_perc",
    "vllm:num_preemptions_total",
    "vllm:num_requests_running",
    "vllm:num_requests_waiting",
    "vllm:num_requests_waiting_by_reason",
    "vllm:prefix_cache_hits_total",
    "vllm:prefix_cache_queries_total",
    "vllm:prompt_tokens_by_source_total",
    "vllm:prompt_tokens_cached_total",
    "vllm:prompt_tokens_total",
    "vllm:request_decode_time_seconds_sum",
    "vllm:request_generation_tokens_bucket",
    "vllm:request_inference_time_seconds_bucket",
    "vllm:request_max_num_generation_tokens_sum",
    "vllm:request_params_max_tokens_bucket",
    "vllm:request_params_n_bucket",
    "vllm:request_prefill_kv_computed_tokens_bucket",
    "vllm:request_prefill_time_seconds_sum",
    "vllm:request_prompt_tokens_bucket",
    "vllm:request_queue_time_seconds_sum",
    "vllm:request_success_total",
    "vllm:request_time_per_output_token_seconds_bucket",
    "vllm:spec_decode_num_accepted_tokens_total",
    "vllm:spec_decode_num_draft_tokens_total",
    "vllm:spec_decode_num_drafts_total",
    "vllm:time_to_first_token_seconds_bucket",
];

/// The samples of a page by name and labels, except llama-server's, which have no labels.
fn samples(page: &str) -> BTreeMap<String, f64> {
    page.lines()
        .filter(|line| !line.starts_with('#') && !line.starts_with("llamacpp:") && !line.is_empty())
        .map(|line| {
            let (name, value) = line.rsplit_once(' ').unwrap();
            assert!(name.contains("model_name=\"ember\""), "{line}");
            (name.to_owned(), value.parse().unwrap())
        })
        .collect()
}

#[test]
fn metrics_have_vllm_s_names_and_count_requests() {
    let server = start(inferno_server::ServerOptions::default());
    let request = json!({"prompt": "Once upon a time there was", "max_tokens": 5, "temperature": 0, "ignore_eos": true});
    let usage = post(server.address, "/v1/completions", &request).ok()["usage"].clone();
    // The engine publishes its state after each step, just after the answer has been sent.
    let is_idle = |page: &str| {
        let mut lines = page.lines();
        lines.any(|line| line.starts_with("vllm:num_requests_running") && line.ends_with(" 0"))
    };
    let page = loop {
        let page = get(server.address, "/metrics");
        if is_idle(&page.body) {
            break page;
        }
    };
    assert_eq!(page.header("content-type"), Some("text/plain; version=0.0.4"));
    let samples = samples(&page.body);
    let find = |start: &str| -> f64 {
        let mut found = samples.iter().filter(|(name, _)| name.starts_with(start));
        *found.next().unwrap_or_else(|| panic!("no {start} in {}", page.body)).1
    };
    assert_eq!(find("vllm:prompt_tokens_total"), usage["prompt_tokens"].as_f64().unwrap());
    assert_eq!(find("vllm:generation_tokens_total"), 5.0);
    let computed_tokens = usage["prompt_tokens"].as_f64().unwrap() + 4.0;
    assert_eq!(find("vllm:iteration_tokens_total_sum"), computed_tokens);
    assert_eq!(find("vllm:iteration_tokens_total_count"), 5.0);
    let labelled = |parts: &[&str]| {
        let mut found = samples.iter().filter(|(name, _)| parts.iter().all(|it| name.contains(it)));
        *found.next().unwrap_or_else(|| panic!("no {parts:?} in {}", page.body)).1
    };
    assert_eq!(labelled(&["vllm:iteration_tokens_total_bucket", "le=\"1\""]), 4.0);
    let handler = "handler=\"/v1/completions\"";
    assert_eq!(labelled(&["http_requests_total", handler, "\"POST\"", "\"2xx\""]), 1.0);
    assert_eq!(labelled(&["vllm:engine_sleep_state", "\"awake\""]), 1.0);
    assert_eq!(find("vllm:num_requests_waiting"), 0.0);
    assert!((0.0..=1.0).contains(&find("vllm:kv_cache_usage_perc")));
    assert_eq!(find("vllm:cache_config_info"), 1.0);
    assert_eq!(find("vllm:time_to_first_token_seconds_count"), 1.0);
    assert_eq!(find("vllm:inter_token_latency_seconds_count"), 4.0);
    assert_eq!(find("vllm:e2e_request_latency_seconds_count"), 1.0);
    assert_eq!(find("vllm:request_queue_time_seconds_count"), 1.0);
    assert_eq!(find("vllm:request_time_per_output_token_seconds_count"), 1.0);
    assert_eq!(find("vllm:request_max_num_generation_tokens_sum"), 5.0);
    assert_eq!(
        find("vllm:request_prefill_kv_computed_tokens_sum"),
        usage["prompt_tokens"].as_f64().unwrap()
    );
    assert!(page.body.contains("enable_prefix_caching=\"True\""));
    for name in READ_BY_DASHBOARDS {
        find(name);
    }
    let by_reason = |reason: &str| {
        labelled(&["vllm:request_success_total", &format!("finished_reason=\"{reason}\"")])
    };
    assert_eq!((by_reason("length"), by_reason("stop"), by_reason("abort")), (1.0, 0.0, 0.0));
    server.stop();
    server.join();
}

#[test]
fn metrics_are_available_as_open_metrics() {
    let headers = [("accept", "application/openmetrics-text;version=1.0.0,text/plain;q=0.5")];
    let page = send(shared(), "GET", "/metrics", &headers, "");
    assert!(page.header("content-type").unwrap().starts_with("application/openmetrics-text"));
    assert!(page.body.ends_with("# EOF\n"));
    assert!(page.body.contains("# TYPE vllm:generation_tokens counter\n"), "{}", page.body);
    assert!(page.body.contains("\nvllm:generation_tokens_total{"), "{}", page.body);
}

#[test]
fn routers_and_evaluations_find_what_they_read() {
    let load = &get(shared(), "/v1/loads").ok()["loads"][0];
    assert!(load["num_running_reqs"].is_u64() && load["token_usage"].is_f64(), "{load}");
    assert_eq!(get(shared(), "/loads").status, 200);
    let server = get(shared(), "/server_info").ok();
    assert_eq!(
        (&server["served_model_name"], &server["max_model_len"]),
        (&json!("ember"), &json!(1024))
    );
    let tokenizer = get(shared(), "/tokenizer_info").ok();
    assert!(tokenizer["chat_template"].as_str().unwrap().contains("add_generation_prompt"));
    assert!(tokenizer["eos_token"].is_string(), "{tokenizer}");
    let prompts = json!({"prompt": ["Once", "Once upon"]});
    let rendered = post(shared(), "/v1/completions/render", &prompts).ok();
    let tokens = post(shared(), "/tokenize", &json!({"prompt": "Once upon"})).ok();
    assert_eq!(rendered[1]["token_ids"], tokens["tokens"]);
    let rendered = post(shared(), "/v1/responses/render", &json!({"input": "Hello!"})).ok();
    let chat = json!({"messages": [{"role": "user", "content": "Hello!"}]});
    assert_eq!(rendered, post(shared(), "/v1/chat/completions/render", &chat).ok());
}

#[test]
fn paths_may_omit_the_version() {
    let hello = json!({"messages": [{"role": "user", "content": "Hello!"}], "max_tokens": 1});
    post(shared(), "/chat/completions", &hello).ok();
    post(shared(), "/completions", &json!({"prompt": "Once", "max_tokens": 1})).ok();
    post(shared(), "/responses", &json!({"input": "Hello!", "max_output_tokens": 1})).ok();
    post(shared(), "/embeddings", &json!({"input": "Hello!"})).ok();
    assert_eq!(get(shared(), "/models").ok()["data"][0]["id"], "ember");
    assert_eq!(get(shared(), "/models/alias").ok()["id"], "alias");
    assert_eq!(get(shared(), "/v1/health").ok()["status"], "ready");
    post(shared(), "/v1/responses/compact", &json!({})).error(404);
    for path in ["/models/load", "/models/unload"] {
        let error = post(shared(), path, &json!({"model": "ember"})).error(404);
        assert!(error.to_string().contains("when a request names them"), "{error:?}");
    }
}

#[test]
fn every_endpoint_is_described() {
    let description = get(shared(), "/openapi.json").ok();
    assert!(description["openapi"].as_str().unwrap().starts_with("3.1"));
    let paths = description["paths"].as_object().unwrap();
    for path in [
        "/v1/chat/completions",
        "/v1/chat/completions/render",
        "/v1/completions",
        "/v1/completions/render",
        "/v1/embeddings",
        "/v1/responses",
        "/v1/responses/render",
        "/v1/responses/{id}",
        "/v1/responses/{id}/input_items",
        "/v1/messages",
        "/v1/messages/render",
        "/v1/messages/count_tokens",
        "/v1/models",
        "/v1/models/{model}",
        "/tokenize",
        "/detokenize",
        "/tokenizer_info",
        "/server_info",
        "/v1/loads",
        "/health",
        "/version",
        "/metrics",
    ] {
        assert!(paths.contains_key(path), "{path}");
    }
    // Every reference has a target.
    let text = description.to_string();
    for reference in text.split("\"$ref\":\"#").skip(1) {
        let pointer = reference.split('"').next().unwrap();
        assert!(description.pointer(pointer).is_some(), "{pointer}");
    }
    // Every response has a description and a schema.
    let mut ids = BTreeSet::new();
    for (path, operations) in paths {
        for operation in operations.as_object().unwrap().values() {
            assert!(ids.insert(operation["operationId"].as_str().unwrap()), "{path}");
            for (kind, content) in operation["responses"]["200"]["content"].as_object().unwrap() {
                let schema = &content["schema"];
                let named = schema.get("items").unwrap_or(schema);
                let is_named = named["$ref"].is_string() || path == "/lora-adapters";
                assert!(is_named || kind == "text/plain", "{path}: {schema}");
            }
        }
    }
    // Those shared by OpenAI's endpoints, and Anthropic's.
    let fields = text.matches("\"temperature\":{").count();
    assert!(fields >= 2, "the fields of requests are described");
    let refusal = "/paths/~1v1~1messages/post/responses/429/content/application~1json/schema/$ref";
    assert_eq!(description.pointer(refusal).unwrap(), "#/components/schemas/AnthropicError");
}
