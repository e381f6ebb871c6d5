//! The facts of attention in which architectures differ and that files do not contain.

use inferno_backend::{Function, RopePairing};

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
    /// Whether rotary embedding in layers without a window is that of half of the components of the others.
    pub(crate) halves_unwindowed: bool,
    /// The scores for each head of a position without a value.
    pub(crate) sinks: Option<Presence>,
    pub(crate) gate: OutputGate,
    /// The function of gates.
    pub(crate) gate_function: Function,
    /// Whether the size of value heads is that of the key `attention.value_length`.
    pub(crate) has_value_len: bool,
    /// Whether the key `attention.value_scale` is read, a factor on the output.
    pub(crate) has_value_scale: bool,
    /// Factors on queries that grow with their position.
    pub(crate) temperature: Temperature,
    /// Whether queries, keys and values are bounded, if the file sets a bound.
    pub(crate) has_bound: bool,
    /// Whether values are normalized, without a weight.
    pub(crate) normalizes_values: bool,
    /// Whether the key projection is used as the value projection of layers without one.
    pub(crate) keys_as_values: bool,
    /// Whether the last layers read the cache of others, if the file sets their number.
    pub(crate) shares_kv: bool,
    /// Whether keys and values are cached as a latent vector.
    pub(crate) is_latent: bool,
    /// What distances do to scores.
    pub(crate) distance_bias: DistanceBias,
    /// Whether scores are not scaled.
    pub(crate) has_unit_scale: bool,
    /// Whether scores are divided by the number of components of a head, instead of its root.
    pub(crate) is_scaled_by_size: bool,
    /// The number of layers of the variant whose scale is that of `embedding_length / head_count` components.
    pub(crate) hidden_scale_layers: usize,
    /// Whether the base of rotary embeddings is multiplied by a power of `rope.scaling.alpha`, if the file sets it.
    pub(crate) has_scaled_base: bool,
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
        halves_unwindowed: false,
        sinks: None,
        gate: OutputGate::None,
        gate_function: Function::Sigmoid,
        has_value_len: false,
        has_value_scale: false,
        temperature: Temperature::None,
        has_bound: false,
        normalizes_values: false,
        keys_as_values: false,
        shares_kv: false,
        is_latent: false,
        distance_bias: DistanceBias::None,
        has_unit_scale: false,
        is_scaled_by_size: false,
        hidden_scale_layers: 0,
        has_scaled_base: false,
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

/// What distances do to scores: their products with a factor lower them, of which this is the largest one; the factors of heads
/// are powers of its root.
///
/// **Source**: Press et al., Train Short, Test Long, section 3.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum DistanceBias {
    /// Distances have no effect.
    None,
    /// This factor.
    Max(f32),
    /// This factor in the variant with this number of layers.
    OfVariant { num_layers: usize, max: f32 },
    /// That of the key `attention.max_alibi_bias`, without which distances have no effect.
    ByKey,
    /// No factor: a table of the file contains what is added for ranges of distances.
    Buckets,
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
    /// All of them, unless the file has a pattern.
    AllByDefault,
    /// All but the last of each period of this length, unless the file has a pattern.
    Periodic(usize),
    /// All but the first of each period of this length, unless the file has a pattern.
    PeriodicAfterFirst(usize),
    /// The layers that the file's pattern lists.
    ByKey,
    /// All but the last of each period of this length, in chunks, unless the file has a pattern.
    Chunked(usize),
}

/// A product that the output of the heads is multiplied by, after a function of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputGate {
    None,
    /// That of the tensor `attn_gate`, with a row for each component or for each head.
    Own,
    /// `Own` in layers of which the file has the tensor.
    OwnIfPresent,
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
    /// Those that the key `attention.rope_pattern` lists as such.
    ByPattern,
    /// The last of each period of this length.
    Periodic(usize),
    /// Those without a window, if others have one.
    Unwindowed,
    /// All of them, in models whose scores are lowered by distances.
    WithDistanceBias,
    /// Those without a window that have experts.
    UnwindowedExperts,
}

/// The rotary embedding of layers with a window: unscaled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct WindowedRotary {
    /// The base if `rope.freq_base_swa` is absent; `None` for that of the other layers.
    pub(crate) default_base: Option<f32>,
}
