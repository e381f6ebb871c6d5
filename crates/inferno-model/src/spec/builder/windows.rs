//! The sliding windows of a model's layers.

use std::ops::RangeInclusive;

use inferno_backend::AttentionWindow;

use crate::ModelError;
use crate::arch::architecture::{AttentionFacts, WindowLength, Windows};
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
    /// Reads the windows of a model, if it has any. `list_lens` are the possible lengths of lists with one value per layer.
    pub(super) fn from_keys(
        keys: &ArchitectureKeys<'_>,
        facts: &AttentionFacts,
        list_lens: &RangeInclusive<usize>,
    ) -> Result<Option<Self>, ModelError> {
        let Some(window) = window(keys, facts)? else {
            keys.mark_read(WINDOW_PATTERN);
            return Ok(None);
        };
        let layers = match facts.windows {
            Windows::All => WindowedLayers::All,
            windows => windowed_layers(keys, windows, list_lens)?,
        };
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
) -> Result<Option<AttentionWindow>, ModelError> {
    const KEY: &str = "attention.sliding_window";
    let len = match facts.window_len {
        WindowLength::Optional => keys.optional(KEY)?.unwrap_or(0),
        WindowLength::Required => keys.positive(KEY)?,
        WindowLength::Default(default) => keys.optional(KEY)?.unwrap_or(default),
    };
    if len == 0 {
        return Ok(None);
    }
    match facts.windows {
        Windows::Chunked(_) => Ok(Some(AttentionWindow::Chunked(len))),
        // Longer windows have no effect.
        Windows::All if len >= keys.positive("context_length")? => Ok(None),
        _ => Ok(Some(AttentionWindow::Sliding(len))),
    }
}

fn windowed_layers(
    keys: &ArchitectureKeys<'_>,
    windows: Windows,
    list_lens: &RangeInclusive<usize>,
) -> Result<WindowedLayers, ModelError> {
    if keys.is_list(WINDOW_PATTERN) {
        let list = keys.list(WINDOW_PATTERN, list_lens)?;
        return Ok(list.map_or(WindowedLayers::All, WindowedLayers::Listed));
    }
    // Some files have the length of the period instead.
    let period = |default| keys.positive_or(WINDOW_PATTERN, default);
    match windows {
        Windows::Periodic(default) | Windows::Chunked(default) => {
            period(default).map(WindowedLayers::AllButLast)
        }
        Windows::PeriodicAfterFirst(default) => period(default).map(WindowedLayers::AllButFirst),
        Windows::All | Windows::ByKey if keys.contains(WINDOW_PATTERN) => {
            keys.positive(WINDOW_PATTERN).map(WindowedLayers::AllButLast)
        }
        Windows::All | Windows::ByKey => {
            Err(keys.invalid(WINDOW_PATTERN, "a boolean for each layer", "nothing"))
        }
    }
}
