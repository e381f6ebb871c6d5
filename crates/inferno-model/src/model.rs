//! A loaded model.

use std::sync::Arc;

use inferno_backend::Backend;
use inferno_gguf::Gguf;

use crate::layers::DecoderLayer;
use crate::loader::{LoadProgress, Loader, PartSpec};
use crate::rope::RotaryFrequencies;
use crate::tensor_names::{EMBEDDINGS, OUTPUT_HEAD, OUTPUT_NORM, ROPE_FACTORS};
use crate::workspace::{BatchLimits, Workspace};
use crate::{Config, ModelError, Requantize};

/// The weights of a decoder-only transformer on a backend, and its forward pass.
///
/// A model holds no conversation state; keys and values live in a cache that the caller owns.
pub struct Model<B: Backend> {
    pub(crate) backend: Arc<B>,
    pub(crate) config: Config,
    pub(crate) rotary: RotaryFrequencies,
    pub(crate) embeddings: B::Table,
    pub(crate) layers: Vec<DecoderLayer<B>>,
    pub(crate) output_norm: B::Buffer,
    pub(crate) lm_head: B::Weight,
}

impl<B: Backend> Model<B> {
    /// Loads every weight of `checkpoint`, converting float weights to `requantize`'s format if one
    /// is given.
    ///
    /// `on_progress` is called after each tensor.
    ///
    /// **Errors**: those of [`Config::from_checkpoint`]; a tensor that is missing, of the wrong
    /// shape, in an unsupported format, or unknown to the architecture; out of memory.
    pub fn load(
        checkpoint: &Gguf,
        backend: Arc<B>,
        requantize: Option<Requantize>,
        on_progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<Self, ModelError> {
        let config = Config::from_checkpoint(checkpoint)?;
        let mut loader = Loader::new(checkpoint, &*backend, requantize, on_progress);

        // The head is loaded first: it is the largest tensor, and memory peaks at what has been
        // packed so far plus the tensor being packed.
        let Config { hidden_size, vocab_size, .. } = config;
        let head = if loader.contains(OUTPUT_HEAD) { OUTPUT_HEAD } else { EMBEDDINGS };
        let head = [PartSpec { name: head.to_owned(), rows: vocab_size }];
        let lm_head = loader.matrix(&head, hidden_size)?;
        let embeddings = loader.table(EMBEDDINGS, vocab_size, hidden_size)?;
        let output_norm = loader.vector(OUTPUT_NORM, hidden_size)?;

        loader.preload_layer(0);
        let layers = (0..config.num_layers)
            .map(|layer| {
                loader.preload_layer(layer + 1);
                DecoderLayer::load(&mut loader, &config, layer)
            })
            .collect::<Result<_, _>>()?;
        let factors = match loader.contains(ROPE_FACTORS) {
            true => Some(loader.values(ROPE_FACTORS, config.rope.rotary_dim / 2)?),
            false => None,
        };
        loader.finish()?;
        let pairing = config.architecture.rope_pairing;
        let rotary = RotaryFrequencies::new(pairing, &config.rope, factors.as_deref());
        Ok(Self { backend, config, rotary, embeddings, layers, output_norm, lm_head })
    }

    /// The model's hyperparameters.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The backend that holds the weights.
    pub fn backend(&self) -> &Arc<B> {
        &self.backend
    }

    /// Allocates buffers for batches up to `limits`.
    ///
    /// **Errors**: out of memory.
    pub fn workspace(&self, limits: BatchLimits) -> Result<Workspace<B>, ModelError> {
        Ok(Workspace::new(&*self.backend, &self.config, limits)?)
    }
}
