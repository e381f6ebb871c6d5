//! A conversation being answered.

use std::sync::Arc;

use inferno_engine::{Event, SampledToken, StopParams};

use super::answer::AnswerParser;
use super::{ChatJob, Piece};
use crate::ServedModel;
use crate::errors::ApiError;
use crate::generation::{Finish, Job, Running, engine_stopped, unasked};
use crate::request::Preparation;
use crate::state::App;

/// A conversation being answered, in one or more choices; dropping it stops that.
pub(crate) struct ChatRun {
    running: Running,
    pub model: Arc<ServedModel>,
    parsers: Vec<AnswerParser>,
    stop: StopParams,
    /// Tokens of each choice that were reasoning.
    reasoning_tokens: Vec<usize>,
    num_open: usize,
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
}

/// What happens next.
pub(crate) enum ChatEvent {
    /// A token came, with what is known by now of its choice; none where it was the model's own end, which is no text.
    Token { choice: usize, token: Option<SampledToken>, pieces: Vec<Piece> },
    /// A choice ended, after these last pieces.
    Finished { choice: usize, pieces: Vec<Piece>, end: FinishedChoice },
}

impl ChatEvent {
    /// What is new, and the end if it is that, of an answer in one choice.
    pub fn into_pieces(self) -> (Vec<Piece>, Option<FinishedChoice>) {
        match self {
            Self::Token { pieces, .. } => (pieces, None),
            Self::Finished { pieces, end, .. } => (pieces, Some(end)),
        }
    }
}

/// The end of a choice.
#[derive(Debug, Clone)]
pub(crate) struct FinishedChoice {
    pub finish: Finish,
    pub num_calls: usize,
    pub reasoning_tokens: usize,
}

/// A whole answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answer {
    pub reasoning: String,
    pub content: String,
    pub calls: Vec<ToolCall>,
    pub tokens: Vec<SampledToken>,
}

/// A call of a tool.
#[derive(Debug, Clone)]
pub(crate) struct ToolCall {
    pub id: String,
    pub name: String,
    /// JSON, as the model wrote it.
    pub arguments: String,
}

impl ChatRun {
    /// Renders the conversation, compiles its grammar and submits it to the engine.
    ///
    /// **Errors**: whatever is wrong with the request, before anything is computed.
    pub async fn begin(
        app: &Arc<App>,
        model: &Arc<ServedModel>,
        preparation: Preparation,
        job: ChatJob,
    ) -> Result<Self, ApiError> {
        let shared = Arc::clone(model);
        let (prepared, job) = preparation.run(move || Ok((job.prepare(&shared)?, job))).await?;
        let prompt_tokens = prepared.tokens.len();
        let params = job.params(&prepared.parser);
        let stop = params.stop.clone();
        let running = Running::submit(
            app,
            model,
            preparation.arrived(),
            Job {
                prompt: prepared.tokens,
                params,
                prompt_logprobs: None,
                num_choices: job.num_choices,
                priority: job.priority,
                constraint: prepared.constraint,
            },
        )?;
        Ok(Self {
            running,
            model: Arc::clone(model),
            parsers: (0..job.num_choices).map(|_| prepared.parser.parser()).collect(),
            stop,
            reasoning_tokens: vec![0; job.num_choices],
            num_open: job.num_choices,
            prompt_tokens,
        })
    }

    pub fn num_choices(&self) -> usize {
        self.parsers.len()
    }

    /// What happens next; `None` after the last choice has ended, and after an error.
    pub async fn next(&mut self) -> Option<Result<ChatEvent, ApiError>> {
        if self.num_open == 0 {
            return None;
        }
        let event = match self.running.next().await {
            Some(event) => self.read(event),
            None => Err(engine_stopped()),
        };
        if event.is_err() {
            self.num_open = 0;
        }
        Some(event)
    }

    fn read(&mut self, event: Event) -> Result<ChatEvent, ApiError> {
        let mut pieces = Vec::new();
        match event {
            Event::Token(event) => {
                let choice = event.choice;
                let parser = self.parsers.get_mut(choice).ok_or_else(engine_stopped)?;
                parser.push(&event.text, &mut pieces);
                self.reasoning_tokens[choice] += usize::from(parser.is_reasoning());
                let is_end = !self.stop.ignore_eos
                    && self.model.tokenizer().is_end_of_generation(event.token.id);
                let token = (!is_end).then_some(event.token);
                Ok(ChatEvent::Token { choice, token, pieces })
            }
            Event::Finished(finished) => {
                self.num_open -= 1;
                let choice = finished.choice;
                let finish = Finish::of(&finished, &self.stop)?;
                let parser = self.parsers.get_mut(choice).ok_or_else(engine_stopped)?;
                parser.push(&finished.text, &mut pieces);
                parser.finish(&mut pieces);
                let end = FinishedChoice {
                    finish,
                    num_calls: parser.num_calls(),
                    reasoning_tokens: self.reasoning_tokens[choice],
                };
                Ok(ChatEvent::Finished { choice, pieces, end })
            }
            Event::Failed(error) => Err(ApiError::failed(&error)),
            Event::Prompt(_) | Event::Embedding(_) => Err(unasked()),
        }
    }

    /// Waits for all choices, and gives them whole.
    ///
    /// **Errors**: the first that ends any of them before its time.
    pub async fn complete(mut self) -> Result<Vec<(Answer, FinishedChoice)>, ApiError> {
        let mut answers = vec![Answer::default(); self.num_choices()];
        let mut ends: Vec<Option<FinishedChoice>> = vec![None; self.num_choices()];
        while let Some(event) = self.next().await {
            match event? {
                ChatEvent::Token { choice, token, pieces } => {
                    answers[choice].tokens.extend(token);
                    answers[choice].take(pieces);
                }
                ChatEvent::Finished { choice, pieces, end } => {
                    answers[choice].take(pieces);
                    ends[choice] = Some(end);
                }
            }
        }
        let ended = answers.into_iter().zip(ends);
        ended.map(|(answer, end)| Ok((answer, end.ok_or_else(engine_stopped)?))).collect()
    }
}

impl Answer {
    fn take(&mut self, pieces: Vec<Piece>) {
        for piece in pieces {
            match piece {
                Piece::Reasoning(text) => self.reasoning.push_str(&text),
                Piece::Content(text) => self.content.push_str(&text),
                Piece::Call { id, name, .. } => {
                    self.calls.push(ToolCall { id, name, arguments: String::new() });
                }
                Piece::Arguments { index, text } => {
                    if let Some(call) = self.calls.get_mut(index) {
                        call.arguments.push_str(&text);
                    }
                }
            }
        }
    }
}
