//! How hidden states are pooled.

use clap::ValueEnum;
use inferno_engine::{EngineError, Pooling};

use crate::{Error, LoadedModel};

/// Value of `--pooling`.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum PoolingArg {
    /// Hidden state of the first token
    Cls,
    /// Mean of the hidden states of all tokens
    Mean,
    /// Hidden state of the last token
    Last,
    /// Outputs of the model's classifier
    Rank,
    /// Hidden states of all tokens
    None,
}

impl From<PoolingArg> for Pooling {
    fn from(pooling: PoolingArg) -> Self {
        match pooling {
            PoolingArg::Cls => Self::Cls,
            PoolingArg::Mean => Self::Mean,
            PoolingArg::Last => Self::Last,
            PoolingArg::Rank => Self::Rank,
            PoolingArg::None => Self::None,
        }
    }
}

/// Checks that a model has a classifier if its outputs are requested.
///
/// **Errors**: [`EngineError::NoClassifier`].
pub(crate) fn check_pooling(pooling: Pooling, model: &LoadedModel) -> Result<(), Error> {
    match pooling == Pooling::Rank && model.core().default_pooling() != Pooling::Rank {
        true => Err(EngineError::NoClassifier.into()),
        false => Ok(()),
    }
}
