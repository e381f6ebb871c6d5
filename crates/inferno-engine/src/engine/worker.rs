//! A thread of the engine.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvError, TryRecvError};

use parking_lot::MutexGuard;

use super::shared::{Lane, Message, Shared, Submission};
use crate::EngineError;

/// Steps the core of a lane while it has requests.
pub(super) struct Worker {
    /// Its end shows that the thread has ended. It is dropped first, also in a panic, so that a client that
    /// notices the end of its request finds the engine stopped.
    _alive: Arc<()>,
    messages: Receiver<Message>,
    shared: Arc<Shared>,
    /// The index of its lane.
    index: usize,
}

impl Worker {
    pub(super) fn new(
        alive: Arc<()>,
        messages: Receiver<Message>,
        shared: Arc<Shared>,
        index: usize,
    ) -> Self {
        Self { _alive: alive, messages, shared, index }
    }

    fn lane(&self) -> &Lane {
        &self.shared.lanes[self.index]
    }

    /// Works until it is shut down; the requests that have not ended are cancelled then.
    pub(super) fn run(self) {
        while let Ok(true) = self.step() {}
        let Lane { core, engine } = self.lane();
        core.cancel_requests(engine);
    }

    /// Adds what was submitted and computes one step; waits if there is nothing to do. Returns false at
    /// the end.
    ///
    /// **Errors**: [`EngineError::EngineStopped`] after a panic in another thread's step.
    fn step(&self) -> Result<bool, EngineError> {
        let mut message = match self.lane().is_idle() {
            true => self.messages.recv().map_err(|RecvError| TryRecvError::Disconnected),
            false => self.messages.try_recv(),
        };
        let core = &self.lane().core;
        let mut state = core.lock()?;
        loop {
            match message {
                Ok(Message::Submit(submission)) => {
                    let Submission { prompt, second_segment, rows, priority, deadline, tasks } =
                        submission;
                    for task in tasks {
                        let id = state.add(&prompt, rows, priority, deadline, task);
                        state.scheduler.set_second_segment(id, second_segment);
                    }
                }
                Ok(Message::ShutDown) | Err(TryRecvError::Disconnected) => return Ok(false),
                Err(TryRecvError::Empty) => break,
            }
            message = self.messages.try_recv();
        }
        core.step(&mut state);
        // Sessions that wait for the core have their turn before the next step.
        MutexGuard::unlock_fair(state);
        Ok(true)
    }
}
