//! The events of one request.

use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::sync::mpsc::UnboundedReceiver;

use crate::{EngineError, Event};

/// The events of one request, for async code on any runtime and for plain threads.
///
/// Dropping it cancels the request: nothing is computed for it after the step in progress.
#[derive(Debug)]
pub struct EventStream {
    events: UnboundedReceiver<Event>,
    num_unfinished: usize,
    seed: u64,
}

impl EventStream {
    pub(super) fn new(events: UnboundedReceiver<Event>, num_choices: usize, seed: u64) -> Self {
        Self { events, num_unfinished: num_choices, seed }
    }

    /// Returns the seed of the first choice, which reproduces its text.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the next event; `None` after the last one.
    pub async fn next(&mut self) -> Option<Event> {
        std::future::poll_fn(|context| self.poll_next(context)).await
    }

    /// Polls for the next event; ready with `None` after the last one.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Event>> {
        if self.num_unfinished == 0 {
            return Poll::Ready(None);
        }
        self.events.poll_recv(context).map(|event| Some(self.note(event)))
    }

    /// Waits for the next event; `None` after the last one.
    ///
    /// **Panics** within an async runtime.
    pub fn blocking_next(&mut self) -> Option<Event> {
        if self.num_unfinished == 0 {
            return None;
        }
        let event = self.events.blocking_recv();
        Some(self.note(event))
    }

    /// Counts the choices that have ended. An engine that stops before that fails the request.
    fn note(&mut self, event: Option<Event>) -> Event {
        let event = event.unwrap_or_else(|| Event::Failed(Arc::new(EngineError::EngineStopped)));
        match event {
            Event::Progress(_)
            | Event::Prompt(_)
            | Event::Embedding(_)
            | Event::Logits(_)
            | Event::Token(_) => {}
            Event::Finished(_) => self.num_unfinished -= 1,
            Event::Failed(_) => self.num_unfinished = 0,
        }
        event
    }
}
