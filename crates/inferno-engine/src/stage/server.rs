//! A process that computes a stage of a model for heads in other processes.

use std::collections::HashMap;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use inferno_backend::{Backend, MAX_CANDIDATES};
use inferno_gguf::FileWatch;
use inferno_model::{BatchLimits, CacheLayout, Model, ModelSpec};
use parking_lot::Mutex;

use super::connection::{Connection, StageKey};
use super::lane::Lane;
use super::message::{self, Reply, Request, RowsMessage};
use super::{Stage, StageError};
use crate::{EngineError, Fingerprint};

/// Maximum number of connections, including those that have not proved to know the key.
const MAX_CONNECTIONS: usize = 256;
/// Time between attempts to accept a connection after a failure.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The weights of a stage of a model.
pub struct StageModel {
    weights: Box<dyn StageWeights>,
    /// The whole model.
    spec: ModelSpec,
    layers: Range<usize>,
    fingerprint: Fingerprint,
    watch: FileWatch,
}

/// A model on a backend that this trait hides.
trait StageWeights: Send + Sync {
    fn open(
        &self,
        layout: &CacheLayout,
        limits: BatchLimits,
        context_length: usize,
    ) -> Result<Box<dyn Stage>, EngineError>;
}

impl<B: Backend> StageWeights for Arc<Model<B>> {
    fn open(
        &self,
        layout: &CacheLayout,
        limits: BatchLimits,
        context_length: usize,
    ) -> Result<Box<dyn Stage>, EngineError> {
        super::open(Self::clone(self), layout, limits, context_length, false)
    }
}

impl StageModel {
    /// Describes a stage that was loaded with [`Model::load_stage`]: that of `layers` of the model `spec`. `fingerprint`
    /// and `watch` are those of its file.
    pub fn new<B: Backend>(
        model: Model<B>,
        spec: ModelSpec,
        layers: Range<usize>,
        fingerprint: Fingerprint,
        watch: FileWatch,
    ) -> Self {
        Self { weights: Box::new(Arc::new(model)), spec, layers, fingerprint, watch }
    }

    /// Returns the layers that it computes.
    pub fn layers(&self) -> Range<usize> {
        self.layers.clone()
    }

    pub(super) fn spec(&self) -> &ModelSpec {
        &self.spec
    }

    pub(super) fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    pub(super) fn open(
        &self,
        layout: &CacheLayout,
        limits: BatchLimits,
        context_length: usize,
    ) -> Result<Box<dyn Stage>, EngineError> {
        self.weights.open(layout, limits, context_length)
    }

    pub(super) fn check_file(&self) -> Result<(), EngineError> {
        self.watch.check().map_err(EngineError::ModelFileChanged)
    }

    /// Number of values of the residual stream that the stage reads per token; 0 for the first stage.
    pub(super) fn residual_len(&self) -> usize {
        if self.layers.start == 0 { 0 } else { self.spec.hidden_size }
    }

    /// Checks that the stage computes these rows: only the last one has the output head.
    pub(super) fn check_rows(&self, rows: RowsMessage) -> Result<(), StageError> {
        if let RowsMessage::Candidates { count, vocab_size } = rows {
            message::check_below("the number of logits", vocab_size, self.spec.vocab_size + 1)?;
            let limit = MAX_CANDIDATES.min(vocab_size);
            message::check_below("the number of candidates", count, limit + 1)?;
            if count == 0 {
                return Err(StageError::Message { what: "no candidates are requested" });
            }
        }
        let is_last = self.layers.end == self.spec.num_layers();
        match (rows == RowsMessage::Residual) != is_last {
            true => Ok(()),
            false => Err(StageError::Message { what: "the stage does not compute these rows" }),
        }
    }
}

/// A stage that accepts connections from heads. Each connection has a cache of its own; the weights are shared, and
/// passes take turns. Dropping it closes all connections.
pub struct StageServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    model: StageModel,
    key: StageKey,
    turn: Mutex<()>,
    connections: Mutex<HashMap<usize, TcpStream>>,
    is_stopped: AtomicBool,
}

