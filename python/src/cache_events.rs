//! The changes of the prefix cache, for plain threads and for asyncio.

use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use inferno::{BlockHash, LocalServer};
use pyo3::prelude::*;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::errors::engine_exception;
use crate::open_stream::{OpenStream, lock};
use crate::wait::{callback_waker, wait};

/// A change of the prefix cache: consecutive blocks were stored, or blocks were removed.
#[pyclass(frozen, get_all, module = "inferno")]
pub struct CacheEvent {
    /// `stored` or `removed`.
    kind: &'static str,
    /// The hashes of the blocks, in order.
    blocks: Vec<u64>,
    /// The hash of the block before the first; `None` at the start of a sequence and for removed blocks.
    parent: Option<u64>,
    /// The tokens of all stored blocks.
    tokens: Vec<u32>,
}

impl From<inferno::CacheEvent> for CacheEvent {
    fn from(event: inferno::CacheEvent) -> Self {
        let numbers = |blocks: Vec<BlockHash>| blocks.into_iter().map(|BlockHash(it)| it).collect();
        match event {
            inferno::CacheEvent::Stored { parent, blocks, tokens } => Self {
                kind: "stored",
                blocks: numbers(blocks),
                parent: parent.map(|BlockHash(parent)| parent),
                tokens,
            },
            inferno::CacheEvent::Removed { blocks } => {
                Self { kind: "removed", blocks: numbers(blocks), parent: None, tokens: Vec::new() }
            }
        }
    }
}

#[pymethods]
impl CacheEvent {
    fn __repr__(&self) -> String {
        format!("CacheEvent({}, {} blocks)", self.kind, self.blocks.len())
    }
}

/// The changes of a prefix cache from now on, starting with its blocks: lists of events, one per step of the engine. There
/// is one such stream per model: opening another one or closing the model ends it.
#[pyclass(frozen, module = "inferno._inferno")]
pub struct CacheEventStream(OpenStream<Receiver>);

type Receiver = UnboundedReceiver<Vec<inferno::CacheEvent>>;

impl CacheEventStream {
    /// Waits for the step of the engine in progress.
    ///
    /// **Errors**: an engine that has stopped.
    pub(crate) fn of(py: Python<'_>, server: &Arc<LocalServer>) -> PyResult<Self> {
        let events = py.detach(|| server.engine().core().cache_events());
        let events = events.map_err(|error| engine_exception(&error))?;
        Ok(Self(OpenStream::without_server(events)))
    }
}

fn poll_events(
    receiver: &Mutex<Option<Receiver>>,
    context: &mut Context<'_>,
) -> Poll<Option<Vec<CacheEvent>>> {
    let mut receiver = lock(receiver);
    let Some(open) = receiver.as_mut() else { return Poll::Ready(None) };
    let events = std::task::ready!(open.poll_recv(context));
    Poll::Ready(events.map(|events| events.into_iter().map(CacheEvent::from).collect()))
}

#[pymethods]
impl CacheEventStream {
    /// Waits for the next events; `None` after the last ones.
    fn next(&self, py: Python<'_>) -> PyResult<Option<Vec<CacheEvent>>> {
        let receiver = self.0.get()?;
        wait(py, |context| poll_events(receiver, context))
    }

    /// Returns the next events in a list, or an empty list, after which `callback` is called from another thread as soon as
    /// there are some; `None` after the last ones.
    fn poll(&self, callback: Py<PyAny>) -> PyResult<Option<Vec<Vec<CacheEvent>>>> {
        let waker = callback_waker(callback);
        Ok(match poll_events(self.0.get()?, &mut Context::from_waker(&waker)) {
            Poll::Pending => Some(Vec::new()),
            Poll::Ready(events) => events.map(|events| vec![events]),
        })
    }

    /// Ends the stream.
    fn close(&self) {
        self.0.close();
    }
}

/// Computes the hashes of the whole blocks of a prompt.
pub(crate) fn block_hashes(tokens: &[u32], block_tokens: usize) -> Vec<u64> {
    let mut parent = None;
    let hashes = tokens.chunks_exact(block_tokens.max(1)).map(|block| {
        let hash = BlockHash::new(parent, block);
        parent = Some(hash);
        hash.0
    });
    hashes.collect()
}
