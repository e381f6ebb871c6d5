//! Chat commands: input lines that start with a slash.

use std::path::PathBuf;

use crate::cli::input::expand_home;

/// A line of input.
#[derive(Debug, PartialEq)]
pub(super) enum Line<'a> {
    /// Empty, or only white space.
    Blank,
    /// A message to the model.
    Message(&'a str),
    Command(ChatCommand<'a>),
}

/// A chat command.
#[derive(Debug, PartialEq)]
pub(super) enum ChatCommand<'a> {
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

/// An invalid chat command.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(crate) enum CommandError {
    #[error(
        "unknown command {name}; type /help for a list, or start the line with a space to send it as a message"
    )]
    Unknown { name: String },
    #[error("invalid argument, usage: {usage}")]
    Argument { usage: String },
    #[error("there is no reply yet")]
    NoReply,
    #[error(
        "{input}: messages[{index}] has a tool call or the result of one, which a chat cannot continue; use inferno generate --chat \
         --input {input}"
    )]
    ToolMessage { input: String, index: usize },
}

/// The argument of commands with a file.
pub(super) const FILE: &str = "FILE";

/// Each command, its argument and its description.
pub(super) const COMMANDS: [(&str, &str, &str); 9] = [
    ("/retry", "", "regenerate the last reply"),
    ("/reset", "", "clear the conversation, keep the system prompt"),
    ("/system", "[TEXT]", "set the system prompt, or clear it without TEXT"),
    ("/think", "on|off", "switch reasoning on or off, if the model supports it"),
    ("/stats", "", "show timings and memory usage of the last reply"),
    ("/save", FILE, "save the conversation as JSON"),
    ("/load", FILE, "continue a saved conversation"),
    ("/help", "", "show this list"),
    ("/exit", "", "exit; so does Ctrl-D, or Ctrl-C twice on an empty line"),
];

/// Commands of Ollama and llama-cli, with the command and the argument that they mean. Without an argument, theirs applies.
const ALIASES: [(&str, &str, &str); 12] = [
    ("/bye", "/exit", ""),
    ("/quit", "/exit", ""),
    ("/q", "/exit", ""),
    ("/?", "/help", ""),
    ("/clear", "/reset", ""),
    ("/new", "/reset", ""),
    ("/regen", "/retry", ""),
    ("/regenerate", "/retry", ""),
    ("/set system", "/system", ""),
    ("/set think", "/think", "on"),
    ("/set nothink", "/think", "off"),
    ("/set verbose", "/stats", ""),
];

/// Encloses a message of several lines, as in Ollama.
const BLOCK: &str = "\"\"\"";

/// Returns whether a text starts with triple quotes that are not closed at its end.
pub(super) fn is_open_block(text: &str) -> bool {
    text.strip_prefix(BLOCK)
        .is_some_and(|rest| !rest.trim_end_matches([' ', '\t']).ends_with(BLOCK))
}

/// Returns the message in a block, the end of which may be missing at the end of input.
fn block_message(text: &str) -> Option<&str> {
    let text = text.strip_prefix(BLOCK)?.trim_end();
    let text = text.strip_suffix(BLOCK).unwrap_or(text);
    let text = text.strip_prefix('\n').unwrap_or(text);
    Some(text.strip_suffix('\n').unwrap_or(text))
}

/// Returns the name and the argument of a command.
fn name_and_argument(line: &str) -> (&str, &str) {
    let alias = ALIASES.iter().find_map(|(alias, name, argument)| {
        let rest = line.strip_prefix(alias)?;
        let is_whole = rest.is_empty() || rest.starts_with(char::is_whitespace);
        is_whole.then_some((*name, if argument.is_empty() { rest } else { *argument }))
    });
    alias.or(line.split_once(char::is_whitespace)).unwrap_or((line, ""))
}

