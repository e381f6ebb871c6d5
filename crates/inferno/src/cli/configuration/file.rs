//! `inferno.toml`: default values of options.
//!
//! Invariant: every key is an existing option and every value is valid for it. Anything else is rejected with its line.

use std::any::TypeId;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::builder::BoolishValueParser;
use clap::{Arg, ArgAction, Command};
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use crate::ModelSource;
use crate::cli::arguments::values::{OrDefault, TokenIds};
use crate::cli::compatibility::own_option;
use crate::cli::compatibility::spelling::closest;
use crate::cli::input::{STDIN_PATH, expand_home};

/// Name of the file in the current directory and in the user's configuration directory.
const FILE_NAME: &str = "inferno.toml";

/// A mistake in a configuration file.
#[derive(Debug)]
pub(crate) struct ConfigError {
    path: PathBuf,
    /// Counted from 1; `None` if the file could not be read.
    line: Option<usize>,
    problem: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

/// Returns the default file, if there is one: `./inferno.toml`, or the one in the user's configuration directory.
pub(super) fn default_path() -> Option<PathBuf> {
    let user = dirs::config_dir().map(|folder| folder.join("inferno").join(FILE_NAME));
    [Some(PathBuf::from(FILE_NAME)), user].into_iter().flatten().find(|path| path.exists())
}

/// Checks the file at `path` against `command` and returns the settings of one subcommand.
pub(super) fn read(
    path: &Path,
    command: &Command,
    subcommand: &str,
) -> Result<Vec<Setting>, ConfigError> {
    let text = std::fs::read_to_string(path).map_err(|error| ConfigError {
        path: path.to_owned(),
        line: None,
        problem: format!("cannot be read: {error}"),
    })?;
    let file = ConfigFile { path, text: &text, command };
    file.settings(subcommand)
}

/// The value of one option.
pub(super) struct Setting {
    /// The id of the option in clap.
    pub(super) id: String,
    /// The values, as on the command line; several if the option can be repeated.
    pub(super) values: Vec<OsString>,
}

/// A configuration file.
struct ConfigFile<'a> {
    path: &'a Path,
    text: &'a str,
    command: &'a Command,
}

