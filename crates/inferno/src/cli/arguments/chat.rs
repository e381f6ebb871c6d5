//! Options for chat templates and conversations.

use std::path::PathBuf;

use inferno_chat::{ChatRequest, ChatTemplate};
use inferno_gguf::Metadata;
use serde_json::json;

use crate::Error;
use crate::cli::arguments::values::{OrDefault, or_default, whole};
use crate::cli::failure::Failure;
use crate::cli::input::conversation::{ChatInput, template_of};
use crate::cli::terminal::note::print_note;

/// The template variable that switches reasoning on or off, for models that support it.
pub(crate) const ENABLE_THINKING: &str = "enable_thinking";

/// A conversation instead of a plain prompt.
#[derive(clap::Args)]
#[command(next_help_heading = "Chat")]
pub(crate) struct ChatArgs {
    /// Treat the prompt as a user message and format it with the chat template
    #[arg(long, conflicts_with = "no_special")]
    pub(crate) chat: bool,
    /// Read the conversation from a JSON file instead of the prompt (see inferno template); - reads standard input. Requires --chat
    #[arg(long, value_name = "FILE", conflicts_with_all = ["prompt", "prompt_option", "prompt_file", "system"])]
    pub(crate) input: Option<PathBuf>,
    #[command(flatten)]
    setup: ChatSetupArgs,
}

/// System prompt and chat template.
#[derive(clap::Args)]
#[command(next_help_heading = "Chat")]
pub(crate) struct ChatSetupArgs {
    /// System prompt
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) system: Option<String>,
    /// Enable reasoning before the answer, if the chat template supports it (enable_thinking = true)
    #[arg(long)]
    think: bool,
    /// Disable reasoning before the answer, if the chat template supports it (enable_thinking = false)
    #[arg(long)]
    no_think: bool,
    /// Maximum number of reasoning tokens; reasoning is closed when it is reached. For models with reasoning tags
    /// [default: -1, no limit]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = or_default(whole::<usize>))]
    reasoning_budget: Option<OrDefault<usize>>,
    /// Use the chat template in this file instead of the one in the model file; chatml is built in
    #[arg(long, value_name = "FILE")]
    chat_template: Option<PathBuf>,
    /// Parse special tokens in messages, such as <|im_end|>, which are encoded as text otherwise
    #[arg(long)]
    parse_special: bool,
}

impl ChatArgs {
    /// Rejects options that require `--chat` if it is missing.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let flags = [
            ("--system", self.setup.system.is_some()),
            ("--input", self.input.is_some()),
            ("--think", self.setup.think),
            ("--no-think", self.setup.no_think),
            ("--reasoning-budget", self.setup.reasoning_budget.is_some()),
            ("--chat-template", self.setup.chat_template.is_some()),
            ("--parse-special", self.setup.parse_special),
        ];
        match flags.into_iter().find(|(_, is_given)| *is_given && !self.chat) {
            Some((flag, _)) => Err(Failure::Usage(format!("{flag} requires --chat"))),
            None => Ok(()),
        }
    }

    /// Returns the conversation in the input file, or one with `message` only.
    pub(crate) fn conversation(
        &self,
        message: impl FnOnce() -> Result<String, Failure>,
    ) -> Result<ChatInput, Failure> {
        let mut conversation = match &self.input {
            Some(path) => {
                let conversation = ChatInput::read(path, true)?;
                conversation.check_messages()?;
                note_ignored(&conversation);
                conversation
            }
            None => {
                let system =
                    self.setup.system.iter().map(|text| json!({"role": "system", "content": text}));
                let user = json!({"role": "user", "content": message()?});
                ChatInput::from(ChatRequest::new(system.chain([user])))
            }
        };
        if let Some(thinks) = self.setup.thinks()? {
            conversation.request.set(ENABLE_THINKING, thinks);
        }
        Ok(conversation)
    }

    /// See [`ChatSetupArgs::reasoning_budget`].
    pub(crate) fn reasoning_budget(&self) -> Option<usize> {
        self.setup.reasoning_budget()
    }

    /// See [`ChatSetupArgs::template`].
    pub(crate) fn template(&self, metadata: &Metadata) -> Result<ChatTemplate, Error> {
        self.setup.template(metadata)
    }
}

/// Notes the fields of a request that are ignored, with the options to use instead.
fn note_ignored(conversation: &ChatInput) {
    let (fields, mut options): (Vec<_>, Vec<_>) = conversation.server_fields().unzip();
    options.dedup();
    if !fields.is_empty() {
        print_note(&format!(
            "note: ignoring fields of the input that options set: {}; use {}",
            fields.join(", "),
            options.join(", ")
        ));
    }
}

impl ChatSetupArgs {
    /// Returns whether to reason before the answer; `None` if that is left to the template.
    ///
    /// **Errors**: both options from the same source.
    pub(crate) fn thinks(&self) -> Result<Option<bool>, Failure> {
        match (self.think, self.no_think) {
            (false, false) => Ok(None),
            (true, true) => {
                let message = "both --think and --no-think were specified; remove one of them";
                Err(Failure::Usage(message.to_owned()))
            }
            (thinks, _) => Ok(Some(thinks)),
        }
    }

    /// Returns the maximum number of reasoning tokens.
    pub(crate) fn reasoning_budget(&self) -> Option<usize> {
        OrDefault::value_of(self.reasoning_budget)
    }

    /// Returns the specified template, or the one in the model file.
    ///
    /// **Errors**: [`Error::NoChatTemplate`]; an unreadable file; a malformed template.
    pub(crate) fn template(&self, metadata: &Metadata) -> Result<ChatTemplate, Error> {
        let template = template_of(self.chat_template.as_deref(), metadata)?;
        let template = template.ok_or(Error::NoChatTemplate)?;
        Ok(template.with_parsed_contents(self.parse_special))
    }
}
