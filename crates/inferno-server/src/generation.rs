//! The way to the engine and back: requests submitted, and their events measured and logged.

mod finish;
mod grammar;
mod record;
mod thinking_budget;

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use inferno_engine::{
    EmbeddingRequest, EngineError, Event, EventStream, GenerationParams, Request, TokenConstraint,
};

use crate::ServedModel;
use crate::errors::ApiError;
use crate::state::{App, InFlight};
pub(crate) use finish::{Finish, StopCause};
pub(crate) use grammar::GrammarCompiler;
use record::Record;
pub(crate) use thinking_budget::{ThinkingBudget, ThinkingMarks};

/// What an endpoint wants from the engine.
pub(crate) struct Job {
    pub prompt: Vec<u32>,
    pub params: GenerationParams,
    /// Tells what the prompt's own tokens were worth, and so many rivals of each.
    pub prompt_logprobs: Option<usize>,
    pub num_choices: usize,
    pub priority: i32,
    pub constraint: Option<Box<dyn TokenConstraint>>,
}

/// A request that the engine works on; dropping it stops that.
pub(crate) struct Running {
    events: EventStream,
    record: Record,
    /// Choices that have not ended.
    num_open: usize,
    _in_flight: InFlight,
}

impl Running {
    /// Submits a request that came at `started` to the engine.
    ///
    /// **Errors**: what the engine refuses, each with its status.
    pub fn submit(
        app: &Arc<App>,
        model: &Arc<ServedModel>,
        started: Instant,
        job: Job,
    ) -> Result<Self, ApiError> {
        let Job { prompt, params, prompt_logprobs, num_choices, priority, constraint } = job;
        let (prompt_tokens, max_tokens) = (prompt.len(), params.stop.max_tokens);
        let request = Request {
            prompt_logprobs,
            num_choices,
            priority,
            deadline: app.options.limits.deadline(started),
            constraint,
            ..Request::new(prompt, params)
        };
        let in_flight = app.begin_request();
        let events = model.handle.submit(request)?;
        let record = Record::begin(app, model, started, prompt_tokens, num_choices, max_tokens);
        Ok(Self { events, record, num_open: num_choices, _in_flight: in_flight })
    }

    /// Hands in a text of which a vector is wanted, for a request that came at `started`.
    ///
    /// **Errors**: as [`submit`](Self::submit).
    pub fn embed(
        app: &Arc<App>,
        model: &Arc<ServedModel>,
        started: Instant,
        prompt: Vec<u32>,
        priority: i32,
    ) -> Result<Self, ApiError> {
        let (prompt_tokens, pooling) = (prompt.len(), model.pooling);
        let deadline = app.options.limits.deadline(started);
        let in_flight = app.begin_request();
        let request = EmbeddingRequest { prompt, pooling, priority, deadline };
        let events = model.handle.embed(request)?;
        let record = Record::begin(app, model, started, prompt_tokens, 1, None);
        Ok(Self { events, record, num_open: 1, _in_flight: in_flight })
    }

    /// The next event; `None` after the last choice has ended, and after a failure.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Event>> {
        if self.num_open == 0 {
            return Poll::Ready(None);
        }
        let event = std::task::ready!(self.events.poll_next(context));
        match &event {
            Some(Event::Prompt(_) | Event::Embedding(_)) => {}
            Some(Event::Token(token)) => self.record.token(token),
            Some(Event::Finished(finished)) => {
                self.num_open -= 1;
                self.record.finished(finished);
            }
            Some(Event::Failed(error)) => {
                self.num_open = 0;
                self.record.failed(error);
            }
            None => self.num_open = 0,
        }
        Poll::Ready(event)
    }

    pub async fn next(&mut self) -> Option<Event> {
        std::future::poll_fn(|context| self.poll_next(context)).await
    }
}

/// The engine ended without a word about a choice that was running.
pub(crate) fn engine_stopped() -> ApiError {
    ApiError::failed(&EngineError::EngineStopped)
}

/// The engine told what the request had not asked for.
pub(crate) fn unasked() -> ApiError {
    ApiError::internal("the engine told what was not asked for")
}
