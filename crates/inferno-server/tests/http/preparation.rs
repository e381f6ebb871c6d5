//! Requests whose preparation is expensive. None may crash, block or exhaust the server.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use inferno_server::{Limits, ServerOptions};
use serde_json::{Map, Value, json};

use crate::client::{Reply, connect, get, metric, post, request, send};
use crate::server::{shared, start, strict};

const CHAT: &str = "/v1/chat/completions";

/// Memory that a test may add to the peak of the process, including that of concurrent tests.
const MAX_GROWTH: u64 = 700 << 20;

/// The peak memory of this process in bytes.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    number.map_or(0, |kibibytes| kibibytes << 10)
}

fn hello(fields: Value) -> Value {
    let mut request = json!({
        "messages": [{"role": "user", "content": "Hello!"}], "max_tokens": 2, "temperature": 0,
    });
    request.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    request
}

/// Sends a schema through every field that accepts one, and returns the statuses.
fn by_schema(address: SocketAddr, schema: &Value) -> Vec<Reply> {
    let format = json!({"type": "json_schema", "json_schema": {"name": "a", "schema": schema}});
    let function = json!({"name": "a", "parameters": schema, "strict": true});
    let text = json!({"format": {"type": "json_schema", "name": "a", "schema": schema}});
    let tool = json!({"name": "a", "input_schema": schema});
    vec![
        post(address, CHAT, &hello(json!({"response_format": format}))),
        post(address, CHAT, &hello(json!({"structured_outputs": {"json": schema}}))),
        post(address, CHAT, &hello(json!({"structured_outputs": {"json": schema.to_string()}}))),
        post(address, CHAT, &hello(json!({"tools": [{"type": "function", "function": function}]}))),
        post(address, "/v1/messages", &hello(json!({"tools": [tool]}))),
        post(
            address,
            "/v1/responses",
            &json!({"input": "Hello!", "max_output_tokens": 2, "text": text}),
        ),
        post(
            address,
            "/v1/completions",
            &json!({"prompt": "Hello!", "max_tokens": 2, "structured_outputs": {"json": schema}}),
        ),
    ]
}

fn by_grammar(address: SocketAddr, grammar: &str) -> Reply {
    post(address, CHAT, &hello(json!({"structured_outputs": {"grammar": grammar}})))
}

fn check(address: SocketAddr, replies: impl IntoIterator<Item = Reply>, what: &str) {
    for reply in replies {
        // On a busy machine the timeout may expire first.
        let is_answered = matches!(reply.status, 200 | 400 | 503);
        assert!(is_answered, "{what}: {} {}", reply.status, reply.body);
        assert!(reply.status == 200 || reply.json()["error"]["message"].is_string(), "{what}");
    }
    post(address, CHAT, &hello(json!({}))).ok();
}

/// A grammar in which each rule refers to the next.
fn chain(len: usize, name: &str, body: impl Fn(String) -> String) -> String {
    let mut grammar = format!("start: {name}0\n{name}{len}: \"a\"\n");
    for index in 0..len {
        let next = format!("{name}{}", index + 1);
        grammar += &format!("{name}{index}: {}\n", body(next));
    }
    grammar
}

#[test]
fn deep_grammars_are_compiled_or_rejected() {
    let address = shared();
    for len in [680, 920, 5000] {
        let grammars = [
            chain(len, "r", |next| next),
            chain(len, "r", |next| format!("\"b\"? ({next} | \"c\")")),
            chain(len, "T", |next| next),
            chain(len, "T", |next| format!("({next} \"c\" | \"d\")*")),
            chain(len, "T", |next| format!("{next} {next}")),
        ];
        for grammar in grammars {
            check(address, [by_grammar(address, &grammar)], &format!("a chain of {len}"));
        }
    }
    assert_eq!(by_grammar(address, &chain(680, "r", |next| next)).status, 200);
    let nested = format!("start: {}\"a\"{}", "(".repeat(20_000), ")".repeat(20_000));
    let template = format!("start: {}", "a{".repeat(30_000));
    let condition = format!("start: a::_\na::_: \"x\" %if {}", "not(".repeat(15_000));
    for grammar in [nested, template, condition] {
        check(address, [by_grammar(address, &grammar)], &grammar[..40]);
    }
    let regex = format!("{}a{}", "(".repeat(20_000), ")*".repeat(20_000));
    let regex = post(address, CHAT, &hello(json!({"structured_outputs": {"regex": regex}})));
    check(address, [regex], "a nested regular expression");
}

