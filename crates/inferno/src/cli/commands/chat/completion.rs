//! Completion of chat commands and of their file names with the tab key.

use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};

use super::commands::{COMMANDS, FILE};

/// Completes chat commands.
pub(super) struct CommandCompleter(FilenameCompleter);

impl CommandCompleter {
    pub(super) fn new() -> Self {
        Self(FilenameCompleter::new())
    }
}

impl Completer for CommandCompleter {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let typed = &line[..position];
        let takes_file =
            |(name, argument, _): &(&str, &str, &str)| *argument == FILE && typed.starts_with(name);
        if typed.contains(' ') && COMMANDS.iter().any(takes_file) {
            let (start, mut paths) = self.0.complete_path(line, position)?;
            // File names are not quoted in commands.
            paths
                .iter_mut()
                .for_each(|path| path.replacement = path.replacement.replace("\\ ", " "));
            return Ok((start, paths));
        }
        Ok((0, candidates(typed)))
    }
}

/// Returns the command lines that start with `typed`.
fn candidates(typed: &str) -> Vec<Pair> {
    if !typed.starts_with('/') {
        return Vec::new();
    }
    let lines = COMMANDS.iter().flat_map(|(name, argument, _)| match argument.contains('|') {
        true => argument.split('|').map(|choice| format!("{name} {choice}")).collect(),
        false if argument.is_empty() => vec![(*name).to_owned()],
        false => vec![format!("{name} ")],
    });
    let matching = lines.filter(|line| line.starts_with(typed));
    matching.map(|line| Pair { display: line.clone(), replacement: line }).collect()
}

impl Hinter for CommandCompleter {
    type Hint = String;
}

impl Highlighter for CommandCompleter {}

impl Validator for CommandCompleter {}

impl Helper for CommandCompleter {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_completed_with_their_choices() {
        let lines = |typed| candidates(typed).into_iter().map(|pair| pair.replacement);
        let lines = |typed| lines(typed).collect::<Vec<_>>();
        assert_eq!(lines("/re"), ["/retry", "/reset"]);
        assert_eq!(lines("/th"), ["/think on", "/think off"]);
        assert_eq!(lines("/think of"), ["/think off"]);
        assert_eq!(lines("/sa"), ["/save "]);
        assert_eq!(lines("Hello"), [""; 0]);
        assert_eq!(lines("/").len(), COMMANDS.len() + 1);
    }
}