impl ConfigFile<'_> {
    /// Returns all settings of one subcommand; those of the subcommand's table come last and take precedence.
    fn settings(&self, subcommand: &str) -> Result<Vec<Setting>, ConfigError> {
        let document = DeTable::parse(self.text).map_err(|error| {
            self.error(
                error.span().unwrap_or_default(),
                format!("not valid TOML: {}", error.message()),
            )
        })?;
        let (mut shared, mut own) = (Vec::new(), Vec::new());
        for (key, value) in document.get_ref() {
            let name = key.get_ref().as_ref();
            if let DeValue::Table(table) = value.get_ref() {
                let Some(command) = self.command.find_subcommand(name) else {
                    let known = self.command.get_subcommands().map(Command::get_name);
                    let problem = format!(
                        "unknown table `{name}`, which is not a command; known tables: {}",
                        list(known)
                    );
                    return Err(self.error(key.span(), problem));
                };
                for (key, value) in table {
                    let arg = self.flag(command, key)?;
                    let setting = self.setting(arg, key, value)?;
                    if command.get_name() == subcommand {
                        own.push(setting);
                    }
                }
            } else {
                for (command, arg) in self.shared_flags(key)? {
                    let setting = self.setting(arg, key, value)?;
                    if command.get_name() == subcommand {
                        shared.push(setting);
                    }
                }
            }
        }
        shared.extend(own);
        Ok(shared)
    }

    /// Returns the option of `command` that a key in its table sets.
    fn flag<'c>(
        &self,
        command: &'c Command,
        key: &Spanned<impl AsRef<str>>,
    ) -> Result<&'c Arg, ConfigError> {
        let name = key.get_ref().as_ref();
        flags(command).find(|arg| is_named(arg, name)).ok_or_else(|| {
            let problem = format!(
                "`{}` has no option `{name}`; {}",
                command.get_name(),
                instead(name, [command], flags(command).filter_map(Arg::get_long))
            );
            self.error(key.span(), problem)
        })
    }

    /// Returns the options that a top-level key sets, in all commands that have it.
    fn shared_flags(
        &self,
        key: &Spanned<impl AsRef<str>>,
    ) -> Result<Vec<(&Command, &Arg)>, ConfigError> {
        let name = key.get_ref().as_ref();
        let with_flag = |name: &str| -> Vec<(&Command, &Arg)> {
            let find =
                |command| flags(command).find(|arg| is_named(arg, name)).map(|arg| (command, arg));
            let is_shared = |(command, arg): &(&Command, &Arg)| !is_own(command.get_name(), arg);
            self.command.get_subcommands().filter_map(find).filter(is_shared).collect()
        };
        let found = with_flag(name);
        match &found[..] {
            [_, _, ..] => Ok(found),
            [(command, _)] => {
                let problem = format!("`{name}` belongs in the table [{}]", command.get_name());
                Err(self.error(key.span(), problem))
            }
            [] => {
                let mut known: Vec<&str> = self
                    .command
                    .get_subcommands()
                    .flat_map(flags)
                    .filter_map(Arg::get_long)
                    .filter(|long| with_flag(long).len() > 1)
                    .collect();
                known.sort_unstable();
                known.dedup();
                let commands = self.command.get_subcommands();
                let problem = format!("unknown key `{name}`; {}", instead(name, commands, known));
                Err(self.error(key.span(), problem))
            }
        }
    }

    /// Returns the setting of `arg`, checked by the option's own parser.
    fn setting(
        &self,
        arg: &Arg,
        key: &Spanned<impl AsRef<str>>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Setting, ConfigError> {
        let values = match value.get_ref() {
            DeValue::Array(items) if matches!(arg.get_action(), ArgAction::Append) => {
                items.iter().map(|item| self.text_of(arg, key, item)).collect::<Result<_, _>>()?
            }
            _ => vec![self.text_of(arg, key, value)?],
        };
        Ok(Setting { id: arg.get_id().to_string(), values })
    }

    /// Returns one value, as on the command line.
    fn text_of(
        &self,
        arg: &Arg,
        key: &Spanned<impl AsRef<str>>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<OsString, ConfigError> {
        let expected = ValueType::of(arg);
        let text = match (expected, value.get_ref()) {
            (ValueType::Boolean, DeValue::Boolean(value)) => return Ok(value.to_string().into()),
            (ValueType::Integer | ValueType::Number, DeValue::Integer(number)) => {
                decimal(number).into()
            }
            (ValueType::Number, DeValue::Float(number)) => number.as_str().into(),
            (ValueType::Path, DeValue::String(text)) => self.resolved(text).into_os_string(),
            (ValueType::Model, DeValue::String(text)) => match text.parse() {
                Ok(ModelSource::File(_)) => self.resolved(text).into_os_string(),
                _ => text.as_ref().into(),
            },
            (ValueType::Text, DeValue::String(text)) => text.as_ref().into(),
            (_, found) => {
                let problem = format!(
                    "`{}` expects {}, found {}",
                    key.get_ref().as_ref(),
                    expected.description(),
                    found.type_str()
                );
                return Err(self.error(value.span(), problem));
            }
        };
        check_value(arg, &text).map_err(|problem| self.error(value.span(), problem))?;
        Ok(text)
    }

    /// Returns a path in the file: `~/` is the home directory, and other relative paths start at the folder of the file.
    fn resolved(&self, text: &str) -> PathBuf {
        if text == STDIN_PATH {
            return PathBuf::from(text);
        }
        // Joining an absolute path replaces the folder.
        self.path.parent().unwrap_or(Path::new("")).join(expand_home(text))
    }

    fn error(&self, span: Range<usize>, problem: String) -> ConfigError {
        let before = &self.text.as_bytes()[..span.start.min(self.text.len())];
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        ConfigError { path: self.path.to_owned(), line: Some(line), problem }
    }
}

/// Checks a value of an option with the option's own parser.
///
/// **Errors**: the problem.
pub(super) fn check_value(arg: &Arg, value: &OsStr) -> Result<(), String> {
    // A command line with only this option. A switch has a value here as well.
    let alone = arg.clone().required(false).env(None::<&str>);
    let alone = match arg.get_action().takes_values() {
        true => alone,
        false => alone.action(ArgAction::Set).value_parser(BoolishValueParser::new()),
    };
    let mut argument = OsString::from(format!("--{}=", arg.get_long().unwrap_or_default()));
    argument.push(value);
    let command = Command::new("inferno").no_binary_name(true).arg(alone);
    command.try_get_matches_from([argument]).map(drop).map_err(|error| reason(&error))
}

/// Returns a number in decimal, whatever its radix in the file.
fn decimal(number: &DeInteger<'_>) -> String {
    match u64::from_str_radix(number.as_str(), number.radix()) {
        Ok(value) if number.radix() != 10 => value.to_string(),
        _ => number.as_str().to_owned(),
    }
}

/// The TOML type of an option.
#[derive(Clone, Copy)]
enum ValueType {
    Boolean,
    Integer,
    Number,
    Text,
    Path,
    Model,
}

impl ValueType {
    fn of(arg: &Arg) -> Self {
        let value_type = arg.get_value_parser().type_id();
        let is_one_of = |types: &[TypeId]| types.iter().any(|known| value_type == *known);
        let integers = [
            TypeId::of::<usize>(),
            TypeId::of::<u16>(),
            TypeId::of::<u32>(),
            TypeId::of::<u64>(),
            TypeId::of::<OrDefault<usize>>(),
            TypeId::of::<OrDefault<u64>>(),
            TypeId::of::<TokenIds>(),
        ];
        if !arg.get_action().takes_values() {
            Self::Boolean
        } else if is_one_of(&integers) {
            Self::Integer
        } else if is_one_of(&[TypeId::of::<f32>()]) {
            Self::Number
        } else if is_one_of(&[TypeId::of::<PathBuf>()]) {
            Self::Path
        } else if is_one_of(&[TypeId::of::<ModelSource>()]) {
            Self::Model
        } else {
            Self::Text
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::Boolean => "true or false",
            Self::Integer => "an integer",
            Self::Number => "a number",
            Self::Text | Self::Path | Self::Model => "a string",
        }
    }
}

/// Options, with their commands, that have another meaning than those of the same name in other commands. They are set by
/// the command line and the table of their command only.
const OWN_OPTIONS: [(&str, &str); 3] =
    [("perplexity", "context"), ("imatrix", "context"), ("imatrix", "output")];

/// Returns whether an option of a command is independent of the options of the same name.
pub(super) fn is_own(command: &str, arg: &Arg) -> bool {
    own_options(command).any(|id| arg.get_id() == id)
}

/// Returns the options of a command that are independent of the options of the same name.
pub(super) fn own_options(command: &str) -> impl Iterator<Item = &'static str> {
    OWN_OPTIONS.into_iter().filter(move |(owner, _)| *owner == command).map(|(_, id)| id)
}

