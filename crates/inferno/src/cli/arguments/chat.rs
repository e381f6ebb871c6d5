//! Flags about conversations, such as `--chat`: a conversation instead of a text to go on with.

use std::path::PathBuf;

use inferno_gguf::Metadata;
use inferno_tokenizer::{ChatRequest, ChatTemplate};
use serde_json::json;

use crate::Error;
use crate::cli::failure::Failure;
use crate::cli::input::conversation::{ChatInput, template_of};

/// The variable by which templates of models that can think let a caller choose.
pub(crate) const ENABLE_THINKING: &str = "enable_thinking";

/// A conversation.
#[derive(clap::Args)]
pub(crate) struct ChatArgs {
    /// Take the prompt as a message, and print the model's answer; the model's chat template makes the text.
    #[arg(long, conflicts_with_all = ["no_special", "load_session"])]
    pub(crate) chat: bool,
    /// With --chat: a whole conversation instead of the prompt, as inferno template takes it; - for standard input.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["prompt", "prompt_file", "system"])]
    pub(crate) input: Option<PathBuf>,
    #[command(flatten)]
    setup: ChatSetupArgs,
}

/// What a conversation begins with, and how it becomes a text.
#[derive(clap::Args)]
#[command(next_help_heading = "Conversation")]
pub(crate) struct ChatSetupArgs {
    /// What the model is told before the first message.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) system: Option<String>,
    /// Tell the template that the model is not to think first (enable_thinking = false).
    #[arg(long)]
    pub(crate) no_think: bool,
    /// Take the template from this file instead of the model's own.
    #[arg(long, value_name = "FILE")]
    chat_template: Option<PathBuf>,
}

impl ChatArgs {
    /// Refuses flags that mean nothing without `--chat`.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let flags = [
            ("--system", self.setup.system.is_some()),
            ("--input", self.input.is_some()),
            ("--no-think", self.setup.no_think),
            ("--chat-template", self.setup.chat_template.is_some()),
        ];
        match flags.into_iter().find(|(_, is_given)| *is_given && !self.chat) {
            Some((flag, _)) => Err(Failure::Usage(format!(
                "{flag} is about a conversation; add --chat, or leave it out"
            ))),
            None => Ok(()),
        }
    }

    /// The conversation: that of the input file, or one with `message` alone.
    pub(crate) fn conversation(
        &self,
        message: impl FnOnce() -> Result<String, Failure>,
    ) -> Result<ChatInput, Failure> {
        let mut conversation = match &self.input {
            Some(path) => ChatInput::read(path, true)?,
            None => {
                let system =
                    self.setup.system.iter().map(|text| json!({"role": "system", "content": text}));
                let user = json!({"role": "user", "content": message()?});
                ChatInput::from(ChatRequest::new(system.chain([user])))
            }
        };
        if self.setup.no_think {
            conversation.request.set(ENABLE_THINKING, false);
        }
        Ok(conversation)
    }

    /// As [`ChatSetupArgs::template`].
    pub(crate) fn template(&self, metadata: &Metadata) -> Result<ChatTemplate, Error> {
        self.setup.template(metadata)
    }
}

impl ChatSetupArgs {
    /// The template that was asked for, else the model's own.
    ///
    /// **Errors**: [`Error::NoChatTemplate`]; a file that cannot be read; a template that is malformed.
    pub(crate) fn template(&self, metadata: &Metadata) -> Result<ChatTemplate, Error> {
        template_of(self.chat_template.as_deref(), metadata)?.ok_or(Error::NoChatTemplate)
    }
}
