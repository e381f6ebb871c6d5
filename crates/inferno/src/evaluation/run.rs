//! Computes samples, many at once.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use inferno_engine::{EngineError, EngineOptions, Event, EventStream, ScoringRequest};

use super::metrics::{ChoiceResult, SampleResult, TaskResult, TextResult};
use super::task::{Sample, Task};
use super::tokens::Encoder;
use crate::evaluation::EvaluationError;
use crate::{Engine, Error, LoadedModel, SubmitError};

/// Maximum number of continuations that wait or are computed at once.
const MAX_IN_FLIGHT: usize = 256;

/// How much of an evaluation is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvaluationProgress {
    /// Samples that are done, over all tasks.
    pub num_done: usize,
    /// All samples.
    pub num_samples: usize,
}

/// Evaluates `model` on `tasks`. Calls `on_progress` after each sample, which may cancel the evaluation.
///
/// **Errors**: [`EvaluationError::SampleNotScored`] for a sample that cannot be scored, [`EvaluationError::NoPrefixToken`],
/// [`Error::Cancelled`], a device that fails.
pub fn evaluate(
    model: &LoadedModel,
    tasks: &[Task],
    on_progress: &mut dyn FnMut(EvaluationProgress) -> ControlFlow<()>,
) -> Result<Vec<TaskResult>, Error> {
    let options = EngineOptions { max_num_waiting: MAX_IN_FLIGHT, ..EngineOptions::default() };
    let engine = model.engine(options)?;
    let encoder = Encoder::new(model.tokenizer(), engine.handle().context_length())?;
    let num_samples = tasks.iter().map(|task| task.samples.len()).sum();
    // A sample that cannot be scored is found before hours of work, not after them.
    for task in tasks {
        for index in 0..task.samples.len() {
            encoded(task, index, &encoder)?;
        }
    }
    let mut run = Run::new(&engine, num_samples, on_progress);
    let mut results = Vec::with_capacity(tasks.len());
    for task in tasks {
        let mut num_truncated = 0;
        for (index, sample) in task.samples.iter().enumerate() {
            let (requests, is_truncated) = encoded(task, index, &encoder)?;
            num_truncated += usize::from(is_truncated);
            run.add(sample, requests)?;
        }
        let samples = run.finish()?;
        results.push(TaskResult { name: task.name.clone(), samples, num_truncated });
    }
    Ok(results)
}

/// The [`requests`] of one sample of a task.
///
/// **Errors**: [`EvaluationError::SampleNotScored`].
fn encoded(
    task: &Task,
    index: usize,
    encoder: &Encoder<'_>,
) -> Result<(Vec<ScoringRequest>, bool), Error> {
    requests(&task.samples[index], encoder).map_err(|reason| {
        let (task, sample) = (task.name.clone(), index + 1);
        Error::Evaluation(EvaluationError::SampleNotScored { task, sample, reason })
    })
}

/// The continuations of a sample, and whether a context lost its beginning.
///
/// **Errors**: a reason why the sample cannot be scored.
fn requests(sample: &Sample, encoder: &Encoder<'_>) -> Result<(Vec<ScoringRequest>, bool), String> {
    let mut is_truncated = false;
    let requests = match sample {
        Sample::Choice(sample) => {
            let pairs = sample.choices.iter().map(|choice| {
                let (request, truncated) = encoder.pair(&choice.context, &choice.continuation)?;
                is_truncated |= truncated;
                Ok(request)
            });
            pairs.collect::<Result<_, String>>()?
        }
        Sample::Text(text) => encoder.rolling(text),
    };
    match requests.is_empty() {
        true => Err("it has no tokens".to_owned()),
        false => Ok((requests, is_truncated)),
    }
}

/// The score of a continuation.
struct Score {
    log_likelihood: f64,
    is_greedy: bool,
    num_tokens: usize,
}

/// A continuation that waits or is computed.
struct InFlight<'a> {
    stream: EventStream,
    /// The sample whose last continuation it is.
    ends: Option<&'a Sample>,
}

/// Samples that are computed, in order.
struct Run<'a> {
    engine: &'a Engine,
    in_flight: VecDeque<InFlight<'a>>,
    /// Scores of the first sample that is not done.
    scores: Vec<Score>,
    results: Vec<SampleResult>,
    progress: EvaluationProgress,
    on_progress: &'a mut dyn FnMut(EvaluationProgress) -> ControlFlow<()>,
}

impl<'a> Run<'a> {
    fn new(
        engine: &'a Engine,
        num_samples: usize,
        on_progress: &'a mut dyn FnMut(EvaluationProgress) -> ControlFlow<()>,
    ) -> Self {
        let progress = EvaluationProgress { num_done: 0, num_samples };
        let in_flight = VecDeque::with_capacity(MAX_IN_FLIGHT);
        Self { engine, in_flight, scores: Vec::new(), results: Vec::new(), progress, on_progress }
    }

    /// Submits the continuations of a sample.
    fn add(&mut self, sample: &'a Sample, requests: Vec<ScoringRequest>) -> Result<(), Error> {
        let last = requests.len() - 1;
        for (index, request) in requests.into_iter().enumerate() {
            if self.in_flight.len() == MAX_IN_FLIGHT {
                self.wait_for_first()?;
            }
            let stream = self.engine.handle().score(request).map_err(|error| match error {
                SubmitError::Refused(error) => Error::from(*error),
                _ => EngineError::EngineStopped.into(),
            })?;
            self.in_flight.push_back(InFlight { stream, ends: (index == last).then_some(sample) });
        }
        Ok(())
    }

    /// Waits for all samples, and returns their results.
    fn finish(&mut self) -> Result<Vec<SampleResult>, Error> {
        while !self.in_flight.is_empty() {
            self.wait_for_first()?;
        }
        Ok(std::mem::take(&mut self.results))
    }

    /// Waits for the first continuation in flight.
    fn wait_for_first(&mut self) -> Result<(), Error> {
        let Some(InFlight { stream, ends }) = self.in_flight.pop_front() else { return Ok(()) };
        self.scores.push(score(stream)?);
        let Some(sample) = ends else { return Ok(()) };
        let scores = self.scores.drain(..);
        self.results.push(match sample {
            Sample::Choice(sample) => {
                let scores = scores.map(|score| (score.log_likelihood, score.is_greedy));
                SampleResult::Choice(ChoiceResult::new(sample, scores.collect()))
            }
            Sample::Text(text) => {
                let (mut log_likelihood, mut num_tokens) = (0.0, 0);
                for score in scores {
                    log_likelihood += score.log_likelihood;
                    num_tokens += score.num_tokens;
                }
                SampleResult::Text(TextResult::new(text, log_likelihood, num_tokens))
            }
        });
        self.progress.num_done += 1;
        match (self.on_progress)(self.progress) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::Cancelled),
        }
    }
}

/// Waits for a score.
fn score(mut stream: EventStream) -> Result<Score, Error> {
    loop {
        match stream.blocking_next() {
            Some(Event::Prompt(event)) => {
                let tokens = &event.logprobs;
                return Ok(Score {
                    log_likelihood: tokens.iter().map(|token| f64::from(token.logprob)).sum(),
                    is_greedy: tokens.iter().all(|token| token.rank == 1),
                    num_tokens: tokens.len(),
                });
            }
            Some(Event::Failed(error)) => return Err(EngineError::Shared(error).into()),
            Some(_) => {}
            None => return Err(EngineError::EngineStopped.into()),
        }
    }
}
