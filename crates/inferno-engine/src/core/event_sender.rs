//! The receiver of one sequence's events, and its progress.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::UnboundedSender;

use super::event::{Event, Finished, ProgressEvent, Timings, TokenEvent};
use crate::{EngineError, FinishReason};

/// Sends the events of one sequence: a choice of a request, or a call of a session.
pub(crate) struct EventSender {
    choice: usize,
    prompt_tokens: usize,
    progress: Progress,
    reports_progress: bool,
    receiver: Receiver,
}

/// The receiver of the events.
enum Receiver {
    Request(RequestChannel),
    Session(EventQueue),
}

/// The channel of an engine's request.
pub(crate) struct RequestChannel {
    pub(crate) events: UnboundedSender<Event>,
    /// Shared by the choices of a request: whether one of them failed.
    pub(crate) failed: Arc<AtomicBool>,
    /// Identifies the engine; held by each of its choices that has not ended.
    pub(crate) engine: Arc<()>,
    /// Held by the first choice until it runs.
    pub(crate) queue_place: Option<OwnedSemaphorePermit>,
}

/// Events that a session has not taken yet.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    pub(crate) events: VecDeque<QueuedEvent>,
    /// The forward passes that led to them.
    pub(crate) passes: Vec<PassRecord>,
}

/// An event, and the text that was held back after it.
#[derive(Debug)]
pub(crate) struct QueuedEvent {
    pub(crate) event: Event,
    pub(crate) held_back: String,
}

/// One forward pass, as far as it concerns one sequence.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PassRecord {
    pub(crate) num_tokens: usize,
    pub(crate) duration: Duration,
    pub(crate) num_drafts: usize,
    pub(crate) num_accepted: usize,
}

/// Timestamps of a sequence's progress.
#[derive(Debug)]
struct Progress {
    submitted: Instant,
    admitted: Option<Instant>,
    first_token: Option<Instant>,
    last_token: Option<Instant>,
    cached_tokens: usize,
    generated_tokens: usize,
    num_preemptions: usize,
}

impl EventSender {
    /// Sends to a request's channel.
    pub(crate) fn to_channel(
        choice: usize,
        prompt_tokens: usize,
        submitted: Instant,
        channel: RequestChannel,
    ) -> Self {
        let (progress, receiver) = (Progress::new(submitted), Receiver::Request(channel));
        Self { choice, prompt_tokens, progress, reports_progress: false, receiver }
    }

    /// Queues the events for a session.
    pub(crate) fn to_queue(prompt_tokens: usize) -> Self {
        let progress = Progress::new(Instant::now());
        let receiver = Receiver::Session(EventQueue::default());
        Self { choice: 0, prompt_tokens, progress, reports_progress: false, receiver }
    }

    /// Reports from now on how much of the prompt has been processed.
    pub(crate) fn report_progress(&mut self) {
        self.reports_progress = true;
    }

    /// The queue of a session's sender.
    pub(super) fn queue_mut(&mut self) -> Option<&mut EventQueue> {
        match &mut self.receiver {
            Receiver::Session(queue) => Some(queue),
            Receiver::Request(_) => None,
        }
    }

    pub(super) fn is_queued(&self) -> bool {
        matches!(self.receiver, Receiver::Session(_))
    }

    /// Whether the receiver was dropped, or the request has failed.
    pub(super) fn is_abandoned(&self) -> bool {
        match &self.receiver {
            Receiver::Request(channel) => {
                channel.events.is_closed() || channel.failed.load(Ordering::Relaxed)
            }
            Receiver::Session(_) => false,
        }
    }

    /// Whether this is a request of `engine`.
    pub(super) fn belongs_to(&self, engine: &Arc<()>) -> bool {
        matches!(&self.receiver, Receiver::Request(channel) if Arc::ptr_eq(&channel.engine, engine))
    }

    /// Keeps the request's place in the queue occupied until this choice runs.
    pub(crate) fn hold_queue_place(&mut self, place: OwnedSemaphorePermit) {
        if let Receiver::Request(channel) = &mut self.receiver {
            channel.queue_place = Some(place);
        }
    }

    pub(super) fn choice(&self) -> usize {
        self.choice
    }

    pub(super) fn prompt_tokens(&self) -> usize {
        self.prompt_tokens
    }

    /// Tokens that were sampled.
    pub(super) fn num_generated(&self) -> usize {
        self.progress.generated_tokens
    }

    /// Records that the sequence started to run.
    pub(super) fn record_admission(&mut self, cached_tokens: usize) {
        if let Receiver::Request(channel) = &mut self.receiver {
            channel.queue_place = None;
        }
        self.progress.admitted = Some(Instant::now());
        self.progress.cached_tokens = cached_tokens;
        self.record_processed(cached_tokens);
    }

    /// Records that this many tokens of the sequence have been processed, before a token is sampled after them.
    pub(super) fn record_processed(&mut self, processed_tokens: usize) {
        if !self.reports_progress || self.num_generated() > 0 {
            return;
        }
        self.send(Event::Progress(ProgressEvent {
            prompt_tokens: self.prompt_tokens,
            cached_tokens: self.progress.cached_tokens,
            processed_tokens,
            time: Instant::now(),
        }));
    }

    /// Records that the sequence was preempted.
    pub(super) fn record_preemption(&mut self) {
        self.progress.num_preemptions += 1;
    }

    /// Records a pass that included the sequence; only sessions report them.
    pub(super) fn record_pass(&mut self, pass: PassRecord) {
        if let Receiver::Session(queue) = &mut self.receiver {
            queue.passes.push(pass);
        }
    }

    /// Records that a token was sampled, and returns the time.
    pub(super) fn record_token(&mut self) -> Instant {
        let time = Instant::now();
        self.progress.generated_tokens += 1;
        self.progress.first_token.get_or_insert(time);
        self.progress.last_token = Some(time);
        time
    }

    /// Sends a token, after which the text `held_back` may still become part of a stop string.
    pub(super) fn send_token(&mut self, token: TokenEvent, held_back: &str) {
        self.queue_or_send(Event::Token(token), held_back);
    }

    /// Sends an event. A request whose receiver was dropped is removed before the next step.
    pub(super) fn send(&mut self, event: Event) {
        self.queue_or_send(event, "");
    }

    /// Sends the end, with the last text.
    pub(super) fn finish(&mut self, reason: FinishReason, text: String) {
        self.send(Event::Finished(Finished {
            choice: self.choice,
            reason,
            text,
            prompt_tokens: self.prompt_tokens,
            cached_tokens: self.progress.cached_tokens,
            generated_tokens: self.progress.generated_tokens,
            timings: self.progress.timings(),
        }));
    }

    /// Fails the whole request.
    pub(super) fn fail(&mut self, error: Arc<EngineError>) {
        let has_failed = match &self.receiver {
            Receiver::Request(channel) => channel.failed.swap(true, Ordering::Relaxed),
            Receiver::Session(_) => false,
        };
        if !has_failed {
            self.send(Event::Failed(error));
        }
    }

    fn queue_or_send(&mut self, event: Event, held_back: &str) {
        match &mut self.receiver {
            Receiver::Request(channel) => {
                let _ = channel.events.send(event);
            }
            Receiver::Session(queue) => {
                queue.events.push_back(QueuedEvent { event, held_back: held_back.to_owned() });
            }
        }
    }
}

impl Progress {
    fn new(submitted: Instant) -> Self {
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
