//! The numbers that describe a model, read from a file's metadata and checked against each other.

mod keys;

use inferno_backend::{ExpertParams, KvDType, KvLayout, QkvLayout};
use inferno_gguf::{Gguf, Metadata};

use crate::model::EMBEDDINGS;
use crate::rope::{RopeScaling, YarnParams};
use crate::{Architecture, ModelError, architecture};
use keys::Keys;

/// Epsilon where a file gives none: the value Llama 2 was trained with.
const DEFAULT_RMS_NORM_EPS: f32 = 1e-5;
/// Base of the rotary frequencies where a file gives none, from the RoFormer paper.
const DEFAULT_ROPE_FREQ_BASE: f32 = 10_000.0;

/// Hyperparameters of a decoder-only transformer.
#[derive(Debug, Clone)]
pub struct Config {
    /// What sets this architecture apart from the others.
    pub architecture: &'static Architecture,
    /// The model's own name, where the file gives one.
    pub name: Option<String>,
    /// Positions that the model was trained for.
    pub context_length: usize,
    /// Width of the residual stream.
    pub hidden_size: usize,
    /// Decoder layers.
    pub num_layers: usize,
    /// Rows of the embedding table.
    pub vocab_size: usize,
    /// Heads of a layer's attention.
    pub qkv: QkvLayout,
    /// Added to the mean square before its root is taken.
    pub rms_norm_eps: f32,
    /// Positions that a query sees, itself included; `None` means all before it.
    pub sliding_window: Option<usize>,
    /// Rotary embedding.
    pub rope: RopeConfig,
    /// What follows attention in each layer.
    pub feed_forward: FeedForwardConfig,
}

/// Rotary position embedding.
#[derive(Debug, Clone, PartialEq)]
pub struct RopeConfig {
    /// Components of a head that are turned.
    pub rotary_dim: usize,
    /// Base of the geometric series of frequencies.
    pub freq_base: f32,
    /// How frequencies are stretched for contexts longer than those of training.
    pub scaling: RopeScaling,
}

/// Width and kind of the feed-forward blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FeedForwardConfig {
    /// One gated block.
    Dense {
        /// Width between the projections.
        intermediate_size: usize,
    },
    /// Several gated blocks, of which each token uses a few.
    Experts {
        /// Width of one expert.
        intermediate_size: usize,
        /// How tokens choose.
        params: ExpertParams,
    },
}

impl Config {
    /// Reads the configuration of a checkpoint from its metadata and its embedding table.
    ///
    /// **Errors**: [`ModelError::UnknownArchitecture`]; missing or mistyped keys; values that
    /// contradict each other or are not supported; [`ModelError::NoWeights`], and an embedding
    /// table that is missing.
    pub fn from_checkpoint(checkpoint: &Gguf) -> Result<Self, ModelError> {
        // The table is a matrix of `vocab_size` rows; it is checked against that when it is loaded.
        let vocab_size =
            checkpoint.tensor(EMBEDDINGS).map(|table| table.dims().get(1).copied().unwrap_or(1));
        match Self::from_metadata(checkpoint.metadata(), vocab_size) {
            Err(ModelError::MissingTensor { .. }) if checkpoint.tensors().is_empty() => {
                Err(ModelError::NoWeights)
            }
            config => config,
        }
    }

    /// `vocab_size` is the number of rows of the embedding table, if there is one: files differ in
    /// whether and where they state it, but the table always knows.
    fn from_metadata(metadata: &Metadata, vocab_size: Option<usize>) -> Result<Self, ModelError> {
        let architecture = architecture(&metadata.required::<String>("general.architecture")?)?;
        let keys = Keys::new(architecture.name, metadata);
        keys.check_neutral()?;
        let hidden_size = keys.positive("embedding_length")?;
        let vocab_size = vocab_size.ok_or_else(|| keys.no_embeddings(hidden_size))?;
        let num_heads = keys.positive("attention.head_count")?;
        let num_kv_heads = keys.positive_or("attention.head_count_kv", num_heads)?;
        if num_heads % num_kv_heads != 0 {
            return Err(keys.invalid(
                "attention.head_count_kv",
                format!("a divisor of attention.head_count ({num_heads})"),
                num_kv_heads,
            ));
        }
        if keys.optional::<usize>("attention.key_length")?.is_none() && hidden_size % num_heads != 0
        {
            return Err(keys.invalid(
                "attention.head_count",
                format!("a divisor of embedding_length ({hidden_size}), or a key_length"),
                num_heads,
            ));
        }
        let head_dim = keys.positive_or("attention.key_length", hidden_size / num_heads)?;
        let value_length = keys.positive_or("attention.value_length", head_dim)?;
        if value_length != head_dim {
            let expected = format!("attention.key_length ({head_dim})");
            return Err(keys.invalid("attention.value_length", expected, value_length));
        }

        Ok(Self {
            architecture,
            name: metadata.optional("general.name")?,
            context_length: keys.positive("context_length")?,
            hidden_size,
            num_layers: keys.positive("block_count")?,
            vocab_size,
            qkv: QkvLayout { num_heads, num_kv_heads, head_dim },
            rms_norm_eps: keys
                .positive_float("attention.layer_norm_rms_epsilon", Some(DEFAULT_RMS_NORM_EPS))?,
            sliding_window: keys.optional("attention.sliding_window")?.filter(|&window| window > 0),
            rope: RopeConfig::from_keys(&keys, head_dim)?,
            feed_forward: FeedForwardConfig::from_keys(&keys)?,
        })
    }
}

