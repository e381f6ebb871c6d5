//! The `inferno` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    inferno::cli::inferno()
}
