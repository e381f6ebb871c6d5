//! Events of the prefix cache over ZeroMQ, as vLLM publishes them, for routers that are aware of caches.
//!
//! A PUB socket sends a message of three frames after each step that changed the cache: the topic, the message's number (eight
//! bytes, big-endian), and its events in MessagePack. A ROUTER socket replays missed messages: a request is a number, and the
//! answers are all stored messages from there on, each as number and events, and a last one with the number -1.
//!
//! - `encoding`: events in MessagePack;
//! - `stored`: the messages that can be replayed;
//! - `zmtp`: ZeroMQ's protocol, with limits on what peers may send;
//! - `peers`: the connections of subscribers and of routers that request replays.
//!
//! **Source**: vLLM's documentation, KV cache events.

mod encoding;
mod peers;
mod stored;
mod zmtp;

use std::io;
use std::sync::Arc;
use std::time::SystemTime;

use axum::body::Bytes;
use inferno_engine::{CacheEvent, EngineHandle};
use parking_lot::Mutex;
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio::sync::{broadcast, mpsc};
use tokio::task::JoinSet;

use crate::ServerError;
use encoding::encode;
use stored::StoredMessages;

/// The most messages that wait for one slow subscriber.
const MAX_QUEUED: usize = 16_384;

/// Where the events of the prefix cache are published; the fields are those of vLLM's `--kv-events-config`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CacheEventOptions {
    /// Whether events are published.
    pub enable_kv_cache_events: bool,
    /// Address of the PUB socket, such as `tcp://*:5557`; `*` is every IPv4 address of this machine.
    pub endpoint: String,
    /// Address of the ROUTER socket for replays; without it, there are none.
    pub replay_endpoint: Option<String>,
    /// Number of messages that can be replayed.
    pub buffer_steps: usize,
    /// Number of messages that wait for a slow subscriber before it misses some, up to 16,384.
    pub hwm: usize,
    /// Accepted for vLLM's sake and ignored: messages do not wait for the publisher.
    pub max_queue_size: usize,
    /// The first frame of each message, for subscribers that filter.
    pub topic: String,
    /// The protocol.
    pub publisher: Protocol,
}

/// A protocol for events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// ZeroMQ.
    #[default]
    Zmq,
    /// None: events are not published, even if they are enabled.
    Null,
}

impl Default for CacheEventOptions {
    fn default() -> Self {
        Self {
            enable_kv_cache_events: false,
            endpoint: "tcp://*:5557".to_owned(),
            replay_endpoint: None,
            buffer_steps: 10_000,
            hwm: 100_000,
            max_queue_size: 100_000,
            topic: String::new(),
            publisher: Protocol::Zmq,
        }
    }
}

/// The bound sockets, and what they send.
pub(crate) struct CacheEventPublisher {
    subscribers: TcpListener,
    replays: Option<TcpListener>,
    stored: Arc<Mutex<StoredMessages>>,
    /// Encoded messages for the subscribers.
    messages: broadcast::Sender<Bytes>,
    topic: Arc<str>,
}

impl CacheEventPublisher {
    /// Binds the sockets; `None` unless events are enabled.
    ///
    /// **Errors**: an endpoint that cannot be bound.
    pub(crate) async fn bind(options: &CacheEventOptions) -> Result<Option<Self>, ServerError> {
        if !options.enable_kv_cache_events {
            if *options != CacheEventOptions::default() {
                tracing::warn!(
                    "cache events are not published: enable_kv_cache_events is not true"
                );
            }
            return Ok(None);
        }
        if options.publisher == Protocol::Null {
            return Ok(None);
        }
        let subscribers = bind(&options.endpoint).await?;
        announce(&subscribers);
        let replays = match &options.replay_endpoint {
            Some(endpoint) => Some(bind(endpoint).await?),
            None => None,
        };
        let (messages, _) = broadcast::channel(options.hwm.clamp(1, MAX_QUEUED));
        Ok(Some(Self {
            subscribers,
            replays,
            stored: Arc::new(Mutex::new(StoredMessages::new(options.buffer_steps))),
            messages,
            topic: options.topic.as_str().into(),
        }))
    }

