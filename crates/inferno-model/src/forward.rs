//! One forward pass: a batch in, rows of logits out.

use inferno_backend::{Backend, Batch};

use crate::rope::Rope;
use crate::workspace::Workspace;
use crate::{Config, Model, ModelError};

/// What every layer of a pass shares.
pub(crate) struct Step<'a, B: Backend> {
    pub(crate) backend: &'a B,
    pub(crate) config: &'a Config,
    pub(crate) rope: &'a Rope,
    pub(crate) rows: usize,
}

impl<B: Backend> Model<B> {
    /// Runs `batch`, writes its keys and values into `cache`, and gives a row of `vocab_size` logits
    /// for each of the batch's `logit_rows`.
    ///
    /// The same tokens at the same positions give the same logits, whatever else is in the batch
    /// and however the positions before them were split into batches.
    ///
    /// **Errors**: [`ModelError::BatchTooLarge`], [`ModelError::TokenOutOfRange`], and a device that
    /// fails. The cache is unchanged by the first two.
    pub fn forward<'w>(
        &self,
        batch: &Batch,
        cache: &mut B::KvCache,
        workspace: &'w mut Workspace<B>,
    ) -> Result<&'w [f32], ModelError> {
        self.check(batch, workspace)?;
        let backend = &*self.backend;
        let num_logit_rows = batch.logit_rows().len();
        let step =
            Step { backend, config: &self.config, rope: &self.rope, rows: batch.num_tokens() };

        backend.upload_batch(batch, &mut workspace.batch);
        self.rope.angles(batch.positions(), &mut workspace.host_angles);
        backend.upload(&workspace.host_angles, &mut workspace.angles);

        backend.embed(&workspace.batch, &self.embeddings, &mut workspace.x);
        for layer in &self.layers {
            layer.forward(&step, cache, workspace);
        }

        let Workspace { batch, x, normed, logits, host_logits, .. } = workspace;
        if num_logit_rows > 0 {
            backend.gather_logit_rows(batch, x, normed);
            let eps = self.config.rms_norm_eps;
            backend.rms_norm(num_logit_rows, normed, &self.output_norm, eps, x);
            backend.linear(num_logit_rows, x, &self.lm_head, None, logits);
        }
        Ok(backend.download(logits, num_logit_rows * self.config.vocab_size, host_logits)?)
    }

    fn check(&self, batch: &Batch, workspace: &Workspace<B>) -> Result<(), ModelError> {
        let limits = workspace.limits;
        let too_large = |what, max, found| Err(ModelError::BatchTooLarge { what, max, found });
        if batch.num_tokens() > limits.max_num_tokens {
            return too_large("tokens", limits.max_num_tokens, batch.num_tokens());
        }
        if batch.logit_rows().len() > limits.max_num_logit_rows {
            return too_large("logit rows", limits.max_num_logit_rows, batch.logit_rows().len());
        }
        let vocab_size = self.config.vocab_size;
        match batch.token_ids().iter().find(|&&token| token as usize >= vocab_size) {
            Some(&token) => Err(ModelError::TokenOutOfRange { token, vocab_size }),
            None => Ok(()),
        }
    }
}
