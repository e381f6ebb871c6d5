//! Server-sent events.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::Future;
use std::time::Duration;

use axum::http::{HeaderName, HeaderValue};
use axum::response::sse::{Event as WireEvent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
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

/// A response that streams the events of `source`. When the client disconnects, the source is dropped.
pub(crate) fn respond(source: impl EventSource, keep_alive: Duration) -> Response {
    let state = (source, VecDeque::new(), true);
    let events = stream::unfold(state, |(mut source, mut events, mut has_more)| async move {
        while events.is_empty() && has_more {
            has_more = source.next(&mut events).await;
        }
        let event: SseEvent = events.pop_front()?;
        Some((Ok::<_, Infallible>(event.into_wire()), (source, events, has_more)))
    });
    let keep_alive = KeepAlive::new().interval(keep_alive).text("keep-alive");
    let mut response = Sse::new(events).keep_alive(keep_alive).into_response();
    // Tells nginx not to buffer the stream.
    let name = HeaderName::from_static("x-accel-buffering");
    response.headers_mut().insert(name, HeaderValue::from_static("no"));
    response
}
