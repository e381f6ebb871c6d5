//! The sliding windows of a model's layers.

use std::ops::RangeInclusive;

use inferno_backend::AttentionWindow;

use crate::ModelError;
use crate::arch::attention_facts::{AttentionFacts, WindowLength, Windows};
use crate::keys::{ArchitectureKeys, WINDOW_PATTERN};

/// The sliding window, and the layers that have it.
pub(super) struct LayerWindows {
    pub(super) window: AttentionWindow,
    layers: WindowedLayers,
}

/// Which layers have a window.
enum WindowedLayers {
    All,
    /// Those that the file lists.
    Listed(Vec<bool>),
    /// All but the last of each period of this length.
    AllButLast(usize),
    /// All but the first of each period of this length.
    AllButFirst(usize),
}

impl LayerWindows {
    /// Reads the windows of a model with `num_layers` layers, if it has any. `list_lens` are the possible lengths of lists
    /// with one value per layer.
    pub(super) fn from_keys(
        keys: &ArchitectureKeys<'_>,
        facts: &AttentionFacts,
        num_layers: usize,
        list_lens: &RangeInclusive<usize>,
    ) -> Result<Option<Self>, ModelError> {
        let Some(window) = window(keys, facts, num_layers)? else {
            keys.mark_read(WINDOW_PATTERN);
            return Ok(None);
        };
        let layers = windowed_layers(keys, facts.windows, list_lens)?;
        Ok(Some(Self { window, layers }))
    }

    /// Whether layer `layer` has the window.
    pub(super) fn contains(&self, layer: usize) -> bool {
        match &self.layers {
            WindowedLayers::All => true,
            WindowedLayers::Listed(list) => list[layer],
            WindowedLayers::AllButLast(period) => !(layer + 1).is_multiple_of(*period),
            WindowedLayers::AllButFirst(period) => !layer.is_multiple_of(*period),
        }
    }
}

fn window(
    keys: &ArchitectureKeys<'_>,
    facts: &AttentionFacts,
    num_layers: usize,
) -> Result<Option<AttentionWindow>, ModelError> {
    const KEY: &str = "attention.sliding_window";
    let default = match facts.window_len {
        WindowLength::Required => keys.positive(KEY)?,
        WindowLength::Default(len) => len,
        WindowLength::DefaultOfLayers { num_layers: of, len } if of == num_layers => len,
        WindowLength::DefaultOfLayers { .. } | WindowLength::Optional => 0,
    };
    let len = keys.optional(KEY)?.unwrap_or(default);
    if len == 0 {
        return Ok(None);
    }
    match facts.windows {
        Windows::Chunked(_) => Ok(Some(AttentionWindow::Chunked(len))),
        // Longer windows have no effect.
        Windows::All | Windows::AllByDefault if len >= keys.positive("context_length")? => Ok(None),
        _ => Ok(Some(AttentionWindow::Sliding(len))),
    }
}

fn windowed_layers(
    keys: &ArchitectureKeys<'_>,
    windows: Windows,
    list_lens: &RangeInclusive<usize>,
) -> Result<WindowedLayers, ModelError> {
    if windows != Windows::All
        && keys.is_list(WINDOW_PATTERN)
        && let Some(list) = keys.booleans(WINDOW_PATTERN, list_lens)?
    {
        return Ok(WindowedLayers::Listed(list));
    }
    let (default, layers): (_, fn(usize) -> WindowedLayers) = match windows {
        Windows::All => return Ok(WindowedLayers::All),
        Windows::AllByDefault if !keys.contains(WINDOW_PATTERN) => return Ok(WindowedLayers::All),
        Windows::AllByDefault => (None, WindowedLayers::AllButLast),
        Windows::Periodic(period) | Windows::Chunked(period) => {
            (Some(period), WindowedLayers::AllButLast)
        }
        Windows::PeriodicAfterFirst(period) => (Some(period), WindowedLayers::AllButFirst),
        Windows::ByKey => {
            let found = if keys.contains(WINDOW_PATTERN) { "one value" } else { "none" };
            return Err(keys.invalid(WINDOW_PATTERN, "a boolean for each layer", found));
        }
    };
    // Some files have the length of the period instead.
    let period = match default {
        Some(default) => keys.positive_or(WINDOW_PATTERN, default)?,
        None => keys.positive(WINDOW_PATTERN)?,
    };
    Ok(layers(period))
}
