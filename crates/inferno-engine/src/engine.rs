//! The serving engine: a thread that steps a generation core for many requests at once, or several such lanes.
//!
//! Requests arrive through [`EngineHandle::submit`], tokens and their text leave through one
//! [`EventStream`] per request. Submitting a request never waits for a forward pass.
//!
//! Each request gets the same tokens as alone on a [`Session`](crate::Session), whatever else runs,
//! waits, or is preempted.

mod admission;
mod event_stream;
mod handle;
mod request;
mod shared;
mod worker;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};

use tokio::sync::Semaphore;

use crate::{EngineError, GenerationCore};
use handle::LaneThread;
use shared::{Lane, Message, Shared};
use worker::Worker;

pub use admission::AdmittedRequest;
pub use event_stream::EventStream;
pub use handle::{EngineHandle, SubmitError};
pub use request::{EmbeddingRequest, Request, ScoringRequest};

/// Configures an [`Engine`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineOptions {
    /// Maximum number of waiting requests; further ones are rejected.
    pub max_num_waiting: usize,
    /// Maximum number of tokens drafted per sequence and step by prompt lookup, while few sequences
    /// run; 0 disables speculative decoding. Outputs are the same with any number.
    pub num_speculative_tokens: usize,
    /// Whether requests are scheduled by their priority, which is ignored otherwise: a client that may set it can delay
    /// all others.
    pub honor_priority: bool,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self { max_num_waiting: 256, num_speculative_tokens: 0, honor_priority: false }
    }
}

/// A running engine. Dropping it shuts it down.
///
/// ```no_run
/// use inferno_engine::{
///     Engine, EngineOptions, Event, GenerationCore, GenerationParams, Request,
/// };
///
/// # fn serve(core: GenerationCore) -> Result<(), Box<dyn std::error::Error>> {
/// let engine = Engine::start(&core, EngineOptions::default())?;
/// let prompt = core.tokenizer().encode("Once upon a time", Default::default());
/// let mut events = engine.handle().submit(Request::new(prompt, GenerationParams::default()))?;
/// while let Some(event) = events.blocking_next() {
///     match event {
///         Event::Token(token) => print!("{}", token.text),
///         Event::Finished(finished) => println!("{} ({:?})", finished.text, finished.reason),
///         Event::Failed(error) => eprintln!("{error}"),
///         _ => {} // Only sent when requested.
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Engine {
    handle: EngineHandle,
    threads: Vec<JoinHandle<()>>,
}

impl Engine {
    /// Starts the engine's thread.
    ///
    /// **Errors**: [`EngineError::NoQueue`], [`EngineError::Thread`].
    pub fn start(core: &GenerationCore, options: EngineOptions) -> Result<Self, EngineError> {
        Self::start_lanes(std::slice::from_ref(core), options)
    }

    /// Starts a thread for each of `cores`, which divide the requests between them. While a stage of a divided model
    /// computes a pass of one core, others compute those of other cores. Requests generate the same tokens in all.
    ///
    /// **Errors**: as [`start`](Self::start).
    ///
    /// **Panics** if there are no cores.
    pub fn start_lanes(
        cores: &[GenerationCore],
        options: EngineOptions,
    ) -> Result<Self, EngineError> {
        assert!(!cores.is_empty(), "an engine needs a core");
        if options.max_num_waiting == 0 {
            return Err(EngineError::NoQueue);
        }
        let shared = Arc::new(Shared {
            lanes: cores.iter().map(Lane::new).collect(),
            options,
            queue: Arc::new(Semaphore::new(options.max_num_waiting.min(Semaphore::MAX_PERMITS))),
            is_draining: AtomicBool::new(false),
        });
        let handle = EngineHandle { shared: Arc::clone(&shared), threads: Vec::new() };
        let mut engine = Self { handle, threads: Vec::new() };
        for index in 0..cores.len() {
            let (messages, receiver) = mpsc::channel();
            let alive = Arc::new(());
            let lane = LaneThread { messages, alive: Arc::downgrade(&alive) };
            let worker = Worker::new(alive, receiver, Arc::clone(&shared), index);
            let thread = thread::Builder::new().name("inferno-engine".to_owned());
            let thread = thread.spawn(move || worker.run()).map_err(EngineError::Thread)?;
            engine.threads.push(thread);
            engine.handle.threads.push(lane);
        }
        Ok(engine)
    }

    /// Returns a handle that submits requests.
    pub fn handle(&self) -> EngineHandle {
        self.handle.clone()
    }

    /// Stops after the step in progress, and waits for that. Requests that have not ended are
    /// cancelled. To let them finish first, [`drain`](EngineHandle::drain) and wait until the engine
    /// [`is_idle`](EngineHandle::is_idle).
    pub fn shut_down(self) {
        drop(self);
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        for lane in &self.handle.threads {
            // A thread that has ended receives nothing.
            let _ = lane.messages.send(Message::ShutDown);
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
