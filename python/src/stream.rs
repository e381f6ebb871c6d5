//! The chunks of a generation, for plain threads and for asyncio.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, TryLockError};
use std::task::{Context, Poll};

use inferno::{
    EngineError, Event, EventStream, FinishReason, Finished, LocalServer, TokenEvent, TokenLogprobs,
};
use pyo3::prelude::*;
use tokio::sync::mpsc;

use crate::errors::{busy, engine_exception};
use crate::open_stream::OpenStream;
use crate::records::{Chunk, Timings, TokenLogprob, Usage};
use crate::wait::{callback_waker, wait};

/// A part of a generation, not yet a Python object.
pub(crate) enum Piece {
    Prompt(Vec<TokenLogprobs>),
    Token { token: u32, logprobs: Option<TokenLogprobs>, text: String },
    Finished { text: String, reason: FinishReason, counts: [usize; 3], finished: Option<Finished> },
    Failed(Arc<EngineError>),
}

/// Where the pieces come from.
pub(crate) enum Source {
    Engine(EventStream),
    /// The thread that computes a session.
    Session(mpsc::Receiver<Piece>),
}

impl Source {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Piece>> {
        match self {
            Self::Session(pieces) => pieces.poll_recv(context),
            Self::Engine(events) => loop {
                match std::task::ready!(events.poll_next(context)) {
                    None => return Poll::Ready(None),
                    Some(event) => {
                        if let Some(piece) = piece_of(event) {
                            return Poll::Ready(Some(piece));
                        }
                    }
                }
            },
        }
    }
}

/// Returns `None` for events that are only sent when they are requested.
fn piece_of(event: Event) -> Option<Piece> {
    match event {
        Event::Prompt(prompt) => Some(Piece::Prompt(prompt.logprobs)),
        Event::Token(TokenEvent { token, text, .. }) => {
            Some(Piece::Token { token: token.id, logprobs: token.logprobs, text })
        }
        Event::Finished(finished) => Some(Piece::Finished {
            text: finished.text.clone(),
            reason: finished.reason,
            counts: [finished.prompt_tokens, finished.cached_tokens, finished.generated_tokens],
            finished: Some(finished),
        }),
        Event::Failed(error) => Some(Piece::Failed(error)),
        Event::Progress(_) | Event::Embedding(_) | Event::Logits(_) => None,
    }
}

/// The chunks of a generation. Closing or dropping it cancels the generation.
#[pyclass(frozen, module = "inferno._inferno")]
pub struct ChunkStream {
    /// Closed after the end.
    source: OpenStream<Source>,
    is_closed: AtomicBool,
    /// The tokens of the prompt, to which its log-probabilities belong.
    prompt: Vec<u32>,
    /// The seed that reproduces the generation.
    #[pyo3(get)]
    seed: u64,
}

impl ChunkStream {
    pub(crate) fn new(
        source: Source,
        prompt: Vec<u32>,
        seed: u64,
        server: &Arc<LocalServer>,
    ) -> Self {
        let source = OpenStream::new(source, server);
        Self { source, is_closed: AtomicBool::new(false), prompt, seed }
    }

    fn chunk(&self, py: Python<'_>, piece: Piece) -> PyResult<Chunk> {
        Ok(match piece {
            Piece::Failed(error) => return Err(engine_exception(&error)),
            Piece::Prompt(logprobs) => {
                let tokens = self.prompt.iter().skip(1);
                let each = tokens
                    .zip(logprobs)
                    .map(|(&token, it)| Py::new(py, TokenLogprob::new(token, it)));
                Chunk { prompt_logprobs: Some(each.collect::<PyResult<_>>()?), ..Chunk::default() }
            }
            Piece::Token { token, logprobs, text } => {
                let logprob = logprobs.map(|it| Py::new(py, TokenLogprob::new(token, it)));
                Chunk {
                    text,
                    token: Some(token),
                    logprob: logprob.transpose()?,
                    ..Chunk::default()
                }
            }
            Piece::Finished { text, reason, counts: [prompt, cached, generated], finished } => {
                let timings = finished.map(|finished| Py::new(py, Timings::of(&finished)));
                Chunk {
                    text,
                    finish_reason: Some(reason.name().to_owned()),
                    usage: Some(Py::new(py, Usage::new(prompt, cached, generated))?),
                    timings: timings.transpose()?,
                    ..Chunk::default()
                }
            }
        })
    }

