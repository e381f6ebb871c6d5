//! Several models that are loaded when requests name them.

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use inferno_server::{
    ModelCatalog, ModelInfo, ModelLoadError, OnDemandOptions, ServedModel, ServerOptions,
};
use serde_json::{Value, json};

use crate::client::{PATIENCE, connect, get, post, request, send};
use crate::fixtures::{chat_request, conversation, reasoning_and_answer};
use crate::server::{TestServer, load_named, start_on_demand};

const CHAT: &str = "/v1/chat/completions";

/// The embedded model under several names, and what was asked of it.
#[derive(Default)]
struct Catalog {
    num_loads: AtomicUsize,
    /// Whether there is memory for one model.
    is_tight: AtomicBool,
}

impl ModelCatalog for Catalog {
    fn models(&self) -> Result<Vec<Arc<ModelInfo>>, Box<dyn Error + Send + Sync>> {
        let info = |name: &str| {
            let info = ModelInfo::new(vec![name.to_owned()]).with_context_length(64);
            Arc::new(info.with_aliases(vec![reference(name)]))
        };
        Ok(["first", "second", "broken"].map(info).into())
    }

    fn load(&self, model: &ModelInfo, is_alone: bool) -> Result<ServedModel, ModelLoadError> {
        self.num_loads.fetch_add(1, Ordering::Relaxed);
        match model.name() {
            "broken" => Err(ModelLoadError::Other("tensor output.weight is missing".into())),
            _ if !is_alone && self.is_tight.load(Ordering::Relaxed) => {
                Err(ModelLoadError::NoMemory("out of memory".into()))
            }
            name => {
                load_named(vec![name.to_owned(), reference(name)]).map_err(ModelLoadError::Other)
            }
        }
    }
}

/// The other name of a model.
fn reference(name: &str) -> String {
    format!("hf:owner/{name}")
}

fn begin(options: ServerOptions, on_demand: OnDemandOptions) -> (TestServer, Arc<Catalog>) {
    let catalog = Arc::new(Catalog::default());
    let server = start_on_demand(options, Arc::clone(&catalog) as _, on_demand);
    (server, catalog)
}

fn at_most(max_num_loaded: usize) -> OnDemandOptions {
    OnDemandOptions { max_num_loaded, idle_timeout: None }
}

/// A conversation for a model, which is answered as transformers answers it.
fn ask(address: SocketAddr, model: &str) {
    let expected = conversation("plain");
    let mut asked = chat_request(&expected);
    asked["model"] = json!(model);
    let answer = post(address, CHAT, &asked).ok();
    let (_, text) = reasoning_and_answer(&expected);
    assert_eq!(answer["choices"][0]["message"]["content"], text, "{answer}");
}

/// The names of the loaded models.
fn loaded(address: SocketAddr) -> Vec<String> {
    let running = get(address, "/api/ps").ok();
    let names = running["models"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap());
    names.map(str::to_owned).collect()
}

fn num_loads(catalog: &Catalog) -> usize {
    catalog.num_loads.load(Ordering::Relaxed)
}

