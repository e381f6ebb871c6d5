//! Output heads that are the embeddings, which some files have nevertheless.

use crate::ConvertError;
use crate::config::Config;
use crate::family::{Rule, skip};

/// The name of a head that is not used, without `.weight`.
pub(super) const TIED_HEAD: &str = "tied_head";

/// Skips [`TIED_HEAD`].
pub(super) const RULES: &[Rule] = &[skip(TIED_HEAD)];

/// Renames the head if the configuration says that it is the embeddings.
pub(super) fn rename(config: &Config, name: String) -> Result<String, ConvertError> {
    match name == "lm_head.weight" && config.is_set("tie_word_embeddings")? {
        true => Ok(format!("{TIED_HEAD}.weight")),
        false => Ok(name),
    }
}
