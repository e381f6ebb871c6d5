//! Translates the options of other programs.

use std::ffi::{OsStr, OsString};

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, Command};

use super::advice::invalid_argument;
use super::options::{Meaning, meaning};

/// The values for which every option has its default, in options of other programs.
const DEFAULT_VALUES: [&str; 2] = ["auto", "inf"];

/// A translated command line.
#[derive(Default)]
pub(super) struct Translated {
    pub(super) arguments: Vec<OsString>,
    /// Notes about options that have no effect.
    pub(super) notes: Vec<String>,
    /// The options so far, with their values.
    set: Vec<(String, Option<OsString>)>,
}

/// What an argument means.
enum Resolved {
    /// An option of the command, under its own name or one that other programs give it.
    Own(String),
    Foreign(Meaning),
}

/// Translates the options after the subcommand.
pub(super) fn translate(
    command: &Command,
    arguments: &[OsString],
    error: &clap::Error,
) -> Translated {
    let mut translated = Translated::default();
    let Some(subcommand) = &super::subcommand(command, arguments) else {
        translated.arguments = arguments.to_vec();
        return translated;
    };
    let mut stray = stray_model(subcommand, arguments, error);
    let mut rest = arguments.iter().cloned();
    while let Some(argument) = rest.next() {
        if argument == "--" {
            translated.arguments.push(argument);
            translated.arguments.extend(rest);
            break;
        }
        if stray.take_if(|it| *it == argument.as_os_str()).is_some() {
            translated.arguments.push("-m".into());
        }
        match resolve(subcommand, &argument) {
            Some((_, Resolved::Own(option), value)) => {
                translated.add(subcommand, &option, value, &mut rest);
            }
            Some((name, Resolved::Foreign(meaning), value)) => {
                translated.add_foreign(subcommand, &name, meaning, argument, value, &mut rest);
            }
            None => translated.arguments.push(argument),
        }
    }
    translated
}

impl Translated {
    /// Adds an option of the command, with its value from `rest` if it is not in the same argument. A repetition with the
    /// same value is omitted, because several options of other programs may be the same option here.
    fn add(
        &mut self,
        command: &Command,
        option: &str,
        value: Option<OsString>,
        rest: &mut impl Iterator<Item = OsString>,
    ) {
        let arg = find_option(command, option);
        let value = match value {
            None if arg.is_some_and(takes_value) => rest.next(),
            value => value,
        };
        if arg.and_then(|arg| self.set_value(arg)).is_some_and(|set| *set == value) {
            return;
        }
        let entry = (arg.map_or(option.to_owned(), |arg| arg.get_id().to_string()), value);
        // A value in the same argument may start with a hyphen.
        let mut word = OsString::from(option);
        if let Some(value) = &entry.1 {
            word.push("=");
            word.push(value);
        }
        self.arguments.push(word);
        self.set.push(entry);
    }

    /// Returns what an option that can be set once is set to.
    fn set_value(&self, arg: &Arg) -> Option<&Option<OsString>> {
        let is_single = !matches!(arg.get_action(), ArgAction::Append);
        let set = self.set.iter().rfind(|(id, _)| is_single && arg.get_id() == id.as_str());
        set.map(|(_, value)| value)
    }

    /// Adds what an option of another program means.
    fn add_foreign(
        &mut self,
        command: &Command,
        name: &str,
        meaning: Meaning,
        argument: OsString,
        value: Option<OsString>,
        rest: &mut (impl Iterator<Item = OsString> + Clone),
    ) {
        let next = || rest.clone().next();
        match meaning {
            Meaning::SameAs(option) => {
                let arg = find_option(command, option);
                let has_value = arg.is_some_and(takes_value);
                let value = value.or_else(|| has_value.then(|| rest.next()).flatten());
                if value.as_deref().is_some_and(is_default) {
                    return;
                }
                match arg.and_then(|arg| self.set_value(arg)) {
                    Some(Some(other)) if Some(other) != value.as_ref() => self.notes.push(format!(
                        "warning: {name} has no effect: {option} is {} already",
                        other.display()
                    )),
                    _ => self.add(command, option, value, rest),
                }
            }
            Meaning::ByValue { number, text } => {
                let value = value.or_else(|| rest.next());
                let is_number =
                    |value: &OsString| value.to_str().is_some_and(|it| it.parse::<i64>().is_ok());
                let option = if value.as_ref().is_some_and(is_number) { number } else { text };
                self.add(command, option, value, rest);
            }
            Meaning::Argument => self.arguments.extend(value.or_else(|| rest.next())),
            Meaning::HubRepository => {
                let value = value.or_else(|| rest.next()).unwrap_or_default();
                let mut reference = OsString::from("hf:");
                reference.push(value);
                let model = command.get_arguments().find(|arg| arg.get_id() == "model");
                if !model.is_some_and(Arg::is_positional) {
                    self.arguments.push("-m".into());
                }
                self.arguments.push(reference);
            }
            Meaning::NoEffect { reason, has_value } => {
                if value.is_none() && next().is_some_and(|next| is_value(&next, has_value)) {
                    rest.next();
                }
                self.notes.push(format!("warning: {name} has no effect: {reason}"));
            }
            Meaning::AdviceUnless(neutral, _) => {
                let is_neutral = |value: &OsString| {
                    is_default(value) || neutral.iter().any(|neutral| value == neutral)
                };
                match (value, next()) {
                    (Some(value), _) if is_neutral(&value) => {}
                    (None, Some(next)) if is_neutral(&next) => drop(rest.next()),
                    _ => self.arguments.push(argument),
                }
            }
            Meaning::Advice(_) => self.arguments.push(argument),
        }
    }
}

