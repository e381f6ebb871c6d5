//! Traces: a span for each request that reaches the engine, sent to a collector with OTLP over HTTP, in JSON.
//!
//! OpenTelemetry's own crates would do the same; they add thirteen crates, and the format is a few fields.

use std::iter;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::http::Uri;
use inferno_chat::unique_id;
use serde_json::{Value, json};
use ureq::Agent;

use crate::ServerError;
use crate::request::RequestOrigin;

/// Spans that wait to be sent; further ones are dropped.
const MAX_NUM_WAITING: usize = 2048;
/// Most spans in one request.
const MAX_NUM_SENT: usize = 512;
/// Time that the collector has to answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The path of endpoints that have none.
const DEFAULT_PATH: &str = "/v1/traces";
/// The kind of spans of servers, in OTLP.
const KIND_SERVER: u8 = 2;
/// The status of a span that failed, in OTLP; 0 is unset.
const STATUS_ERROR: u8 = 2;

/// Hands spans to the thread that sends them; never waits for it.
pub(crate) struct Traces {
    queue: SyncSender<Message>,
    num_dropped: Arc<AtomicU64>,
}

enum Message {
    Span(Value),
    /// The sender is dropped once all spans before it have been sent.
    Flush(Sender<()>),
}

/// What happened to a request.
pub(crate) struct RequestSpan<'r> {
    pub origin: &'r RequestOrigin,
    /// Up to now.
    pub duration: Duration,
    /// Why it failed, if it did.
    pub error: Option<&'r str>,
    /// Strings, counts, and seconds as floating-point numbers.
    pub attributes: Vec<(&'static str, Value)>,
}

impl Traces {
    /// Starts a thread that sends spans to the collector at `endpoint`.
    ///
    /// **Errors**: an endpoint that is no HTTP address; no thread available.
    pub fn start(endpoint: &str) -> Result<Self, ServerError> {
        let url = collector_url(endpoint)
            .ok_or_else(|| ServerError::TraceEndpoint { endpoint: endpoint.to_owned() })?;
        let (queue, messages) = sync_channel(MAX_NUM_WAITING);
        let num_dropped = Arc::<AtomicU64>::default();
        let dropped = Arc::clone(&num_dropped);
        let thread = thread::Builder::new().name("inferno-traces".to_owned());
        thread.spawn(move || send_all(&messages, &dropped, &url)).map_err(ServerError::Runtime)?;
        Ok(Self { queue, num_dropped })
    }

    /// Queues a span, or drops it if too many wait. Spans of traces that the caller does not record are not sent.
    pub fn add(&self, span: RequestSpan<'_>) {
        let is_sampled = span.origin.parent.as_ref().is_none_or(|parent| parent.is_sampled);
        if is_sampled && self.queue.try_send(Message::Span(span.json())).is_err() {
            self.num_dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until the spans so far have been sent, at most this long.
    pub fn flush(&self, timeout: Duration) {
        let (sender, flushed) = channel();
        if self.queue.try_send(Message::Flush(sender)).is_ok() {
            // An error is what it waits for, or a collector that does not answer.
            let _ = flushed.recv_timeout(timeout);
        }
    }
}

/// The address that spans are sent to.
fn collector_url(endpoint: &str) -> Option<String> {
    let uri: Uri = endpoint.parse().ok()?;
    matches!(uri.scheme_str(), Some("http" | "https")).then_some(())?;
    uri.host()?;
    Some(match uri.path() {
        "" | "/" => format!("{}{DEFAULT_PATH}", endpoint.trim_end_matches('/')),
        _ => endpoint.to_owned(),
    })
}

fn send_all(messages: &Receiver<Message>, num_dropped: &AtomicU64, url: &str) {
    let agent: Agent = Agent::config_builder().timeout_global(Some(TIMEOUT)).build().into();
    let mut is_failing = false;
    while let Ok(first) = messages.recv() {
        let (mut spans, mut flushed) = (Vec::new(), Vec::new());
        for message in iter::once(first).chain(messages.try_iter()).take(MAX_NUM_SENT) {
            match message {
                Message::Span(span) => spans.push(span),
                Message::Flush(sender) => flushed.push(sender),
            }
        }
        if spans.is_empty() {
            continue;
        }
        let body = export_request(spans).to_string();
        let request = agent.post(url).header("content-type", "application/json");
        let result = request.send(body);
        if let (Err(error), false) = (&result, is_failing) {
            tracing::warn!(%error, url, "failed to send traces; logged once until it succeeds");
        }
        is_failing = result.is_err();
        let dropped = num_dropped.swap(0, Ordering::Relaxed);
        if dropped > 0 {
            tracing::warn!(spans = dropped, "trace spans were dropped: the collector is too slow");
        }
    }
}

/// The body of a request to a collector (`ExportTraceServiceRequest`).
fn export_request(spans: Vec<Value>) -> Value {
    let service = attribute("service.name", &json!("inferno"));
    let scope = json!({"name": "inferno", "version": env!("CARGO_PKG_VERSION")});
    json!({"resourceSpans": [{
        "resource": {"attributes": [service]},
        "scopeSpans": [{"scope": scope, "spans": spans}],
    }]})
}

impl RequestSpan<'_> {
    /// The span in OTLP.
    fn json(&self) -> Value {
        let ended = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let started = ended.saturating_sub(self.duration);
        let random = unique_id("") + &unique_id("");
        let (new_trace_id, span_id) = (&random[..32], &random[32..]);
        let parent = self.origin.parent.as_ref();
        let attributes = self.attributes.iter().map(|(key, value)| attribute(key, value));
        let id = attribute("gen_ai.request.id", &json!(self.origin.id));
        let status = match self.error {
            Some(error) => json!({"code": STATUS_ERROR, "message": error}),
            None => json!({}),
        };
        json!({
            "traceId": parent.map_or(new_trace_id, |parent| &parent.trace_id),
            "spanId": span_id,
            "parentSpanId": parent.map_or("", |parent| &parent.span_id),
            "name": "llm_request",
            "kind": KIND_SERVER,
            "startTimeUnixNano": started.as_nanos().to_string(),
            "endTimeUnixNano": ended.as_nanos().to_string(),
            "attributes": iter::once(id).chain(attributes).collect::<Vec<_>>(),
            "status": status,
        })
    }
}

/// An attribute in OTLP, whose 64-bit integers are strings.
fn attribute(key: &str, value: &Value) -> Value {
    let value = match value {
        Value::String(_) => json!({"stringValue": value}),
        Value::Number(number) if !number.is_f64() => json!({"intValue": number.to_string()}),
        _ => json!({"doubleValue": value}),
    };
    json!({"key": key, "value": value})
}

#[cfg(test)]
mod tests {
    use super::collector_url;

    #[test]
    fn endpoints_without_a_path_have_the_default_one() {
        for (endpoint, url) in [
            ("http://localhost:4318", Some("http://localhost:4318/v1/traces")),
            ("https://collector/", Some("https://collector/v1/traces")),
            ("http://collector/custom", Some("http://collector/custom")),
            ("localhost:4318", None),
            ("grpc://localhost:4317", None),
            ("", None),
        ] {
            assert_eq!(collector_url(endpoint).as_deref(), url, "{endpoint}");
        }
    }
}
