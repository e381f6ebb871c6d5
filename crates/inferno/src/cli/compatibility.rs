//! Accepts command lines written for llama.cpp, Ollama, llm and vLLM.
//!
//! Invariant: a valid command line is never changed. One that clap rejects is translated by the tables and parsed again;
//! what has no equivalent is reported with advice.

mod commands;
mod options;

use std::ffi::{OsStr, OsString};

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, Command};

use crate::cli::terminal::note::print_note;
use options::{Meaning, meaning};

/// Parses a command line, the first argument of which is the program. Returns the arguments, translated if necessary,
/// and the matches.
///
/// **Errors**: an invalid command line.
pub(super) fn parse(
    command: &Command,
    arguments: Vec<OsString>,
) -> Result<(Vec<OsString>, ArgMatches), clap::Error> {
    let error = match command.clone().try_get_matches_from(&arguments) {
        Ok(matches) => return Ok((arguments, matches)),
        Err(error) => error,
    };
    let translated = translate(command, &arguments, &error);
    if translated.arguments == arguments {
        return Err(with_advice(command, &arguments, error));
    }
    match command.clone().try_get_matches_from(&translated.arguments) {
        Ok(matches) => {
            translated.notes.iter().for_each(|note| print_note(note));
            Ok((translated.arguments, matches))
        }
        Err(error) => Err(with_advice(command, &translated.arguments, error)),
    }
}

/// A translated command line.
struct Translated {
    arguments: Vec<OsString>,
    /// Notes about options that have no effect.
    notes: Vec<String>,
}

/// Translates the options after the subcommand.
fn translate(command: &Command, arguments: &[OsString], error: &clap::Error) -> Translated {
    let mut translated = Translated { arguments: Vec::new(), notes: Vec::new() };
    let subcommand = subcommand(command, arguments);
    let mut stray = stray_model(subcommand, arguments, error);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == "--" {
            translated.arguments.push(argument.clone());
            translated.arguments.extend(rest.cloned());
            break;
        }
        if stray.take_if(|it| *it == argument.as_os_str()).is_some() {
            translated.arguments.push("-m".into());
        }
        let lookup = |name: &str| meaning(subcommand?.get_name(), name);
        // Some entries include the value.
        let whole = argument.to_str().filter(|text| lookup(text).is_some());
        let (name, value) = whole.map_or_else(|| split(argument), |text| (Some(text), None));
        let found = name.and_then(lookup);
        match found {
            Some(Meaning::SameAs(option)) => {
                translated.arguments.push(option.into());
                translated.arguments.extend(value.map(OsString::from));
            }
            Some(Meaning::HubRepository) => {
                let value = value.map(OsString::from).or_else(|| rest.next().cloned());
                let mut reference = OsString::from("hf:");
                reference.push(value.unwrap_or_default());
                translated.arguments.extend(["-m".into(), reference]);
            }
            Some(Meaning::NoEffect { reason, has_value }) => {
                let next = rest.clone().next().and_then(|next| next.to_str());
                if value.is_none() && next.is_some_and(|next| is_value(next, has_value)) {
                    rest.next();
                }
                let name = name.unwrap_or_default();
                translated.notes.push(format!("warning: {name} has no effect: {reason}"));
            }
            Some(Meaning::Advice(_)) | None => translated.arguments.push(argument.clone()),
        }
    }
    translated
}

/// Returns whether an argument is the value of the option before it, rather than the next option or the prompt.
fn is_value(text: &str, has_value: bool) -> bool {
    match has_value {
        true => !text.starts_with('-') || text.parse::<f64>().is_ok(),
        // Switches that have become options with a value in newer versions.
        false => matches!(text, "on" | "off" | "auto"),
    }
}

/// Returns the subcommand of a command line.
pub(super) fn subcommand<'c>(command: &'c Command, arguments: &[OsString]) -> Option<&'c Command> {
    arguments.iter().skip(1).find_map(|argument| command.find_subcommand(argument))
}

/// Splits `--name=value`. The name is `None` if the argument is not an option in UTF-8.
fn split(argument: &OsStr) -> (Option<&str>, Option<&str>) {
    match argument.to_str().filter(|text| text.starts_with('-')) {
        Some(text) => match text.split_once('=') {
            Some((name, value)) => (Some(name), Some(value)),
            None => (Some(text), None),
        },
        None => (None, None),
    }
}

/// Returns an argument that clap does not expect, if it can only be the model: `vllm serve MODEL`.
fn stray_model<'a>(
    subcommand: Option<&Command>,
    arguments: &'a [OsString],
    error: &clap::Error,
) -> Option<&'a OsStr> {
    let subcommand = subcommand?;
    let has_model = subcommand.get_arguments().any(|argument| argument.get_id() == "model");
    let has_positionals = subcommand.get_positionals().next().is_some();
    let text = invalid_argument(error)?;
    if error.kind() != ErrorKind::UnknownArgument || !has_model || has_positionals {
        return None;
    }
    let is_stray = |argument: &&OsString| argument.as_os_str() == text && !text.starts_with('-');
    arguments.iter().skip(1).find(is_stray).map(OsString::as_os_str)
}

fn invalid_argument(error: &clap::Error) -> Option<&str> {
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(text)) => Some(text),
        _ => None,
    }
}

/// Replaces clap's suggestions by the advice of the tables, if there is any.
fn with_advice(command: &Command, arguments: &[OsString], mut error: clap::Error) -> clap::Error {
    if let Some(advice) = advice(command, arguments, &error) {
        for kind in [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand] {
            error.remove(kind);
        }
        let advice = vec![StyledStr::from(advice)];
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(advice));
    }
    error
}

/// Returns what to do instead of what clap rejected.
fn advice(command: &Command, arguments: &[OsString], error: &clap::Error) -> Option<&'static str> {
    let subcommand = subcommand(command, arguments);
    let for_option = |name: &str| match meaning(subcommand?.get_name(), name)? {
        Meaning::Advice(advice) => Some(advice),
        _ => None,
    };
    match error.kind() {
        ErrorKind::InvalidSubcommand => match error.get(ContextKind::InvalidSubcommand)? {
            ContextValue::String(name) => commands::advice(name),
            _ => None,
        },
        ErrorKind::UnknownArgument | ErrorKind::ValueValidation | ErrorKind::InvalidValue => {
            let name = invalid_argument(error).map(|text| text.split('=').next().unwrap_or(text));
            if subcommand.is_none() && name.is_some_and(|name| name.starts_with('-')) {
                return Some(commands::MISSING);
            }
            // clap splits `-cnv` into `-c nv`, so that its error names another option.
            let is_split = |name: &&str| !name.starts_with("--") && name.len() > 2;
            let split = arguments.iter().filter_map(|argument| argument.to_str()).filter(is_split);
            name.and_then(for_option).or_else(|| split.into_iter().find_map(for_option))
        }
        _ => None,
    }
}
