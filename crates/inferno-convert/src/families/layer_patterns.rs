//! Which layers have a sliding window or rotary embedding, compared with what runtimes assume of an architecture.

use crate::ConvertError;
use crate::config::{Config, invalid};
use crate::keys::Keys;

/// The metadata key for the layers with a window.
const WINDOWS: &str = "attention.sliding_window_pattern";

/// Sets which layers have a window, unless all but every `period`-th have one, as runtimes assume. The configuration has a
/// list, or a period of its own under `period_key`.
pub(super) fn set_windows(
    config: &Config,
    keys: &mut Keys,
    period_key: &str,
    period: usize,
) -> Result<(), ConvertError> {
    let windows = match config.layers_of_type(&["sliding_attention"])? {
        Some(windows) => windows,
        None => config.all_but_every(config.count_or(&[period_key], period)?)?,
    };
    set_unless_periodic(config, keys, windows, period)
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
