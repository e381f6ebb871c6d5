//! Accepts command lines written for llama.cpp, Ollama, llm, vLLM and mistral.rs.
//!
//! Invariant: a valid command line is never changed. One that clap rejects is translated by the tables and parsed again;
//! what has no equivalent is reported with advice.

mod advice;
mod commands;
pub(super) mod environment;
mod options;
pub(super) mod spelling;
mod translation;

use std::ffi::OsString;

use clap::{ArgMatches, Command};

use crate::cli::terminal::note::print_note;
use advice::with_advice;
use translation::translate;

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
    if has_nested_subcommand(command, &arguments) {
        return Err(error);
    }
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

/// Returns whether a command line has a subcommand of a subcommand, such as `bench serve`, whose options are not in the
/// tables.
fn has_nested_subcommand(command: &Command, arguments: &[OsString]) -> bool {
    let nested = |subcommand: &Command| {
        subcommand.has_subcommands() && {
            arguments.iter().any(|argument| subcommand.find_subcommand(argument).is_some())
        }
    };
    subcommand(command, arguments).is_some_and(nested)
}

/// Returns the subcommand of a command line.
pub(super) fn subcommand<'c>(command: &'c Command, arguments: &[OsString]) -> Option<&'c Command> {
    arguments.iter().skip(1).find_map(|argument| command.find_subcommand(argument))
}
