//! `inferno template`: a conversation as the text that a model reads.

use std::path::PathBuf;

use crate::Error;
use crate::cli::arguments::model::SourceArgs;
use crate::cli::failure::Failure;
use crate::cli::input::conversation::{ChatInput, template_from_file, template_of};
use crate::cli::terminal::output::Output;

/// Render a conversation with a chat template, and print the text that the model would read.
///
/// The template is that of the model, or stands in a file. The conversation is a JSON object with the fields messages,
/// tools and add_generation_prompt, and any variable that the template knows, such as enable_thinking. Beside them,
/// special_tokens ({"bos_token": "<s>"}) names tokens that the model does not, and strftime_now is a fixed date.
/// No newline is added to the text.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  inferno template -m model.gguf --input request.json
  inferno template --template-file chat.jinja --input request.json
  echo '{\"messages\": [{\"role\": \"user\", \"content\": \"Hello\"}], \"add_generation_prompt\": true}' |
    inferno template -m model.gguf --input -")]
pub(crate) struct TemplateArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// The template, instead of the model's own.
    #[arg(long, visible_alias = "chat-template", value_name = "FILE")]
    template_file: Option<PathBuf>,
    /// The conversation: a JSON file, or - for standard input.
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
}

impl TemplateArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let Some(input) = &self.input else {
            return Err(Failure::Usage(
                "no conversation was given; pass --input FILE, or --input - to read it from standard input"
                    .to_owned(),
            ));
        };
        let template = match (&self.template_file, self.source.is_given()) {
            (Some(path), false) => template_from_file(path)?,
            (path, _) => template_of(path.as_deref(), self.source.open()?.metadata())?
                .ok_or(Error::NoChatTemplate)?,
        };
        let text = ChatInput::read(input, false)?.render(template)?;
        let mut output = Output::new();
        output.write(text)?;
        output.flush()?;
        Ok(())
    }
}
