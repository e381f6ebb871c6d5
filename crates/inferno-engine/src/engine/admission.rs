//! Which requests the engine accepts: the queue, and requests of several inputs, which are admitted as a whole.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::OwnedSemaphorePermit;

use super::shared::{Message, Submission};
use super::{EmbeddingRequest, EngineHandle, EventStream, SubmitError};

/// A request of several inputs that the engine admitted. It may submit them one after another: none is rejected because the
/// queue is full meanwhile or the engine [drains](EngineHandle::drain). Whoever drains must therefore wait until such
/// requests have ended.
#[derive(Debug)]
pub struct AdmittedRequest {
    handle: EngineHandle,
    /// Places in the queue for the first inputs.
    places: Mutex<OwnedSemaphorePermit>,
}

impl AdmittedRequest {
    /// Submits an input, as [`EngineHandle::embed`] does.
    ///
    /// **Errors**: as [`EngineHandle::embed`], except [`SubmitError::QueueFull`] and [`SubmitError::Draining`].
    pub fn embed(&self, request: EmbeddingRequest) -> Result<EventStream, SubmitError> {
        let (lane, mut submission, stream) = self.handle.embedding(request)?;
        self.handle.check_alive()?;
        // Later inputs wait without a place.
        if let Some(place) = self.places.lock().split(1) {
            submission.tasks[0].sender_mut().hold_queue_place(place);
        }
        self.handle.pass(lane, submission)?;
        Ok(stream)
    }
}

impl EngineHandle {
    /// Admits a request of several inputs, and reserves places in the queue for the first `num_places`, which should be all
    /// that it submits at once.
    ///
    /// **Errors**: [`SubmitError::QueueFull`], [`SubmitError::Draining`], [`SubmitError::Stopped`].
    pub fn admit(&self, num_places: usize) -> Result<AdmittedRequest, SubmitError> {
        let places = Mutex::new(self.acquire(num_places)?);
        Ok(AdmittedRequest { handle: self.clone(), places })
    }

    /// Acquires a place in the queue, and passes the request to the thread of a lane.
    pub(super) fn send(&self, lane: usize, mut submission: Submission) -> Result<(), SubmitError> {
        let place = self.acquire(1)?;
        submission.tasks[0].sender_mut().hold_queue_place(place);
        self.pass(lane, submission)
    }

    /// Acquires places in the queue.
    fn acquire(&self, num_places: usize) -> Result<OwnedSemaphorePermit, SubmitError> {
        if self.is_draining() {
            return Err(SubmitError::Draining);
        }
        self.check_alive()?;
        let queue = Arc::clone(&self.shared.queue);
        let limit = self.shared.options.max_num_waiting;
        let num_places = u32::try_from(num_places).unwrap_or(u32::MAX);
        queue.try_acquire_many_owned(num_places).map_err(|_| SubmitError::QueueFull { limit })
    }

    /// The channel of a thread that ends accepts messages for a moment longer.
    fn check_alive(&self) -> Result<(), SubmitError> {
        if self.is_alive() { Ok(()) } else { Err(SubmitError::Stopped) }
    }

    /// Passes a request to the thread of a lane.
    fn pass(&self, lane: usize, mut submission: Submission) -> Result<(), SubmitError> {
        if !self.shared.options.honor_priority {
            submission.priority = 0;
        }
        let messages = &self.threads[lane].messages;
        messages.send(Message::Submit(submission)).map_err(|_| SubmitError::Stopped)
    }
}
