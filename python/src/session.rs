//! One conversation with a model, computed on a thread of its own while it is read.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use inferno::{EngineError, GenerationParams, Prompt, TokenConstraint};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use tokio::sync::{mpsc, oneshot};

use crate::arguments::{PathArgument, Tokens};
use crate::detached::Detached;
use crate::errors::{busy, engine_exception, exception, invalid};
use crate::generation::GenerationArguments;
use crate::loaded::Loaded;
use crate::stream::{ChunkStream, Piece, Source};
use crate::wait::{IsAbandoned, run_interruptible, wait};

/// A conversation: tokens with their keys and values.
#[pyclass(frozen, module = "inferno._inferno")]
pub struct Session {
    loaded: Detached<Arc<Loaded>>,
    session: Detached<Arc<Mutex<inferno::Session>>>,
    /// The last stream.
    running: Mutex<Option<Running>>,
}

/// A stream, as long as its thread uses the session.
struct Running {
    is_running: Arc<AtomicBool>,
    pieces: mpsc::WeakSender<Piece>,
}

impl Running {
    /// Whether there is more to read, so that the session is in use until the caller closes the stream.
    fn is_open(&self) -> bool {
        let is_read = |pieces: mpsc::Sender<Piece>| !pieces.is_closed();
        self.is_running.load(Ordering::Acquire) && self.pieces.upgrade().is_some_and(is_read)
    }
}

/// A text or tokens.
enum PromptArgument {
    Text(String),
    Tokens(Vec<u32>),
}

impl<'py> FromPyObject<'_, 'py> for PromptArgument {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match object.is_instance_of::<PyString>() {
            true => object.extract().map(Self::Text),
            false => object.extract().map(|Tokens(tokens)| Self::Tokens(tokens)),
        }
    }
}

impl<'p> From<&'p PromptArgument> for Prompt<'p> {
    fn from(prompt: &'p PromptArgument) -> Self {
        match prompt {
            PromptArgument::Text(text) => Self::Text(text),
            PromptArgument::Tokens(tokens) => Self::Tokens(tokens),
        }
    }
}

impl Session {
    /// Waits for the step of the engine in progress.
    pub(crate) fn new(py: Python<'_>, loaded: &Arc<Loaded>) -> PyResult<Self> {
        let session = py.detach(|| loaded.model.session()).map_err(|error| exception(&error))?;
        Ok(Self {
            loaded: Detached::new(Arc::clone(loaded)),
            session: Detached::new(Arc::new(Mutex::new(session))),
            running: Mutex::new(None),
        })
    }

    /// Runs `work` on the session, on a thread of its own.
    ///
    /// **Errors**: a stream that is not closed; those of `work`; `KeyboardInterrupt`.
    fn run<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut inferno::Session, IsAbandoned<'_>) -> Result<T, EngineError>
        + Send
        + 'static,
    ) -> PyResult<T> {
        self.ensure_unused()?;
        let session = Arc::clone(self.session.get()?);
        let result =
            run_interruptible(py, move |is_abandoned| work(&mut lock(&session), is_abandoned))?;
        result.map_err(|error| engine_exception(&error))
    }

    /// **Errors**: a stream that is not closed.
    fn ensure_unused(&self) -> PyResult<()> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        match running.as_ref().is_some_and(Running::is_open) {
            true => {
                Err(busy("the session is generating; read its stream to the end or close it first"))
            }
            false => Ok(()),
        }
    }
}

