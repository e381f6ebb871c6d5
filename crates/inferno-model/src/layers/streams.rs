//! Several residual streams: what layers do to those that they do not compute.

use inferno_backend::{Backend, ColumnBlocks, CopySize, Function, LinearInput, Pass};

use super::context::ForwardContext;
use super::linear::Linear;
use super::norm::NormWeights;
use crate::ModelError;
use crate::loader::Loader;
use crate::spec::streams::{LayerStreamsSpec, LowRankSpec, StreamsSpec};
use crate::workspace::{StreamBuffers, Workspace};

/// The smallest mean of the squares of a stream that is scaled to the magnitude of the first: a constant of the models'
/// implementation.
const MIN_MEAN_SQUARE: f32 = 1e-5;

/// Where the streams begin and end.
pub(crate) struct Streams<B: Backend> {
    expand: Linear<B>,
    merge: Vec<Linear<B>>,
    /// A factor of 1 for each stream but the first.
    ones: B::Buffer,
}

impl<B: Backend> Streams<B> {
    pub(crate) fn load(loader: &mut Loader<'_, B>, spec: &StreamsSpec) -> Result<Self, ModelError> {
        let merge = spec.merge.iter().map(|linear| Linear::load(loader, linear));
        let merge = merge.collect::<Result<_, _>>()?;
        let expand = Linear::load(loader, &spec.expand)?;
        Ok(Self { expand, merge, ones: loader.ones(spec.num_streams - 1)? })
    }

    /// Computes all streams from the embeddings.
    ///
    /// **Errors**: out of memory.
    pub(crate) fn expand(
        &self,
        context: &mut ForwardContext<'_, B>,
        workspace: &mut Workspace<B>,
    ) -> Result<(), ModelError> {
        let rows = context.rows;
        let Workspace { x, streams, .. } = workspace;
        let buffers = streams.as_mut().expect("the workspace was created for this model");
        let (all, num_others) = (buffers.all_columns(0), buffers.num_streams - 1);
        let StreamBuffers { width, streams, others, .. } = buffers;
        self.expand.multiply(context, &*x, others)?;
        context.pass.match_magnitude(rows, x, MIN_MEAN_SQUARE, others);
        let size = |blocks| CopySize { rows, blocks, width: *width };
        let one = ColumnBlocks { row_len: *width, start: 0, step: 0 };
        context.pass.copy_columns(size(1), (x, one), (streams, all));
        let from = ColumnBlocks { row_len: num_others * *width, start: 0, step: *width };
        let to = ColumnBlocks { start: *width, ..all };
        context.pass.copy_columns(size(num_others), (others, from), (streams, to));
        Ok(())
    }

    /// Computes the mean of all streams, each with the magnitude of the first.
    ///
    /// **Errors**: out of memory.
    pub(crate) fn merge(
        &self,
        context: &mut ForwardContext<'_, B>,
        workspace: &mut Workspace<B>,
    ) -> Result<(), ModelError> {
        let rows = context.rows;
        let Workspace { x, normed, branch, streams, .. } = workspace;
        let buffers = streams.as_mut().expect("the workspace was created for this model");
        let branch = branch.as_mut().expect("the workspace was created for this model");
        let columns = [buffers.all_columns(0), buffers.all_columns(1)];
        let StreamBuffers { num_streams, width, streams, others, .. } = buffers;
        let size = CopySize { rows, blocks: 1, width: *width };
        let one = ColumnBlocks { row_len: *width, start: 0, step: 0 };
        context.pass.copy_columns(size, (streams, columns[0]), (x, one));
        for (index, linear) in self.merge.iter().enumerate() {
            let start = index * *width;
            let from = ColumnBlocks { start: start + *width, ..columns[1] };
            context.pass.copy_columns(size, (streams, from), (normed, one));
            linear.multiply(context, &*normed, branch)?;
            let to = ColumnBlocks { row_len: self.merge.len() * *width, start, step: 0 };
            context.pass.copy_columns(size, (branch, one), (others, to));
        }
        context.pass.match_magnitude(rows, x, MIN_MEAN_SQUARE, others);
        context.pass.add_combinations(rows, *width, &self.ones, others, x);
        let factor = 1.0 / *num_streams as f32;
        context.pass.apply(rows, Function::Scale { factor }, x);
        Ok(())
    }
}

/// The prediction and the correction of a layer.
pub(super) struct LayerStreams<B: Backend> {
    active: usize,
    router_norm: NormWeights<B>,
    router: Linear<B>,
    prediction: Linear<B>,
    correction: Linear<B>,
    output_scale: Option<B::Buffer>,
    /// 0 for the first stream, 1 for the others.
    injection: B::Buffer,
}

impl<B: Backend> LayerStreams<B> {
    pub(super) fn load(
        loader: &mut Loader<'_, B>,
        spec: &LayerStreamsSpec,
    ) -> Result<Self, ModelError> {
        let width = spec.router_norm.len;
        let factor = (1.0 / width as f64) as f32;
        let mut injection = vec![1.0; spec.num_streams];
        injection[0] = 0.0;
        Ok(Self {
            active: spec.active,
            router_norm: NormWeights::load_scaled(loader, &spec.router_norm, factor)?,
            router: Linear::load(loader, &spec.router)?,
            prediction: Linear::load(loader, &spec.prediction)?,
            correction: Linear::load_plus_one(loader, &spec.correction)?,
            output_scale: loader.optional_vector(spec.output_scale.as_ref())?,
            injection: loader.row(&injection)?,
        })
    }

