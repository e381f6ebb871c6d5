//! Text completions of several prompts at once.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll};

use inferno_engine::{SampledToken, TokenLogprobs};

use super::prompt::EncodedPrompt;
use crate::ServedModel;
use crate::errors::ApiError;
use crate::generation::{
    Finish, GenerationEvent, Job, RunningRequest, engine_stopped, unexpected_event,
};
use crate::openai::logprobs::{PromptLogprobs, TextLogprobs, TextPosition};
use crate::openai::usage::Usage;
use crate::request::Preparation;
use crate::state::App;

/// Running text completions; dropping it aborts them.
pub(super) struct TextRun {
    pub model: Arc<ServedModel>,
    /// One for each prompt.
    running: Vec<RunningRequest>,
    /// The prompt to poll first, so that none starves.
    turn: usize,
    has_failed: bool,
    /// The echo of each choice, which is sent first.
    beginnings: VecDeque<TextEvent>,
    num_choices: usize,
    /// The length of each choice so far, for the log-probabilities.
    positions: Vec<TextPosition>,
    /// Mean log-probability of each choice so far.
    scores: Vec<Score>,
    prompts: Vec<EncodedPrompt>,
    returned: Returned,
}

/// What polling a running request returns.
type PolledEvent = Result<GenerationEvent, ApiError>;

/// What a request returns in addition to text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Returned {
    /// Choices to return per prompt: the most probable ones.
    pub num_choices: usize,
    /// Whether to return log-probabilities of generated tokens.
    pub logprobs: bool,
    /// OpenAI's log-probabilities of the echoed prompt, with this many alternatives per token.
    pub echo_logprobs: Option<usize>,
    /// vLLM's log-probabilities of the prompt, with this many alternatives per token.
    pub prompt_logprobs: Option<usize>,
}

/// Sum of the log-probabilities of a choice.
#[derive(Debug, Clone, Copy, Default)]
struct Score {
    logprobs: f64,
    num_tokens: usize,
}

impl Score {
    fn add(&mut self, token: &SampledToken) {
        self.logprobs += token.logprobs.as_ref().map_or(0.0, |it| f64::from(it.logprob));
        self.num_tokens += 1;
    }

    /// Mean log-probability per token.
    fn mean(&self) -> f64 {
        self.logprobs / self.num_tokens.max(1) as f64
    }
}

/// New content of a choice. Choices are numbered across all prompts.
pub(super) struct TextEvent {
    pub index: usize,
    pub text: String,
    pub logprobs: Option<TextLogprobs>,
    pub prompt_logprobs: Option<PromptLogprobs>,
    /// When the choice has finished.
    pub finish: Option<Finish>,
}

/// A complete answer.
#[derive(Default)]
pub(crate) struct TextAnswer {
    pub text: String,
    pub logprobs: Option<TextLogprobs>,
    pub prompt_logprobs: Option<PromptLogprobs>,
    pub finish: Option<Finish>,
}

impl TextEvent {
    /// Text only.
    fn text(index: usize, text: String) -> Self {
        Self { index, text, logprobs: None, prompt_logprobs: None, finish: None }
    }
}

impl TextRun {
    /// Submits all prompts to the engine.
    ///
    /// **Errors**: what the engine rejects; then none is computed.
    pub async fn begin(
        app: &Arc<App>,
        model: &Arc<ServedModel>,
        preparation: Preparation,
        jobs: Vec<(EncodedPrompt, Job)>,
        returned: Returned,
    ) -> Result<Self, ApiError> {
        let num_choices = jobs.first().map_or(0, |(_, job)| job.num_choices);
        let (prompts, jobs): (Vec<_>, Vec<_>) = jobs.into_iter().unzip();
        let (in_flight, arrived) = (app.begin_request(), preparation.arrived());
        let submitted = Arc::clone(model);
        let submit = move |job| RunningRequest::submit(&in_flight, &submitted, arrived, job);
        let running = preparation.run(move || jobs.into_iter().map(submit).collect()).await?;
        let echoes =
            || prompts.iter().flat_map(|prompt| std::iter::repeat_n(&prompt.echo, num_choices));
        // With log-probabilities, the echo is sent together with them.
        let is_sent_at_once = |echo: &String| returned.echo_logprobs.is_none() && !echo.is_empty();
        let beginnings = echoes().enumerate().filter(|(_, echo)| is_sent_at_once(echo));
        Ok(Self {
            beginnings: beginnings
                .map(|(index, echo)| TextEvent::text(index, echo.clone()))
                .collect(),
            positions: echoes().map(|echo| TextPosition::after(echo)).collect(),
            scores: echoes().map(|_| Score::default()).collect(),
            model: Arc::clone(model),
            turn: 0,
            has_failed: false,
            num_choices,
            running,
            prompts,
            returned,
        })
    }

    /// Number of choices of all prompts.
    pub fn num_answers(&self) -> usize {
        self.positions.len()
    }

    /// The usage of all prompts and answers.
    pub fn usage(&self) -> Usage {
        Usage::of(self.running.iter().map(RunningRequest::counts))
    }

    /// The usage of one answer so far.
    pub fn usage_so_far(&self, index: usize) -> Usage {
        let counts = self.running[index / self.num_choices].counts();
        Usage::so_far(counts, index % self.num_choices)
    }