#[test]
fn deep_schemas_are_compiled_or_rejected() {
    let address = shared();
    let references = |len: usize, wrap: fn(Value) -> Value| {
        let reference = |index: usize| json!({"$ref": format!("#/$defs/d{index}")});
        let definition = |index| (format!("d{index}"), wrap(reference(index + 1)));
        let mut definitions: Map<_, _> = (0..len).map(definition).collect();
        definitions.insert(format!("d{len}"), json!({"type": "null"}));
        json!({"$ref": "#/$defs/d0", "$defs": definitions})
    };
    let wraps: [fn(Value) -> Value; 4] = [
        |it| it,
        |it| json!({"type": "object", "properties": {"x": it}}),
        |it| json!({"anyOf": [it, {"type": "null"}]}),
        |it| json!({"allOf": [it, {"type": "object"}]}),
    ];
    for wrap in wraps {
        for len in [226, 560, 4000] {
            check(address, by_schema(address, &references(len, wrap)), "a chain of references");
        }
    }
    let mut nested = json!({"type": "null"});
    for _ in 0..55 {
        nested = json!({"$defs": {"a": nested}, "$ref": "#/$defs/a"});
    }
    check(address, by_schema(address, &nested), "nested definitions");
    for len in [500, 2500, 5000] {
        let properties: Map<_, _> =
            (0..len).map(|index| (format!("p{index}"), json!({}))).collect();
        let schema = json!({"type": "object", "properties": properties});
        check(address, by_schema(address, &schema), "optional properties");
    }
}

#[test]
fn expensive_grammars_are_bounded_in_time_and_memory() {
    let address = shared();
    post(address, CHAT, &hello(json!({}))).ok();
    let (started, before) = (Instant::now(), peak_memory());
    let multiple = |divisor: u64| json!({"type": "integer", "multipleOf": divisor});
    let patterns: Map<_, _> =
        (0..400).map(|index| (format!("^a{index}[a-z]*{index}$"), json!({}))).collect();
    let options = vec![json!({"type": "string"}); 7000];
    let pattern = json!({"type": "string", "pattern": "[a-z]{1,9}x".repeat(1000)});
    let schemas = [
        multiple(10_000_019),
        multiple(1_000_003),
        json!({"allOf": [multiple(9973), multiple(9967), multiple(9949)]}),
        json!({"type": "object", "patternProperties": patterns}),
        json!({"allOf": [pattern, {"anyOf": options}]}),
    ];
    for schema in &schemas {
        check(address, by_schema(address, schema), "a costly schema");
    }
    let intersection: Vec<_> =
        (1..40).map(|index| format!("/(.|\\n)*a.{{{index}}}b(.|\\n)*/")).collect();
    let grammar = format!("start: T\nT: {}", intersection.join(" & "));
    check(address, [by_grammar(address, &grammar)], "an intersection");
    // The total of all choices of a request.
    for grammar in
        ["start: /(.*a.{40}|.*b.{41}|.*c.{42})*/", "start: s\ns: s s | /[a-z ]/ | /[A-Z.]/"]
    {
        let fields = json!({
            "structured_outputs": {"grammar": grammar}, "n": 32, "max_tokens": 60, "temperature": 1,
        });
        check(address, [post(address, CHAT, &hello(fields))], grammar);
    }
    assert!(started.elapsed() < Duration::from_secs(300), "{:?}", started.elapsed());
    let growth = peak_memory() - before;
    assert!(growth < MAX_GROWTH, "{} MiB", growth >> 20);
}

#[test]
fn bodies_of_many_small_values_are_bounded_in_memory() {
    let address = shared();
    post(address, CHAT, &hello(json!({}))).ok();
    let before = peak_memory();
    let lists = format!("[{}[1]]", "[1],".repeat(4_000_000));
    let bodies = [
        ("/v1/responses", format!("{{\"input\":\"Hi\",\"metadata\":{{\"a\":{lists}}}}}")),
        ("/v1/responses", format!("{{\"input\":{lists}}}")),
        (CHAT, format!("{{\"messages\":[{{\"role\":\"user\",\"content\":{lists}}}]}}")),
        ("/v1/embeddings", format!("{{\"input\":{lists}}}")),
        ("/v1/completions", format!("{{\"prompt\":\"Hi\",\"unknown\":{lists}}}")),
    ];
    std::thread::scope(|scope| {
        for (path, body) in &bodies {
            for _ in 0..3 {
                scope.spawn(move || {
                    let json = [("content-type", "application/json")];
                    let reply = send(address, "POST", path, &json, body);
                    assert!(
                        matches!(reply.status, 413 | 503),
                        "{path}: {} {}",
                        reply.status,
                        reply.body
                    );
                });
            }
        }
    });
    let growth = peak_memory() - before;
    assert!(growth < MAX_GROWTH, "{} MiB", growth >> 20);
    let metadata: Map<_, _> = (0..17).map(|index| (index.to_string(), json!("a"))).collect();
    for metadata in [json!(metadata), json!({"a": "b".repeat(3000)}), json!({"a": [1]})] {
        let refused = post(address, "/v1/responses", &json!({"input": "Hi", "metadata": metadata}));
        assert_eq!(refused.error(400)["param"], "metadata");
    }
    post(address, CHAT, &hello(json!({}))).ok();
}

