//! The conversation and its session. Each prompt reuses the longest common prefix with the tokens in the session.

use std::sync::Arc;

use inferno_chat::{AnswerOptions, AnswerSetup, ChatRequest, ChatTemplate, GrammarCompiler};
use inferno_engine::{EngineError, FinishReason, GenerationParams, Metrics, Prompt, Session};
use serde_json::json;

use super::display::{Display, summary};
use super::fitting::{FittedPrompt, RenderedPrompt, fit};
use super::history::{ChatHistory, Exchange, HistoryMessage, Reply};
use crate::Error;
use crate::cli::arguments::chat::ENABLE_THINKING;
use crate::cli::terminal::interrupt::Interrupt;
use crate::cli::terminal::note::print_note;
use crate::cli::terminal::progress::prompt_bar;

/// One over the share of the context that is reserved for the reply, if leaving out old exchanges can free it.
const REPLY_SHARE: usize = 4;

/// A conversation with a model.
pub(super) struct Dialogue {
    session: Session,
    /// The longest context that the model supports, in tokens.
    max_context_length: usize,
    template: ChatTemplate,
    params: GenerationParams,
    pub(super) history: ChatHistory,
    /// Whether reasoning is enabled; `None` is the default of the template.
    thinks: Option<bool>,
    /// The requirements on replies.
    pub(super) requirements: AnswerOptions,
    /// Whether to print metrics after each reply, even if the chat is not interactive.
    pub(super) prints_metrics: bool,
    /// Number of replies so far; every reply has its own seed.
    num_replies: u64,
}

impl Dialogue {
    pub(super) fn new(
        session: Session,
        max_context_length: usize,
        template: ChatTemplate,
        params: GenerationParams,
        history: ChatHistory,
    ) -> Self {
        Self {
            session,
            max_context_length,
            template,
            params,
            history,
            thinks: None,
            requirements: AnswerOptions::default(),
            prints_metrics: false,
            num_replies: 0,
        }
    }

    pub(super) fn context_length(&self) -> usize {
        self.session.context_length()
    }

    /// Returns descriptions of the devices that compute.
    pub(super) fn devices(&self) -> String {
        self.session.metrics().devices.join(", ")
    }

    /// Returns the metrics of the last reply; `None` before the first.
    pub(super) fn statistics(&self) -> Option<&Metrics> {
        (self.num_replies > 0).then(|| self.session.metrics())
    }

    /// Enables or disables reasoning. Returns false if the template renders the same prompt for both.
    pub(super) fn set_thinking(&mut self, thinks: bool) -> bool {
        self.thinks = Some(thinks);
        let text = |thinks| {
            let mut request = ChatRequest::new([json!({"role": "user", "content": "Hello"})]);
            request.set(ENABLE_THINKING, thinks);
            self.template.render(&request).ok()
        };
        text(true) != text(false)
    }

    /// Generates and prints the reply to a message, and adds both to the history.
    ///
    /// **Errors**: a message that does not fit the context or that the template rejects; a failing backend or output.
    /// The history is unchanged then, as it is if the reply is stopped before its first token.
    pub(super) fn ask(
        &mut self,
        question: &str,
        display: &Display,
        interrupt: &Interrupt,
    ) -> Result<(), Error> {
        let fitted = self.fit(question)?;
        self.leave_out(fitted.num_left_out);
        let RenderedPrompt { text, tokens } = fitted.prompt;

        let held = self.session.tokens().iter().zip(&tokens);
        let num_kept = held.take_while(|(held, token)| held == token).count();
        self.session.truncate(num_kept);
        let mut params = self.params.clone();
        params.sampling.seed = params.sampling.seed.map(|seed| seed.wrapping_add(self.num_replies));
        let setup = self.answer_setup(&text)?;
        params.skip_special_tokens &= !setup.needs_control_tokens();
        let mut parser = setup.parser();
        let mut shown = display.reply(setup.needs_control_tokens());
        let constraint = setup.constraint;
        let prompt = Prompt::Tokens(&tokens[num_kept..]);
        let mut generation = match constraint {
            Some(constraint) => self.session.generate_constrained(prompt, &params, constraint)?,
            None => self.session.generate(prompt, &params)?,
        };
        interrupt.cancels(generation.cancel_handle());
        generation.on_prompt(prompt_bar(tokens.len() - num_kept));

        let mut deltas = Vec::new();
        let mut reply = Reply::default();
        let mut failure = None;
        for step in generation.by_ref() {
            match step {
                Ok(step) => {
                    parser.push(&step.text, &mut deltas);
                    shown.show(&step.text, &deltas)?;
                    reply.extend(deltas.drain(..));
                }
                Err(error) => failure = Some(error),
            }
        }
        let finish_reason = generation.finish_reason();
        drop(generation);
        let has_reply = self.session.metrics().generated_tokens > 0;
        parser.finish(&mut deltas);
        shown.show("", &deltas)?;
        reply.extend(deltas);
        if has_reply || finish_reason.is_some() {
            shown.finish()?;
        }
        if let Some(error) = failure {
            return Err(error.into());
        }
        if has_reply {
            self.num_replies += 1;
            self.history.push(Exchange { question: question.to_owned(), reply });
        }
        self.conclude(finish_reason, display);
        Ok(())
    }

