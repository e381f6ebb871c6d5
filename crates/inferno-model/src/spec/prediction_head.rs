//! Heads that predict a further token (multi-token prediction, "nextn"): a decoder layer that reads the hidden state after
//! a token together with the embedding of the token after it.
//!
//! **Source**: DeepSeek-AI, DeepSeek-V3 Technical Report, section 2.2; the order of the inputs and the states that are
//! passed on are those of transformers' `MtpModel`.

use inferno_gguf::Gguf;

use super::layer::NormSpec;
use super::tensors::LinearSpec;
use super::{ModelSpec, SpecBuilder, architecture_of};
use crate::ModelError;
use crate::keys::ArchitectureKeys;

/// How a prediction head combines its inputs: `projection([embedding_norm(embedding), hidden_norm(hidden)])`.
#[derive(Debug, Clone)]
pub(crate) struct FusionSpec {
    pub(crate) embedding_norm: NormSpec,
    pub(crate) hidden_norm: NormSpec,
    pub(crate) projection: LinearSpec,
    /// Whether the output head is that of the model.
    pub(crate) shares_head: bool,
}

impl ModelSpec {
    /// Reads the description of the first prediction head of a checkpoint, as a model of one layer; `None` if the file has
    /// none. Its passes need the hidden states of the model before each token.
    ///
    /// **Errors**: [`ModelError::UnsupportedPredictionHead`], and as [`from_checkpoint`](Self::from_checkpoint).
    pub fn prediction_head(checkpoint: &Gguf) -> Result<Option<Self>, ModelError> {
        let metadata = checkpoint.metadata();
        let architecture = architecture_of(metadata)?;
        let keys = ArchitectureKeys::new(architecture.name, metadata);
        let num_heads = keys.optional::<usize>("nextn_predict_layers")?.unwrap_or(0);
        let num_blocks = keys.positive("block_count")?;
        let Some(layer) = num_blocks.checked_sub(num_heads).filter(|_| num_heads > 0) else {
            return Ok(None);
        };
        // A head has attention and a feed-forward block.
        if architecture.has_single_blocks {
            return Err(ModelError::UnsupportedPredictionHead { architecture: architecture.name });
        }
        let whole = Self::from_checkpoint(checkpoint)?;
        SpecBuilder::for_prediction_head(&keys, checkpoint, architecture)?
            .build_prediction_head(whole, layer)
            .map(Some)
    }

    /// Whether it describes a prediction head, whose passes need hidden states.
    pub fn is_prediction_head(&self) -> bool {
        self.fusion.is_some()
    }

    /// Whether the output head is that of the model that a prediction head belongs to.
    pub(crate) fn shares_head(&self) -> bool {
        self.fusion.as_ref().is_some_and(|fusion| fusion.shares_head)
    }
}
