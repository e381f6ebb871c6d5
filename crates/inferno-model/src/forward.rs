//! The forward pass: a batch in, rows of logits or hidden states out.

use std::ops::Range;
use std::sync::Arc;

use inferno_backend::{Backend, Batch, CandidateRows, Pass};

use crate::layers::{ForwardContext, Output};
use crate::rope;
use crate::rows::{DeviceLogits, LogitSource, StageOutput, StageRows};
use crate::spec::tensors::MatrixPart;
use crate::workspace::Workspace;
use crate::{Model, ModelCache, ModelError, ModelSpec};

/// A pass whose rows have not been read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SubmittedPass {
    rows: StageRows,
    num_rows: usize,
}

impl<B: Backend> Model<B> {
    /// Runs `batch`, writes its keys and values to `cache`, and returns one row of `vocab_size`
    /// logits for each of the batch's `logit_rows`.
    ///
    /// The same tokens at the same positions give the same logits, whatever else is in the batch
    /// and however the positions before them were split into batches.
    ///
    /// **Errors**: as [`submit`](Self::submit).
    ///
    /// **Panics** if the model is a stage without the first or the last layer.
    pub fn forward<'w>(
        &self,
        batch: &Batch,
        cache: &mut ModelCache<B>,
        workspace: &'w mut Workspace<B>,
    ) -> Result<&'w [f32], ModelError> {
        self.forward_whole(batch, StageRows::Logits, cache, workspace)
    }

    /// Runs `batch` like [`forward`](Self::forward), but returns [`StageRows::Hidden`].
    ///
    /// **Errors** and **panics** as [`forward`](Self::forward).
    pub fn forward_hidden<'w>(
        &self,
        batch: &Batch,
        cache: &mut ModelCache<B>,
        workspace: &'w mut Workspace<B>,
    ) -> Result<&'w [f32], ModelError> {
        self.forward_whole(batch, StageRows::Hidden, cache, workspace)
    }

    fn forward_whole<'w>(
        &self,
        batch: &Batch,
        rows: StageRows,
        cache: &mut ModelCache<B>,
        workspace: &'w mut Workspace<B>,
    ) -> Result<&'w [f32], ModelError> {
        self.submit(batch, None, rows, cache, workspace)?;
        Ok(self.wait(workspace)?.into_values())
    }

    /// Starts a pass of `batch` through the layers of a [stage](crate::ModelSpec::stage), whose rows
    /// [`wait`](Self::wait) returns. `residual` is the [`StageRows::Residual`] of the stage before it, if there is one.
    ///
    /// **Errors**: [`ModelError::BatchTooLarge`], [`ModelError::TokenOutOfRange`] and others of an invalid batch,
    /// [`ModelError::NoLogits`], out of memory, and
    /// failures of the device. The cache is unchanged by those of an invalid batch; after the others, the keys and
    /// values of the batch's own positions and the recurrent states of its sequences are unspecified.
    ///
    /// **Panics** unless `residual` is given to all stages but the first (to a
    /// [prediction head](crate::ModelSpec::prediction_head), the hidden states before each token), and `rows` is [`StageRows::Residual`] for all
    /// but the last.
    pub fn submit(
        &self,
        batch: &Batch,
        residual: Option<&[f32]>,
        rows: StageRows,
        cache: &mut ModelCache<B>,
        workspace: &mut Workspace<B>,
    ) -> Result<(), ModelError> {
        workspace.submitted = None;
        self.check(batch, workspace)?;
        let (limit, num_rows) = (workspace.limits.max_num_logit_rows, batch.logit_rows().len());
        if rows.are_logits() && !self.spec.has_logits() {
            return Err(ModelError::NoLogits);
        }
        if rows.are_logits() && num_rows > limit {
            return Err(too_large("logit rows", limit, num_rows));
        }
        let mut pass = self.compute(batch, residual, cache, workspace)?;
        if rows != StageRows::Residual {
            self.output().capture(&mut pass, batch.num_tokens(), workspace);
        }
        if rows != StageRows::Residual {
            self.output().gather(&mut pass, num_rows, workspace);
        }
        if rows.are_logits() {
            self.output().logits(&mut pass, num_rows, workspace)?;
        }
        if let StageRows::Candidates(shape) = rows {
            let Workspace { logits, candidates, .. } = workspace;
            pass.select_candidates(num_rows, shape, logits, candidates)?;
        }
        pass.submit()?;
        let num_rows = if rows == StageRows::Residual { batch.num_tokens() } else { num_rows };
        workspace.submitted = Some(SubmittedPass { rows, num_rows });
        Ok(())
    }

    /// Waits for the pass that was started last, and returns its rows.
    ///
    /// **Errors**: failures of the device.
    ///
    /// **Panics** if no pass was started since the last call.
    pub fn wait<'w>(&self, workspace: &'w mut Workspace<B>) -> Result<StageOutput<'w>, ModelError> {
        let ModelSpec { hidden_size, vocab_size, .. } = self.spec;
        let Workspace { submitted, x, logits, candidates, host_rows, .. } = workspace;
        let SubmittedPass { rows, num_rows } = submitted.take().expect("a pass was started");
        let (buffer, row_len, shape) = match (rows, candidates) {
            (StageRows::Candidates(shape), Some(candidates)) => {
                (&*candidates, shape.row_len(), Some(shape))
            }
            (StageRows::Candidates(_) | StageRows::Logits, _) => (&*logits, vocab_size, None),
            (StageRows::Hidden | StageRows::Residual, _) => (&*x, hidden_size, None),
        };
        let values = self.backend.download(buffer, 0..num_rows * row_len, host_rows)?;
        let Some(shape) = shape else { return Ok(StageOutput::Values(values)) };
        let backend = Arc::clone(&self.backend);
        let logits = Box::new(DeviceLogits { backend, logits, vocab_size });
        Ok(StageOutput::Candidates { rows: CandidateRows::new(shape, values), logits })
    }

    /// Copies neighboring rows of logits of the last pass to the host: `vocab_size` values of each.
    ///
    /// **Errors**: failures of the device.
    pub fn read_logits(
        &self,
        rows: Range<usize>,
        workspace: &Workspace<B>,
    ) -> Result<Vec<f32>, ModelError> {
        let (backend, vocab_size) = (Arc::clone(&self.backend), self.spec.vocab_size);
        let logits = DeviceLogits { backend, logits: &workspace.logits, vocab_size };
        Ok(logits.read_logits(rows)?)
    }

    /// Returns the hidden states of the last pass that [`wait`](Self::wait) completed, one row for each of its `num_tokens`
    /// tokens: the residual stream after the final norm. Empty unless the workspace
    /// [captures](Workspace::with_hidden_rows) them.
    ///
    /// **Errors**: failures of the device.
    pub fn hidden_rows<'w>(
        &self,
        num_tokens: usize,
        workspace: &'w mut Workspace<B>,
    ) -> Result<&'w [f32], ModelError> {
        let Workspace { hidden_rows, host_rows, .. } = workspace;
        match hidden_rows {
            Some(rows) => {
                let values = 0..num_tokens * self.spec.hidden_size;
                Ok(self.backend.download(rows, values, host_rows)?)
            }
            None => Ok(&[]),
        }
    }

    fn output(&self) -> &Output<B> {
        self.output.as_ref().expect("only the last stage computes logits")
    }

    /// Issues the layers, which leave the residual stream in `workspace.x`.
    fn compute<'a>(
        &'a self,
        batch: &Batch,
        residual: Option<&[f32]>,
        cache: &mut ModelCache<B>,
        workspace: &mut Workspace<B>,
    ) -> Result<B::Pass<'a>, ModelError> {
        let (backend, rotaries) = (&*self.backend, &self.rotaries);
        self.upload(batch, cache, workspace)?;
        if let Some(residual) = residual {
            backend.upload(residual, &mut workspace.x);
        }
        let (pass, rows) = (backend.begin(), batch.num_tokens());
        let mut context =
            ForwardContext::<B> { pass, backend, rotaries, first_cache_layer: 0, rows };
        match (&self.input, &self.fusion, residual) {
            (Some(input), None, None) => input.embed(&mut context, workspace),
            (Some(input), Some(fusion), Some(_)) => {
                fusion.combine(&mut context, input, workspace)?;
            }
            (None, None, Some(_)) => {}
            _ => panic!("the first stage embeds tokens, the others read a residual stream"),
        }
        if let Some(embeddings) = &self.layer_embeddings {
            embeddings.compute(&mut context, workspace)?;
        }
        if let Some(streams) = &self.streams {
            streams.expand(&mut context, workspace)?;
        }
        for index in 0..self.spec.loops.count {
            if index > 0 {
                context.first_cache_layer += self.spec.cached_attentions().count();
                if self.spec.loops.is_normed {
                    self.output().normalize(&mut context, workspace);
                }
            }
            for layer in &self.layers {
                layer.forward(&mut context, cache, workspace)?;
            }
        }
        if let Some(streams) = &self.streams {
            streams.merge(&mut context, workspace)?;
        }
        Ok(context.pass)
    }

    /// Copies what the batch determines to the device.
    fn upload(
        &self,
        batch: &Batch,
        cache: &mut ModelCache<B>,
        workspace: &mut Workspace<B>,
    ) -> Result<(), ModelError> {
        let backend = &*self.backend;
        backend.assign_kv_window(batch, &mut cache.kv)?;
        backend.upload_batch(batch, &mut workspace.batch);
        let Workspace { context_length, host_angles, angles, query_factors, .. } = workspace;
        for (rotary, angles) in self.rotaries.iter().zip(angles) {
            rotary.angles(batch.positions(), *context_length, host_angles);
            backend.upload(host_angles, angles);
        }
        if let (Some(temperature), Some(factors)) = (self.spec.temperature, query_factors) {
            rope::query_factors(temperature, batch.positions(), host_angles);
            backend.upload(host_angles, factors);
        }
        Ok(())
    }

    fn check(&self, batch: &Batch, workspace: &Workspace<B>) -> Result<(), ModelError> {
        let limit = workspace.limits.max_num_tokens;
        if batch.num_tokens() > limit {
            return Err(too_large("tokens", limit, batch.num_tokens()));
        }
        let is_whole = |sequence| batch.rows(sequence).len() == batch.context_lens()[sequence];
        if !self.spec.is_causal && !(0..batch.num_sequences()).all(is_whole) {
            return Err(ModelError::NotInOnePass);
        }
        if self.spec.has_state() && batch.states().contains(&None) {
            return Err(ModelError::MissingState);
        }
        let segments = self.spec.input.as_ref().and_then(|input| input.token_types.as_ref());
        let num_token_types = segments.map_or(usize::MAX, MatrixPart::num_rows);
        if let Some(&found) =
            batch.token_types().iter().find(|&&token_type| token_type as usize >= num_token_types)
        {
            return Err(ModelError::TokenTypeOutOfRange { found, num_token_types });
        }
        let positions = self.spec.input.as_ref().and_then(|input| input.positions.as_ref());
        let num_positions = positions.map_or(usize::MAX, MatrixPart::num_rows);
        if let Some(&position) =
            batch.positions().iter().find(|&&position| position as usize >= num_positions)
        {
            return Err(ModelError::PositionOutOfRange { position, num_positions });
        }
        let vocab_size = self.spec.vocab_size;
        match batch.token_ids().iter().find(|&&token| token as usize >= vocab_size) {
            Some(&token) => Err(ModelError::TokenOutOfRange { token, vocab_size }),
            None => Ok(()),
        }
    }
}

fn too_large(what: &'static str, max: usize, found: usize) -> ModelError {
    ModelError::BatchTooLarge { what, max, found }
}
