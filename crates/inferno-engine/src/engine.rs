//! The serving engine: one thread that owns the model, and computes for many requests at once.
//!
//! Requests come in by [`EngineHandle::submit`], tokens and their text leave by one
//! [`EventStream`] a request. Nothing but messages is shared with the thread, and nobody waits for a
//! lock that it holds during a pass.
//!
//! Each request gives the same tokens as alone on a [`Session`](crate::Session), whatever runs
//! beside it, waits, or is preempted.

mod choice;
mod constraint;
mod event;
mod handle;
mod prompt_scores;
mod request;
mod saved_prefixes;
mod snapshot;
mod task;
mod ticket;
mod worker;

use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use inferno_tokenizer::Tokenizer;
use tokio::sync::Semaphore;

use crate::session::{end_of_generation, known_tokens};
use crate::{EngineError, Runner, Scheduler, SchedulerLimits};
use handle::Shared;
use worker::{Message, Worker};

pub use constraint::{ConstraintError, ConstraintState, TokenConstraint};
pub use event::{Event, EventStream, Finished, PromptEvent, Timings, TokenEvent};
pub use handle::{EngineHandle, SubmitError};
pub use request::{EmbeddingRequest, Request};
pub use snapshot::{EngineSnapshot, StepTokens};

/// How an [`Engine`] is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineOptions {
    /// Sequences that run together at most.
    pub max_num_sequences: usize,
    /// Requests that wait at most; more are refused.
    pub max_num_waiting: usize,
    /// Whether prompts reuse the blocks of others that begin alike.
    pub prefix_cache: bool,
    /// Drafts at most so many tokens a sequence and step from what was written before, while few
    /// sequences run; 0 drafts none. Answers are the same with any number.
    pub num_speculative_tokens: usize,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            max_num_sequences: 64,
            max_num_waiting: 256,
            prefix_cache: true,
            num_speculative_tokens: 0,
        }
    }
}

/// A running engine. Dropping it shuts it down.
///
/// ```no_run
/// use std::sync::Arc;
///
/// use inferno_engine::{Engine, EngineOptions, Event, GenerationParams, Request, Runner};
/// use inferno_tokenizer::Tokenizer;
///
/// # fn serve(runner: Box<dyn Runner>, tokenizer: Arc<Tokenizer>) -> Result<(), Box<dyn std::error::Error>> {
/// let engine = Engine::start(runner, Arc::clone(&tokenizer), EngineOptions::default())?;
/// let prompt = tokenizer.encode("Once upon a time", Default::default());
/// let mut events = engine.handle().submit(Request::new(prompt, GenerationParams::default()))?;
/// while let Some(event) = events.blocking_next() {
///     match event {
///         Event::Token(token) => print!("{}", token.text),
///         _ => {} // Only where it is asked for.
///         Event::Finished(finished) => println!("{} ({:?})", finished.text, finished.reason),
///         Event::Failed(error) => eprintln!("{error}"),
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Engine {
    handle: EngineHandle,
    thread: Option<JoinHandle<()>>,
}

impl Engine {
    /// Starts the engine's thread.
    ///
    /// **Errors**: [`EngineError::BatchLimits`] when the runner's batches do not take
    /// `max_num_sequences` and a token more, or as many rows of logits; no thread to be had.
    pub fn start(
        runner: Box<dyn Runner>,
        tokenizer: Arc<Tokenizer>,
        options: EngineOptions,
    ) -> Result<Self, EngineError> {
        let (limits, layout) = (runner.limits(), *runner.kv_layout());
        let max_num_sequences = options.max_num_sequences;
        let limit = limits.max_num_logit_rows.min(limits.max_num_tokens.saturating_sub(1));
        if max_num_sequences == 0 || max_num_sequences > limit {
            return Err(EngineError::BatchLimits { asked_for: max_num_sequences, limit });
        }
        if options.max_num_waiting == 0 {
            return Err(EngineError::NoQueue);
        }
        let scheduler = Scheduler::new(SchedulerLimits {
            num_blocks: layout.num_blocks,
            block_tokens: layout.block_tokens,
            max_num_sequences,
            max_num_batched_tokens: limits.max_num_tokens,
            max_num_logit_rows: limits.max_num_logit_rows,
            prefix_cache: options.prefix_cache,
        });
        let vocab_size = known_tokens(&*runner, &tokenizer);
        let snapshot = EngineSnapshot {
            blocks: scheduler.block_usage(),
            block_tokens: layout.block_tokens,
            ..EngineSnapshot::default()
        };
        let shared = Arc::new(Shared {
            end_of_generation: end_of_generation(&tokenizer, vocab_size),
            tokenizer,
            vocab_size,
            context_length: runner.context_length().min(scheduler.capacity()),
            hidden_size: runner.hidden_size(),
            options,
            queue: Arc::new(Semaphore::new(options.max_num_waiting.min(Semaphore::MAX_PERMITS))),
            open: Arc::new(()),
            is_draining: AtomicBool::new(false),
            snapshot: Mutex::new(snapshot),
        });
        let (messages, receiver) = mpsc::channel();
        let alive = Arc::new(());
        let handle =
            EngineHandle { shared: Arc::clone(&shared), messages, thread: Arc::downgrade(&alive) };
        let worker = Worker::new(alive, runner, scheduler, receiver, shared);
        let thread = thread::Builder::new().name("inferno-engine".to_owned());
        let thread = thread.spawn(move || worker.run());
        Ok(Self { handle, thread: Some(thread.map_err(EngineError::Thread)?) })
    }

    /// What requests are handed to.
    pub fn handle(&self) -> EngineHandle {
        self.handle.clone()
    }

    /// Stops after the step in progress, and waits for that. Requests that have not ended are
    /// cancelled. To let them end first, [`drain`](EngineHandle::drain) and wait until the engine
    /// [`is_idle`](EngineHandle::is_idle).
    pub fn shut_down(self) {
        drop(self);
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // Where the thread has ended, there is nobody to be told.
        let _ = self.handle.messages.send(Message::ShutDown);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