/// Parses a line.
///
/// **Errors**: [`CommandError`].
pub(super) fn parse(line: &str) -> Result<Line<'_>, CommandError> {
    // As in llm's chat.
    let line = if matches!(line.trim(), "exit" | "quit") { "/exit" } else { line };
    let message = block_message(line).or_else(|| (!line.starts_with('/')).then_some(line));
    if let Some(message) = message {
        return Ok(match message.trim() {
            "" => Line::Blank,
            _ => Line::Message(message),
        });
    }
    let (name, argument) = name_and_argument(line);
    let argument = argument.trim();
    let Some((_, expected, _)) = COMMANDS.iter().find(|(known, _, _)| *known == name) else {
        return Err(CommandError::Unknown { name: name.to_owned() });
    };
    let path = || (!argument.is_empty()).then(|| expand_home(argument));
    let command = match (name, argument) {
        ("/retry", "") => Some(ChatCommand::Retry),
        ("/reset", "") => Some(ChatCommand::Reset),
        ("/system", "") => Some(ChatCommand::System(None)),
        ("/system", text) => Some(ChatCommand::System(Some(text))),
        ("/think", "on") => Some(ChatCommand::Think(true)),
        ("/think", "off") => Some(ChatCommand::Think(false)),
        ("/stats", "") => Some(ChatCommand::Stats),
        ("/save", _) => path().map(ChatCommand::Save),
        ("/load", _) => path().map(ChatCommand::Load),
        ("/help", "") => Some(ChatCommand::Help),
        ("/exit", "") => Some(ChatCommand::Exit),
        _ => None,
    };
    command.map(Line::Command).ok_or_else(|| {
        let usage = format!("{name} {expected}").trim_end().to_owned();
        CommandError::Argument { usage }
    })
}

/// Returns the text of `/help`.
pub(super) fn help() -> String {
    let commands = COMMANDS.iter().map(|(name, argument, purpose)| {
        let usage = format!("{name} {argument}");
        format!("  {usage:<16}{purpose}\n")
    });
    let end = "\
Start and end a message of several lines with \"\"\", or end each line but the
last with \\. Pasted lines are kept together. Tab completes commands. Ctrl-C
stops the reply.";
    commands.chain([end.to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_start_with_a_slash_are_commands() {
        for (line, expected) in [
            ("/retry", ChatCommand::Retry),
            ("/reset ", ChatCommand::Reset),
            ("/system Be brief.", ChatCommand::System(Some("Be brief."))),
            ("/system", ChatCommand::System(None)),
            ("/think on", ChatCommand::Think(true)),
            ("/think  off", ChatCommand::Think(false)),
            ("/stats", ChatCommand::Stats),
            ("/save two words.json", ChatCommand::Save("two words.json".into())),
            ("/load chat.json", ChatCommand::Load("chat.json".into())),
            ("/help", ChatCommand::Help),
            ("/exit", ChatCommand::Exit),
        ] {
            assert_eq!(parse(line), Ok(Line::Command(expected)), "{line}");
        }
    }

    #[test]
    fn other_lines_are_messages_unchanged() {
        for message in ["Hi", " /exit", "two\nlines", "1/2 ", "\\"] {
            assert_eq!(parse(message), Ok(Line::Message(message)));
        }
        for blank in ["", " \t", "\n", "\"\"\"\"\"\"", "\"\"\"\n \n\"\"\""] {
            assert_eq!(parse(blank), Ok(Line::Blank));
        }
    }

    #[test]
    fn triple_quotes_enclose_a_message() {
        for (text, message) in [
            ("\"\"\"one\"\"\"", "one"),
            ("\"\"\"\none\n\n/exit\n\"\"\" ", "one\n\n/exit"),
            ("\"\"\"/exit\"\"\"", "/exit"),
            ("\"\"\"\none\n", "one"),
        ] {
            assert_eq!(parse(text), Ok(Line::Message(message)), "{text}");
        }
    }

    #[test]
    fn commands_of_other_programs_are_understood() {
        let parsed = |line| parse(line).map(|line| format!("{line:?}"));
        for (alias, line) in [
            ("/bye", "/exit"),
            ("/quit", "/exit"),
            ("/q", "/exit"),
            ("exit", "/exit"),
            (" quit ", "/exit"),
            ("/?", "/help"),
            ("/clear", "/reset"),
            ("/regen", "/retry"),
            ("/set system Be brief.", "/system Be brief."),
            ("/set system", "/system"),
            ("/set nothink", "/think off"),
        ] {
            assert_eq!(parsed(alias), parsed(line), "{alias}");
        }
        for unknown in ["/byebye", "/set", "/set system2", "/setting"] {
            assert!(matches!(parse(unknown), Err(CommandError::Unknown { .. })), "{unknown}");
        }
    }

    #[test]
    fn an_unknown_command_is_rejected() {
        for (line, name) in [("/quits", "/quits"), ("/etc/passwd is what?", "/etc/passwd")] {
            assert_eq!(parse(line), Err(CommandError::Unknown { name: name.to_owned() }));
        }
    }

    #[test]
    fn an_invalid_argument_is_rejected_with_the_usage() {
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
    fn help_lists_every_command() {
        for (name, argument, purpose) in COMMANDS {
            assert!(help().contains(&format!("  {name} {argument}")), "{name}");
            assert!(help().contains(purpose), "{name}");
        }
    }
}