    /// Computes the predictions of all streams, and leaves that of the active one in `workspace.x`.
    ///
    /// **Errors**: out of memory.
    pub(super) fn predict(
        &self,
        context: &mut ForwardContext<'_, B>,
        workspace: &mut Workspace<B>,
    ) -> Result<(), ModelError> {
        let rows = context.rows;
        let Workspace { x, streams, .. } = workspace;
        let buffers = streams.as_mut().expect("the workspace was created for this model");
        buffers.copy_stream(context, self.active, x);
        self.route(context, x, buffers)?;
        let StreamBuffers { num_streams, width, streams, predictions, routed, pairs, .. } = buffers;
        let (weight, bias) = (&self.prediction.weight, self.prediction.bias());
        context.pass.linear(rows, &*routed, weight, bias, pairs)?;
        let row_len = *num_streams * *width;
        let whole = ColumnBlocks { row_len, start: 0, step: 0 };
        let size = CopySize { rows, blocks: 1, width: row_len };
        context.pass.copy_columns(size, (streams, whole), (predictions, whole));
        context.pass.add_combinations(rows, *width, pairs, streams, predictions);
        buffers.swap();
        buffers.copy_stream(context, self.active, x);
        Ok(())
    }

    /// Corrects all streams by the difference of `workspace.x` from the prediction, and leaves the active one, scaled, in
    /// `workspace.x`.
    ///
    /// **Errors**: out of memory.
    pub(super) fn correct(
        &self,
        context: &mut ForwardContext<'_, B>,
        workspace: &mut Workspace<B>,
    ) -> Result<(), ModelError> {
        let rows = context.rows;
        let Workspace { x, normed, streams, .. } = workspace;
        let buffers = streams.as_mut().expect("the workspace was created for this model");
        self.route(context, x, buffers)?;
        buffers.copy_stream(context, self.active, normed);
        context.pass.add_scaled(rows, normed, -1.0, x);
        let StreamBuffers { width, streams, routed, factors, .. } = buffers;
        let (weight, bias) = (&self.correction.weight, self.correction.bias());
        context.pass.linear(rows, &*routed, weight, bias, factors)?;
        context.pass.add_combinations(rows, *width, factors, x, streams);
        buffers.copy_stream(context, self.active, x);
        if let Some(scale) = &self.output_scale {
            context.pass.gate(rows, Function::Scale { factor: 1.0 }, scale, x);
        }
        Ok(())
    }

    /// Adds `workspace.normed` to all streams but the first.
    pub(super) fn inject(&self, context: &mut ForwardContext<'_, B>, workspace: &mut Workspace<B>) {
        let Workspace { normed, streams, .. } = workspace;
        let buffers = streams.as_mut().expect("the workspace was created for this model");
        let StreamBuffers { width, streams, .. } = buffers;
        context.pass.add_combinations(context.rows, *width, &self.injection, normed, streams);
    }

    /// Computes a number for each stream from the active one.
    fn route(
        &self,
        context: &mut ForwardContext<'_, B>,
        x: &B::Buffer,
        buffers: &mut StreamBuffers<B>,
    ) -> Result<(), ModelError> {
        let rows = context.rows;
        let input = LinearInput::Normed { x, norm: self.router_norm.norm() };
        let routed = &mut buffers.routed;
        self.router.multiply(context, input, routed)?;
        // A hyperbolic tangent.
        context.pass.apply(rows, Function::SoftCap { cap: 1.0 }, routed);
        Ok(())
    }
}

/// A product of low rank next to the mixers.
pub(super) struct LowRank<B: Backend> {
    norm: NormWeights<B>,
    down: Linear<B>,
    up: Linear<B>,
    post_norm: NormWeights<B>,
}

impl<B: Backend> LowRank<B> {
    pub(super) fn load(loader: &mut Loader<'_, B>, spec: &LowRankSpec) -> Result<Self, ModelError> {
        Ok(Self {
            norm: NormWeights::load(loader, &spec.norm)?,
            down: Linear::load(loader, &spec.down)?,
            up: Linear::load(loader, &spec.up)?,
            post_norm: NormWeights::load(loader, &spec.post_norm)?,
        })
    }

    /// Computes the branch from the residual stream.
    ///
    /// **Errors**: out of memory.
    pub(super) fn compute(
        &self,
        context: &mut ForwardContext<'_, B>,
        workspace: &mut Workspace<B>,
    ) -> Result<(), ModelError> {
        let rows = context.rows;
        let Workspace { x, normed, branch, low_rank, .. } = workspace;
        let buffers = low_rank.as_mut().expect("the workspace was created for this model");
        let branch = branch.as_mut().expect("the workspace was created for this model");
        context.pass.norm(rows, x, self.norm.norm(), &mut buffers.out);
        let (down, up) = (&self.down, &self.up);
        down.multiply(context, &buffers.out, &mut buffers.inner)?;
        up.multiply(context, &buffers.inner, branch)?;
        context.pass.norm(rows, branch, self.post_norm.norm(), normed);
        context.pass.add_scaled(rows, normed, 1.0, &mut buffers.out);
        Ok(())
    }

    /// Adds the branch to the residual stream, which the mixers were added to.
    pub(super) fn add(&self, context: &mut ForwardContext<'_, B>, workspace: &mut Workspace<B>) {
        let rows = context.rows;
        let Workspace { x, low_rank, .. } = workspace;
        let buffers = low_rank.as_ref().expect("the workspace was created for this model");
        context.pass.add_scaled(rows, &buffers.out, 1.0, x);
        let factor = std::f32::consts::FRAC_1_SQRT_2;
        context.pass.apply(rows, Function::Scale { factor }, x);
    }
}
