//! A running chat request.

use std::sync::Arc;

use inferno_chat::{AnswerDelta, AnswerParser};
use inferno_engine::SampledToken;

use super::{Answer, ChatJob};
use crate::ServedModel;
use crate::errors::ApiError;
use crate::generation::{
    Finish, GenerationEvent, Job, RunningRequest, TokenCounts, engine_stopped, unexpected_event,
};
use crate::request::Preparation;
use crate::state::App;

/// A running chat request with one or more choices; dropping it aborts the request.
pub(crate) struct ChatRun {
    running: RunningRequest,
    prompt: Arc<[u32]>,
    /// One for each choice; none if answers are text as it is.
    parsers: Vec<Option<AnswerParser>>,
}

/// An event of a chat request.
pub(crate) enum ChatEvent {
    /// More of the prompt has been processed; the counts have the details.
    Progress,
    /// A new token with the resulting deltas of its choice; `None` for the end-of-generation token, which has no text.
    Token { choice: usize, token: Option<SampledToken>, deltas: Vec<AnswerDelta> },
    /// A choice finished, with its last deltas.
    Finished { choice: usize, deltas: Vec<AnswerDelta>, end: FinishedChoice },
}

impl ChatEvent {
    /// The deltas, and the end if the choice finished; for requests with one choice.
    pub fn into_deltas(self) -> (Vec<AnswerDelta>, Option<FinishedChoice>) {
        match self {
            Self::Progress => (Vec::new(), None),
            Self::Token { deltas, .. } => (deltas, None),
            Self::Finished { deltas, end, .. } => (deltas, Some(end)),
        }
    }
}

/// The end of a choice.
#[derive(Debug, Clone)]
pub(crate) struct FinishedChoice {
    pub finish: Finish,
    pub num_calls: usize,
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
        let (app, model) = (Arc::clone(app), Arc::clone(model));
        let (arrived, unknown) = (preparation.arrived(), preparation.unknown.clone());
        let begun = preparation.run(move || {
            let prepared = job.prepare(&model)?;
            unknown.report_unenforced(&prepared.answers.unenforced);
            let params = job.params(&prepared.answers);
            let script = app.options.scripted.as_ref();
            let script = script.map(|script| script.constraint(&job, model.tokenizer()));
            let parsers = (0..job.num_choices).map(|_| Some(prepared.answers.parser())).collect();
            let prompt = prepared.tokens.as_slice().into();
            let job = Job {
                prompt: prepared.tokens,
                params,
                prompt_logprobs: None,
                reports_progress: job.reports_progress,
                num_choices: job.num_choices,
                priority: job.priority,
                constraint: script.or(prepared.answers.constraint),
            };
            let running = RunningRequest::submit(&app.begin_request(), &model, arrived, job)?;
            Ok(Self { running, prompt, parsers })
        });
        begun.await
    }

    /// Submits prompts that no template renders: their answers are text, without reasoning or tool calls.
    ///
    /// **Errors**: what the engine rejects; then none is computed.
    pub async fn begin_texts(
        app: &Arc<App>,
        model: &Arc<ServedModel>,
        preparation: Preparation,
        jobs: Vec<Job>,
    ) -> Result<Vec<Self>, ApiError> {
        let (in_flight, model) = (app.begin_request(), Arc::clone(model));
        let arrived = preparation.arrived();
        let begin = move |job: Job| {
            let parsers = (0..job.num_choices).map(|_| None).collect();
            let prompt = job.prompt.as_slice().into();
            let running = RunningRequest::submit(&in_flight, &model, arrived, job)?;
            Ok(Self { running, prompt, parsers })
        };
        preparation.run(move || jobs.into_iter().map(begin).collect()).await
    }

    pub fn model(&self) -> &ServedModel {
        &self.running.model
    }

    /// The tokens of the prompt.
    pub fn prompt(&self) -> &[u32] {
        &self.prompt
    }

    pub fn counts(&self) -> &TokenCounts {
        self.running.counts()
    }

    pub fn num_choices(&self) -> usize {
        self.parsers.len()
    }

    /// The next event; `None` after the last choice has finished, and after an error.
    pub async fn next(&mut self) -> Option<Result<ChatEvent, ApiError>> {
        let event = self.running.next().await?;
        Some(event.and_then(|event| self.read(event)))
    }

    fn read(&mut self, event: GenerationEvent) -> Result<ChatEvent, ApiError> {
        let mut deltas = Vec::new();
        match event {
            GenerationEvent::Token(event) => {
                let choice = event.choice;
                match self.parsers.get_mut(choice).ok_or_else(unexpected_event)? {
                    Some(parser) => {
                        parser.push(&event.text, &mut deltas);
                        if parser.is_reasoning() {
                            self.running.count_reasoning(choice);
                        }
                    }
                    None => push_text(event.text, &mut deltas),
                }
                let token = (!self.running.is_end(&event.token)).then_some(event.token);
                Ok(ChatEvent::Token { choice, token, deltas })
            }
            GenerationEvent::Finished { choice, text, finish } => {
                let num_calls = match self.parsers.get_mut(choice).ok_or_else(unexpected_event)? {
                    Some(parser) => {
                        parser.push(&text, &mut deltas);
                        parser.finish(&mut deltas);
                        parser.num_calls()
                    }
                    None => {
                        push_text(text, &mut deltas);
                        0
                    }
                };
                let end = FinishedChoice { finish, num_calls };
                Ok(ChatEvent::Finished { choice, deltas, end })
            }
            GenerationEvent::Progress => Ok(ChatEvent::Progress),
            // The log-probabilities of a prompt are only requested to read it without an answer.
            GenerationEvent::Prompt(event) => {
                Ok(ChatEvent::Token { choice: event.choice, token: None, deltas })
            }
            GenerationEvent::Embedding(_) => Err(unexpected_event()),
        }
    }

    /// Waits for all choices, and returns them with their token counts.
    ///
    /// **Errors**: the first that cuts any of them short.
    pub async fn complete(
        mut self,
    ) -> Result<(Vec<(Answer, FinishedChoice)>, TokenCounts), ApiError> {
        let mut answers = vec![Answer::default(); self.num_choices()];
        let mut ends: Vec<Option<FinishedChoice>> = vec![None; self.num_choices()];
        while let Some(event) = self.next().await {
            match event? {
                ChatEvent::Progress => {}
                ChatEvent::Token { choice, token, deltas } => {
                    answers[choice].tokens.extend(token);
                    answers[choice].take(deltas);
                }
                ChatEvent::Finished { choice, deltas, end } => {
                    answers[choice].take(deltas);
                    ends[choice] = Some(end);
                }
            }
        }
        let ended = answers.into_iter().zip(ends);
        let ended = ended.map(|(answer, end)| Ok((answer, end.ok_or_else(engine_stopped)?)));
        Ok((ended.collect::<Result<_, ApiError>>()?, self.counts().clone()))
    }
}

fn push_text(text: String, deltas: &mut Vec<AnswerDelta>) {
    if !text.is_empty() {
        deltas.push(AnswerDelta::Content(text));
    }
}
