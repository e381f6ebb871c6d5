//! Streamed responses: server-sent events, and lines of JSON.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::Future;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::sse::{Event as WireEvent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt, stream};
use serde::Serialize;

use crate::errors::ApiError;

/// One event.
#[derive(Debug, Clone)]
pub(crate) struct SseEvent {
    name: Option<String>,
    data: String,
}

impl SseEvent {
    /// An event without a name, as in OpenAI's streams.
    pub fn data(data: &impl Serialize) -> Self {
        Self { name: None, data: json(data) }
    }

    /// An event whose name is the `type` of its data.
    pub fn typed(data: &impl Serialize) -> Self {
        // Our own structures serialize without errors.
        let data = serde_json::to_value(data).unwrap_or_default();
        Self { name: data["type"].as_str().map(str::to_owned), data: data.to_string() }
    }

    /// The last event of OpenAI's streams.
    pub fn done() -> Self {
        Self { name: None, data: "[DONE]".to_owned() }
    }

    /// The last events of an OpenAI stream that fails.
    pub fn failure(error: &ApiError) -> [Self; 2] {
        [Self::data(&error.openai()), Self::done()]
    }

    fn into_wire(self) -> WireEvent {
        let event = WireEvent::default();
        let event = match self.name {
            Some(name) => event.event(name),
            None => event,
        };
        event.data(self.data)
    }
}

fn json(data: &impl Serialize) -> String {
    // Our own structures serialize without errors.
    serde_json::to_string(data).unwrap_or_default()
}

/// Produces events on demand.
pub(crate) trait EventSource: Send + 'static {
    /// Appends the next events, and returns whether there may be more.
    fn next(&mut self, events: &mut VecDeque<SseEvent>) -> impl Future<Output = bool> + Send;
}

/// The events of `source`. When the stream is dropped, the source is.
fn events_of(source: impl EventSource) -> impl Stream<Item = SseEvent> {
    let state = (source, VecDeque::new(), true);
    stream::unfold(state, |(mut source, mut events, mut has_more)| async move {
        while events.is_empty() && has_more {
            has_more = source.next(&mut events).await;
        }
        let event: SseEvent = events.pop_front()?;
        Some((event, (source, events, has_more)))
    })
}

/// A response that streams the events of `source`. When the client disconnects, the source is dropped.
pub(crate) fn respond(source: impl EventSource, keep_alive: Duration) -> Response {
    let events = events_of(source).map(|event| Ok::<_, Infallible>(event.into_wire()));
    let keep_alive = KeepAlive::new().interval(keep_alive).text("keep-alive");
    unbuffered(Sse::new(events).keep_alive(keep_alive).into_response())
}

/// As [`respond`], with the data of each event on a line of its own (NDJSON), as in Ollama's streams.
pub(crate) fn respond_lines(source: impl EventSource) -> Response {
    let lines = events_of(source).map(|event| Ok::<_, Infallible>(event.data + "\n"));
    let content_type = (header::CONTENT_TYPE, "application/x-ndjson");
    unbuffered(([content_type], Body::from_stream(lines)).into_response())
}

/// Disables the buffering of nginx.
fn unbuffered(mut response: Response) -> Response {
    let name = HeaderName::from_static("x-accel-buffering");
    response.headers_mut().insert(name, HeaderValue::from_static("no"));
    response
}
