//! The `model-generate` command: goes on with a text, step by step up the ladder.

use std::process::ExitCode;

fn main() -> ExitCode {
    inferno::cli::model_generate()
}
