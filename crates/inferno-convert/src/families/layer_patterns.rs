//! Which layers have a sliding window or rotary embedding, compared with what runtimes assume of an architecture.

use crate::ConvertError;
use crate::config::{Config, invalid};
use crate::keys::Keys;

/// The metadata key for the layers with a window.
pub(super) const WINDOWS: &str = "attention.sliding_window_pattern";

/// Sets which layers have a window, unless all but every `period`-th have one, as runtimes assume. The configuration has a
/// list, or a period of its own under `period_key`.
pub(super) fn set_windows(
    config: &Config,
    keys: &mut Keys,
    period_key: &str,
    period: usize,
) -> Result<(), ConvertError> {
    match windowed_layers(config, Some(period_key))? {
        Some(windows) => set_unless_periodic(config, keys, windows, period),
        None => Ok(()),
    }
}

/// Sets the length of the window and which layers have it, if the configuration has a length. The layers are listed, or have a
/// period under `period_key`; otherwise, they are all but every `period`-th, or all if there is none.
pub(super) fn state_windows(
    config: &Config,
    keys: &mut Keys,
    period_key: Option<&str>,
    period: Option<usize>,
) -> Result<(), ConvertError> {
    let Some(len) = config.optional_count(&["sliding_window"])? else { return Ok(()) };
    keys.set("attention.sliding_window", len);
    let usual = period.map(|period| config.all_but_every(period)).transpose()?;
    if let Some(windows) = windowed_layers(config, period_key)?.or(usual) {
        keys.set(WINDOWS, windows);
    }
    Ok(())
}

/// The layers with a window, by a list, or by a period under `period_key`: its length, or a letter for each of its layers.
fn windowed_layers(
    config: &Config,
    period_key: Option<&str>,
) -> Result<Option<Vec<bool>>, ConvertError> {
    if let Some(windows) = config.layers_of_type(&["sliding_attention"])? {
        return Ok(Some(windows));
    }
    let Some((key, period)) = period_key.and_then(|key| Some((key, config.get(key)?))) else {
        return Ok(None);
    };
    match period.as_str().map(str::as_bytes) {
        Some(letters) if !letters.is_empty() => {
            let layers = 0..config.num_layers()?;
            Ok(Some(layers.map(|layer| letters[layer % letters.len()] == b'L').collect()))
        }
        _ => config.all_but_every(config.count(&[key])?).map(Some),
    }
}

/// Sets which layers have a window, unless these are all but every `period`-th.
pub(super) fn set_unless_periodic(
    config: &Config,
    keys: &mut Keys,
    windows: Vec<bool>,
    period: usize,
) -> Result<(), ConvertError> {
    if windows != config.all_but_every(period)? {
        keys.set(WINDOWS, windows);
    }
    Ok(())
}

/// Which layers have rotary embedding in models in which every n-th layer has none.
///
/// **Source**: `SmolLM3Config` and `Llama4TextConfig` of transformers.
pub(super) fn rotated_layers(config: &Config) -> Result<Vec<bool>, ConvertError> {
    // Despite its name, 1 in the list stands for rotary embedding.
    let listed = config.floats(ROTATED)?.filter(|listed| !listed.is_empty());
    match listed {
        Some(listed) => Ok(listed.into_iter().map(|is_rotated| is_rotated != 0.0).collect()),
        None => config.all_but_every(config.count_or(&["no_rope_layer_interval"], 4)?),
    }
}

/// The key of the list of layers with rotary embedding.
const ROTATED: &str = "no_rope_layers";

/// Fails unless exactly the layers of `expected` have rotary embedding.
pub(super) fn expect_rotated(config: &Config, expected: &[bool]) -> Result<(), ConvertError> {
    let found = rotated_layers(config)?;
    match (0..).zip(found.iter().zip(expected)).find(|(_, (found, expected))| found != expected) {
        None if found.len() >= expected.len() => Ok(()),
        None => Err(invalid(
            ROTATED,
            &format!("a number for each of {} layers", expected.len()),
            found.len(),
        )),
        Some((layer, (found, expected))) => {
            let number = u8::from(*found);
            let expected = format!("{} for layer {layer}, counted from 0", u8::from(*expected));
            Err(invalid(&format!("{ROTATED}\" or \"no_rope_layer_interval"), &expected, number))
        }
    }
}
