//! Configuration sources: the command line overrides the environment, which overrides `inferno.toml`.
//!
//! The command line is parsed twice: first to find out which options are set and which file to read, then again with
//! the values of the file as defaults.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory, FromArgMatches};

use super::file::{self, Setting};
use crate::cli::Inferno;
use crate::cli::compatibility;
use crate::cli::compatibility::environment::note_variables;
use crate::cli::compatibility::spelling::closest;
use crate::cli::failure::Failure;
use crate::cli::terminal::note::print_note;
use crate::cli::terminal::printable::printable;

/// The start of the names of all environment variables.
const PREFIX: &str = "INFERNO_";

/// Environment variables that are not options: one of this program, one of its tests.
const OTHER_VARIABLES: [&str; 5] = [
    CONFIG_VARIABLE,
    "INFERNO_GPU_MATRICES",
    "INFERNO_GPU_TUNING",
    "INFERNO_ORACLE",
    "INFERNO_REQUIRE_GPU",
];

/// The environment variable with the path of the configuration file, like `--config`.
const CONFIG_VARIABLE: &str = "INFERNO_CONFIG";

/// Options that exclude each other: one that comes from a higher source overrides the other.
const EXCLUSIVE: [(&str, &str); 11] = [
    ("chat", "load_session"),
    ("think", "no_think"),
    ("concurrency", "rate"),
    ("greedy", "temperature"),
    KEYS,
    ("prompt", "prompt_file"),
    ("prompt", "prompt_option"),
    ("prompt_option", "prompt_file"),
    ("model", "model_option"),
    ("model", "on_demand"),
    ("model", "models_dir"),
];

/// Commands and their options that an empty variable sets as well: without the keys of a server, everybody could use it.
const SECRETS: [(&str, &str); 2] = [("serve", "api_key"), ("serve", "api_key_file")];

/// The key that a client sends, and the file that contains it.
const KEYS: (&str, &str) = ("key", "key_file");

/// Parses the command line of a program with subcommands, with the environment and the configuration file. The first of
/// `arguments` is the name of the program.
pub(crate) fn parse<P: CommandFactory + FromArgMatches>(
    arguments: Vec<OsString>,
) -> Result<P, Failure> {
    // The last of several values takes effect, so that options can be added to a script or an alias.
    let command = P::command().args_override_self(true).mut_subcommands(|command| {
        let help = command_help(command.get_name());
        let command =
            command.mut_subcommands(|nested| with_environment(nested, NESTED_HELP.to_owned()));
        with_environment(command, help)
    });
    let command = command.mut_arg("config", |arg| arg.env(CONFIG_VARIABLE).hide_env(true));
    let (arguments, matches) = parse_first(&command, arguments)?;
    let Some((name, given)) = matches.subcommand() else {
        return from_matches(matches);
    };
    note_variables(name);

    let settings = settings(given.get_one("config").cloned(), &command, name)?;
    let command = command.mut_subcommand(name, |subcommand| {
        let subcommand = match given.subcommand() {
            Some((name, given)) => subcommand
                .mut_subcommand(name, |nested| with_lower_sources(nested, given, Vec::new())),
            None => subcommand,
        };
        with_lower_sources(subcommand, given, settings)
    });
    from_matches(matches_of(command, arguments)?)
}

/// Parses the command line with the environment only. An invalid value is reported with its variable rather than with
/// an option that is not on the command line.
fn parse_first(
    command: &Command,
    arguments: Vec<OsString>,
) -> Result<(Vec<OsString>, ArgMatches), Failure> {
    let subcommand = compatibility::subcommand(command, &arguments);
    match compatibility::parse(command, arguments) {
        Ok(parsed) => {
            warn_of_unknown_variables(command);
            Ok(parsed)
        }
        Err(error) => {
            if let Some(subcommand) = subcommand.filter(|_| error.use_stderr()) {
                check_environment(&subcommand)?;
            }
            Err(Failure::CommandLine(error))
        }
    }
}

/// Parses the command line of a program without subcommands, with the environment and the configuration file.
///
/// `table` is the subcommand of `inferno` whose options, environment and configuration table apply.
pub(crate) fn parse_alone<P: CommandFactory + FromArgMatches>(table: &str) -> Result<P, Failure> {
    let command = with_environment(P::command().args_override_self(true), command_help(table));
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let given = matches_of(command.clone(), arguments.clone())?;
    let named = std::env::var_os(CONFIG_VARIABLE).map(PathBuf::from);
    let settings = settings(named, &Inferno::command(), table)?;
    from_matches(matches_of(with_lower_sources(command, &given, settings), arguments)?)
}

/// Reads the settings of a subcommand from the specified or the default configuration file.
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

/// Makes the settings of the file the defaults of options that are not set, and ignores overridden options.
fn with_lower_sources(command: Command, given: &ArgMatches, settings: Vec<Setting>) -> Command {
    let overridden = overridden(&command, given);
    let command = overridden
        .iter()
        .fold(command, |command, id| command.mut_arg(id, |arg| arg.env(None::<&str>)));
    settings.into_iter().fold(command, |command, setting| {
        let id = setting.id.as_str();
        // A program without subcommands may have fewer options than the subcommand whose table it reads.
        match has(&command, id) && !overridden.contains(&id) && rank(given, id) == 0 {
            true => command.mut_arg(id, |arg| arg.default_values(setting.values)),
            false => command,
        }
    })
}

