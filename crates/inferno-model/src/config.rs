//! A model's hyperparameters, read from a file's metadata and checked for consistency.

mod architecture_keys;
mod rope;

use inferno_backend::{ExpertParams, KvDType, KvLayout, QkvLayout};
use inferno_gguf::{Gguf, Metadata};

use crate::tensor_names::EMBEDDINGS;
use crate::{Architecture, ModelError, architecture};
use architecture_keys::ArchitectureKeys;
pub use rope::{RopeConfig, RopeScaling, YarnParams};

/// Epsilon if the file sets none: the value Llama 2 was trained with.
const DEFAULT_RMS_NORM_EPS: f32 = 1e-5;

/// Hyperparameters of a decoder-only transformer.
#[derive(Debug, Clone)]
pub struct Config {
    /// The model's architecture.
    pub architecture: &'static Architecture,
    /// The model's own name, if the file has one.
    pub name: Option<String>,
    /// Context length of training, in tokens.
    pub context_length: usize,
    /// Width of the residual stream.
    pub hidden_size: usize,
    /// Number of decoder layers.
    pub num_layers: usize,
    /// Number of rows of the embedding table.
    pub vocab_size: usize,
    /// Heads of a layer's attention.
    pub qkv: QkvLayout,
    /// Epsilon of the RMS norms.
    pub rms_norm_eps: f32,
    /// Number of positions that a query attends to, including its own; `None` means all.
    pub sliding_window: Option<usize>,
    /// Rotary position embedding.
    pub rope: RopeConfig,
    /// The feed-forward blocks.
    pub feed_forward: FeedForwardConfig,
}

/// Kind and size of the feed-forward blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FeedForwardConfig {
    /// One gated block per layer.
    Dense {
        /// Width between the projections.
        intermediate_size: usize,
    },
    /// A mixture of gated blocks per layer.
    Experts {
        /// Width between the projections of one expert.
        intermediate_size: usize,
        /// Number of experts and their routing.
        params: ExpertParams,
    },
}

impl Config {
    /// Reads the configuration of a checkpoint from its metadata and its embedding table.
    ///
    /// **Errors**: [`ModelError::UnknownArchitecture`]; metadata keys that are missing, of another
    /// type, inconsistent or not supported; [`ModelError::NoWeights`], and
    /// [`ModelError::MissingTensor`] for the embedding table.
    pub fn from_checkpoint(checkpoint: &Gguf) -> Result<Self, ModelError> {
        // The number of rows is checked against the whole shape when the table is loaded.
        let vocab_size =
            checkpoint.tensor(EMBEDDINGS).map(|table| table.dims().get(1).copied().unwrap_or(1));
        match Self::from_metadata(checkpoint.metadata(), vocab_size) {
            Err(ModelError::MissingTensor { .. }) if checkpoint.tensors().is_empty() => {
                Err(ModelError::NoWeights)
            }
            config => config,
        }
    }

    /// `vocab_size` is the number of rows of the embedding table, if the file has one. Files differ
    /// in whether and under which key they store it, so the table decides.
    fn from_metadata(metadata: &Metadata, vocab_size: Option<usize>) -> Result<Self, ModelError> {
        let architecture = architecture(&metadata.required::<String>("general.architecture")?)?;
        let keys = ArchitectureKeys::new(architecture.name, metadata);
        keys.check_neutral()?;
        let hidden_size = keys.positive("embedding_length")?;
        let vocab_size = vocab_size.ok_or_else(|| keys.no_embeddings(hidden_size))?;
        let qkv = qkv_layout(&keys, hidden_size)?;
        Ok(Self {
            architecture,
            name: metadata.optional("general.name")?,
            context_length: keys.positive("context_length")?,
            hidden_size,
            num_layers: keys.positive("block_count")?,
            vocab_size,
            qkv,
            rms_norm_eps: keys
                .positive_float("attention.layer_norm_rms_epsilon", Some(DEFAULT_RMS_NORM_EPS))?,
            sliding_window: keys.optional("attention.sliding_window")?.filter(|&window| window > 0),
            rope: RopeConfig::from_keys(&keys, qkv.head_dim)?,
            feed_forward: FeedForwardConfig::from_keys(&keys)?,
        })
    }

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

fn qkv_layout(keys: &ArchitectureKeys<'_>, hidden_size: usize) -> Result<QkvLayout, ModelError> {
    let num_heads = keys.positive("attention.head_count")?;
    let num_kv_heads = keys.positive_or("attention.head_count_kv", num_heads)?;
    if num_heads % num_kv_heads != 0 {
        let expected = format!("a divisor of attention.head_count ({num_heads})");
        return Err(keys.invalid("attention.head_count_kv", expected, num_kv_heads));
    }
    if keys.optional::<usize>("attention.key_length")?.is_none()
        && !hidden_size.is_multiple_of(num_heads)
    {
        let expected = format!("a divisor of embedding_length ({hidden_size}), or a key_length");
        return Err(keys.invalid("attention.head_count", expected, num_heads));
    }
    let head_dim = keys.positive_or("attention.key_length", hidden_size / num_heads)?;
    let value_length = keys.positive_or("attention.value_length", head_dim)?;
    if value_length != head_dim {
        let expected = format!("attention.key_length ({head_dim})");
        return Err(keys.invalid("attention.value_length", expected, value_length));
    }
    Ok(QkvLayout { num_heads, num_kv_heads, head_dim })
}

impl FeedForwardConfig {
    fn from_keys(keys: &ArchitectureKeys<'_>) -> Result<Self, ModelError> {
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