impl Config {
    /// A cache layout for `num_tokens` positions of this model.
    pub fn kv_layout(&self, num_tokens: usize, dtype: KvDType) -> KvLayout {
        let block_tokens = KvLayout::DEFAULT_BLOCK_TOKENS;
        KvLayout {
            num_layers: self.num_layers,
            num_kv_heads: self.qkv.num_kv_heads,
            head_dim: self.qkv.head_dim,
            block_tokens,
            num_blocks: num_tokens.div_ceil(block_tokens),
            dtype,
        }
    }
}

impl RopeConfig {
    fn from_keys(keys: &Keys<'_>, head_dim: usize) -> Result<Self, ModelError> {
        let rotary_dim = keys.positive_or("rope.dimension_count", head_dim)?;
        if rotary_dim % 2 != 0 || rotary_dim > head_dim {
            let expected = format!("an even number up to the head width ({head_dim})");
            return Err(keys.invalid("rope.dimension_count", expected, rotary_dim));
        }
        let freq_base = keys.positive_float("rope.freq_base", Some(DEFAULT_ROPE_FREQ_BASE))?;
        Ok(Self { rotary_dim, freq_base, scaling: Self::scaling_from_keys(keys)? })
    }

    fn scaling_from_keys(keys: &Keys<'_>) -> Result<RopeScaling, ModelError> {
        let kind = keys.optional::<String>("rope.scaling.type")?;
        // Files from before the typed keys give a linear factor under a name of its own.
        let old_factor = keys.optional("rope.scale_linear")?;
        match kind.as_deref() {
            Some("none") => Ok(RopeScaling::None),
            // A factor without a type is a linear one.
            None => match keys.positive_float("rope.scaling.factor", old_factor.or(Some(1.0)))? {
                1.0 => Ok(RopeScaling::None),
                factor => Ok(RopeScaling::Linear { factor }),
            },
            Some("linear") => Ok(RopeScaling::Linear {
                factor: keys.positive_float("rope.scaling.factor", old_factor)?,
            }),
            Some("yarn") => Ok(RopeScaling::Yarn(YarnParams {
                factor: keys.positive_float("rope.scaling.factor", None)?,
                original_context_length: keys.positive_or(
                    "rope.scaling.original_context_length",
                    keys.positive("context_length")?,
                )?,
                attention_factor: keys.positive_float("rope.scaling.attn_factor", Some(1.0))?,
                beta_fast: keys.positive_float("rope.scaling.yarn_beta_fast", Some(32.0))?,
                beta_slow: keys.positive_float("rope.scaling.yarn_beta_slow", Some(1.0))?,
            })),
            Some(other) => {
                Err(keys.invalid("rope.scaling.type", "none, linear or yarn", format!("`{other}`")))
            }
        }
    }
}

impl FeedForwardConfig {
    fn from_keys(keys: &Keys<'_>) -> Result<Self, ModelError> {
        if matches!(keys.optional("expert_count")?, None | Some(0_usize)) {
            let intermediate_size = keys.positive("feed_forward_length")?;
            return Ok(Self::Dense { intermediate_size });
        }
        let num_experts = keys.positive("expert_count")?;
        let num_experts_used = keys.positive("expert_used_count")?;
        if num_experts_used > num_experts {
            let expected = format!("at most expert_count ({num_experts})");
            return Err(keys.invalid("expert_used_count", expected, num_experts_used));
        }
        let intermediate_size =
            keys.positive(match keys.optional("expert_feed_forward_length")? {
                None | Some(0_usize) => "feed_forward_length",
                Some(_) => "expert_feed_forward_length",
            })?;
        let normalize = keys.optional("expert_weights_norm")?.unwrap_or(true);
        let params = ExpertParams { num_experts, num_experts_used, normalize };
        Ok(Self::Experts { intermediate_size, params })
    }
}
