//! Options of loading without the expected effect.

use std::fmt;

use inferno_gguf::{Gguf, TensorInfo};
use inferno_tensor::DType;

use super::LoadOptions;
use crate::gpus;

/// An option of loading without the expected effect on a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoadNote {
    /// [`LoadOptions::requantize`] for a model without weights in floating point.
    NothingToRequantize,
    /// [`LoadOptions::cache_tokens`] below the context.
    CacheBelowContext {
        /// Size of the KV cache, in tokens.
        cache_tokens: usize,
        /// Context length, in tokens.
        context_length: usize,
    },
    /// [`LoadOptions::gpu`] names a driver that computes on the processor.
    SoftwareDevice,
}

impl LoadNote {
    /// Returns a note if quantizing while loading has no effect on a model.
    pub fn of_requantizing(options: &LoadOptions, checkpoint: &Gguf) -> Option<Self> {
        let is_without_effect = options.requantize.is_some() && float_bytes(checkpoint) == 0;
        is_without_effect.then_some(Self::NothingToRequantize)
    }

    /// Returns a note if the KV cache is smaller than the context, which has this length in tokens.
    pub fn of_cache(options: &LoadOptions, context_length: usize) -> Option<Self> {
        let cache_tokens = options.cache_tokens.filter(|&tokens| tokens < context_length)?;
        Some(Self::CacheBelowContext { cache_tokens, context_length })
    }

    /// Returns a note if the GPU that is named is a driver that computes on the processor.
    pub fn of_device(options: &LoadOptions) -> Option<Self> {
        let index = options.gpu?;
        let is_software = gpus().iter().any(|gpu| gpu.index == index && gpu.kind == "software");
        is_software.then_some(Self::SoftwareDevice)
    }
}

impl fmt::Display for LoadNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingToRequantize => f.write_str(
                "requantizing has no effect: the weights of this file are already quantized",
            ),
            Self::CacheBelowContext { cache_tokens, context_length } => write!(
                f,
                "the KV cache of {cache_tokens} tokens is smaller than the context of {context_length} tokens; requests are \
                 limited to {cache_tokens} tokens"
            ),
            Self::SoftwareDevice => f.write_str(
                "this device is software that computes on the processor, much slower than the device cpu",
            ),
        }
    }
}

/// Returns the size of the matrices in floating point, which quantizing while loading changes, in bytes.
pub(crate) fn float_bytes(checkpoint: &Gguf) -> usize {
    let is_float = |info: &&TensorInfo| {
        let dtype = DType::from_ggml_id(info.ggml_type().id());
        info.dims().len() > 1 && dtype.is_some_and(DType::is_float)
    };
    checkpoint.tensors().iter().filter(is_float).map(TensorInfo::num_bytes).sum()
}
