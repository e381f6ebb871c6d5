//! Requests submitted to the engine, and their events measured and logged.

mod counts;
mod finish;
mod record;

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use inferno_engine::{
    AdmittedRequest, EmbeddingRequest, EngineError, Event, EventStream, GenerationParams,
    PromptEvent, Request, SampledToken, StopParams, TokenConstraint, TokenEvent,
};

use crate::ServedModel;
use crate::errors::ApiError;
use crate::state::InFlight;
pub(crate) use counts::TokenCounts;
pub(crate) use finish::{Finish, StopCause};
use record::Record;

/// A request to the engine.
pub(crate) struct Job {
    pub prompt: Vec<u32>,
    pub params: GenerationParams,
    /// Returns log-probabilities for the prompt tokens, each with this many alternatives.
    pub prompt_logprobs: Option<usize>,
    /// Reports how much of the prompt has been processed.
    pub reports_progress: bool,
    pub num_choices: usize,
    pub priority: i32,
    pub constraint: Option<Box<dyn TokenConstraint>>,
}

/// Something that happened to a running request.
pub(crate) enum GenerationEvent {
    /// More of the prompt has been processed; the counts have the details.
    Progress,
    /// The log-probabilities of the prompt, before anything else of a choice.
    Prompt(PromptEvent),
    Embedding(Vec<f32>),
    Token(TokenEvent),
    Finished {
        choice: usize,
        /// The last text of the choice.
        text: String,
        finish: Finish,
    },
}

/// A request that the engine works on; dropping it aborts the request.
pub(crate) struct RunningRequest {
    pub model: Arc<ServedModel>,
    events: EventStream,
    stop: StopParams,
    record: Record,
    has_failed: bool,
    _in_flight: InFlight,
}

impl RunningRequest {
    /// Submits a generation to the engine, for a request that arrived at `started`.
    ///
    /// **Errors**: what the engine rejects, each with its status.
    pub fn submit(
        in_flight: &InFlight,
        model: &Arc<ServedModel>,
        started: Instant,
        job: Job,
    ) -> Result<Self, ApiError> {
        let app = in_flight.app();
        let Job { prompt, params, num_choices, priority, constraint, .. } = job;
        let (prompt_tokens, stop) = (prompt.len(), params.stop.clone());
        let request = Request {
            prompt_logprobs: job.prompt_logprobs,
            reports_progress: job.reports_progress,
            num_choices,
            priority,
            deadline: app.options.limits.deadline(started),
            constraint,
            ..Request::new(prompt, params)
        };
        let events = model.handle.submit(request)?;
        let counts = TokenCounts::new(prompt_tokens, num_choices);
        let record = Record::begin(app, model, started, counts, stop.max_tokens);
        Ok(Self::new(model, events, stop, record, in_flight))
    }

    /// Submits an input to embed, for an admitted request that arrived at `started`, whose deadline is set here.
    ///
    /// **Errors**: as [`submit`](Self::submit), unless the queue is full or the server drains.
    pub fn embed(
        in_flight: &InFlight,
        admitted: &AdmittedRequest,
        model: &Arc<ServedModel>,
        started: Instant,
        request: EmbeddingRequest,
    ) -> Result<Self, ApiError> {
        let app = in_flight.app();
        let prompt_tokens = request.prompt.len();
        let deadline = app.options.limits.deadline(started);
        let request = EmbeddingRequest { deadline, ..request };
        let events = admitted.embed(request)?;
        let counts = TokenCounts::new(prompt_tokens, 1);
        let record = Record::begin(app, model, started, counts, None);
        Ok(Self::new(model, events, StopParams::default(), record, in_flight))
    }

    fn new(
        model: &Arc<ServedModel>,
        events: EventStream,
        stop: StopParams,
        record: Record,
        in_flight: &InFlight,
    ) -> Self {
        let (model, in_flight) = (Arc::clone(model), in_flight.clone());
        Self { model, events, stop, record, has_failed: false, _in_flight: in_flight }
    }

    /// The next event; `None` after the last choice has finished, and after an error.
    ///
    /// **Errors**: a choice that was cut short, or a request that the engine failed at.
    pub fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<GenerationEvent, ApiError>>> {
        if self.has_failed || self.counts().num_unfinished() == 0 {
            return Poll::Ready(None);
        }
        let event = std::task::ready!(self.events.poll_next(context));
        let event = self.receive(event);
        self.has_failed = event.is_err();
        Poll::Ready(Some(event))
    }

    /// As [`poll_next`](Self::poll_next).
    pub async fn next(&mut self) -> Option<Result<GenerationEvent, ApiError>> {
        std::future::poll_fn(|context| self.poll_next(context)).await
    }

    fn receive(&mut self, event: Option<Event>) -> Result<GenerationEvent, ApiError> {
        match event {
            Some(Event::Progress(progress)) => {
                self.record.progress(&progress);
                Ok(GenerationEvent::Progress)
            }
            Some(Event::Prompt(prompt)) => Ok(GenerationEvent::Prompt(prompt)),
            Some(Event::Embedding(values)) => Ok(GenerationEvent::Embedding(values)),
            Some(Event::Logits(_)) => Err(unexpected_event()),
            Some(Event::Token(token)) => {
                self.record.token(&token);
                Ok(GenerationEvent::Token(token))
            }
            Some(Event::Finished(finished)) => {
                self.record.finished(&finished);
                let choice = finished.choice;
                let counts = self.counts().choices.get(choice).copied().unwrap_or_default();
                let finish = Finish::of(&finished, counts.reasoning_tokens, &self.stop)?;
                Ok(GenerationEvent::Finished { choice, text: finished.text, finish })
            }
            Some(Event::Failed(error)) => {
                self.record.failed(&error);
                Err(ApiError::failed(&error))
            }
            None => Err(engine_stopped()),
        }
    }

    pub fn counts(&self) -> &TokenCounts {
        &self.record.counts
    }

    /// Counts the last token of a choice as reasoning.
    pub fn count_reasoning(&mut self, choice: usize) {
        if let Some(choice) = self.record.counts.choices.get_mut(choice) {
            choice.reasoning_tokens += 1;
        }
    }

    /// Whether a token ends its choice and has no text.
    pub fn is_end(&self, token: &SampledToken) -> bool {
        !self.stop.ignore_eos && self.model.tokenizer().is_end_of_generation(token.id)
    }
}

/// The engine stopped before a choice had finished.
pub(crate) fn engine_stopped() -> ApiError {
    ApiError::failed(&EngineError::EngineStopped)
}

/// The engine sent an unexpected event.
pub(crate) fn unexpected_event() -> ApiError {
    ApiError::internal("unexpected engine event")
}
