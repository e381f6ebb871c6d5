//! Where options come from: the command line, the environment and `inferno.toml`.

mod file;
mod sources;

pub(crate) use file::{ConfigError, all_own_options};
pub(crate) use sources::{parse, parse_alone};
