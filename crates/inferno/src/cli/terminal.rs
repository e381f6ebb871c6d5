//! The terminal: results, notes, progress bars and Ctrl-C.

pub(crate) mod interrupt;
pub(crate) mod note;
pub(crate) mod output;
pub(crate) mod printable;
pub(crate) mod progress;
pub(crate) mod settings;
