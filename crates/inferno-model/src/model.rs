//! A loaded model.

use std::sync::Arc;

use inferno_backend::Backend;
use inferno_gguf::Gguf;

use crate::layers::{DecoderLayer, ExpertLayers, Fusion, Input, LayerEmbeddings, Output, Streams};
use crate::loader::{LoadProgress, Loader};
use crate::rope::RotaryFrequencies;
use crate::workspace::{BatchLimits, Workspace};
use crate::{ModelError, ModelSpec, Requantize, SeparateExperts};

/// The weights of a language model, or of a stage of one, on a backend, and its forward pass.
///
/// A model holds no conversation state; keys and values live in a cache that the caller owns.
pub struct Model<B: Backend> {
    pub(crate) backend: Arc<B>,
    pub(crate) spec: ModelSpec,
    pub(crate) rotaries: Vec<RotaryFrequencies>,
    pub(crate) input: Option<Input<B>>,
    pub(crate) fusion: Option<Fusion<B>>,
    pub(crate) streams: Option<Streams<B>>,
    pub(crate) layer_embeddings: Option<LayerEmbeddings<B>>,
    pub(crate) layers: Vec<DecoderLayer<B>>,
    pub(crate) output: Option<Output<B>>,
    /// The experts on another device.
    separate_experts: Option<Arc<dyn ExpertLayers>>,
}

impl<B: Backend> Model<B> {
    /// Loads every weight of `checkpoint`, converting float weights to `requantize`'s format if one
    /// is given.
    ///
    /// `on_progress` is called after each tensor.
    ///
    /// **Errors**: those of [`ModelSpec::from_checkpoint`]; a tensor that is unknown to the architecture; out of
    /// memory.
    pub fn load(
        checkpoint: &Gguf,
        backend: Arc<B>,
        requantize: Option<Requantize>,
        on_progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<Self, ModelError> {
        let spec = ModelSpec::from_checkpoint(checkpoint)?;
        Self::load_stage(spec, None, checkpoint, backend, requantize, on_progress)
    }

    /// Loads the weights that a [stage](ModelSpec::stage) of `checkpoint` needs, as [`load`](Self::load) does those of the
    /// whole model. `experts` are those that were [separated](ModelSpec::separate_experts) from the stage.
    ///
    /// **Errors**: as [`load`](Self::load).
    pub fn load_stage(
        spec: ModelSpec,
        experts: Option<SeparateExperts>,
        checkpoint: &Gguf,
        backend: Arc<B>,
        requantize: Option<Requantize>,
        on_progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<Self, ModelError> {
        Self::load_with(spec, experts, None, checkpoint, backend, requantize, on_progress)
    }

    /// Loads the [prediction head](ModelSpec::prediction_head) of `checkpoint`, which this model was loaded from; `None` if
    /// the file has none. It uses the output head of this model unless it has one of its own.
    ///
    /// **Errors**: as [`load`](Self::load).
    ///
    /// **Panics** if this model is a stage without the output head.
    pub fn load_prediction_head(
        &self,
        checkpoint: &Gguf,
        requantize: Option<Requantize>,
        on_progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<Option<Self>, ModelError> {
        let Some(spec) = ModelSpec::prediction_head(checkpoint)? else { return Ok(None) };
        let output = self.output.as_ref().expect("only the last stage has prediction heads");
        let shared = spec.shares_head().then_some(output);
        let backend = Arc::clone(&self.backend);
        Self::load_with(spec, None, shared, checkpoint, backend, requantize, on_progress).map(Some)
    }

    fn load_with(
        spec: ModelSpec,
        experts: Option<SeparateExperts>,
        shared: Option<&Output<B>>,
        checkpoint: &Gguf,
        backend: Arc<B>,
        requantize: Option<Requantize>,
        on_progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<Self, ModelError> {
        let mut loader = Loader::new(checkpoint, &*backend, requantize, on_progress);
        if let Some(experts) = &experts {
            loader = loader.after(experts);
        }
        let separate_experts = experts.map(|experts| experts.layers);

        // The head is loaded first: it is the largest tensor, and memory peaks at what has been
        // packed so far plus the tensor being packed.
        let output = match &spec.output {
            Some(output) => Some(Output::load(&mut loader, output, shared)?),
            None => None,
        };
        let input = match &spec.input {
            Some(input) => Some(Input::load(&mut loader, input, spec.hidden_size)?),
            None => None,
        };
        let fusion = match &spec.fusion {
            Some(fusion) => Some(Fusion::load(&mut loader, fusion)?),
            None => None,
        };
        let streams = match &spec.streams {
            Some(streams) => Some(Streams::load(&mut loader, streams)?),
            None => None,
        };
        let layer_embeddings = match &spec.layer_embeddings {
            Some(embeddings) => Some(LayerEmbeddings::load(&mut loader, embeddings)?),
            None => None,
        };

        loader.preload_layer(spec.first_layer);
        let layers = (spec.first_layer..).zip(&spec.layers).map(|(index, layer)| {
            loader.preload_layer(index + 1);
            DecoderLayer::load(&mut loader, layer)
        });
        let layers = layers.collect::<Result<_, _>>()?;
        let rotaries =
            spec.rotaries.iter().map(|rotary| RotaryFrequencies::load(&mut loader, rotary));
        let rotaries = rotaries.collect::<Result<Vec<_>, _>>()?;
        loader.finish(&spec.unused_tensors)?;
        Ok(Self {
            backend,
            spec,
            rotaries,
            input,
            fusion,
            streams,
            layer_embeddings,
            layers,
            output,
            separate_experts,
        })
    }

    /// The description of the model.
    pub fn spec(&self) -> &ModelSpec {
        &self.spec
    }

    /// Whether rotary embedding uses the frequencies for long contexts: LongRoPE selects them by the size of the context,
    /// so keys of both kinds cannot be mixed.
    pub fn has_long_rotary(&self, context_length: usize) -> bool {
        self.rotaries.iter().any(|rotary| rotary.long_freqs(context_length).is_some())
    }

    /// The backend that holds the weights.
    pub fn backend(&self) -> &Arc<B> {
        &self.backend
    }

    /// Allocates buffers for batches up to `limits`.
    ///
    /// **Errors**: out of memory.
    pub fn workspace(&self, limits: BatchLimits) -> Result<Workspace<B>, ModelError> {
        Workspace::new(&*self.backend, &self.spec, limits, self.separate_experts.as_ref())
    }

    /// Returns descriptions of the devices that hold the weights: that of the [`backend`](Self::backend), then that of
    /// separate experts.
    pub fn devices(&self) -> Vec<String> {
        let experts = self.separate_experts.as_ref().map(|layers| layers.device());
        let experts = experts.map(|device| format!("{device} for experts"));
        std::iter::once(self.backend.describe()).chain(experts).collect()
    }
}
