//! Encoders: BERT and its successors, which attend in both directions. Files of RoBERTa and XLM-RoBERTa have the
//! architecture `bert`, without the rows of position embeddings that these models do not use.
//!
//! **Source**: Devlin et al., BERT, section 3; Song et al., MPNet, section 2; Zhang et al., mGTE, section 2; Nussbaum et al., Nomic Embed, section 3; Nussbaum and Duderstadt, Training
//! Sparse Mixture of Experts Text Embedding Models, section 3; Günther et al., Jina Embeddings 2, section 3; Sturua et al.,
//! jina-embeddings-v3, section 3; Warner et al., Smarter, Better, Faster, Longer (ModernBERT), section 2; Le Breton et al.,
//! NeoBERT, section 3; Boizard et al., EuroBERT, section 2; Babakhin et al., Llama-Embed-Nemotron-8B, section 2; Vera et al.,
//! EmbeddingGemma, section 2.

use inferno_backend::{Function, Gate, RopePairing};

use super::architecture::{
    Activation, Architecture, BASE, ClassifierActivation, ClassifierFacts, ClassifierPooling,
    ExpertFacts, LAYER_NORMS, NormNames,
};
use super::attention_facts::{
    AttentionFacts, DistanceBias, QkNormKind, Unrotated, WindowLength, WindowedRotary, Windows,
};
use super::gemma::GEMMA3;
use super::llama::LLAMA;
use crate::spec::tensors::Presence;

/// Embeddings of positions instead of rotary embedding, norms of sums.
pub(super) const BERT: Architecture = Architecture {
    name: "bert",
    is_causal: false,
    norms: NormNames::SUMS,
    attention: AttentionFacts { unrotated: Unrotated::All, ..BASE.attention },
    activation: Activation::Plain(Function::Gelu),
    position_embeddings: Some(Presence::Required),
    has_embedding_norm: true,
    output_norm: None,
    ..LAYER_NORMS
};

/// What distances add to scores is in a table, which all layers share. llama.cpp has no such models; the name and the tensors are
/// those of [`BERT`] and of its T5.
pub(super) const MPNET: Architecture = Architecture {
    name: "mpnet",
    attention: AttentionFacts { distance_bias: DistanceBias::Buckets, ..BERT.attention },
    ..BERT
};

/// Rotary embedding, a feed-forward block with a gate.
pub(super) const NOMIC_BERT: Architecture = Architecture {
    name: "nomic-bert",
    attention: BASE.attention,
    activation: BASE.activation,
    position_embeddings: None,
    ..BERT
};

/// GTE 1.5 and later: another gate. llama.cpp has no such models; the tensors are those of [`NOMIC_BERT`].
pub(super) const GTE: Architecture = Architecture {
    name: "gte",
    activation: Activation::Gated(Gate::Product(Function::Gelu)),
    ..NOMIC_BERT
};

/// Experts in some layers.
pub(super) const NOMIC_BERT_MOE: Architecture = Architecture {
    name: "nomic-bert-moe",
    activation: BERT.activation,
    experts: ExpertFacts { by_router: true, normalize: false, ..BASE.experts },
    ..NOMIC_BERT
};

/// Distances lower the scores. The model for code normalizes queries and keys.
pub(super) const JINA_BERT_V2: Architecture = Architecture {
    name: "jina-bert-v2",
    attention: AttentionFacts {
        distance_bias: DistanceBias::Max(8.0),
        qk_norm: QkNormKind::WholeIfPresent,
        ..BERT.attention
    },
    activation: Activation::GatedIfPresent(Function::Gelu),
    position_embeddings: None,
    ..BERT
};

/// XLM-RoBERTa with rotary embedding.
pub(super) const JINA_BERT_V3: Architecture =
    Architecture { name: "jina-bert-v3", activation: BERT.activation, ..NOMIC_BERT };

/// Norms of inputs except the first; a window and another rotary base in two of three layers.
pub(super) const MODERN_BERT: Architecture = Architecture {
    name: "modern-bert",
    is_causal: false,
    norms: NormNames { first_is_optional: true, ..NormNames::PRE },
    attention: AttentionFacts {
        windows: Windows::PeriodicAfterFirst(3),
        windowed_rotary: Some(WindowedRotary { default_base: None }),
        ..BASE.attention
    },
    activation: Activation::GatedByKey { default: Function::Gelu },
    has_embedding_norm: true,
    classifier: ClassifierFacts {
        activation: ClassifierActivation::Gelu,
        pooling: ClassifierPooling::Mean,
        ..BASE.classifier
    },
    ..LAYER_NORMS
};

/// A decoder's layers without a causal mask. The converter of llama.cpp leaves the rows of heads in the order of the model,
/// which llama.cpp itself reads as another one.
pub(super) const NEO_BERT: Architecture = Architecture {
    name: "neo-bert",
    is_causal: false,
    attention: AttentionFacts {
        pairing: RopePairing::Interleaved,
        fuses_by_head: true,
        ..BASE.attention
    },
    output_norm: Some("enc.output_norm"),
    ..BASE
};

/// As [`NEO_BERT`], with another order of rotated components.
pub(super) const EUROBERT: Architecture =
    Architecture { name: "eurobert", is_causal: false, ..BASE };

/// Llama without a causal mask.
pub(super) const LLAMA_EMBED: Architecture =
    Architecture { name: "llama-embed", is_causal: false, ..LLAMA };

/// Gemma 3 without a causal mask.
pub(super) const GEMMA_EMBEDDING: Architecture = Architecture {
    name: "gemma-embedding",
    is_causal: false,
    attention: AttentionFacts { window_len: WindowLength::Required, ..GEMMA3.attention },
    ..GEMMA3
};