#[pymethods]
impl Session {
    /// Starts a generation after `prompt`.
    fn submit(
        &self,
        py: Python<'_>,
        prompt: PromptArgument,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<ChunkStream> {
        self.ensure_unused()?;
        let mut arguments = GenerationArguments::read(Some(options))?;
        let unsupported = [
            ("priority", arguments.priority.is_some()),
            ("timeout", arguments.timeout.is_some()),
            ("prompt_logprobs", arguments.prompt_logprobs.is_some()),
        ];
        if let Some((name, _)) = unsupported.iter().find(|(_, is_set)| *is_set) {
            return Err(invalid(format!("sessions do not support {name}; use Model.generate")));
        }
        let Loaded { model, server, .. } = &**self.loaded.get()?;
        let constraint = arguments.constraint(py, model)?;
        let params = arguments.params(model)?;
        let (pieces, receiver) = mpsc::channel(1);
        let (started, mut seed) = oneshot::channel();
        let is_running = Arc::new(AtomicBool::new(true));
        let running = Running { is_running: Arc::clone(&is_running), pieces: pieces.downgrade() };
        let generation = Generation { prompt, params, constraint, is_running };
        let session = Arc::clone(self.session.get()?);
        thread::Builder::new()
            .name("inferno-session".to_owned())
            .spawn(move || generation.run(&session, started, &pieces))?;
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = Some(running);
        let seed = wait(py, |context| Pin::new(&mut seed).poll(context))?;
        let seed = seed.map_err(|_| engine_exception(&EngineError::EngineStopped))?;
        let seed = seed.map_err(|error| engine_exception(&error))?;
        Ok(ChunkStream::new(Source::Session(receiver), Vec::new(), seed, server))
    }

    /// Appends `prompt` and computes it, without generating.
    fn extend(&self, py: Python<'_>, prompt: PromptArgument) -> PyResult<()> {
        self.run(py, move |session, is_abandoned| {
            session.extend_unless_cancelled(&prompt, |_| is_abandoned()).map(drop)
        })
    }

    /// Removes all but the first `num_tokens` tokens.
    fn truncate(&self, py: Python<'_>, num_tokens: isize) -> PyResult<()> {
        let Ok(num_tokens) = usize::try_from(num_tokens) else {
            return Err(invalid(format!("num_tokens must be 0 or more, but is {num_tokens}")));
        };
        self.run(py, move |session, _| {
            session.truncate(num_tokens);
            Ok(())
        })
    }

    /// Writes the conversation to a file.
    fn save(&self, py: Python<'_>, path: PathArgument) -> PyResult<()> {
        self.run(py, move |session, _| session.save(path.0))
    }

    /// Replaces the conversation with a saved one.
    fn load(&self, py: Python<'_>, path: PathArgument) -> PyResult<()> {
        self.run(py, move |session, _| session.load(path.0))
    }

    /// All tokens that the model has read and generated.
    #[getter]
    fn tokens(&self, py: Python<'_>) -> PyResult<Vec<u32>> {
        self.run(py, |session, _| Ok(session.tokens().to_vec()))
    }
}

fn lock(session: &Mutex<inferno::Session>) -> MutexGuard<'_, inferno::Session> {
    session.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A generation of a session, on its thread.
struct Generation {
    prompt: PromptArgument,
    params: GenerationParams,
    constraint: Option<Box<dyn TokenConstraint>>,
    is_running: Arc<AtomicBool>,
}

impl Generation {
    /// Generates until the end or until the receiver of `pieces` is dropped. The session is unlocked before the last piece
    /// is sent, so that its reader can use the session at once.
    fn run(
        self,
        session: &Mutex<inferno::Session>,
        started: oneshot::Sender<Result<u64, EngineError>>,
        pieces: &mpsc::Sender<Piece>,
    ) {
        let is_running = Arc::clone(&self.is_running);
        let last = self.generate(&mut lock(session), started, pieces);
        is_running.store(false, Ordering::Release);
        if let Some(last) = last {
            // The reader may have closed the stream.
            let _ = pieces.blocking_send(last);
        }
    }

    /// Returns the last piece, unless the reader is gone.
    fn generate(
        self,
        session: &mut inferno::Session,
        started: oneshot::Sender<Result<u64, EngineError>>,
        pieces: &mpsc::Sender<Piece>,
    ) -> Option<Piece> {
        let generation = match self.constraint {
            Some(constraint) => {
                session.generate_constrained(&self.prompt, &self.params, constraint)
            }
            None => session.generate(&self.prompt, &self.params),
        };
        let mut generation = match generation {
            Ok(generation) => generation,
            Err(error) => {
                self.is_running.store(false, Ordering::Release);
                let _ = started.send(Err(error));
                return None;
            }
        };
        let _ = started.send(Ok(generation.seed()));
        let (cancel, reader) = (generation.cancel_handle(), pieces.clone());
        generation.on_prompt(move |_| {
            if reader.is_closed() {
                cancel.cancel();
            }
        });
        while let Some(step) = generation.next() {
            let step = match step {
                Ok(step) => step,
                Err(error) => return Some(Piece::Failed(Arc::new(error))),
            };
            let mut text = step.text;
            if let Some(token) = step.token {
                let text = std::mem::take(&mut text);
                let piece = Piece::Token { token: token.id, logprobs: token.logprobs, text };
                pieces.blocking_send(piece).ok()?;
            }
            if let Some(reason) = step.finish_reason {
                let metrics = generation.metrics();
                let counts = [metrics.prompt_tokens, 0, metrics.generated_tokens];
                return Some(Piece::Finished { text, reason, counts, finished: None });
            }
        }
        None
    }
}
