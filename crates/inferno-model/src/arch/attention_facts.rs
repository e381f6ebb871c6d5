//! The facts of attention in which architectures differ and that files do not contain.

use inferno_backend::RopePairing;

use crate::spec::tensors::Presence;

/// Facts of attention.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AttentionFacts {
    pub(crate) pairing: RopePairing,
    /// Whether halves are paired if the file divides the rotated components into sections, for several kinds of positions:
    /// converters permute the rows of queries and keys for it. The positions of text are equal.
    pub(crate) pairs_halves_in_sections: bool,
    /// The biases of query, key and value.
    pub(crate) bias: Presence,
    /// Whether rows of a fused projection are the query, key and value of one head after those of another, instead of all
    /// queries, all keys and all values.
    pub(crate) fuses_by_head: bool,
    pub(crate) qk_norm: QkNormKind,
    /// Layers with the sliding window, if there is one.
    pub(crate) windows: Windows,
    /// The length of the window if the file does not set it.
    pub(crate) window_len: WindowLength,
    /// Layers without rotary embedding.
    pub(crate) unrotated: Unrotated,
    /// Rotary embedding of layers with a window, if it is not that of the others.
    pub(crate) windowed_rotary: Option<WindowedRotary>,
    /// Whether there is a score for each head of a position without a value.
    pub(crate) has_sinks: bool,
    pub(crate) gate: OutputGate,
    /// Factors on queries that grow with their position.
    pub(crate) temperature: Temperature,
    /// Whether values are normalized, without a weight.
    pub(crate) normalizes_values: bool,
    /// Whether the key projection is used as the value projection of layers without one.
    pub(crate) keys_as_values: bool,
    /// Whether the last layers read the cache of others, if the file sets their number.
    pub(crate) shares_kv: bool,
    /// Whether keys and values are cached as a latent vector.
    pub(crate) is_latent: bool,
    /// The largest factor on distances, whose product lowers the scores; the factors of heads are powers of its root.
    pub(crate) max_distance_bias: Option<f32>,
    /// Whether scores are not scaled.
    pub(crate) has_unit_scale: bool,
    /// The number of layers of the variant whose scale is that of `embedding_length / head_count` components.
    pub(crate) hidden_scale_layers: usize,
    /// The head size of models in which the ends of YaRN's ramp are not rounded, unless the file sets
    /// `rope.scaling.yarn_truncate`.
    pub(crate) unrounded_ramp_dim: Option<usize>,
}

impl AttentionFacts {
    /// Rotary attention over everything.
    pub(crate) const BASE: Self = Self {
        pairing: RopePairing::Halves,
        pairs_halves_in_sections: false,
        bias: Presence::Optional,
        fuses_by_head: false,
        qk_norm: QkNormKind::None,
        windows: Windows::All,
        window_len: WindowLength::Optional,
        unrotated: Unrotated::None,
        windowed_rotary: None,
        has_sinks: false,
        gate: OutputGate::None,
        temperature: Temperature::None,
        normalizes_values: false,
        keys_as_values: false,
        shares_kv: false,
        is_latent: false,
        max_distance_bias: None,
        has_unit_scale: false,
        hidden_scale_layers: 0,
        unrounded_ramp_dim: None,
    };
}

/// Norms of query and key heads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QkNormKind {
    None,
    /// Each head, with a weight for all of them.
    PerHead,
    /// Each head after rotation, with a weight for all of them.
    PerHeadAfterRotation,
    /// All heads as one row.
    Whole,
    /// Each head with its own weight, if the file has them, by a norm of the architecture's kind.
    OwnWeights,
    /// `PerHead` if the file has the weights.
    PerHeadIfPresent,
    /// All queries as one row and all keys as another, by norms of the architecture's kind with biases, if the file has
    /// them.
    WholeIfPresent,
    /// Each rotated head after rotation, without a weight.
    Unweighted {
        /// Number of experts of the variant without norms.
        except_experts: usize,
    },
}

/// Factors on queries that grow with their position.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Temperature {
    None,
    /// As the key `attention.temperature_scale` sets; `yarn_log_multiplier` is read as well.
    ByKey {
        /// Whether the key `attention.temperature_length` replaces the original context length.
        has_length: bool,
    },
    /// On the queries of layers without rotary embedding: 1, plus `scale` times the logarithm of the number of
    /// stretches of `context_length` positions that were begun.
    Unrotated {
        scale: f32,
        context_length: usize,
    },
}

/// The length of the sliding window if the file does not set it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WindowLength {
    /// There is no window.
    Optional,
    /// The file is invalid: all models of the architecture have a window.
    Required,
    /// This number of positions. A file that sets 0 has no window.
    Default(usize),
    /// There is no window, except in models with this number of layers.
    DefaultOfLayers { num_layers: usize, len: usize },
}

/// Which layers have the sliding window that the metadata set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Windows {
    /// All of them.
    All,
    /// All but the last of each period of this length, unless the file has a pattern.
    Periodic(usize),
    /// All but the first of each period of this length, unless the file has a pattern.
    PeriodicAfterFirst(usize),
    /// The layers that the file's pattern lists.
    ByKey,
    /// All but the last of each period of this length, in chunks, unless the file has a pattern.
    Chunked(usize),
}

/// A product whose sigmoid the output of the heads is multiplied by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputGate {
    None,
    /// That of the tensor `attn_gate`.
    Own,
    /// That of half of the rows of the query projection: each head's queries, then its gates.
    WithQueries,
}

/// Which layers have no rotary embedding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unrotated {
    None,
    All,
    /// All of them if the key `rope.scaling.finetuned` is false.
    ByKey,
    /// The last of each period of this length.
    Periodic(usize),
    /// Those without a window, if others have one.
    Unwindowed,
}

/// The rotary embedding of layers with a window: unscaled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct WindowedRotary {
    /// The base if `rope.freq_base_swa` is absent; `None` for that of the other layers.
    pub(crate) default_base: Option<f32>,
}