    /// Whether all answers have finished.
    pub fn is_finished(&self) -> bool {
        self.running.iter().all(|running| running.counts().num_unfinished() == 0)
    }

    /// The next content; `None` after the last choice has finished, and after an error.
    pub async fn next(&mut self) -> Option<Result<TextEvent, ApiError>> {
        if self.has_failed {
            return None;
        }
        if let Some(beginning) = self.beginnings.pop_front() {
            return Some(Ok(beginning));
        }
        let (prompt, event) = std::future::poll_fn(|context| self.poll_any(context)).await?;
        let event = event.and_then(|event| self.read(prompt, event));
        self.has_failed = event.is_err();
        Some(event)
    }

    /// The next event of any prompt.
    fn poll_any(&mut self, context: &mut Context<'_>) -> Poll<Option<(usize, PolledEvent)>> {
        let len = self.running.len();
        let mut is_pending = false;
        for place in (0..len).map(|step| (self.turn + step) % len) {
            match self.running[place].poll_next(context) {
                Poll::Ready(Some(event)) => {
                    self.turn = (place + 1) % len;
                    return Poll::Ready(Some((place, event)));
                }
                Poll::Ready(None) => {}
                Poll::Pending => is_pending = true,
            }
        }
        if is_pending { Poll::Pending } else { Poll::Ready(None) }
    }

    fn read(&mut self, prompt: usize, event: GenerationEvent) -> Result<TextEvent, ApiError> {
        let first = prompt * self.num_choices;
        match event {
            GenerationEvent::Prompt(event) => {
                Ok(self.beginning(first + event.choice, prompt, &event.logprobs))
            }
            GenerationEvent::Token(event) => {
                let index = first + event.choice;
                self.scores[index].add(&event.token);
                let is_text = !self.running[prompt].is_end(&event.token);
                let logprobs = if is_text { self.logprobs(index, &event.token) } else { None };
                Ok(TextEvent { logprobs, ..TextEvent::text(index, event.text) })
            }
            GenerationEvent::Finished { choice, text, finish } => {
                Ok(TextEvent { finish: Some(finish), ..TextEvent::text(first + choice, text) })
            }
            GenerationEvent::Progress | GenerationEvent::Embedding(_) => Err(unexpected_event()),
        }
    }

    /// The content for a prompt that has been prefilled.
    fn beginning(&self, index: usize, prompt: usize, logprobs: &[TokenLogprobs]) -> TextEvent {
        let EncodedPrompt { tokens, echo, num_added } = &self.prompts[prompt];
        let tokenizer = self.model.tokenizer();
        let text = if self.returned.echo_logprobs.is_some() { echo.clone() } else { String::new() };
        TextEvent {
            logprobs: self.returned.echo_logprobs.map(|count| {
                TextLogprobs::of_prompt(tokens, *num_added, logprobs, count, tokenizer)
            }),
            prompt_logprobs: self
                .returned
                .prompt_logprobs
                .map(|count| PromptLogprobs::new(tokens, logprobs, count, tokenizer)),
            ..TextEvent::text(index, text)
        }
    }

    /// Log-probabilities of a token that is part of the text.
    fn logprobs(&mut self, index: usize, token: &SampledToken) -> Option<TextLogprobs> {
        if !self.returned.logprobs {
            return None;
        }
        let mut logprobs = TextLogprobs::default();
        logprobs.push(token, self.model.tokenizer(), &mut self.positions[index]);
        (!logprobs.is_empty()).then_some(logprobs)
    }

    /// Waits for all choices, and returns the selected ones.
    ///
    /// **Errors**: the first that cuts any of them short.
    pub async fn complete(mut self) -> Result<(Vec<TextAnswer>, Usage), ApiError> {
        let mut answers: Vec<_> = (0..self.num_answers()).map(|_| TextAnswer::default()).collect();
        while let Some(event) = self.next().await {
            let TextEvent { index, text, logprobs, prompt_logprobs, finish, .. } = event?;
            let answer = &mut answers[index];
            answer.text.push_str(&text);
            if let Some(logprobs) = logprobs {
                answer.logprobs.get_or_insert_default().extend(logprobs);
            }
            answer.prompt_logprobs = answer.prompt_logprobs.take().or(prompt_logprobs);
            answer.finish = finish;
        }
        match answers.iter().all(|answer| answer.finish.is_some()) {
            true => Ok((self.most_probable(answers), self.usage())),
            false => Err(engine_stopped()),
        }
    }

    /// The selected choices of each prompt, the most probable first; if all are selected, in their order.
    fn most_probable(&self, answers: Vec<TextAnswer>) -> Vec<TextAnswer> {
        if self.returned.num_choices == self.num_choices {
            return answers;
        }
        let mut answers: Vec<_> = self.scores.iter().map(Score::mean).zip(answers).collect();
        for of_prompt in answers.chunks_mut(self.num_choices) {
            of_prompt.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        }
        let is_selected = |place: &usize| place % self.num_choices < self.returned.num_choices;
        let answers = answers.into_iter().enumerate().filter(|(place, _)| is_selected(place));
        answers.map(|(_, (_, answer))| answer).collect()
    }
}
