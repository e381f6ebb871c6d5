//! Threads that advance token constraints while the forward pass runs.
//!
//! Constraints that proved slow share a separate thread with low priority, so that they delay neither the
//! forward pass nor the masks of other requests.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel};
use std::sync::{Arc, OnceLock, Weak};
use std::thread;
use std::time::Duration;

use inferno_tokenizer::{ConstraintError, ConstraintState, TokenConstraint, TokenMask};
use parking_lot::Mutex;

use super::thread_time::ThreadTime;
use crate::EngineError;

/// Processor time that one token of a constraint may take. A request that exceeds it fails.
const TOKEN_TIME_LIMIT: Duration = Duration::from_millis(500);

/// Maximum number of threads for constraints that are not slow.
const MAX_THREADS: usize = 8;

/// Stack of a worker, in bytes.
const STACK_BYTES: usize = 16 << 20;

/// A constraint with the tokens that it allows next.
pub(super) struct Rules {
    pub(super) constraint: Box<dyn TokenConstraint>,
    pub(super) mask: TokenMask,
}

/// The result of advancing a constraint.
pub(super) struct Advanced {
    pub(super) rules: Rules,
    /// The state after the token, or why the constraint cannot continue.
    pub(super) state: Result<ConstraintState, ConstraintError>,
    /// Processor time that it took.
    pub(super) time: Duration,
}

/// Work for a thread.
pub(super) struct Job {
    pub(super) rules: Rules,
    /// The token to accept before the mask is computed.
    pub(super) token: Option<u32>,
    /// Dropped when the result is no longer needed.
    pub(super) request: Weak<()>,
    pub(super) done: SyncSender<Advanced>,
}

/// The queues of the threads.
pub(super) struct Queues {
    fast: Sender<Job>,
    slow: Sender<Job>,
}

/// The threads, which start with the first constraint and stop when this and all constraints are dropped.
#[derive(Default)]
pub(crate) struct ConstraintWorkers {
    queues: OnceLock<Arc<Queues>>,
}

impl ConstraintWorkers {
    /// Returns the queues; starts the threads at the first call.
    ///
    /// **Errors**: [`EngineError::Thread`].
    pub(super) fn queues(&self) -> Result<Arc<Queues>, EngineError> {
        if let Some(queues) = self.queues.get() {
            return Ok(Arc::clone(queues));
        }
        let started = Arc::new(Queues::start().map_err(EngineError::Thread)?);
        Ok(Arc::clone(self.queues.get_or_init(|| started)))
    }
}

impl Queues {
    fn start() -> io::Result<Self> {
        let (fast, slow) = (channel(), channel());
        let num_threads = thread::available_parallelism().map_or(1, |cores| cores.get() / 4);
        let jobs = Arc::new(Mutex::new(fast.1));
        for _ in 0..num_threads.clamp(1, MAX_THREADS) {
            spawn(Arc::clone(&jobs), || ())?;
        }
        spawn(Arc::new(Mutex::new(slow.1)), lower_priority)?;
        Ok(Self { fast: fast.0, slow: slow.0 })
    }

    /// Queues a job; its result is lost if the threads have ended.
    pub(super) fn send(&self, job: Job, is_slow: bool) {
        let queue = if is_slow { &self.slow } else { &self.fast };
        let _ = queue.send(job);
    }
}

fn spawn(jobs: Arc<Mutex<Receiver<Job>>>, prepare: fn()) -> io::Result<()> {
    let builder = thread::Builder::new().name("inferno-grammar".to_owned());
    let work = move || {
        prepare();
        loop {
            let Ok(job) = jobs.lock().recv() else { return };
            // A request that has ended needs no result.
            if job.request.strong_count() > 0 {
                let _ = job.done.try_send(advance(job.rules, job.token));
            }
        }
    };
    builder.stack_size(STACK_BYTES).spawn(work).map(drop)
}

/// Accepts `token`, if there is one, and computes the tokens that are allowed next.
pub(super) fn advance(mut rules: Rules, token: Option<u32>) -> Advanced {
    let started = ThreadTime::now();
    let state = catch_unwind(AssertUnwindSafe(|| {
        let state = match token {
            Some(token) => rules.constraint.accept(token)?,
            None => ConstraintState::Open,
        };
        if state == ConstraintState::Open {
            rules.mask.clear();
            rules.constraint.mask(&mut rules.mask)?;
        }
        Ok(state)
    }));
    let panicked = |_| Err(ConstraintError("the constraint panicked".to_owned()));
    let state = state.unwrap_or_else(panicked);
    let time = started.elapsed();
    Advanced { rules, state: state.and_then(|state| within_limit(time).map(|()| state)), time }
}

/// Checks the time that one token took.
fn within_limit(time: Duration) -> Result<(), ConstraintError> {
    if time <= TOKEN_TIME_LIMIT {
        return Ok(());
    }
    Err(ConstraintError(format!(
        "it took {} ms to find the tokens that it allows next, but at most {} ms are accepted; make it less ambiguous",
        time.as_millis(),
        TOKEN_TIME_LIMIT.as_millis()
    )))
}

/// Lets all other threads run first.
fn lower_priority() {
    // Without it the work is the same, so an error does not matter. Elsewhere the call would affect the whole process.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, 10);
}
