//! The `gguf-inspect` command: what a GGUF file holds.

use std::process::ExitCode;

fn main() -> ExitCode {
    inferno::cli::gguf_inspect()
}
