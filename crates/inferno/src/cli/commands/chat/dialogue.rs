//! The conversation on its session: each question is computed from where it differs from what the session holds.

use inferno_engine::{EngineError, FinishReason, GenerationParams, Metrics, Prompt, Session};
use inferno_tokenizer::{ChatRequest, ChatTemplate, EncodeOptions};
use serde_json::json;

use super::conversation::{Conversation, Exchange, Message};
use super::display::{Display, summary};
use super::fitting::{self, Fitted, fit};
use super::reasoning::AnswerText;
use crate::Error;
use crate::cli::arguments::chat::ENABLE_THINKING;
use crate::cli::terminal::interrupt::Interrupt;
use crate::cli::terminal::note::print_note;

/// An answer has at least this share of the context to itself, where that is to be had by leaving out old exchanges.
const ANSWER_SHARE: usize = 4;

/// A conversation with a model.
pub(super) struct Dialogue {
    session: Session,
    template: ChatTemplate,
    params: GenerationParams,
    pub(super) conversation: Conversation,
    /// Whether the model is to think first; `None` leaves it to the template.
    thinks: Option<bool>,
    /// Answers so far, so that each has a seed of its own.
    num_answers: u64,
}

impl Dialogue {
    pub(super) fn new(
        session: Session,
        template: ChatTemplate,
        params: GenerationParams,
        conversation: Conversation,
    ) -> Self {
        Self { session, template, params, conversation, thinks: None, num_answers: 0 }
    }

    pub(super) fn context_length(&self) -> usize {
        self.session.context_length()
    }

    /// What the last answer took; `None` before the first.
    pub(super) fn statistics(&self) -> Option<&Metrics> {
        (self.num_answers > 0).then(|| self.session.metrics())
    }

    /// Lets the model think first, or not. False where the template gives the same text for both.
    pub(super) fn set_thinking(&mut self, thinks: bool) -> bool {
        self.thinks = Some(thinks);
        let text = |thinks| {
            let mut request = ChatRequest::new([json!({"role": "user", "content": "Hello"})]);
            request.set(ENABLE_THINKING, thinks);
            self.template.render(&request).ok()
        };
        text(true) != text(false)
    }

    /// Has the model answer a question, shows the answer as it comes, and adds both to the conversation.
    ///
    /// **Errors**: a question that does not fit, a template that refuses it, a device or an output that fails. The
    /// conversation is unchanged then, as it is where the answer is stopped before its first token.
    pub(super) fn ask(
        &mut self,
        question: &str,
        display: &Display,
        interrupt: &Interrupt,
    ) -> Result<(), Error> {
        let fitted = self.fit(question)?;
        self.leave_out(fitted.num_left_out);
        let fitting::Prompt { text, tokens } = fitted.prompt;

        let held = self.session.tokens().iter().zip(&tokens);
        let num_kept = held.take_while(|(held, token)| held == token).count();
        self.session.truncate(num_kept);
        let mut params = self.params.clone();
        params.sampling.seed = params.sampling.seed.map(|seed| seed.wrapping_add(self.num_answers));
        let mut generation = self.session.generate(Prompt::Tokens(&tokens[num_kept..]), &params)?;
        interrupt.cancels(generation.cancel_handle());

        let mut answer = AnswerText::after(&text);
        let mut shown = display.answer();
        let mut failure = None;
        for step in generation.by_ref() {
            match step {
                Ok(step) => answer.push(&step.text, |part, text| shown.show(part, text))?,
                Err(error) => failure = Some(error),
            }
        }
        let finish_reason = generation.finish_reason();
        drop(generation);
        let is_answered = self.session.metrics().generated_tokens > 0;
        let answer = answer.finish(|part, text| shown.show(part, text))?;
        if is_answered || finish_reason.is_some() {
            shown.finish()?;
        }
        if let Some(error) = failure {
            return Err(error.into());
        }
        if is_answered {
            self.num_answers += 1;
            self.conversation.push(Exchange { question: question.to_owned(), answer });
        }
        self.conclude(finish_reason, display);
        Ok(())
    }

    /// Has the last question answered again, in place of its answer. False where there is none.
    ///
    /// **Errors**: as [`ask`](Self::ask).
    pub(super) fn retry(
        &mut self,
        display: &Display,
        interrupt: &Interrupt,
    ) -> Result<bool, Error> {
        let Some(last) = self.conversation.pop() else {
            return Ok(false);
        };
        let num_exchanges = self.conversation.num_exchanges();
        let asked = self.ask(&last.question, display, interrupt);
        if self.conversation.num_exchanges() == num_exchanges {
            self.conversation.push(last);
        }
        asked.map(|()| true)
    }

    /// The prompt that ends with a question, with as much of the conversation before it as fits.
    fn fit(&self, question: &str) -> Result<Fitted, Error> {
        let context_length = self.context_length();
        let share = context_length / ANSWER_SHARE;
        let room = self.params.stop.max_tokens.map_or(share, |max_tokens| max_tokens.min(share));
        let render = |num_left_out| self.render(self.conversation.ask(num_left_out, question));
        let (fewest, most) = (self.conversation.num_left_out(), self.conversation.num_exchanges());
        let fitted = fit(fewest, most, context_length - room, render)?;
        let prompt_tokens = fitted.prompt.tokens.len();
        match prompt_tokens < context_length {
            true => Ok(fitted),
            false => Err(EngineError::PromptTooLong {
                prompt_tokens,
                session_tokens: 0,
                room: 1,
                context_length,
            }
            .into()),
        }
    }

    fn render(&self, messages: impl Iterator<Item = Message>) -> Result<fitting::Prompt, Error> {
        let mut request = ChatRequest::new(messages.map(|message| json!(message)));
        if let Some(thinks) = self.thinks {
            request.set(ENABLE_THINKING, thinks);
        }
        let text = self.template.render(&request)?;
        // A template writes every token that its model wants before a text.
        let options = EncodeOptions { add_special: false, parse_special: true };
        let tokens = self.session.tokenizer().encode(&text, options);
        Ok(fitting::Prompt { text, tokens })
    }

    /// Notes which exchanges the model no longer sees, and says so.
    fn leave_out(&mut self, num_exchanges: usize) {
        if num_exchanges > self.conversation.num_left_out() {
            let oldest = match num_exchanges {
                1 => "exchange is".to_owned(),
                _ => format!("{num_exchanges} exchanges are"),
            };
            print_note(&format!(
                "note: the conversation no longer fits the context of {} tokens; its oldest {oldest} left out from \
                 here on",
                self.context_length()
            ));
            self.conversation.leave_out(num_exchanges);
        }
    }

    /// Says how an answer ended, and what it took.
    fn conclude(&self, finish_reason: Option<FinishReason>, display: &Display) {
        let (num_tokens, context_length) = (self.session.tokens().len(), self.context_length());
        if finish_reason == Some(FinishReason::ContextFull) {
            print_note(&format!("note: the context of {context_length} tokens is full"));
        }
        let metrics = self.session.metrics();
        let how = match finish_reason {
            Some(FinishReason::Cancelled) if metrics.generated_tokens == 0 => {
                return display.remark("stopped before the answer; the message is taken back");
            }
            Some(FinishReason::Cancelled) => "stopped, ",
            Some(FinishReason::Length) => "cut short by --max-tokens, ",
            _ => "",
        };
        let summary = summary(metrics, num_tokens, context_length);
        display.remark(&format!("{how}{summary}"));
    }
}