#[test]
fn the_request_timeout_begins_at_arrival() {
    let limits = Limits { request_timeout: Some(Duration::from_millis(1)), ..Limits::default() };
    let server = start(ServerOptions { limits, ..ServerOptions::default() });
    let properties: Map<_, _> = (0..2000).map(|index| (format!("p{index}"), json!({}))).collect();
    let schema = json!({"type": "object", "properties": properties});
    let asked = hello(json!({"structured_outputs": {"json": schema}}));
    let refused = post(server.address, CHAT, &asked);
    assert_eq!(refused.error(503)["code"], "overloaded");
    assert_eq!(refused.header("retry-after"), Some("1"));
    server.stop();
    server.join();
}

#[test]
fn disconnected_clients_leave_the_preparation_queue() {
    let server = start(ServerOptions::default());
    let properties: Map<_, _> = (0..2400).map(|index| (format!("p{index}"), json!({}))).collect();
    let asked = hello(
        json!({"structured_outputs": {"json": {"type": "object", "properties": properties}}}),
    );
    let bytes = request("POST", CHAT, &[("content-type", "application/json")], &asked.to_string());
    for _ in 0..60 {
        connect(server.address).write_all(bytes.as_bytes()).unwrap();
    }
    let started = Instant::now();
    post(server.address, CHAT, &hello(json!({}))).ok();
    // Each needs about one second of CPU time.
    assert!(started.elapsed() < Duration::from_secs(25), "{:?}", started.elapsed());
    server.stop();
    server.join();
}

#[test]
fn requests_for_other_hosts_are_rejected() {
    let ask_at = |address: SocketAddr, host: &str| {
        let mut stream = connect(address);
        write!(stream, "GET /health HTTP/1.1\r\n{host}connection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let ask = |host: &str| ask_at(shared(), host);
    assert!(ask("host: localhost:1234\r\n").starts_with("HTTP/1.1 200"));
    assert!(ask("host: 127.0.0.1\r\norigin: http://127.0.0.1\r\n").starts_with("HTTP/1.1 200"));
    let refused = ask("host: evil.example\r\norigin: http://evil.example\r\n");
    assert!(refused.starts_with("HTTP/1.1 403") && refused.contains("--allowed-host"), "{refused}");
    assert!(ask("").starts_with("HTTP/1.1 400"));
    let repeated = ask("host: localhost\r\nhost: localhost\r\n");
    assert!(repeated.starts_with("HTTP/1.1 400"), "{repeated}");

    let allowed_hosts = vec!["llm.example".to_owned()];
    let server = start(ServerOptions { allowed_hosts, ..ServerOptions::default() });
    assert!(ask_at(server.address, "host: llm.example\r\n").starts_with("HTTP/1.1 200"));
    server.stop();
    server.join();
}

#[test]
fn long_names_are_truncated_in_errors() {
    let long = "m".repeat(1 << 20);
    let mut unknown = hello(json!({}));
    unknown[&long] = json!(1);
    let bodies = [
        hello(json!({"model": long})),
        unknown,
        hello(json!({"tools": [{"type": long}]})),
        hello(json!({"tool_choice": {"type": "function", "function": {"name": long}}})),
    ];
    for body in bodies {
        let refused = post(strict(), CHAT, &body);
        assert!((400..500).contains(&refused.status), "{}", refused.status);
        assert!(refused.body.len() < 10_000, "{} bytes", refused.body.len());
    }
    assert_eq!(get(shared(), "/health").status, 200);
    assert_eq!(metric(shared(), "inferno_log_lines_dropped_total"), 0.0);
}