    /// Publishes the events of an engine's cache on background tasks, which end with the returned set.
    pub(crate) fn start(self, engine: &EngineHandle) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        let Ok(events) = engine.core().cache_events() else { return tasks };
        let Self { subscribers, replays, stored, messages, topic } = self;
        if let Some(replays) = replays {
            let stored = Arc::clone(&stored);
            tasks.spawn(peers::accept(replays, move |stream| {
                peers::replay(stream, Arc::clone(&stored))
            }));
        }
        let published = Published { stored, messages: messages.clone(), topic: Arc::clone(&topic) };
        tasks.spawn(peers::accept(subscribers, move |stream| {
            peers::publish(stream, messages.subscribe(), Arc::clone(&topic))
        }));
        tasks.spawn(published.publish_all(events, engine.snapshot().block_tokens));
        tasks
    }
}

/// Logs where events can be subscribed to.
fn announce(subscribers: &TcpListener) {
    let Ok(address) = subscribers.local_addr() else { return };
    tracing::info!(%address, "publishing cache events");
    if !address.ip().is_loopback() {
        tracing::warn!(
            %address,
            "cache events contain the tokens of prompts, and everyone who reaches this address can read them"
        );
    }
}

/// Where messages go.
struct Published {
    stored: Arc<Mutex<StoredMessages>>,
    messages: broadcast::Sender<Bytes>,
    topic: Arc<str>,
}

impl Published {
    async fn publish_all(
        self,
        mut events: mpsc::UnboundedReceiver<Vec<CacheEvent>>,
        block_tokens: usize,
    ) {
        // Routers may still know the blocks of a server that had this address before.
        self.publish(encode(SystemTime::now(), None, block_tokens));
        while let Some(events) = events.recv().await {
            self.publish(encode(SystemTime::now(), Some(&events), block_tokens));
        }
    }

    fn publish(&self, payload: Vec<u8>) {
        let payload = Bytes::from(payload);
        let number = self.stored.lock().push(payload.clone());
        let message = [self.topic.as_bytes(), &number.to_be_bytes(), &payload];
        // Fails without subscribers.
        let _ = self.messages.send(zmtp::encode_message(&message).into());
    }
}

/// Binds an endpoint, in which `*` is every IPv4 address.
///
/// **Errors**: another endpoint than `tcp://HOST:PORT`, one that is in use.
async fn bind(endpoint: &str) -> Result<TcpListener, ServerError> {
    let bound = match endpoint.strip_prefix("tcp://") {
        Some(address) => TcpListener::bind(address.replacen("*:", "0.0.0.0:", 1)).await,
        None => Err(io::Error::new(io::ErrorKind::InvalidInput, "expected tcp://HOST:PORT")),
    };
    bound.map_err(|error| ServerError::CacheEventEndpoint {
        endpoint: endpoint.to_owned(),
        message: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configurations_of_vllm_are_accepted() {
        let text = r#"{"enable_kv_cache_events": true, "publisher": "zmq", "endpoint": "tcp://*:5557", "replay_endpoint": null,
            "buffer_steps": 10000, "hwm": 100000, "max_queue_size": 100000, "topic": "kv-events"}"#;
        let options: CacheEventOptions = serde_json::from_str(text).unwrap();
        let expected = CacheEventOptions {
            enable_kv_cache_events: true,
            topic: "kv-events".to_owned(),
            ..CacheEventOptions::default()
        };
        assert_eq!(options, expected);
    }

    #[tokio::test]
    async fn nothing_is_bound_without_a_publisher() {
        let text = r#"{"enable_kv_cache_events": true, "publisher": "null"}"#;
        let options: CacheEventOptions = serde_json::from_str(text).unwrap();
        assert!(CacheEventPublisher::bind(&options).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn an_endpoint_of_another_kind_is_an_error() {
        assert!(bind("ipc:///tmp/events").await.is_err());
        assert!(bind("tcp://127.0.0.1:0").await.is_ok());
    }
}
