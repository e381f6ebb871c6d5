//! Flags over environment over file.
//!
//! The command line is parsed twice: once to learn what was given and which file to read, and again with the file's
//! values as defaults.

use std::cmp::Ordering;
use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory, FromArgMatches};

use super::file::{self, Setting};
use crate::cli::Inferno;
use crate::cli::failure::Failure;

/// Names the configuration file, as `--config` does.
const CONFIG_VARIABLE: &str = "INFERNO_CONFIG";

/// Flags of which one silences the other where it comes from a higher layer.
const RIVALS: [(&str, &str); 2] = [("greedy", "temperature"), ("prompt", "prompt_file")];

/// Parses the command line of a program with subcommands, with environment and configuration file.
pub(crate) fn parse<P: CommandFactory + FromArgMatches>() -> Result<P, Failure> {
    let command = P::command().mut_subcommands(with_environment);
    let command = command.mut_arg("config", |arg| arg.env(CONFIG_VARIABLE).hide_env_values(true));
    let matches = matches_of(command.clone())?;
    let Some((name, given)) = matches.subcommand() else {
        return from_matches(matches);
    };

    let settings = settings(given.get_one("config").cloned(), &command, name)?;
    let command =
        command.mut_subcommand(name, |subcommand| with_lower_layers(subcommand, given, settings));
    from_matches(matches_of(command)?)
}

/// Parses the command line of a program without subcommands, with the environment, and with what the configuration
/// file says in the table of the subcommand that the program stands for.
pub(crate) fn parse_alone<P: CommandFactory + FromArgMatches>(table: &str) -> Result<P, Failure> {
    let command = with_environment(P::command());
    let given = matches_of(command.clone())?;
    let named = std::env::var_os(CONFIG_VARIABLE).map(PathBuf::from);
    let settings = settings(named, &Inferno::command(), table)?;
    from_matches(matches_of(with_lower_layers(command, &given, settings))?)
}

/// What the configuration file says about a subcommand: the file that was named, else the usual one.
fn settings(
    named: Option<PathBuf>,
    command: &Command,
    subcommand: &str,
) -> Result<Vec<Setting>, Failure> {
    match named.or_else(file::default_path) {
        Some(path) => file::read(&path, command, subcommand).map_err(Failure::Config),
        None => Ok(Vec::new()),
    }
}

/// Makes the file's settings the defaults of flags that were not given, and silences rivals.
fn with_lower_layers(command: Command, given: &ArgMatches, settings: Vec<Setting>) -> Command {
    let silenced = silenced(&command, given);
    let command = silenced
        .iter()
        .fold(command, |command, id| command.mut_arg(id, |arg| arg.env(None::<&str>)));
    settings.into_iter().fold(command, |command, setting| {
        let id = setting.id.as_str();
        // A program without subcommands may take fewer flags than the subcommand that it stands for.
        match has(&command, id) && !silenced.contains(&id) && rank(given, id) == 0 {
            true => command.mut_arg(id, |arg| arg.default_values(setting.values)),
            false => command,
        }
    })
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
            // Else `-1` after a flag is taken for another flag, and not for a number that is too small.
            ArgAction::Set | ArgAction::Append => arg.allow_negative_numbers(true),
            _ => arg,
        }
    })
}

fn is_built_in(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Help | ArgAction::Version)
}

/// The flags whose lower layers do not count, since their rival was given in a higher one.
fn silenced(command: &Command, given: &ArgMatches) -> Vec<&'static str> {
    RIVALS
        .into_iter()
        .filter(|(a, b)| has(command, a) && has(command, b))
        .filter_map(|(a, b)| match rank(given, a).cmp(&rank(given, b)) {
            Ordering::Less => Some(a),
            Ordering::Equal => None,
            Ordering::Greater => Some(b),
        })
        .collect()
}

fn has(command: &Command, id: &str) -> bool {
    command.get_arguments().any(|arg| arg.get_id() == id)
}

/// The layer that a flag was given in, the command line above the environment; 0 for neither.
fn rank(given: &ArgMatches, id: &str) -> u8 {
    match given.value_source(id) {
        Some(ValueSource::CommandLine) => 2,
        Some(ValueSource::EnvVariable) => 1,
        _ => 0,
    }
}
