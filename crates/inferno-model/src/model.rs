//! A loaded model.

use std::sync::Arc;

use inferno_backend::Backend;
use inferno_gguf::Gguf;

use crate::layers::DecoderLayer;
use crate::loader::{LoadProgress, Loader, Part};
use crate::rope::Rope;
use crate::workspace::{BatchLimits, Workspace};
use crate::{Config, ModelError, Requantize};

pub(crate) const EMBEDDINGS: &str = "token_embd.weight";
pub(crate) const OUTPUT_HEAD: &str = "output.weight";

/// A decoder-only transformer on a backend: weights, and how to run them.
///
/// It holds no state of any conversation; keys and values live in a cache that the caller owns.
pub struct Model<B: Backend> {
    pub(crate) backend: Arc<B>,
    pub(crate) config: Config,
    pub(crate) rope: Rope,
    pub(crate) embeddings: B::Table,
    pub(crate) layers: Vec<DecoderLayer<B>>,
    pub(crate) output_norm: B::Buffer,
    pub(crate) lm_head: B::Weight,
}

impl<B: Backend> Model<B> {
    /// Loads every weight of `checkpoint`.
    ///
    /// `on_progress` is called after each tensor.
    ///
    /// **Errors**: an unknown architecture; metadata that makes no sense; a tensor that is missing,
    /// misshapen, in a format that cannot be computed, or of no use to the architecture; no memory.
    pub fn load(
        checkpoint: &Gguf,
        backend: Arc<B>,
        requantize: Option<Requantize>,
        on_progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<Self, ModelError> {
        let config = Config::from_checkpoint(checkpoint)?;
        let mut loader = Loader::new(checkpoint, &*backend, requantize, on_progress);

        // The head comes first: it is the largest tensor, and the peak of memory is what has been
        // packed so far plus the tensor in hand.
        let Config { hidden_size, vocab_size, .. } = config;
        let head = if loader.contains(OUTPUT_HEAD) { OUTPUT_HEAD } else { EMBEDDINGS };
        let head = [Part { name: head.to_owned(), rows: vocab_size }];
        let lm_head = loader.matrix(&head, hidden_size)?;
        let embeddings = loader.table(EMBEDDINGS, vocab_size, hidden_size)?;
        let output_norm = loader.vector("output_norm.weight", hidden_size)?;

        loader.preload_layer(0);
        let layers = (0..config.num_layers)
            .map(|layer| {
                loader.preload_layer(layer + 1);
                DecoderLayer::load(&mut loader, &config, layer)
            })
            .collect::<Result<_, _>>()?;
        let factors = match loader.contains("rope_freqs.weight") {
            true => Some(loader.values("rope_freqs.weight", config.rope.rotary_dim / 2)?),
            false => None,
        };
        loader.finish()?;
        let pairing = config.architecture.rope_pairing;
        let rope = Rope::new(pairing, &config.rope, factors.as_deref());
        Ok(Self { backend, config, rope, embeddings, layers, output_norm, lm_head })
    }

    /// The model's hyperparameters.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The backend that holds the weights.
    pub fn backend(&self) -> &Arc<B> {
        &self.backend
    }

    /// Buffers for batches up to `limits`.
    ///
    /// **Errors**: no memory.
    pub fn workspace(&self, limits: BatchLimits) -> Result<Workspace<B>, ModelError> {
        Ok(Workspace::new(&*self.backend, &self.config, limits)?)
    }
}