fn matches_of(command: Command, arguments: Vec<OsString>) -> Result<ArgMatches, Failure> {
    command.try_get_matches_from(arguments).map_err(Failure::CommandLine)
}

fn from_matches<P: FromArgMatches>(matches: ArgMatches) -> Result<P, Failure> {
    P::from_arg_matches(&matches).map_err(Failure::CommandLine)
}

/// The end of the help of every command.
const HELP: &str = "\
Every option can also be set in the environment as INFERNO_<OPTION>, with '_'
for '-', or in inferno.toml. See 'inferno help'.";

/// The end of the help of a subcommand of a command.
const NESTED_HELP: &str = "\
Every option can also be set in the environment as INFERNO_<OPTION>, with '_'
for '-'. See 'inferno help'.";

/// Returns the end of the help of a command, with the options to which it does not apply.
fn command_help(command: &str) -> String {
    let own: Vec<String> = file::own_options(command).map(|id| format!("--{id}")).collect();
    match own.is_empty() {
        true => HELP.to_owned(),
        false => format!(
            "{HELP}\n{} can be set only on the command line or in the [{command}] table.",
            own.join(" and ")
        ),
    }
}

/// Reads every option from the environment as well, `--max-tokens` from `INFERNO_MAX_TOKENS`, and ends the help of the command
/// with `help`. An empty variable is the same as none, unless it is a secret.
fn with_environment(command: Command, help: String) -> Command {
    let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let command = command.after_help(format!("{examples}\n\n{help}"));
    let name = command.get_name().to_owned();
    command.mut_args(|arg| {
        let Some(variable) = variable(&arg).filter(|_| !file::is_own(&name, &arg)) else {
            return arg;
        };
        let is_set = std::env::var_os(&variable).is_some_and(|value| counts(&name, &arg, &value));
        let arg = if is_set { arg.env(variable).hide_env(true) } else { arg };
        match arg.get_action() {
            ArgAction::SetTrue => arg.value_parser(BoolishValueParser::new()),
            // Otherwise `-1` after an option is parsed as an unknown option instead of an out-of-range number.
            ArgAction::Set | ArgAction::Append => arg.allow_negative_numbers(true),
            _ => arg,
        }
    })
}

/// Returns whether a variable with this value sets an option of a command: an empty one does not, except for [`SECRETS`].
fn counts(command: &str, arg: &Arg, value: &OsStr) -> bool {
    !value.is_empty() || SECRETS.contains(&(command, arg.get_id().as_str()))
}

/// Returns the environment variable of an option, if it can be set there.
fn variable(arg: &Arg) -> Option<String> {
    let long = arg.get_long().filter(|_| !arg.is_hide_set() && !is_built_in(arg))?;
    Some(format!("{PREFIX}{}", long.replace('-', "_").to_uppercase()))
}

/// Checks the environment variables of a subcommand.
///
/// **Errors**: a value that the option's own parser rejects.
fn check_environment(subcommand: &Command) -> Result<(), Failure> {
    let name = subcommand.get_name();
    for arg in subcommand.get_arguments().filter(|arg| !file::is_own(name, arg)) {
        let Some(variable) = variable(arg) else { continue };
        if let Some(value) = std::env::var_os(&variable).filter(|value| counts(name, arg, value)) {
            file::check_value(arg, &value).map_err(|problem| {
                Failure::Usage(format!("environment variable {variable}: {problem}"))
            })?;
        }
    }
    Ok(())
}

/// Warns about variables that no subcommand reads.
fn warn_of_unknown_variables(inferno: &Command) {
    let commands = inferno.get_subcommands();
    let commands = commands.flat_map(|command| command.get_subcommands().chain([command]));
    let known = commands.flat_map(Command::get_arguments).filter_map(variable);
    let known: BTreeSet<String> = known.chain(OTHER_VARIABLES.map(str::to_owned)).collect();
    let set = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let unknown = set.filter(|name| name.starts_with(PREFIX) && !known.contains(name));
    for name in unknown {
        let advice = match closest(&name, known.iter().map(String::as_str)) {
            Some(similar) => format!("; did you mean {similar}?"),
            None => String::new(),
        };
        print_note(&format!("warning: unknown environment variable {}{advice}", printable(&name)));
    }
}

fn is_built_in(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Help | ArgAction::Version)
}

/// Returns the options that are overridden by an exclusive one from a higher source. `serve` uses the keys of both variables, so
/// for its clients, the key in the environment overrides the file.
fn overridden(command: &Command, given: &ArgMatches) -> Vec<&'static str> {
    EXCLUSIVE
        .into_iter()
        .filter(|(a, b)| has(command, a) && has(command, b))
        .filter_map(|(a, b)| match rank(given, a).cmp(&rank(given, b)) {
            Ordering::Less => Some(a),
            Ordering::Equal if (a, b) == KEYS && rank(given, a) == 1 => Some(b),
            Ordering::Equal => None,
            Ordering::Greater => Some(b),
        })
        .collect()
}

fn has(command: &Command, id: &str) -> bool {
    command.get_arguments().any(|arg| arg.get_id() == id)
}

/// Returns the rank of the source of an option: 2 for the command line, 1 for the environment, 0 for neither.
fn rank(given: &ArgMatches, id: &str) -> u8 {
    match given.value_source(id) {
        Some(ValueSource::CommandLine) => 2,
        Some(ValueSource::EnvVariable) => 1,
        _ => 0,
    }
}
