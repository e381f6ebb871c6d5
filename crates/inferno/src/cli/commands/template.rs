//! `inferno template`: renders a conversation with a chat template.

use std::path::PathBuf;

use crate::Error;
use crate::cli::arguments::model::SourceArgs;
use crate::cli::failure::Failure;
use crate::cli::input::conversation::{ChatInput, template_from_file, template_of};
use crate::cli::terminal::output::Output;

/// Render a conversation with a chat template
///
/// Prints the prompt exactly as the model would receive it; no newline is added. The conversation is a JSON object with
/// the fields messages, tools and add_generation_prompt, and any other template variable, such as enable_thinking. The
/// prompt ends with the beginning of a reply unless the last message is the assistant's or add_generation_prompt is
/// false. Two more fields are supported: special_tokens ({"bos_token": "<s>"}) defines special tokens that the model file
/// lacks, and strftime_now fixes the current date.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  inferno template -m model.gguf --input request.json
  inferno template --template-file chat.jinja --input request.json
  echo '{\"messages\": [{\"role\": \"user\", \"content\": \"Hello\"}]}' |
    inferno template -m model.gguf --input -")]
pub(crate) struct TemplateArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Use the chat template in this file instead of the one in the model file; chatml is built in
    #[arg(long, visible_alias = "chat-template", value_name = "FILE")]
    template_file: Option<PathBuf>,
    /// Conversation, as a JSON file; - reads standard input
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
}

impl TemplateArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let Some(input) = &self.input else {
            return Err(Failure::Usage(
                "no conversation specified; pass --input FILE, or --input - to read standard input"
                    .to_owned(),
            ));
        };
        let template = match (&self.template_file, self.source.is_given()) {
            (Some(path), false) => template_from_file(path)?,
            (path, _) => template_of(path.as_deref(), self.source.open()?.metadata())?
                .ok_or(Error::NoChatTemplate)?,
        };
        let text = ChatInput::read(input, false)?.render(template)?.text;
        let mut output = Output::new();
        output.model_text(&text)?;
        output.flush()?;
        Ok(())
    }
}
