//! Events of the prefix cache over ZeroMQ, as vLLM publishes them, for routers that are aware of caches.
//!
//! A PUB socket sends a message of three frames after each step that changed the cache: the topic, the message's number (eight
//! bytes, big-endian), and its events in MessagePack. A ROUTER socket replays missed messages: a request is a number, and the
//! answers are all stored messages from there on, each as number and events, and a last one with the number -1.
//!
//! **Source**: vLLM's documentation, KV cache events.

mod encoding;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::SystemTime;

use inferno_engine::{CacheEvent, EngineHandle};
use parking_lot::Mutex;
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use zeromq::{PubSocket, RouterSocket, Socket, SocketRecv, SocketSend, ZmqMessage, ZmqResult};

use crate::ServerError;
use encoding::encode;

/// The number of the message that ends a replay: -1.
const END_OF_REPLAY: u64 = u64::MAX;

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
    /// The first frame of each message, for subscribers that filter.
    pub topic: String,
    /// The protocol; `zmq` is the only one.
    pub publisher: Protocol,
}

/// A protocol for events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// ZeroMQ.
    #[default]
    Zmq,
}

impl Default for CacheEventOptions {
    fn default() -> Self {
        Self {
            enable_kv_cache_events: false,
            endpoint: "tcp://*:5557".to_owned(),
            replay_endpoint: None,
            buffer_steps: 10_000,
            topic: String::new(),
            publisher: Protocol::Zmq,
        }
    }
}

/// Messages that can be replayed, by their numbers.
type Stored = Arc<Mutex<VecDeque<(u64, Vec<u8>)>>>;

/// The bound sockets, and what they send.
pub(crate) struct CacheEventPublisher {
    socket: PubSocket,
    replays: Option<RouterSocket>,
    stored: Stored,
    num_stored: usize,
    topic: String,
    next_number: u64,
}

impl CacheEventPublisher {
    /// Binds the sockets; `None` unless events are enabled.
    ///
    /// **Errors**: an endpoint that cannot be bound.
    pub(crate) async fn bind(options: &CacheEventOptions) -> Result<Option<Self>, ServerError> {
        if !options.enable_kv_cache_events {
            return Ok(None);
        }
        let socket = bind(PubSocket::new(), &options.endpoint).await?;
        let replays = match &options.replay_endpoint {
            Some(endpoint) => Some(bind(RouterSocket::new(), endpoint).await?),
            None => None,
        };
        Ok(Some(Self {
            socket,
            replays,
            stored: Stored::default(),
            num_stored: options.buffer_steps,
            topic: options.topic.clone(),
            next_number: 0,
        }))
    }

    /// Publishes the events of an engine's cache on background tasks, which end with the returned set.
    pub(crate) fn start(mut self, engine: &EngineHandle) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        let Ok(events) = engine.core().cache_events() else { return tasks };
        if let Some(replays) = self.replays.take() {
            let stored = Arc::clone(&self.stored);
            tasks.spawn(replay(replays, stored));
        }
        let block_tokens = engine.snapshot().block_tokens;
        tasks.spawn(self.publish_all(events, block_tokens));
        tasks
    }

    async fn publish_all(
        mut self,
        mut events: mpsc::UnboundedReceiver<Vec<CacheEvent>>,
        block_tokens: usize,
    ) {
        // Routers may still know the blocks of a server that had this address before.
        self.publish(encode(SystemTime::now(), None, block_tokens)).await;
        while let Some(events) = events.recv().await {
            self.publish(encode(SystemTime::now(), Some(&events), block_tokens)).await;
        }
    }

    async fn publish(&mut self, payload: Vec<u8>) {
        let number = self.next_number;
        self.next_number += 1;
        {
            let mut stored = self.stored.lock();
            stored.push_back((number, payload.clone()));
            if stored.len() > self.num_stored {
                stored.pop_front();
            }
        }
        let frames = [self.topic.clone().into_bytes(), number.to_be_bytes().to_vec(), payload];
        if let Err(error) = self.socket.send(message(frames)).await {
            tracing::warn!(%error, number, "cache events were not published");
        }
    }
}

/// Binds a socket to an endpoint, in which `*` is every IPv4 address.
///
/// **Errors**: another endpoint than `tcp://HOST:PORT`, one that is in use.
async fn bind<S: Socket + Send>(mut socket: S, endpoint: &str) -> Result<S, ServerError> {
    let address = endpoint.replacen("//*:", "//0.0.0.0:", 1);
    let bound = socket.bind(&address).await;
    let failed = |error: zeromq::ZmqError| ServerError::CacheEventEndpoint {
        endpoint: endpoint.to_owned(),
        message: error.to_string(),
    };
    bound.map(|_| socket).map_err(failed)
}

/// Answers requests for missed messages.
async fn replay(mut socket: RouterSocket, stored: Stored) {
    while let Ok(request) = socket.recv().await {
        // The requesting socket puts its identity and an empty frame before the number.
        let frames = request.into_vec();
        let [client, delimiter, number] = frames.as_slice() else { continue };
        let Ok(number) = <[u8; 8]>::try_from(number.as_ref()) else { continue };
        let first = u64::from_be_bytes(number);
        let wanted: Vec<_> = {
            let stored = stored.lock();
            stored.iter().filter(|(number, _)| *number >= first).cloned().collect()
        };
        for (number, payload) in wanted.into_iter().chain([(END_OF_REPLAY, Vec::new())]) {
            let frames =
                [client.to_vec(), delimiter.to_vec(), number.to_be_bytes().to_vec(), payload];
            if send(&mut socket, frames).await.is_err() {
                break;
            }
        }
    }
}

async fn send<const N: usize>(socket: &mut RouterSocket, frames: [Vec<u8>; N]) -> ZmqResult<()> {
    socket.send(message(frames)).await
}

fn message<const N: usize>(frames: [Vec<u8>; N]) -> ZmqMessage {
    let frames: Vec<_> = frames.into_iter().map(axum::body::Bytes::from).collect();
    ZmqMessage::try_from(frames).expect("a message of at least one frame")
}
