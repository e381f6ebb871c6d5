//! How a model of embeddings combines the hidden states of a text (`modules.json` of sentence-transformers).

use serde_json::{Map, Value};

use crate::config::invalid;
use crate::family::Context;
use crate::keys::Keys;
use crate::{ConvertError, dense, json};

/// The kinds of pooling that GGUF files can have, by their name, with their number in metadata.
const KINDS: [(&str, u32); 3] = [("mean", 1), ("cls", 2), ("lasttoken", 3)];

/// The names of all kinds by their keys in older files of the module.
const FLAGS: [(&str, &str); 6] = [
    ("pooling_mode_cls_token", "cls"),
    ("pooling_mode_max_tokens", "max"),
    ("pooling_mode_mean_tokens", "mean"),
    ("pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens"),
    ("pooling_mode_weightedmean_tokens", "weightedmean"),
    ("pooling_mode_lasttoken", "lasttoken"),
];

/// Sets the kind of pooling before a classifier, if the configuration has one.
pub(crate) fn classifier(context: &Context<'_>, keys: &mut Keys) -> Result<(), ConvertError> {
    const CLASSIFIER: &str = "classifier_pooling";
    if let Some(name) = context.config.text(CLASSIFIER)? {
        let known = KINDS[..2].iter().find(|(known, _)| *known == name);
        let (_, kind) = known.ok_or_else(|| invalid(CLASSIFIER, "cls or mean", name))?;
        keys.set("classifier.pooling_type", *kind);
    }
    Ok(())
}

/// Sets the kind of pooling of embeddings, if the folder describes one.
///
/// **Errors**: several kinds, whose results would be concatenated, or one that GGUF files cannot have.
pub(crate) fn embeddings(context: &Context<'_>, keys: &mut Keys) -> Result<(), ConvertError> {
    let Some(folder) = dense::module_folders(context.folder, ".Pooling")?.into_iter().next() else {
        return Ok(());
    };
    let path = folder.join("config.json");
    let Some(pooling) = json::read_object(&path)? else {
        return Err(ConvertError::invalid(path, "missing, although modules.json refers to it"));
    };
    let modes = modes(&pooling);
    let kind = match &modes[..] {
        [mode] => KINDS.iter().find(|(name, _)| name == mode),
        _ => None,
    };
    let (_, kind) = kind.ok_or_else(|| {
        let found = modes.join(" and ");
        let reason = format!("pooling_mode: expected mean, cls or lasttoken, found {found}");
        ConvertError::invalid(path, reason)
    })?;
    keys.set("pooling_type", *kind);
    Ok(())
}

/// The names of all kinds that are set; without any, sentence-transformers uses the mean.
fn modes(pooling: &Map<String, Value>) -> Vec<&str> {
    let is_set = |key: &str| pooling.get(key).and_then(Value::as_bool).unwrap_or(false);
    let modes: Vec<&str> = match pooling.get("pooling_mode") {
        Some(Value::String(mode)) => vec![mode],
        Some(Value::Array(modes)) => {
            modes.iter().map(|mode| mode.as_str().unwrap_or("another kind")).collect()
        }
        _ => FLAGS.iter().filter(|(key, _)| is_set(key)).map(|(_, mode)| *mode).collect(),
    };
    if modes.is_empty() { vec!["mean"] } else { modes }
}
