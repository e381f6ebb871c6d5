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
    /// An event without a name, as OpenAI has them.
    pub fn data(data: &impl Serialize) -> Self {
        Self { name: None, data: json(data) }
    }

    /// An event whose name is the `type` of its data.
    pub fn typed(data: &impl Serialize) -> Self {
        // Our own structures have text as keys and no failing parts.
        let data = serde_json::to_value(data).unwrap_or_default();
        Self { name: data["type"].as_str().map(str::to_owned), data: data.to_string() }
    }

    /// The last event of OpenAI's streams.
    pub fn done() -> Self {
        Self { name: None, data: "[DONE]".to_owned() }
    }

    /// The last events of one of OpenAI's streams that cannot go on.
    pub fn failure(error: &ApiError) -> [Self; 2] {
        [Self::data(&error.openai()), Self::done()]
    }

    fn on_the_wire(self) -> WireEvent {
        let event = WireEvent::default();
        let event = match self.name {
            Some(name) => event.event(name),
            None => event,
        };
        event.data(self.data)
    }
}

fn json(data: &impl Serialize) -> String {
    // Our own structures have text as keys and no failing parts.
    serde_json::to_string(data).unwrap_or_default()
}

/// Makes events as they are asked for.
pub(crate) trait EventSource: Send + 'static {
    /// Appends the next events, and says whether there may be more.
    fn next(&mut self, events: &mut VecDeque<SseEvent>) -> impl Future<Output = bool> + Send;
}

/// A response that streams what `source` makes. When the client goes away, the source is dropped.
pub(crate) fn respond(source: impl EventSource, keep_alive: Duration) -> Response {
    let state = (source, VecDeque::new(), true);
    let events = stream::unfold(state, |(mut source, mut events, mut goes_on)| async move {
        while events.is_empty() && goes_on {
            goes_on = source.next(&mut events).await;
        }
        let event: SseEvent = events.pop_front()?;
        Some((Ok::<_, Infallible>(event.on_the_wire()), (source, events, goes_on)))
    });
    let keep_alive = KeepAlive::new().interval(keep_alive).text("keep-alive");
    let mut response = Sse::new(events).keep_alive(keep_alive).into_response();
    // Proxies that collect a response would turn a stream into a wait.
    let name = HeaderName::from_static("x-accel-buffering");
    response.headers_mut().insert(name, HeaderValue::from_static("no"));
    response
}
