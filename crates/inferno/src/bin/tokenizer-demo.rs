//! The `tokenizer-demo` command: a text and its tokens.

use std::process::ExitCode;

fn main() -> ExitCode {
    inferno::cli::tokenizer_demo()
}
