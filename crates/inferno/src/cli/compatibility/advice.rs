//! Error messages with what to do instead.

use std::ffi::OsString;
use std::path::Path;

use clap::Command;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::commands::{self, names_model};
use super::options::{Meaning, meaning};
use super::spelling::{is_misspelling, similarity};
use super::translation::{find_option, other_spelling, takes_value};

/// Replaces the suggestions of clap by better ones, if there are any.
pub(super) fn with_advice(
    command: &Command,
    arguments: &[OsString],
    error: clap::Error,
) -> clap::Error {
    let subcommand = super::subcommand(command, arguments);
    let mut error = match misread_option(subcommand.as_ref(), arguments, &error) {
        Some(option) => unknown_argument(command, option),
        None => error,
    };
    let advice = match subcommand {
        Some(subcommand) => advice(&subcommand, arguments, &error),
        None => advice_without_command(command, &error),
    };
    if let Some(advice) = advice {
        // The usage contains the argument that clap would have suggested.
        for kind in
            [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::Usage]
        {
            error.remove(kind);
        }
        let advice = ContextValue::StyledStrs(vec![StyledStr::from(advice)]);
        error.insert(ContextKind::Suggested, advice);
    }
    error
}

/// Returns the argument that clap rejected.
pub(super) fn invalid_argument(error: &clap::Error) -> Option<&str> {
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(text)) => Some(text),
        _ => None,
    }
}

/// Returns an option such as `-cnv`, which clap reads as `-c nv` and reports as an invalid value of another option.
fn misread_option<'a>(
    subcommand: Option<&Command>,
    arguments: &'a [OsString],
    error: &clap::Error,
) -> Option<&'a str> {
    let is_multi_letter =
        |text: &&str| text.starts_with('-') && !text.starts_with("--") && text.chars().count() > 2;
    let mut options = arguments.iter().skip(1).filter_map(|argument| argument.to_str());
    match (subcommand, error.kind()) {
        // `-hff` is read as `-h`.
        (Some(subcommand), _) => options
            .take_while(|text| *text != "--")
            .filter(is_multi_letter)
            .find(|text| advice_for_option(subcommand, text).is_some()),
        (None, _) => options.next().filter(is_multi_letter),
    }
}

/// Returns an option of another program such as `-md`, which clap reads as `-m d`, unless there is such a file.
pub(super) fn misread_model<'a>(command: &Command, arguments: &'a [OsString]) -> Option<&'a str> {
    let subcommand = super::subcommand(command, arguments)?;
    let is_misread = |text: &str| {
        let model = text.strip_prefix("-m").filter(|model| !model.is_empty());
        model.is_some_and(|model| !Path::new(model).exists())
            && meaning(subcommand.get_name(), text).is_some()
    };
    let mut options = pairs(arguments).take_while(|(_, text)| *text != "--");
    let found = options.find(|(before, text)| {
        is_misread(text) && !find_option(&subcommand, before).is_some_and(takes_value)
    });
    found.map(|(_, option)| option)
}

/// Returns the error for an unknown option.
pub(super) fn unknown_argument(command: &Command, option: &str) -> clap::Error {
    let mut unknown = clap::Error::new(ErrorKind::UnknownArgument).with_cmd(command);
    unknown.insert(ContextKind::InvalidArg, ContextValue::String(option.to_owned()));
    unknown
}

/// Returns what to do instead of what clap rejected after a subcommand.
fn advice(subcommand: &Command, arguments: &[OsString], error: &clap::Error) -> Option<String> {
    if let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) {
        return commands::advice(name).map(str::to_owned);
    }
    match error.kind() {
        ErrorKind::UnknownArgument
        | ErrorKind::ValueValidation
        | ErrorKind::InvalidValue
        | ErrorKind::TooManyValues => {}
        _ => return None,
    }
    let name = invalid_argument(error)?;
    let name = name.split(['=', ' ']).next().unwrap_or(name);
    // Some entries include the value.
    let mut options = arguments.iter().filter_map(|argument| argument.to_str());
    let whole = options.find(|text| text.split('=').next() == Some(name)).unwrap_or(name);
    let advice = advice_for_option(subcommand, whole).or(advice_for_option(subcommand, name));
    if let Some(advice) = advice {
        return Some(advice.to_owned());
    }
    match error.get(ContextKind::SuggestedArg) {
        Some(ContextValue::String(known)) if is_misspelling(name, known) => return None,
        _ => {}
    }
    match (error.kind(), is_option(name)) {
        (ErrorKind::UnknownArgument, true) => {
            Some(format!("inferno help {} lists all options", subcommand.get_name()))
        }
        (ErrorKind::UnknownArgument, false) => advice_for_word(subcommand, arguments),
        _ => None,
    }
}

