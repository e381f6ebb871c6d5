//! The `model-generate` command: generates text with one optimization at a time.

use std::process::ExitCode;

fn main() -> ExitCode {
    inferno::cli::model_generate()
}