/// Returns the options that are independent of those of the same name, each with its command.
pub(crate) fn all_own_options() -> String {
    OWN_OPTIONS.map(|(command, id)| format!("{command} --{id}")).join(", ")
}

/// Returns the options of a command that the file may set.
fn flags(command: &Command) -> impl Iterator<Item = &Arg> {
    let is_setting = |arg: &&Arg| {
        let is_own = !matches!(arg.get_id().as_str(), "help" | "version" | "config");
        is_own && !arg.is_hide_set() && arg.get_long().is_some()
    };
    command.get_arguments().filter(is_setting)
}

/// Returns whether a key names an option; `max_tokens` and `max-tokens` are equivalent.
fn is_named(arg: &Arg, key: &str) -> bool {
    arg.get_long().is_some_and(|long| long == key.replace('_', "-"))
}

/// Returns the key to use instead of an unknown one, if it is a misspelling or the name of an option elsewhere; else all keys.
fn instead<'n>(
    key: &str,
    commands: impl IntoIterator<Item = &'n Command>,
    known: impl IntoIterator<Item = &'n str>,
) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let key = key.replace('_', "-");
    let translated = commands.into_iter().find_map(|command| own_option(command, &key));
    let translated = translated.filter(|own| known.contains(own));
    match translated.or_else(|| closest(&key, known.iter().copied())) {
        Some(own) => format!("did you mean `{own}`?"),
        None => format!("known keys: {}", list(known)),
    }
}

fn list<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    names.into_iter().collect::<Vec<_>>().join(", ")
}

/// Returns the first line of an error message of clap, without its prefix.
fn reason(error: &clap::Error) -> String {
    let message = error.to_string();
    let first = message.lines().next().unwrap_or_default();
    first.strip_prefix("error: ").unwrap_or(first).to_owned()
}
