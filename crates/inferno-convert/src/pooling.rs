//! How a model of embeddings combines the hidden states of a text (`modules.json` of sentence-transformers).

use serde_json::Value;

use crate::config::invalid;
use crate::family::Context;
use crate::keys::Keys;
use crate::{ConvertError, json};

/// Sets the kind of pooling, if the folder describes one.
pub(crate) fn keys(context: &Context<'_>, keys: &mut Keys) -> Result<(), ConvertError> {
    let Some(modules) = json::read(&context.folder.join("modules.json"))? else {
        return Ok(());
    };
    let modules = modules.as_array().map(Vec::as_slice).unwrap_or_default();
    let is_pooling =
        |module: &&Value| module["type"].as_str().is_some_and(|kind| kind.ends_with("Pooling"));
    let folder = modules.iter().find(is_pooling).and_then(|module| module["path"].as_str());
    let Some(folder) = folder.filter(|folder| !folder.contains("..") && !folder.starts_with('/'))
    else {
        return Ok(());
    };
    let path = context.folder.join(folder).join("config.json");
    let Some(pooling) = json::read_object(&path)? else {
        return Err(ConvertError::invalid(path, "missing, although modules.json refers to it"));
    };
    let is_set = |key: &str| pooling.get(key).and_then(Value::as_bool).unwrap_or(false);
    let kinds = [
        ("pooling_mode_mean_tokens", "mean", 1_u32),
        ("pooling_mode_cls_token", "cls", 2),
        ("pooling_mode_lasttoken", "lasttoken", 3),
    ];
    let mode = pooling.get("pooling_mode").and_then(Value::as_str);
    let found = kinds.iter().find(|(key, ..)| is_set(key));
    match found.or_else(|| kinds.iter().find(|(_, name, _)| mode == Some(name))) {
        Some((.., kind)) => {
            keys.set("pooling_type", *kind);
            Ok(())
        }
        None => Err(invalid("pooling_mode", "mean, cls or lasttoken", "another kind")),
    }
}
