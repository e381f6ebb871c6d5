//! The names of ignored fields, for the log and the metrics.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// Names that are logged and counted on their own.
const MAX_NAMES: usize = 100;
/// The metrics label of all further names.
const OTHER: &str = "other";

/// The names of ignored fields since the server started, up to a limit.
#[derive(Default)]
pub(crate) struct IgnoredFields {
    names: Mutex<HashSet<String>>,
}

impl IgnoredFields {
    /// Logs a name the first time, and returns its metrics label.
    pub fn label<'n>(&self, name: &'n str) -> &'n str {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if names.contains(name) {
            return name;
        }
        if names.len() == MAX_NAMES {
            return OTHER;
        }
        names.insert(name.to_owned());
        tracing::warn!(field = name, "ignored an unsupported request field; logged once per field");
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_bounded() {
        let ignored = IgnoredFields::default();
        for index in 0..MAX_NAMES {
            let name = format!("field{index}");
            assert_eq!(ignored.label(&name), name);
        }
        assert_eq!(ignored.label("further"), OTHER);
        assert_eq!(ignored.label("field7"), "field7");
    }
}