impl StageServer {
    /// Accepts connections at `address` from heads that know `key`; port 0 selects a free port.
    ///
    /// **Errors**: [`StageError::Listen`]; [`EngineError::Thread`].
    pub fn start(model: StageModel, address: &str, key: StageKey) -> Result<Self, EngineError> {
        let failed = |source| StageError::Listen { address: address.to_owned(), source };
        let listener = TcpListener::bind(address).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let shared = Arc::new(Shared {
            model,
            key,
            turn: Mutex::new(()),
            connections: Mutex::default(),
            is_stopped: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&shared);
        let thread = thread::Builder::new().name("inferno-stage".to_owned());
        let thread = thread.spawn(move || accepting.accept(&listener));
        let thread = Some(thread.map_err(EngineError::Thread)?);
        Ok(Self { address, shared, thread })
    }

    /// Returns the address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the layers that it computes.
    pub fn layers(&self) -> Range<usize> {
        self.shared.model.layers()
    }

    /// Whether it has stopped because its device failed for good, or the file of its model was overwritten. The process
    /// should then be replaced.
    pub fn has_stopped(&self) -> bool {
        self.shared.is_stopped.load(Ordering::Relaxed)
    }
}

impl Drop for StageServer {
    fn drop(&mut self) {
        self.shared.stop();
        // Wakes the thread that accepts connections.
        let woken = TcpStream::connect_timeout(&reachable(self.address), Duration::from_secs(1));
        if let (Ok(_), Some(thread)) = (woken, self.thread.take()) {
            let _ = thread.join();
        }
    }
}

/// An address at which a listener on all interfaces is reached.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(match address {
            SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
        });
    }
    address
}

impl Shared {
    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        for id in 0.. {
            let accepted = listener.accept();
            let stream = accepted.and_then(|(stream, _)| Ok((stream.try_clone()?, stream)));
            let mut connections = self.connections.lock();
            if self.is_stopped.load(Ordering::Relaxed) {
                return;
            }
            let Ok((handle, stream)) = stream else {
                drop(connections);
                thread::sleep(ACCEPT_PAUSE);
                continue;
            };
            if connections.len() >= MAX_CONNECTIONS {
                continue;
            }
            connections.insert(id, handle);
            drop(connections);
            let thread = thread::Builder::new().name("inferno-stage-lane".to_owned());
            let registered = Registered { shared: Arc::clone(self), id };
            // Without a thread, the connection leaves the list with the work that is dropped.
            let _ = thread.spawn(move || registered.serve(stream));
        }
    }

    /// Closes all connections and accepts no more.
    fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        for stream in self.connections.lock().values() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

/// A connection in the list of connections, which it leaves when its thread ends.
struct Registered {
    shared: Arc<Shared>,
    id: usize,
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.shared.connections.lock().remove(&self.id);
    }
}

impl Registered {
    /// Serves a head until it closes the connection or breaks the protocol.
    fn serve(self, stream: TcpStream) {
        let Shared { model, key, turn, .. } = &*self.shared;
        let Ok(mut connection) = Connection::from_head(stream, key) else { return };
        let mut payload = Vec::new();
        let Ok(request) = connection.receive::<Request>(&mut payload) else { return };
        let mut lane = match Lane::open(model, turn, &request) {
            Ok(lane) => lane,
            Err(error) => {
                let _ = reply(&mut connection, &failure(&error), &[]);
                return;
            }
        };
        let mut sent = reply(&mut connection, &lane.opened(), &[]);
        while sent.is_ok() {
            let Ok(request) = connection.receive(&mut payload) else { return };
            sent = match lane.handle(request, &payload) {
                Ok(false) => Ok(()),
                Ok(true) => reply(&mut connection, &Reply::Done, &lane.result),
                // The head cannot know what became of its request.
                Err(EngineError::Stage(_)) => return,
                // The process must be replaced.
                Err(EngineError::ModelFileChanged(_)) => return self.shared.stop(),
                Err(error) if error.is_device_lost() => return self.shared.stop(),
                Err(error) => reply(&mut connection, &failure(&error), &[]),
            };
        }
    }
}

fn reply(connection: &mut Connection, reply: &Reply, payload: &[u8]) -> std::io::Result<()> {
    connection.send(reply, payload)?;
    connection.flush()
}

fn failure(error: &EngineError) -> Reply {
    Reply::Failed { message: error.to_string() }
}
