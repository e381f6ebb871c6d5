//! The `gguf-inspect` command: shows the metadata and tensors of a GGUF file.

use std::process::ExitCode;

fn main() -> ExitCode {
    inferno::cli::gguf_inspect()
}
