//! Gemma 1 to 4, Gemma 3n and VaultGemma. Converters add one to the weights of the norms of Gemma 1 to 3 and VaultGemma.
//!
//! **Source**: Gemma Team, Gemma 2: Improving Open Language Models at a Practical Size and Gemma 3 Technical Report,
//! section 2; Gemma Team, Gemma 3n and Gemma 4 model cards; Sinha et al., VaultGemma, section 3.

use inferno_backend::{Function, Gate};

use super::architecture::{
    Activation, Architecture, BASE, EmbeddingScale, ExpertFacts, NormNames, Softcap,
};
use super::attention_facts::{AttentionFacts, QkNormKind, WindowLength, WindowedRotary, Windows};

pub(super) const GEMMA: Architecture = Architecture {
    name: "gemma",
    activation: Activation::Gated(Gate::Product(Function::GeluTanh)),
    embedding_scale: EmbeddingScale::Root,
    ..BASE
};

/// Norms of outputs, bounded scores and logits, a window in every other layer.
pub(super) const GEMMA2: Architecture = Architecture {
    name: "gemma2",
    has_multipliers: true,
    norms: NormNames::SANDWICH,
    attention: AttentionFacts {
        windows: Windows::Periodic(2),
        window_len: WindowLength::Default(4096),
        hidden_scale_layers: 46,
        ..GEMMA.attention
    },
    score_softcap: Softcap::Default(50.0),
    logit_softcap: Softcap::Default(30.0),
    ..GEMMA
};

/// Gemma 2 without norms of outputs. llama.cpp has no such models.
pub(super) const VAULT_GEMMA: Architecture = Architecture {
    name: "vaultgemma",
    norms: NormNames::PRE,
    attention: AttentionFacts { hidden_scale_layers: 0, ..GEMMA2.attention },
    ..GEMMA2
};

/// Norms of heads instead of bounds; a window and another rotary base in five of six layers, unless the file sets no window,
/// as that of Rnj 1.
pub(super) const GEMMA3: Architecture = Architecture {
    name: "gemma3",
    has_multipliers: true,
    norms: NormNames::SANDWICH,
    attention: AttentionFacts {
        qk_norm: QkNormKind::PerHead,
        windows: Windows::Periodic(6),
        windowed_rotary: Some(WindowedRotary { default_base: Some(10_000.0) }),
        hidden_scale_layers: 62,
        ..GEMMA.attention
    },
    logit_softcap: Softcap::ByKey,
    ..GEMMA
};

/// Wider heads in layers without a window; normalized values, which may be the keys; the small models have layers that
/// read the cache of others and embeddings in each layer, one model has experts next to dense blocks.
pub(super) const GEMMA4: Architecture = Architecture {
    name: "gemma4",
    attention: AttentionFacts {
        windows: Windows::ByKey,
        window_len: WindowLength::Required,
        normalizes_values: true,
        keys_as_values: true,
        shares_kv: true,
        has_unit_scale: true,
        hidden_scale_layers: 0,
        ..GEMMA3.attention
    },
    experts: ExpertFacts { beside_dense: true, ..BASE.experts },
    has_layer_embeddings: true,
    ..GEMMA3
};

/// Several residual streams of which each layer computes one, sparse activations, and layers that read the cache of
/// others.
pub(super) const GEMMA3N: Architecture = Architecture {
    name: "gemma3n",
    attention: AttentionFacts {
        windows: Windows::Periodic(5),
        window_len: WindowLength::Required,
        normalizes_values: true,
        shares_kv: true,
        has_unit_scale: true,
        hidden_scale_layers: 0,
        ..GEMMA3.attention
    },
    logit_softcap: Softcap::Default(30.0),
    has_layer_embeddings: true,
    has_streams: true,
    ..GEMMA3
};
