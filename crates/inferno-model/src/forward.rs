//! The forward pass: a batch in, rows of logits or hidden states out.

use inferno_backend::{Backend, Batch, EmbeddingIndex, Function};

use crate::layers::ForwardContext;
use crate::rope;
use crate::workspace::Workspace;
use crate::{Model, ModelCache, ModelError};

impl<B: Backend> Model<B> {
    /// Runs `batch`, writes its keys and values to `cache`, and returns one row of `vocab_size`
    /// logits for each of the batch's `logit_rows`.
    ///
    /// The same tokens at the same positions give the same logits, whatever else is in the batch
    /// and however the positions before them were split into batches.
    ///
    /// **Errors**: [`ModelError::BatchTooLarge`], [`ModelError::TokenOutOfRange`], out of memory, and
    /// failures of the device. The cache is unchanged by the first two; after the others, the keys and
    /// values of the batch's own positions and the recurrent states of its sequences are unspecified.
    pub fn forward<'w>(
        &self,
        batch: &Batch,
        cache: &mut ModelCache<B>,
        workspace: &'w mut Workspace<B>,
    ) -> Result<&'w [f32], ModelError> {
        self.check(batch, workspace)?;
        let (limit, num_rows) = (workspace.limits.max_num_logit_rows, batch.logit_rows().len());
        if num_rows > limit {
            return Err(too_large("logit rows", limit, num_rows));
        }
        self.compute(batch, cache, workspace)?;
        let Workspace { x, logits, host_rows, .. } = workspace;
        let (backend, head) = (&*self.backend, &self.head);
        if num_rows > 0 {
            backend.linear(num_rows, &*x, &head.weight, head.bias(), logits)?;
            for &function in &self.spec.head_functions {
                backend.apply(num_rows, function, logits);
            }
        }
        Ok(backend.download(logits, num_rows * self.spec.vocab_size, host_rows)?)
    }

    /// Runs `batch` like [`forward`](Self::forward), but returns the input of the output head: one
    /// row of `hidden_size` values after the final norm for each of the batch's `logit_rows`. Their
    /// number is limited only by that of the tokens.
    ///
    /// **Errors**: as [`forward`](Self::forward).
    pub fn forward_hidden<'w>(
        &self,
        batch: &Batch,
        cache: &mut ModelCache<B>,
        workspace: &'w mut Workspace<B>,
    ) -> Result<&'w [f32], ModelError> {
        self.check(batch, workspace)?;
        self.compute(batch, cache, workspace)?;
        let Workspace { x, host_rows, .. } = workspace;
        let num_values = batch.logit_rows().len() * self.spec.hidden_size;
        Ok(self.backend.download(x, num_values, host_rows)?)
    }

    /// Computes everything up to the final norm; leaves the batch's `logit_rows` in `x`.
    fn compute(
        &self,
        batch: &Batch,
        cache: &mut ModelCache<B>,
        workspace: &mut Workspace<B>,
    ) -> Result<(), ModelError> {
        let Self { spec, rotaries, .. } = self;
        let backend = &*self.backend;
        let context = ForwardContext { backend, rotaries, rows: batch.num_tokens() };

        backend.assign_kv_window(batch, &mut cache.kv)?;
        backend.upload_batch(batch, &mut workspace.batch);
        let Workspace { context_length, host_angles, angles, query_factors, .. } = workspace;
        for (rotary, angles) in rotaries.iter().zip(angles) {
            rotary.angles(batch.positions(), *context_length, host_angles);
            backend.upload(host_angles, angles);
        }
        if let (Some(temperature), Some(factors)) = (spec.temperature, query_factors) {
            rope::query_factors(temperature, batch.positions(), host_angles);
            backend.upload(host_angles, factors);
        }

        let index = EmbeddingIndex::Token;
        backend.embed(&workspace.batch, index, &self.embeddings, &mut workspace.x);
        if spec.embedding_scale != 1.0 {
            let scale = Function::Scale { factor: spec.embedding_scale };
            backend.apply(context.rows, scale, &mut workspace.x);
        }
        if let Some(table) = &self.position_embeddings {
            let Workspace { batch, x, normed, .. } = &mut *workspace;
            backend.embed(batch, EmbeddingIndex::Position, table, normed);
            backend.add_scaled(context.rows, normed, 1.0, x);
        }
        if let Some(embeddings) = &self.layer_embeddings {
            embeddings.compute(&context, workspace)?;
        }
        if let Some(streams) = &self.streams {
            streams.expand(&context, workspace)?;
        }
        for layer in &self.layers {
            layer.forward(&context, cache, workspace)?;
        }
        if let Some(streams) = &self.streams {
            streams.merge(&context, workspace)?;
        }

        let num_rows = batch.logit_rows().len();
        let Workspace { batch, x, normed, .. } = workspace;
        if num_rows > 0 {
            backend.gather_logit_rows(batch, x, normed);
            backend.norm(num_rows, normed, self.output_norm.norm(), x);
        }
        Ok(())
    }

    fn check(&self, batch: &Batch, workspace: &Workspace<B>) -> Result<(), ModelError> {
        let limit = workspace.limits.max_num_tokens;
        if batch.num_tokens() > limit {
            return Err(too_large("tokens", limit, batch.num_tokens()));
        }
        if self.spec.has_state() && batch.states().contains(&None) {
            return Err(ModelError::MissingState);
        }
        let num_positions = match &self.spec.position_embeddings {
            Some(table) => table.num_rows(),
            None => usize::MAX,
        };
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