fn wait_until(is_done: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_done() {
        assert!(started.elapsed() < PATIENCE);
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn models_are_listed_without_loading_and_loaded_by_name() {
    let (server, catalog) = begin(ServerOptions::default(), at_most(2));
    let address = server.address;
    let ids = |listed: Value| {
        let cards = listed["data"].as_array().unwrap().clone();
        cards.iter().map(|card| card["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(get(address, "/health").status, 200);
    assert_eq!(ids(get(address, "/v1/models").ok()), ["first", "second", "broken"]);
    assert_eq!(get(address, "/v1/models/second").ok()["max_model_len"], 64);
    assert_eq!(get(address, "/api/tags").ok()["models"].as_array().map(Vec::len), Some(3));
    assert_eq!(post(address, "/api/show", &json!({"model": "first"})).status, 200);
    assert_eq!((loaded(address).len(), num_loads(&catalog)), (0, 0));

    ask(address, "second");
    ask(address, "hf:owner/second");
    ask(address, "second:latest");
    assert_eq!((loaded(address), num_loads(&catalog)), (vec!["second".to_owned()], 1));
    // More is known of a loaded model.
    assert_eq!(get(address, "/v1/models/second").ok()["max_model_len"], 1024);
    assert_eq!(get(address, "/props?model=second").ok()["model_alias"], "second");
    let message = json!({"model": "first", "messages": [{"role": "user", "content": "Hello!"}]});
    assert!(post(address, "/api/chat", &message).body.contains("\"model\":\"first\""));
    assert_eq!(loaded(address), ["second", "first"]);

    let metrics = get(address, "/metrics").body;
    let starting = |text: &str| metrics.lines().filter(|line| line.starts_with(text)).count();
    assert_eq!(starting("# TYPE vllm:num_requests_running "), 1, "{metrics}");
    assert_eq!(starting("vllm:num_requests_running{"), 2, "{metrics}");
    for model in ["first", "second"] {
        let label = format!("model_name=\"{model}\"");
        let is_series =
            |line: &&str| line.starts_with("vllm:num_requests_running{") && line.contains(&label);
        assert_eq!(metrics.lines().filter(is_series).count(), 1, "{metrics}");
    }
    server.stop();
    server.join();
}

#[test]
fn the_model_that_was_used_first_is_unloaded_for_another_one() {
    let (server, catalog) = begin(ServerOptions::default(), at_most(1));
    for name in ["first", "second", "first"] {
        ask(server.address, name);
        assert_eq!(loaded(server.address), [name]);
    }
    assert_eq!(num_loads(&catalog), 3);
}

#[test]
fn models_that_are_not_used_are_unloaded() {
    let idle_timeout = Some(Duration::from_millis(200));
    let (server, _) =
        begin(ServerOptions::default(), OnDemandOptions { max_num_loaded: 2, idle_timeout });
    ask(server.address, "first");
    wait_until(|| loaded(server.address).is_empty());
    ask(server.address, "first");
    assert_eq!(loaded(server.address), ["first"]);
}

#[test]
fn ollamas_clients_choose_how_long_models_stay_loaded() {
    let (server, _) = begin(ServerOptions::default(), at_most(2));
    ask(server.address, "first");
    let keep = |value: Value| {
        let body = json!({"model": "first", "stream": false, "keep_alive": value});
        post(server.address, "/api/generate", &body)
    };
    keep(json!("10m")).ok();
    let running = get(server.address, "/api/ps").ok();
    let expires: jiff::Timestamp =
        running["models"][0]["expires_at"].as_str().unwrap().parse().unwrap();
    let left = expires.duration_since(jiff::Timestamp::now()).as_secs();
    assert!((500..=600).contains(&left), "{left}");
    assert_eq!(keep(json!("soon")).status, 400);
    assert_eq!(keep(json!([[0]])).status, 400);
    assert_eq!(keep(json!(0)).ok()["done_reason"], "unload");
    wait_until(|| loaded(server.address).is_empty());
    let unknown = json!({"model": "third", "keep_alive": 0});
    assert_eq!(post(server.address, "/api/generate", &unknown).status, 404);
    // It is not loaded to be unloaded.
    assert_eq!(keep(json!(0)).ok()["done_reason"], "unload");
    assert!(loaded(server.address).is_empty());
}

#[test]
fn requests_that_run_keep_their_model() {
    let (server, catalog) = begin(ServerOptions::default(), at_most(1));
    let body = json!({
        "model": "first", "prompt": "Once", "max_tokens": 300, "ignore_eos": true, "stream": true,
    });
    let mut stream = connect(server.address);
    let headers = [("content-type", "application/json")];
    let bytes = request("POST", "/v1/completions", &headers, &body.to_string());
    stream.write_all(bytes.as_bytes()).unwrap();
    let mut answer = BufReader::new(stream);
    let mut line = String::new();
    answer.read_line(&mut line).unwrap();
    assert!(line.contains("200"), "{line}");
    // Waits until the stream has ended.
    ask(server.address, "second");
    let lines: Vec<String> = answer.lines().map(Result::unwrap).collect();
    assert!(lines.iter().any(|line| line == "data: [DONE]"), "{lines:?}");
    assert_eq!((loaded(server.address), num_loads(&catalog)), (vec!["second".to_owned()], 2));
}

#[test]
fn requests_at_the_same_time_load_a_model_once() {
    let (server, catalog) = begin(ServerOptions::default(), at_most(2));
    let address = server.address;
    let clients: Vec<_> = (0..8).map(|_| thread::spawn(move || ask(address, "first"))).collect();
    clients.into_iter().for_each(|client| client.join().unwrap());
    assert_eq!(num_loads(&catalog), 1);
}

#[test]
fn requests_without_a_known_model_are_errors_and_load_nothing() {
    let options = ServerOptions { api_keys: vec!["secret".to_owned()], ..ServerOptions::default() };
    let (server, catalog) = begin(options, at_most(2));
    let address = server.address;
    let message = json!([{"role": "user", "content": "Hello!"}]);
    let ask = |body: &str, key: &str| {
        let headers = [("content-type", "application/json"), ("x-api-key", key)];
        send(address, "POST", CHAT, &headers, body)
    };
    let named = |model: Value| json!({"model": model, "messages": message}).to_string();
    assert_eq!(ask(&named(json!("first")), "wrong").status, 401);
    let unknown = ask(&named(json!("third")), "secret").error(404);
    assert_eq!(unknown["code"], "model_not_found");
    assert!(
        unknown["message"].as_str().unwrap().ends_with("this server has first, second, broken")
    );
    let missing = ask(&json!({"messages": message}).to_string(), "secret").error(400);
    assert_eq!(missing["param"], "model");
    let wrong = ask(&named(json!(7)), "secret").error(400);
    assert!(wrong["message"].as_str().unwrap().contains("expected a string"), "{wrong}");
    assert_eq!(ask("{", "secret").error(400)["code"], "invalid_json");
    // Pages of other sites can send these.
    let headers = [("x-api-key", "secret"), ("sec-fetch-site", "cross-site")];
    assert_eq!(send(address, "GET", "/props?model=first", &headers, "").status, 400);
    let text = [&headers[..], &[("content-type", "text/plain")]].concat();
    assert_eq!(send(address, "POST", CHAT, &text, &named(json!("first"))).status, 415);
    assert_eq!(num_loads(&catalog), 0);
}

#[test]
fn requests_that_wait_for_a_model_when_the_server_stops_are_errors() {
    let (server, catalog) = begin(ServerOptions::default(), at_most(1));
    let address = server.address;
    let body = json!({
        "model": "first", "prompt": "Once", "max_tokens": 500, "ignore_eos": true, "stream": true,
    });
    let mut stream = connect(address);
    let headers = [("content-type", "application/json")];
    let bytes = request("POST", "/v1/completions", &headers, &body.to_string());
    stream.write_all(bytes.as_bytes()).unwrap();
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line).unwrap();
    let waiting = thread::spawn(move || {
        let body = json!({"model": "second", "prompt": "Once", "max_tokens": 1});
        post(address, "/v1/completions", &body).error(503)
    });
    thread::sleep(Duration::from_millis(200));
    server.stop();
    assert_eq!(waiting.join().unwrap()["code"], "shutting_down");
    drop(stream);
    server.join();
    assert_eq!(num_loads(&catalog), 1);
}

#[test]
fn a_model_that_cannot_be_loaded_fails_its_own_requests_only() {
    let (server, catalog) = begin(ServerOptions::default(), at_most(2));
    let address = server.address;
    ask(address, "first");
    let broken = post(address, CHAT, &json!({"model": "broken", "messages": []})).error(500);
    assert_eq!(broken["code"], "model_load_failed");
    assert!(broken["message"].as_str().unwrap().contains("output.weight is missing"), "{broken}");
    assert_eq!(loaded(address), ["first"]);
    // Once the first model has made room, the second attempt succeeds.
    catalog.is_tight.store(true, Ordering::Relaxed);
    ask(address, "second");
    assert_eq!((loaded(address), num_loads(&catalog)), (vec!["second".to_owned()], 4));
}

#[test]
fn stored_responses_remain_when_models_are_unloaded() {
    let (server, _) = begin(ServerOptions::default(), at_most(1));
    let address = server.address;
    let respond = |body: Value| post(address, "/v1/responses", &body).ok();
    let body = json!({"model": "first", "input": "Hello!", "max_output_tokens": 16});
    let first = respond(body);
    let next = json!({
        "model": "second", "input": "And you?", "max_output_tokens": 16,
        "previous_response_id": first["id"],
    });
    assert_eq!(respond(next)["model"], "second");
    let path = format!("/v1/responses/{}", first["id"].as_str().unwrap());
    assert_eq!(get(address, &path).ok()["id"], first["id"]);
}
