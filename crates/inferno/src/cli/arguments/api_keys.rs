//! Files with API keys.

use std::path::Path;

use crate::Error;
use crate::cli::input::read_file;

/// Returns the keys in a file, one per line. Empty lines and lines that start with # are ignored.
///
/// **Errors**: a file that cannot be read.
pub(crate) fn read_api_keys(path: &Path) -> Result<Vec<String>, Error> {
    Ok(keys_in(&read_file(path)?))
}

fn keys_in(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_one_key_per_line_and_comments() {
        assert_eq!(keys_in("# clients\n\n first \nsecond\r\n"), ["first", "second"]);
        assert!(keys_in("\n# nobody\n").is_empty());
    }
}
