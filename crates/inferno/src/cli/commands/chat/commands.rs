//! Lines that are for the program and not for the model.

use std::path::PathBuf;

/// What a line asks for.
#[derive(Debug, PartialEq)]
pub(super) enum Line<'a> {
    /// Nothing: it is empty.
    Blank,
    /// To be answered by the model.
    Message(&'a str),
    Command(Command<'a>),
}

/// A command to the program.
#[derive(Debug, PartialEq)]
pub(super) enum Command<'a> {
    Help,
    Retry,
    Reset,
    System(Option<&'a str>),
    Think(bool),
    Stats,
    Save(PathBuf),
    Load(PathBuf),
    Exit,
}

/// A command that cannot be obeyed.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(crate) enum CommandError {
    #[error(
        "there is no command {name}; /help lists them all, and a space before it makes it a message"
    )]
    Unknown { name: String },
    #[error("expected {usage}")]
    Argument { usage: String },
    #[error("nothing was answered yet")]
    NothingSaid,
}

/// Each command, its argument, and what it does.
const COMMANDS: [(&str, &str, &str); 9] = [
    ("/retry", "", "have the last message answered again"),
    ("/reset", "", "forget the conversation, but not the system message"),
    ("/system", "[TEXT]", "tell the model this first; without a text, tell it nothing"),
    ("/think", "on|off", "let the model think first, or not, where its template knows how"),
    ("/stats", "", "times, rates and memory of the last answer"),
    ("/save", "FILE", "write the conversation to a file, as JSON"),
    ("/load", "FILE", "go on with a conversation from a file"),
    ("/help", "", "this list"),
    ("/exit", "", "leave; so do Ctrl-D and, twice on an empty line, Ctrl-C"),
];

/// Reads a line.
///
/// **Errors**: [`CommandError`].
pub(super) fn parse(line: &str) -> Result<Line<'_>, CommandError> {
    if !line.starts_with('/') {
        return Ok(match line.trim() {
            "" => Line::Blank,
            _ => Line::Message(line),
        });
    }
    let (name, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let argument = argument.trim();
    let Some((_, expected, _)) = COMMANDS.iter().find(|(known, _, _)| *known == name) else {
        return Err(CommandError::Unknown { name: name.to_owned() });
    };
    let path = || (!argument.is_empty()).then(|| path(argument));
    let command = match (name, argument) {
        ("/retry", "") => Some(Command::Retry),
        ("/reset", "") => Some(Command::Reset),
        ("/system", "") => Some(Command::System(None)),
        ("/system", text) => Some(Command::System(Some(text))),
        ("/think", "on") => Some(Command::Think(true)),
        ("/think", "off") => Some(Command::Think(false)),
        ("/stats", "") => Some(Command::Stats),
        ("/save", _) => path().map(Command::Save),
        ("/load", _) => path().map(Command::Load),
        ("/help", "") => Some(Command::Help),
        ("/exit", "") => Some(Command::Exit),
        _ => None,
    };
    command.map(Line::Command).ok_or_else(|| {
        let usage = format!("{name} {expected}").trim_end().to_owned();
        CommandError::Argument { usage }
    })
}

/// The list of all commands.
pub(super) fn help() -> String {
    let commands = COMMANDS.iter().map(|(name, argument, purpose)| {
        let usage = format!("{name} {argument}");
        format!("  {usage:<16}{purpose}\n")
    });
    let end = "\
A \\ at the end of a line goes on with the next one; pasted lines stay together.
Ctrl-C stops an answer.";
    commands.chain([end.to_owned()]).collect()
}

/// A path as a shell would take it, as far as `~` goes.
fn path(argument: &str) -> PathBuf {
    match (argument.strip_prefix("~/"), dirs::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(argument),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_begin_with_a_slash_are_commands() {
        for (line, expected) in [
            ("/retry", Command::Retry),
            ("/reset ", Command::Reset),
            ("/system Be brief.", Command::System(Some("Be brief."))),
            ("/system", Command::System(None)),
            ("/think on", Command::Think(true)),
            ("/think  off", Command::Think(false)),
            ("/stats", Command::Stats),
            ("/save two words.json", Command::Save("two words.json".into())),
            ("/load chat.json", Command::Load("chat.json".into())),
            ("/help", Command::Help),
            ("/exit", Command::Exit),
        ] {
            assert_eq!(parse(line), Ok(Line::Command(expected)), "{line}");
        }
    }

    #[test]
    fn other_lines_are_messages_as_they_stand() {
        for message in ["Hi", " /exit", "two\nlines", "1/2 ", "\\"] {
            assert_eq!(parse(message), Ok(Line::Message(message)));
        }
        for blank in ["", " \t", "\n"] {
            assert_eq!(parse(blank), Ok(Line::Blank));
        }
    }

    #[test]
    fn a_command_that_does_not_exist_is_refused() {
        for (line, name) in [("/quit", "/quit"), ("/etc/passwd is what?", "/etc/passwd")] {
            assert_eq!(parse(line), Err(CommandError::Unknown { name: name.to_owned() }));
        }
    }

    #[test]
    fn a_command_with_a_wrong_argument_says_what_it_takes() {
        for (line, usage) in [
            ("/save", "/save FILE"),
            ("/load  ", "/load FILE"),
            ("/think", "/think on|off"),
            ("/think twice", "/think on|off"),
            ("/reset all", "/reset"),
            ("/exit now", "/exit"),
        ] {
            assert_eq!(parse(line), Err(CommandError::Argument { usage: usage.to_owned() }));
        }
    }

    #[test]
    fn the_list_has_a_line_for_each_command() {
        for (name, argument, purpose) in COMMANDS {
            assert!(help().contains(&format!("  {name} {argument}")), "{name}");
            assert!(help().contains(purpose), "{name}");
        }
    }
}
