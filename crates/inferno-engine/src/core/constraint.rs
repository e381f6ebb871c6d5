//! The constraint of one generation, advanced by other threads.
//!
//! While the forward pass runs, the workers compute which tokens may follow. A constraint that is not ready when its
//! row of logits is does not delay other sequences: the row is held until it is.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use super::constraint_workers::{Advanced, ConstraintWorkers, Job, Queues, Rules, advance};
use super::thread_time::ThreadTime;
use crate::{ConstraintError, ConstraintState, EngineError, TokenConstraint, TokenMask};

/// Processor time above which a constraint's next token is accepted by the workers, too.
const SLOW: Duration = Duration::from_millis(2);

/// A constraint, and the tokens that it allows next.
pub(crate) struct Constraint {
    progress: Progress,
    queues: Arc<Queues>,
    is_slow: bool,
    /// Shows the workers that the request still needs their results.
    request: Arc<()>,
}

enum Progress {
    /// The last token was accepted.
    Accepted(Rules),
    /// The mask is that of the next token.
    Masked(Rules, ConstraintState),
    Running(Receiver<Advanced>),
    Failed,
}

impl Constraint {
    /// Begins to compute the tokens that `constraint` allows first.
    ///
    /// **Errors**: [`EngineError::Thread`].
    pub(crate) fn new(
        constraint: Box<dyn TokenConstraint>,
        vocab_size: usize,
        workers: &ConstraintWorkers,
    ) -> Result<Self, EngineError> {
        let rules = Rules { constraint, mask: TokenMask::new(vocab_size) };
        let (progress, queues) = (Progress::Accepted(rules), workers.queues()?);
        let mut created = Self { progress, queues, is_slow: false, request: Arc::new(()) };
        created.prepare_mask();
        Ok(created)
    }

    /// Begins to compute the mask of the next token, unless that is done.
    pub(super) fn prepare_mask(&mut self) {
        if matches!(self.progress, Progress::Accepted(_)) {
            self.start(None);
        }
    }

    /// The tokens allowed next, after waiting for them until `deadline` at most; `None` if they are not known yet.
    ///
    /// **Errors**: a constraint that fails or takes too long.
    pub(super) fn mask(&mut self, deadline: Instant) -> Result<Option<&TokenMask>, EngineError> {
        if matches!(self.progress, Progress::Accepted(_)) {
            match self.is_slow {
                true => self.start(None),
                false => self.run()?,
            }
        }
        self.receive(deadline)?;
        match &self.progress {
            Progress::Masked(rules, _) => Ok(Some(&rules.mask)),
            _ => Ok(None),
        }
    }

    /// Advances by a token that the mask allows. Returns the state after it, or `None` if the workers accept it:
    /// [`state`](Self::state) returns the state then.
    ///
    /// **Errors**: a constraint that fails or takes too long.
    pub(super) fn accept(&mut self, token: u32) -> Result<Option<ConstraintState>, EngineError> {
        if self.is_slow {
            self.start(Some(token));
            return Ok(None);
        }
        let mut rules = self.take().ok_or_else(ended)?;
        let started = ThreadTime::now();
        let state = rules.constraint.accept(token)?;
        self.is_slow = started.elapsed() > SLOW;
        self.progress = Progress::Accepted(rules);
        Ok(Some(state))
    }

    /// The state after the token that the workers accept, after waiting until `deadline` at most; `None` if it is not
    /// known yet.
    ///
    /// **Errors**: a constraint that fails or takes too long.
    pub(super) fn state(
        &mut self,
        deadline: Instant,
    ) -> Result<Option<ConstraintState>, EngineError> {
        self.receive(deadline)?;
        match self.progress {
            Progress::Masked(_, state) => Ok(Some(state)),
            _ => Ok(None),
        }
    }

    fn take(&mut self) -> Option<Rules> {
        match std::mem::replace(&mut self.progress, Progress::Failed) {
            Progress::Accepted(rules) | Progress::Masked(rules, _) => Some(rules),
            Progress::Running(_) | Progress::Failed => None,
        }
    }

    fn start(&mut self, token: Option<u32>) {
        let Some(rules) = self.take() else { return };
        let (done, result) = sync_channel(1);
        let job = Job { rules, token, request: Arc::downgrade(&self.request), done };
        self.queues.send(job, self.is_slow);
        self.progress = Progress::Running(result);
    }

    fn receive(&mut self, deadline: Instant) -> Result<(), EngineError> {
        let Progress::Running(result) = &self.progress else { return Ok(()) };
        let left = deadline.saturating_duration_since(Instant::now());
        match result.recv_timeout(left) {
            Ok(advanced) => self.set(advanced),
            Err(RecvTimeoutError::Timeout) => Ok(()),
            Err(RecvTimeoutError::Disconnected) => Err(ended()),
        }
    }

    fn set(&mut self, advanced: Advanced) -> Result<(), EngineError> {
        let Advanced { rules, state, time } = advanced;
        self.is_slow = time > SLOW;
        self.progress = Progress::Masked(rules, state?);
        Ok(())
    }

    /// Computes the mask on this thread.
    fn run(&mut self) -> Result<(), EngineError> {
        let rules = self.take().ok_or_else(ended)?;
        self.set(advance(rules, None))
    }
}

fn ended() -> EngineError {
    ConstraintError("its thread has ended".to_owned()).into()
}
