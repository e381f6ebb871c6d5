//! `inferno completions`: shell completions.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Inferno;
use crate::cli::failure::Failure;
use crate::cli::terminal::output::Output;

/// Print shell completions
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  inferno completions bash \\
    > ~/.local/share/bash-completion/completions/inferno
  inferno completions fish > ~/.config/fish/completions/inferno.fish
  inferno completions zsh > ~/.zfunc/_inferno")]
pub(crate) struct CompletionsArgs {
    /// Shell to print completions for
    shell: Shell,
}

impl CompletionsArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        // Collected first, because the generator panics if a write fails.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Inferno::command(), "inferno", &mut script);
        let mut output = Output::new();
        output.bytes(&script)?;
        output.flush()?;
        Ok(())
    }
}
