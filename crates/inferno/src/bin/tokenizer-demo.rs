//! The `tokenizer-demo` command: shows how a text is split into tokens.

use std::process::ExitCode;

fn main() -> ExitCode {
    inferno::cli::tokenizer_demo()
}