/// Returns the name of an option, what it means, and its value after `=`; `None` if it is not an option in UTF-8, or an
/// unknown one.
fn resolve(command: &Command, argument: &OsStr) -> Option<(String, Resolved, Option<OsString>)> {
    let text = argument.to_str().filter(|text| text.starts_with('-') && text.len() > 1)?;
    let foreign = |name: &str| meaning(command.get_name(), name).map(Resolved::Foreign);
    // Some entries include the value.
    if let Some(meaning) = foreign(text) {
        return Some((text.to_owned(), meaning, None));
    }
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(OsString::from(value))),
        None => (text, None),
    };
    let own = |name: &str| find_option(command, name).map(|_| Resolved::Own(name.to_owned()));
    let other = other_spelling(name);
    let found =
        own(name).or_else(|| foreign(name)).or_else(|| own(&other)).or_else(|| foreign(&other));
    Some((name.to_owned(), found?, value))
}

/// Returns an option with two hyphens before and with hyphens instead of underscores: `--top-k` for `-top_k`.
pub(super) fn other_spelling(name: &str) -> String {
    let word = name.trim_start_matches('-');
    match word.chars().count() {
        0 | 1 => name.to_owned(),
        _ => format!("--{}", word.replace('_', "-")),
    }
}

/// Returns the option of a command with this name, as it is written on the command line.
pub(super) fn find_option<'c>(command: &'c Command, name: &str) -> Option<&'c Arg> {
    let has_long = |arg: &Arg, name: &str| {
        arg.get_long() == Some(name) || arg.get_all_aliases().unwrap_or_default().contains(&name)
    };
    command.get_arguments().find(|arg| match (name.strip_prefix("--"), name.strip_prefix('-')) {
        (Some(long), _) => has_long(arg, long),
        (None, Some(short)) => arg.get_short().is_some_and(|own| short == own.to_string()),
        (None, None) => false,
    })
}

pub(super) fn takes_value(arg: &Arg) -> bool {
    arg.get_action().takes_values()
}

/// Whether an option has its default with this value.
fn is_default(value: &OsStr) -> bool {
    DEFAULT_VALUES.iter().any(|default| value == *default)
}

/// Returns whether an argument is the value of the option before it, rather than the next option or the prompt.
fn is_value(argument: &OsStr, has_value: bool) -> bool {
    let Some(text) = argument.to_str() else { return has_value };
    match has_value {
        true => !text.starts_with('-') || text.parse::<f64>().is_ok(),
        // Switches that have become options with a value in newer versions.
        false => matches!(text, "on" | "off" | "auto" | "0" | "1"),
    }
}

/// Returns an argument that clap does not expect, if it can only be the model: `vllm serve MODEL`.
fn stray_model<'a>(
    subcommand: &Command,
    arguments: &'a [OsString],
    error: &clap::Error,
) -> Option<&'a OsStr> {
    let has_model = subcommand.get_arguments().any(|argument| argument.get_id() == "model");
    let is_given = arguments.iter().any(|argument| {
        let text = argument.to_str().unwrap_or_default();
        matches!(text, "-m" | "--model") || text.starts_with("--model=")
    });
    let has_positionals = subcommand.get_positionals().next().is_some();
    let text = invalid_argument(error)?;
    if error.kind() != ErrorKind::UnknownArgument || !has_model || is_given || has_positionals {
        return None;
    }
    let is_stray = |argument: &&OsString| argument.as_os_str() == text && !text.starts_with('-');
    arguments.iter().skip(1).find(is_stray).map(OsString::as_os_str)
}