/// Returns whether an argument looks like an option rather than a prompt with a hyphen at its start.
fn is_option(name: &str) -> bool {
    let is_negative = name.parse::<f64>().is_ok();
    name.starts_with('-') && !is_negative && !name.contains(char::is_whitespace)
}

fn advice_for_option(subcommand: &Command, name: &str) -> Option<&'static str> {
    let found = |name: &str| meaning(subcommand.get_name(), name);
    match found(name).or_else(|| found(&other_spelling(name)))? {
        Meaning::Advice(advice) | Meaning::AdviceUnless(_, advice) => Some(advice),
        _ => None,
    }
}

/// Returns what to do with a word that the command has no argument for.
fn advice_for_word(subcommand: &Command, arguments: &[OsString]) -> Option<String> {
    match subcommand.get_name() {
        "generate" => Some(match model_without_option(subcommand, arguments) {
            Some(model) => format!("pass the model with -m {model}"),
            None => match option_as_value(subcommand, arguments) {
                Some((option, value)) => {
                    format!("{option} requires a value; {value} after it was read as this value")
                }
                None => quotes_advice("prompt"),
            },
        }),
        "pull" => Some(
            "a file of a repository is hf:OWNER/REPO:FILE; pull one model at a time".to_owned(),
        ),
        "quantize" => Some("use --threads N to set the number of threads".to_owned()),
        "serve" => Some("options have one value; repeat an option to pass several".to_owned()),
        _ => None,
    }
}

/// Returns what to do with an argument that the shell has divided into words.
pub(crate) fn quotes_advice(argument: &str) -> String {
    format!("put a {argument} of several words in quotes")
}

/// Returns the first argument that is a model but not the value of an option.
fn model_without_option<'a>(subcommand: &Command, arguments: &'a [OsString]) -> Option<&'a str> {
    let found = pairs(arguments).find(|(before, word)| {
        !word.starts_with('-')
            && names_model(word)
            && !find_option(subcommand, before).is_some_and(takes_value)
    });
    found.map(|(_, model)| model)
}

/// Returns an option whose value is another option, because its own value was forgotten.
fn option_as_value<'a>(
    subcommand: &Command,
    arguments: &'a [OsString],
) -> Option<(&'a str, &'a str)> {
    // Translation joins options with their values.
    let joined = arguments.iter().filter_map(|argument| argument.to_str()?.split_once('='));
    joined.chain(pairs(arguments)).find(|(option, value)| {
        find_option(subcommand, option).is_some_and(takes_value)
            && find_option(subcommand, value).is_some()
    })
}

/// Returns each argument with the next one.
fn pairs(arguments: &[OsString]) -> impl Iterator<Item = (&str, &str)> {
    arguments.windows(2).filter_map(|pair| Some((pair[0].to_str()?, pair[1].to_str()?)))
}

/// Returns what to do instead of what clap rejected at the place of a subcommand.
fn advice_without_command(command: &Command, error: &clap::Error) -> Option<String> {
    let advice = match (error.kind(), error.get(ContextKind::InvalidSubcommand)) {
        (ErrorKind::InvalidSubcommand, Some(ContextValue::String(name))) => {
            // After `help`, clap suggests nothing.
            let mut known = command.get_subcommands().map(Command::get_name);
            let similar =
                known.find(|known| is_misspelling(name, known) && similarity(name, known) > 2);
            let suggests = error.get(ContextKind::SuggestedSubcommand).is_some();
            return match (commands::advice(name), similar) {
                (None, Some(known)) if !suggests => {
                    Some(format!("a similar subcommand exists: '{known}'"))
                }
                (advice, _) => advice.map(str::to_owned),
            };
        }
        (ErrorKind::UnknownArgument, _) => {
            let name = invalid_argument(error).filter(|name| name.starts_with('-'))?;
            Some(commands::advice(name).unwrap_or(commands::MISSING))
        }
        _ => None,
    };
    advice.map(str::to_owned)
}
