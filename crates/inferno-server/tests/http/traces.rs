//! Traces, as a collector receives them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};

use inferno_server::{Server, ServerError, ServerOptions};
use serde_json::{Value, json};

use crate::client::{PATIENCE, send};
use crate::server::start;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";

/// Answers a request to the collector, and returns its first line and its body.
fn receive(stream: TcpStream) -> (String, Value) {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_ascii_lowercase()),
        }
    }
    let len = lines.iter().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let mut body = vec![0; len.parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    let answer = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}";
    reader.get_mut().write_all(answer).unwrap();
    (lines.swap_remove(0), serde_json::from_slice(&body).unwrap())
}

/// A collector: its address, and the spans that it receives.
fn collector() -> (String, Receiver<Value>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let (sender, spans) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (line, body) = receive(stream.unwrap());
            assert_eq!(line, "post /v1/traces http/1.1");
            for span in body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap() {
                let _ = sender.send(span.clone());
            }
        }
    });
    (endpoint, spans)
}

fn attribute<'s>(span: &'s Value, key: &str) -> &'s Value {
    let attributes = span["attributes"].as_array().unwrap();
    let found = attributes.iter().find(|it| it["key"] == key);
    &found.unwrap_or_else(|| panic!("no {key}: {span}"))["value"]
}

#[test]
fn each_request_is_a_span_of_the_caller_s_trace() {
    let (endpoint, spans) = collector();
    let server = start(ServerOptions { otlp_endpoint: Some(endpoint), ..ServerOptions::default() });
    let body = json!({"prompt": "Once", "max_tokens": 3, "temperature": 0}).to_string();
    let complete = |id: &str, parent: &str| {
        let headers = [("x-request-id", id), ("traceparent", parent)];
        send(server.address, "POST", "/v1/completions", &headers, &body).ok()
    };
    complete("unrecorded", &format!("00-{TRACE}-{CALLER}-00"));
    let answer = complete("recorded", &format!("00-{TRACE}-{CALLER}-01"));
    let span = spans.recv_timeout(PATIENCE).expect("spans are sent at once");
    assert_eq!(attribute(&span, "gen_ai.request.id"), &json!({"stringValue": "recorded"}));
    assert_eq!((&span["traceId"], &span["parentSpanId"]), (&json!(TRACE), &json!(CALLER)));
    assert_eq!((&span["name"], &span["status"]), (&json!("llm_request"), &json!({})));
    let time = |field: &str| span[field].as_str().unwrap().parse::<u64>().unwrap();
    assert!(time("startTimeUnixNano") < time("endTimeUnixNano"));
    let prompt_tokens = answer["usage"]["prompt_tokens"].to_string();
    assert_eq!(attribute(&span, "gen_ai.usage.prompt_tokens"), &json!({"intValue": prompt_tokens}));
    assert_eq!(attribute(&span, "gen_ai.usage.completion_tokens"), &json!({"intValue": "3"}));
    let seconds = |key: &str| attribute(&span, key)["doubleValue"].as_f64().unwrap();
    assert!(seconds("gen_ai.latency.time_to_first_token") <= seconds("gen_ai.latency.e2e"));

    complete("alone", "");
    server.stop();
    server.join();
    let span = spans.recv_timeout(PATIENCE).expect("spans are sent before the server ends");
    assert_eq!(attribute(&span, "gen_ai.request.id"), &json!({"stringValue": "alone"}));
    assert_eq!(span["parentSpanId"], "");
    assert_ne!(span["traceId"], TRACE);
    assert!(spans.try_recv().is_err(), "each span is sent once");
}

#[test]
fn a_collector_that_is_gone_disturbs_no_request() {
    let (listener, body) = (
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap(),
        "{\"prompt\": [5], \"max_tokens\": 1}",
    );
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let server = start(ServerOptions { otlp_endpoint: Some(endpoint), ..ServerOptions::default() });
    for _ in 0..2 {
        send(server.address, "POST", "/v1/completions", &[], body).ok();
    }
    server.stop();
    server.join();
}

#[test]
fn an_endpoint_must_be_an_http_address() {
    let options = ServerOptions {
        address: (Ipv4Addr::LOCALHOST, 0).into(),
        otlp_endpoint: Some("localhost:4318".to_owned()),
        ..ServerOptions::default()
    };
    let server = Server::bind(options).unwrap();
    let result = server.run(|| Err::<_, std::io::Error>(std::io::Error::other("not loaded")));
    assert!(matches!(result, Err(ServerError::TraceEndpoint { .. })), "{result:?}");
}
