//! `--chat`: a conversation instead of a text to go on with.

use std::path::PathBuf;

use inferno_gguf::Metadata;
use inferno_tokenizer::{ChatRequest, ChatTemplate};
use serde_json::json;

use crate::Error;
use crate::cli::chat_input::{ChatInput, template_from_file, template_from_model};
use crate::cli::failure::Failure;

/// The variable by which templates of models that can think let a caller choose.
const ENABLE_THINKING: &str = "enable_thinking";

/// A conversation.
#[derive(clap::Args)]
pub(super) struct ChatArgs {
    /// Take the prompt as a message, and print the model's answer; the model's chat template makes the text.
    #[arg(long, conflicts_with_all = ["no_special", "load_session"])]
    pub(super) chat: bool,
    /// With --chat: what the model is told before the message.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    system: Option<String>,
    /// With --chat: a whole conversation instead of the prompt, as inferno template takes it; - for standard input.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["prompt", "prompt_file", "system"])]
    pub(super) input: Option<PathBuf>,
    /// With --chat: tell the template that the model is not to think first (enable_thinking = false).
    #[arg(long)]
    no_think: bool,
    /// With --chat: take the template from this file instead of the model's own.
    #[arg(long, value_name = "FILE")]
    chat_template: Option<PathBuf>,
}

impl ChatArgs {
    /// Refuses flags that mean nothing without `--chat`.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let flags = [
            ("--system", self.system.is_some()),
            ("--input", self.input.is_some()),
            ("--no-think", self.no_think),
            ("--chat-template", self.chat_template.is_some()),
        ];
        match flags.into_iter().find(|(_, is_given)| *is_given && !self.chat) {
            Some((flag, _)) => Err(Failure::Usage(format!(
                "{flag} is about a conversation; add --chat, or leave it out"
            ))),
            None => Ok(()),
        }
    }

    /// The conversation: that of the input file, or one with `message` alone.
    pub(super) fn conversation(
        &self,
        message: impl FnOnce() -> Result<String, Failure>,
    ) -> Result<ChatInput, Failure> {
        let mut conversation = match &self.input {
            Some(path) => ChatInput::read(path, true)?,
            None => {
                let system =
                    self.system.iter().map(|text| json!({"role": "system", "content": text}));
                let user = json!({"role": "user", "content": message()?});
                ChatInput::from(ChatRequest::new(system.chain([user])))
            }
        };
        if self.no_think {
            conversation.request.set(ENABLE_THINKING, false);
        }
        Ok(conversation)
    }

    /// The template that was asked for, else the model's own.
    ///
    /// **Errors**: [`Error::NoChatTemplate`]; a file that cannot be read; a template that is malformed.
    pub(super) fn template(&self, metadata: &Metadata) -> Result<ChatTemplate, Error> {
        match &self.chat_template {
            Some(path) => template_from_file(path, Some(metadata)),
            None => template_from_model(metadata),
        }
    }
}
