//! Flags over environment over file.
//!
//! The command line is parsed twice: once to learn what was given and which file to read, and again with the file's
//! values as defaults.

use std::cmp::Ordering;
use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory, FromArgMatches};

use crate::cli::config;
use crate::cli::failure::Failure;

/// Flags of which one silences the other where it comes from a higher layer.
const RIVALS: [(&str, &str); 2] = [("greedy", "temperature"), ("prompt", "prompt_file")];

/// Parses the command line of a program with subcommands, with environment and configuration file.
pub(super) fn parse<P: CommandFactory + FromArgMatches>() -> Result<P, Failure> {
    let command = P::command().mut_subcommands(with_environment);
    let command = command.mut_arg("config", |arg| {
        arg.env("INFERNO_CONFIG").hide_env_values(true)
    });
    let matches = matches_of(command.clone())?;
    let Some((name, given)) = matches.subcommand() else {
        return from_matches(matches);
    };

    let silenced = silenced(&command, name, given);
    let command = command.mut_subcommand(name, |subcommand| {
        silenced.iter().fold(subcommand, |subcommand, id| {
            subcommand.mut_arg(id, |arg| arg.env(None::<&str>))
        })
    });
    let path: Option<PathBuf> = given
        .get_one("config")
        .cloned()
        .or_else(config::default_path);
    let command = match path {
        Some(path) => {
            let is_given = |id: &str| silenced.contains(&id) || rank(given, id) > 0;
            config::apply(&path, command, name, &is_given).map_err(Failure::Config)?
        }
        None => command,
    };
    from_matches(matches_of(command)?)
}

/// Parses the command line of a program without subcommands, with the environment.
pub(super) fn parse_alone<P: CommandFactory + FromArgMatches>() -> Result<P, Failure> {
    from_matches(matches_of(with_environment(P::command()))?)
}

fn matches_of(command: Command) -> Result<ArgMatches, Failure> {
    command.try_get_matches().map_err(Failure::CommandLine)
}

fn from_matches<P: FromArgMatches>(matches: ArgMatches) -> Result<P, Failure> {
    P::from_arg_matches(&matches).map_err(Failure::CommandLine)
}

/// Lets each flag be read from the environment, `--max-tokens` from `INFERNO_MAX_TOKENS`.
fn with_environment(command: Command) -> Command {
    command.mut_args(|arg| {
        let variable = match arg.get_long() {
            Some(long) if !arg.is_hide_set() && !is_built_in(&arg) => {
                format!("INFERNO_{}", long.replace('-', "_").to_uppercase())
            }
            _ => return arg,
        };
        let arg = arg.env(variable).hide_env_values(true);
        match arg.get_action() {
            ArgAction::SetTrue => arg.value_parser(BoolishValueParser::new()),
            _ => arg,
        }
    })
}

fn is_built_in(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Help | ArgAction::Version)
}

/// The flags whose lower layers do not count, since their rival was given in a higher one.
fn silenced(command: &Command, subcommand: &str, given: &ArgMatches) -> Vec<&'static str> {
    let has = |id: &str| {
        let subcommand = command.find_subcommand(subcommand);
        subcommand
            .is_some_and(|subcommand| subcommand.get_arguments().any(|arg| arg.get_id() == id))
    };
    RIVALS
        .into_iter()
        .filter(|(a, b)| has(a) && has(b))
        .filter_map(|(a, b)| match rank(given, a).cmp(&rank(given, b)) {
            Ordering::Less => Some(a),
            Ordering::Equal => None,
            Ordering::Greater => Some(b),
        })
        .collect()
}

/// The layer that a flag was given in, the command line above the environment; 0 for neither.
fn rank(given: &ArgMatches, id: &str) -> u8 {
    match given.value_source(id) {
        Some(ValueSource::CommandLine) => 2,
        Some(ValueSource::EnvVariable) => 1,
        _ => 0,
    }
}
