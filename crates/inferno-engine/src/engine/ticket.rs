//! What is common to everything that the engine works on: who is told, and how far it has come.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::UnboundedSender;

use super::event::{Event, Finished, Timings};
use crate::{EngineError, FinishReason};

/// A place among the requests that wait; it is free again when this is dropped.
pub(super) type QueuePlace = OwnedSemaphorePermit;

/// The listener of a sequence that has not ended, and what it is told.
pub(super) struct Ticket {
    pub(super) index: usize,
    pub(super) events: UnboundedSender<Event>,
    /// Shared by the choices of a request: whether one of them failed.
    pub(super) failed: Arc<AtomicBool>,
    /// Shared by all that have not ended, so that they can be counted.
    pub(super) _open: Arc<()>,
    /// Kept by the first choice until it runs.
    pub(super) queue_place: Option<QueuePlace>,
    pub(super) prompt_tokens: usize,
    pub(super) progress: Progress,
}

/// How far a sequence has come, and when.
#[derive(Debug)]
pub(super) struct Progress {
    submitted: Instant,
    admitted: Option<Instant>,
    first_token: Option<Instant>,
    last_token: Option<Instant>,
    cached_tokens: usize,
    generated_tokens: usize,
    num_preemptions: usize,
}

impl Progress {
    pub(super) fn new(submitted: Instant) -> Self {
        Self {
            submitted,
            admitted: None,
            first_token: None,
            last_token: None,
            cached_tokens: 0,
            generated_tokens: 0,
            num_preemptions: 0,
        }
    }

    /// Tokens that were sampled.
    pub(super) fn generated_tokens(&self) -> usize {
        self.generated_tokens
    }

    /// Notes a token that was sampled, and gives the time.
    pub(super) fn token(&mut self) -> Instant {
        let time = Instant::now();
        self.generated_tokens += 1;
        self.first_token.get_or_insert(time);
        self.last_token = Some(time);
        time
    }

    fn timings(&self) -> Timings {
        let total = self.submitted.elapsed();
        let since_submitted = |time: Instant| time - self.submitted;
        let decode = self.first_token.zip(self.last_token).map(|(first, last)| last - first);
        Timings {
            queued: self.admitted.map_or(total, since_submitted),
            time_to_first_token: self.first_token.map(since_submitted),
            decode: decode.unwrap_or(Duration::ZERO),
            total,
            num_preemptions: self.num_preemptions,
        }
    }
}

impl Ticket {
    /// Whether nobody listens any more, or the request has failed.
    pub(super) fn is_abandoned(&self) -> bool {
        self.events.is_closed() || self.failed.load(Ordering::Relaxed)
    }

    /// Notes that it runs from now on.
    pub(super) fn admit(&mut self, cached_tokens: usize) {
        self.queue_place = None;
        self.progress.admitted = Some(Instant::now());
        self.progress.cached_tokens = cached_tokens;
    }

    /// Notes that it lost its blocks.
    pub(super) fn preempt(&mut self) {
        self.progress.num_preemptions += 1;
    }

    /// Ends the whole request.
    pub(super) fn fail(&self, error: Arc<EngineError>) {
        if !self.failed.swap(true, Ordering::Relaxed) {
            self.tell(Event::Failed(error));
        }
    }

    /// Sends the end, with the last text.
    pub(super) fn tell_end(&self, reason: FinishReason, text: String) {
        self.tell(Event::Finished(Finished {
            choice: self.index,
            reason,
            text,
            prompt_tokens: self.prompt_tokens,
            cached_tokens: self.progress.cached_tokens,
            generated_tokens: self.progress.generated_tokens,
            timings: self.progress.timings(),
        }));
    }

    /// Sends an event. Where nobody listens, the sequence is taken out before the next step.
    pub(super) fn tell(&self, event: Event) {
        let _ = self.events.send(event);
    }
}
