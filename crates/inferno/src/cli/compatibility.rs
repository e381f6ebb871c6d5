//! Accepts command lines written for llama.cpp, Ollama, llm, vLLM, lm-evaluation-harness and mistral.rs.
//!
//! Invariant: a valid command line is never changed. One that clap rejects is translated by the tables and parsed again;
//! what has no equivalent is reported with advice. An option of another program such as `-md`, which clap reads as
//! `-m d`, is rejected unless there is such a model file.

mod advice;
mod commands;
pub(super) mod environment;
mod options;
pub(super) mod spelling;
mod translation;

use std::ffi::OsString;

use clap::{ArgMatches, Command};

use crate::cli::terminal::note::print_note;
pub(super) use advice::quotes_advice;
use advice::{misread_model, unknown_argument, with_advice};
use options::{Meaning, meaning};
use translation::{find_option, translate};

/// Returns the name of the option that a command has for one of another program, or for an alias or a letter of its own,
/// written without hyphens.
pub(super) fn own_option<'c>(command: &'c Command, name: &str) -> Option<&'c str> {
    let names = [format!("--{name}"), format!("-{name}")];
    names.iter().find_map(|name| {
        let same = match meaning(command.get_name(), name) {
            Some(Meaning::SameAs(own)) => find_option(command, own),
            _ => None,
        };
        find_option(command, name).or(same)?.get_long()
    })
}

/// Parses a command line, the first argument of which is the program. Returns the arguments, translated if necessary,
/// and the matches.
///
/// **Errors**: an invalid command line.
pub(super) fn parse(
    command: &Command,
    arguments: Vec<OsString>,
) -> Result<(Vec<OsString>, ArgMatches), clap::Error> {
    let error = match matches_of(command, &arguments) {
        Ok(matches) => return Ok((arguments, matches)),
        Err(error) => error,
    };
    let translated = translate(command, &arguments, &error);
    if translated.arguments == arguments {
        return Err(with_advice(command, &arguments, error));
    }
    match matches_of(command, &translated.arguments) {
        Ok(matches) => {
            translated.notes.iter().for_each(|note| print_note(note));
            Ok((translated.arguments, matches))
        }
        Err(error) => Err(with_advice(command, &translated.arguments, error)),
    }
}

/// Parses a command line, and rejects options of other programs that would be read as `-m` with a model.
fn matches_of(command: &Command, arguments: &[OsString]) -> Result<ArgMatches, clap::Error> {
    let matches = command.clone().try_get_matches_from(arguments)?;
    match misread_model(command, arguments) {
        Some(option) => Err(unknown_argument(command, option)),
        None => Ok(matches),
    }
}

/// Returns the subcommand of a command line. One of a subcommand has both names: `bench serve`.
pub(super) fn subcommand(command: &Command, arguments: &[OsString]) -> Option<Command> {
    let mut words = arguments.iter().skip(1);
    let found = words.find_map(|word| command.find_subcommand(word))?;
    Some(match words.next().and_then(|word| found.find_subcommand(word)) {
        Some(nested) => nested.clone().name(format!("{} {}", found.get_name(), nested.get_name())),
        None => found.clone(),
    })
}