    /// Returns how a reply to `prompt` is parsed, and the constraint that holds it to the requirements, if there are any.
    ///
    /// **Errors**: an invalid format; a limit on reasoning for a model without reasoning tags.
    fn answer_setup(&self, prompt: &str) -> Result<AnswerSetup, Error> {
        let (session, template) = (&self.session, &self.template);
        let grammars = GrammarCompiler::new(Arc::clone(session.tokenizer()), session.vocab_size());
        let options = &self.requirements;
        let setup = AnswerSetup::new(template, prompt, session.tokenizer(), &grammars, options);
        Ok(setup.map_err(Box::new)?)
    }

    /// Regenerates the last reply. Returns false if there is none.
    ///
    /// **Errors**: see [`ask`](Self::ask).
    pub(super) fn retry(
        &mut self,
        display: &Display,
        interrupt: &Interrupt,
    ) -> Result<bool, Error> {
        let Some(last) = self.history.pop() else {
            return Ok(false);
        };
        let num_exchanges = self.history.num_exchanges();
        let asked = self.ask(&last.question, display, interrupt);
        if self.history.num_exchanges() == num_exchanges {
            self.history.push(last);
        }
        asked.map(|()| true)
    }

    /// Returns the prompt for a question, with as many earlier exchanges as fit.
    fn fit(&self, question: &str) -> Result<FittedPrompt, Error> {
        let context_length = self.context_length();
        let share = context_length / REPLY_SHARE;
        let room = self.params.stop.max_tokens.map_or(share, |max_tokens| max_tokens.min(share));
        let render = |num_left_out| self.render(self.history.with_question(num_left_out, question));
        let (fewest, most) = (self.history.num_left_out(), self.history.num_exchanges());
        let fitted = fit(fewest, most, context_length - room, render)?;
        let prompt_tokens = fitted.prompt.tokens.len();
        match prompt_tokens < context_length {
            true => Ok(fitted),
            false => {
                let (session_tokens, room) = (0, 1);
                let error = EngineError::PromptTooLong {
                    prompt_tokens,
                    session_tokens,
                    room,
                    context_length,
                };
                Err(Error::from(error).at_maximum(self.max_context_length))
            }
        }
    }

    fn render(
        &self,
        messages: impl Iterator<Item = HistoryMessage>,
    ) -> Result<RenderedPrompt, Error> {
        let mut request = ChatRequest::new(messages.map(|message| json!(message)));
        if let Some(thinks) = self.thinks {
            request.set(ENABLE_THINKING, thinks);
        }
        let (template, tokenizer) = (&self.template, self.session.tokenizer());
        let render = |request: &ChatRequest| template.render_prompt(request);
        let prompt = template.render_with_plain_contents(&request, tokenizer, render)?;
        Ok(RenderedPrompt { tokens: prompt.encode(tokenizer), text: prompt.into_text() })
    }

    /// Leaves exchanges out of the prompt from now on, and prints a note.
    fn leave_out(&mut self, num_exchanges: usize) {
        if num_exchanges > self.history.num_left_out() {
            let oldest = match num_exchanges {
                1 => "exchange was".to_owned(),
                _ => format!("{num_exchanges} exchanges were"),
            };
            print_note(&format!(
                "note: the conversation exceeds the context of {} tokens; the oldest {oldest} dropped from the prompt",
                self.context_length()
            ));
            self.history.leave_out(num_exchanges);
        }
    }

    /// Reports how a reply finished, and its metrics.
    fn conclude(&self, finish_reason: Option<FinishReason>, display: &Display) {
        let (num_tokens, context_length) = (self.session.tokens().len(), self.context_length());
        if finish_reason == Some(FinishReason::ContextFull) {
            print_note(&format!(
                "note: stopped because the context of {context_length} tokens is full"
            ));
        }
        let metrics = self.session.metrics();
        let how = match finish_reason {
            Some(FinishReason::Cancelled) if metrics.generated_tokens == 0 => {
                return display.remark("Stopped before the first token; the message was removed.");
            }
            Some(FinishReason::Cancelled) => "stopped; ",
            Some(FinishReason::Length) => "stopped by --max-tokens; ",
            _ => "",
        };
        if self.prints_metrics {
            print_note(metrics.to_string().trim_end());
        }
        let summary = summary(metrics, num_tokens, context_length);
        display.remark(&format!("{how}{summary}"));
    }
}
