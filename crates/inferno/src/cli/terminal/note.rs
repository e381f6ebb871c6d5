//! Notes on standard error.

use std::io::{self, Write};

/// Writes a line to standard error. A closed standard error is ignored rather than a panic.
pub(crate) fn print_note(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