    /// Runs `read` with the source, which is dropped at the end, after an error and when the stream was closed.
    fn with_source<T>(
        &self,
        read: impl FnOnce(&mut Source) -> PyResult<Option<T>>,
    ) -> PyResult<Option<T>> {
        let mut source = match self.source.get()?.try_lock() {
            Ok(source) => source,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                return Err(busy("another thread reads this stream"));
            }
        };
        let Some(open) = source.as_mut() else { return Ok(None) };
        let result = read(open);
        if !matches!(result, Ok(Some(_))) || self.is_closed.load(Ordering::Relaxed) {
            *source = None;
        }
        result
    }
}

#[pymethods]
impl ChunkStream {
    /// Waits for the next chunk; `None` after the last one.
    fn next(&self, py: Python<'_>) -> PyResult<Option<Chunk>> {
        self.with_source(|source| {
            let piece = wait(py, |context| match self.is_closed.load(Ordering::Relaxed) {
                true => Poll::Ready(None),
                false => source.poll_next(context),
            })?;
            piece.map(|piece| self.chunk(py, piece)).transpose()
        })
    }

    /// Waits for the end and returns all chunks that are left. Unlike calls of `next`, this takes the interpreter's lock once,
    /// not for each token.
    fn rest(&self, py: Python<'_>) -> PyResult<Vec<Chunk>> {
        let mut pieces = Vec::new();
        self.with_source(|source| {
            wait(py, |context| {
                while !self.is_closed.load(Ordering::Relaxed) {
                    match std::task::ready!(source.poll_next(context)) {
                        Some(piece) => pieces.push(piece),
                        None => break,
                    }
                }
                Poll::Ready(())
            })?;
            Ok(None::<()>)
        })?;
        pieces.into_iter().map(|piece| self.chunk(py, piece)).collect()
    }

    /// Returns the chunks that are ready, or an empty list, after which `callback` is called from another thread as soon
    /// as there are more; `None` after the last one.
    fn poll(&self, py: Python<'_>, callback: Py<PyAny>) -> PyResult<Option<Vec<Chunk>>> {
        let waker = callback_waker(callback);
        let mut context = Context::from_waker(&waker);
        self.with_source(|source| {
            let mut chunks = Vec::new();
            loop {
                match source.poll_next(&mut context) {
                    Poll::Pending => return Ok(Some(chunks)),
                    // An error is raised once the chunks before it were read.
                    Poll::Ready(Some(Piece::Failed(error))) => {
                        return match chunks.is_empty() {
                            true => Err(engine_exception(&error)),
                            false => {
                                *source = failed(error);
                                Ok(Some(chunks))
                            }
                        };
                    }
                    Poll::Ready(Some(piece)) => chunks.push(self.chunk(py, piece)?),
                    Poll::Ready(None) if chunks.is_empty() => return Ok(None),
                    Poll::Ready(None) => return Ok(Some(chunks)),
                }
            }
        })
    }

    /// Cancels the generation. No effect after its end.
    fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
        // A thread that waits notices it; otherwise there is nothing to wait for.
        if let Ok(source) = self.source.get()
            && let Ok(mut source) = source.try_lock()
        {
            *source = None;
        }
    }
}

/// A source with this error only.
fn failed(error: Arc<EngineError>) -> Source {
    let (sender, receiver) = mpsc::channel(1);
    // The channel is new, so it has room.
    let _ = sender.try_send(Piece::Failed(error));
    Source::Session(receiver)
}
