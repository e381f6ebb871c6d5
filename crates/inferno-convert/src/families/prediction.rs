//! Layers that predict further tokens (MTP), which follow the others in GGUF files.

use crate::config::Config;
use crate::family::{Context, Rule, skip};
use crate::keys::Keys;
use crate::{ConvertError, names};

/// Number of these layers, as the configuration states it.
pub(super) fn stated(config: &Config) -> Result<usize, ConvertError> {
    config.count_or(&["num_nextn_predict_layers"], 0)
}

/// Number of these layers that the files have: transformers leaves them out of a model that it saves.
pub(super) fn layers_in_files(context: &Context<'_>) -> Result<usize, ConvertError> {
    let first = context.config.num_layers()?;
    let exists = |layer: &usize| {
        let prefix = format!("model.layers.{layer}.");
        let mut tensors = context.sources.tensors();
        tensors.any(|(_, tensor)| names::canonical(&tensor.name).starts_with(&prefix))
    };
    Ok((first..first + stated(context.config)?).take_while(exists).count())
}

/// Sets the number of these layers, if there are any.
pub(super) fn state(keys: &mut Keys, layers: usize) {
    if layers > 0 {
        keys.count("nextn_predict_layers", layers);
    }
}

/// A name for tensors of these layers that are not converted.
pub(super) const LEFT_OUT: &str = "left_out";

/// Skips [`LEFT_OUT`].
pub(super) const LEFT_OUT_RULES: &[Rule] = &[skip(LEFT_OUT)];

/// Replaces the names `mtp.…` by [`LEFT_OUT`].
pub(super) fn leave_out(name: String) -> String {
    if name.contains("mtp.") { LEFT_OUT.to_owned() } else { name }
}

/// Replaces the names `mtp.…` by those of layers after the last one.
pub(super) fn names(config: &Config, name: String) -> Result<String, ConvertError> {
    let Some(rest) = name.strip_prefix("model.").unwrap_or(&name).strip_prefix("mtp.") else {
        return Ok(name);
    };
    let first = config.num_layers()?;
    if let Some((number, own)) = rest.strip_prefix("layers.").and_then(|rest| rest.split_once('.'))
    {
        let number: usize = number.parse().unwrap_or(0);
        return Ok(format!("model.layers.{}.{own}", first.saturating_add(number)));
    }
    let names = [
        ("fc.", "eh_proj."),
        ("pre_fc_norm_embedding.", "enorm."),
        ("pre_fc_norm_hidden.", "hnorm."),
        ("norm.", "shared_head.norm."),
    ];
    let renamed = names.iter().find_map(|(from, to)| {
        let ending = rest.strip_prefix(from)?;
        Some(format!("model.layers.{first}.{to}{ending}"))
    });
    Ok(renamed.unwrap_or(name))
}
