//! Experts on another device than the rest of the model.

use std::collections::HashSet;
use std::sync::Arc;

use inferno_backend::{Backend, Pass};
use inferno_gguf::Gguf;

use super::context::ForwardContext;
use super::norm::NormWeights;
use super::routed_experts::RoutedExperts;
use crate::loader::{LoadProgress, Loader};
use crate::spec::feed_forward::FeedForwardSpec;
use crate::spec::layer::LayerSpec;
use crate::workspace::{BatchLimits, Workspace};
use crate::{ModelError, ModelSpec, Requantize};

/// The experts of some layers on a device of their own, for [`Model::load_stage`](crate::Model::load_stage).
///
/// The device of the model sends the residual stream of each token, and receives the weighted sum of the outputs of the
/// token's experts: `hidden_size` values per token and layer in either direction. Routing is computed with the experts, so
/// that only these rows are transferred.
pub struct SeparateExperts {
    pub(crate) layers: Arc<dyn ExpertLayers>,
    /// Names of the tensors loaded so far.
    pub(crate) loaded: HashSet<String>,
    pub(crate) progress: LoadProgress,
}

impl SeparateExperts {
    /// Loads the experts that [`ModelSpec::separate_experts`] has separated.
    ///
    /// **Errors**: as [`Model::load`](crate::Model::load).
    pub fn load<B: Backend>(
        spec: ModelSpec,
        checkpoint: &Gguf,
        backend: Arc<B>,
        requantize: Option<Requantize>,
        on_progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<Self, ModelError> {
        let mut loader = Loader::new(checkpoint, &*backend, requantize, on_progress);
        loader.preload_layer(spec.first_layer);
        let layers = (spec.first_layer..).zip(&spec.layers).map(|(index, layer)| {
            loader.preload_layer(index + 1);
            ExpertLayer::load(&mut loader, layer)
        });
        let layers = layers.collect::<Result<_, _>>()?;
        let (loaded, progress) = loader.into_progress();
        let layers = Arc::new(LayersOn { backend, spec, layers });
        Ok(Self { layers, loaded, progress })
    }
}

/// Loaded experts on any device.
pub(crate) trait ExpertLayers: Send + Sync {
    /// A description of the device.
    fn device(&self) -> String;

    /// Allocates buffers for batches up to `limits`.
    ///
    /// **Errors**: out of memory.
    fn executor(
        self: Arc<Self>,
        limits: BatchLimits,
    ) -> Result<Box<dyn ExpertExecutor>, ModelError>;
}

/// Loaded experts and the buffers to compute them.
pub(crate) trait ExpertExecutor: Send {
    /// Computes the weighted sum of the outputs of each row's experts in layer `layer`. `x` has `rows` rows of the residual
    /// stream.
    ///
    /// **Errors**: out of memory, failures of the device.
    fn run(&mut self, layer: usize, rows: usize, x: &[f32]) -> Result<&[f32], ModelError>;
}

struct LayersOn<B: Backend> {
    backend: Arc<B>,
    spec: ModelSpec,
    /// `None` for layers whose experts are not separate.
    layers: Vec<Option<ExpertLayer<B>>>,
}

/// The experts of a layer, and the norm of the layer's feed-forward block.
struct ExpertLayer<B: Backend> {
    norm: Option<NormWeights<B>>,
    experts: RoutedExperts<B>,
}

impl<B: Backend> ExpertLayer<B> {
    fn load(loader: &mut Loader<'_, B>, spec: &LayerSpec) -> Result<Option<Self>, ModelError> {
        let Some(block) = &spec.feed_forward else { return Ok(None) };
        let FeedForwardSpec::Experts(experts) = &block.block else { return Ok(None) };
        let norm = block.norm.as_ref().map(|norm| NormWeights::load(loader, norm)).transpose()?;
        Ok(Some(Self { norm, experts: RoutedExperts::load(loader, experts)? }))
    }
}

impl<B: Backend> ExpertLayers for LayersOn<B> {
    fn device(&self) -> String {
        self.backend.describe()
    }

    fn executor(
        self: Arc<Self>,
        limits: BatchLimits,
    ) -> Result<Box<dyn ExpertExecutor>, ModelError> {
        let workspace = Workspace::new(&*self.backend, &self.spec, limits, None)?;
        Ok(Box::new(Executor { layers: self, workspace }))
    }
}

struct Executor<B: Backend> {
    layers: Arc<LayersOn<B>>,
    workspace: Workspace<B>,
}

impl<B: Backend> ExpertExecutor for Executor<B> {
    fn run(&mut self, layer: usize, rows: usize, x: &[f32]) -> Result<&[f32], ModelError> {
        let LayersOn { backend, layers, .. } = &*self.layers;
        let ExpertLayer { norm, experts } =
            layers[layer].as_ref().expect("the layer's experts were separated");
        let Workspace { x: residual, normed, experts: buffers, host_rows, .. } =
            &mut self.workspace;
        let buffers = buffers.as_mut().and_then(|buffers| buffers.routed.as_mut());
        let buffers = buffers.expect("the workspace was created for these experts");
        backend.upload(x, residual);
        let mut context = ForwardContext::<B> {
            pass: backend.begin(),
            backend,
            rotaries: &[],
            first_cache_layer: 0,
            rows,
        };
        experts.expand(&mut context, norm.as_ref(), (residual, normed), buffers)?;
        experts.combine(&mut context, buffers, false, residual)?;
        context.pass.submit()?;
        Ok(backend.download(residual, 0..x.len(), host_rows)?)
    }
}
