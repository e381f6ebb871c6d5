//! How a model of embeddings combines the hidden states of a text (`modules.json` of sentence-transformers).

use serde_json::Value;

use crate::config::invalid;
use crate::family::Context;
use crate::keys::Keys;
use crate::{ConvertError, dense, json};

/// The kinds of pooling: their keys in the file of the module, their names, and their numbers in metadata.
const KINDS: [(&str, &str, u32); 3] = [
    ("pooling_mode_mean_tokens", "mean", 1),
    ("pooling_mode_cls_token", "cls", 2),
    ("pooling_mode_lasttoken", "lasttoken", 3),
];

/// Sets the kinds of pooling that the folder describes: of embeddings, and before a classifier.
pub(crate) fn keys(context: &Context<'_>, keys: &mut Keys) -> Result<(), ConvertError> {
    const CLASSIFIER: &str = "classifier_pooling";
    if let Some(name) = context.config.text(CLASSIFIER)? {
        let known = KINDS[..2].iter().find(|(_, known, _)| *known == name);
        let (.., kind) = known.ok_or_else(|| invalid(CLASSIFIER, "cls or mean", name))?;
        keys.set("classifier.pooling_type", *kind);
    }
    embeddings(context, keys)
}

/// Sets the kind of pooling of embeddings, if the folder describes one.
pub(crate) fn embeddings(context: &Context<'_>, keys: &mut Keys) -> Result<(), ConvertError> {
    let Some(folder) = dense::module_folders(context.folder, "Pooling")?.into_iter().next() else {
        return Ok(());
    };
    let path = folder.join("config.json");
    let Some(pooling) = json::read_object(&path)? else {
        return Err(ConvertError::invalid(path, "missing, although modules.json refers to it"));
    };
    let is_set = |key: &str| pooling.get(key).and_then(Value::as_bool).unwrap_or(false);
    let mode = pooling.get("pooling_mode").and_then(Value::as_str);
    let found = KINDS.iter().find(|(key, ..)| is_set(key));
    match found.or_else(|| KINDS.iter().find(|(_, name, _)| mode == Some(name))) {
        Some((.., kind)) => {
            keys.set("pooling_type", *kind);
            Ok(())
        }
        None => Err(invalid("pooling_mode", "mean, cls or lasttoken", "another kind")),
    }
}
