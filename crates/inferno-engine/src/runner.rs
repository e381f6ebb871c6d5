//! The seam between the engine and a model on a device.

use inferno_backend::{Batch, BlockId, KvLayout};
use inferno_model::BatchLimits;

use crate::{EngineError, Fingerprint};

/// What the engine needs of a model on a device. Nothing above it names a backend.
///
/// The runner owns the memory of the KV cache; which of its blocks hold what is the engine's affair.
pub trait Runner: Send {
    /// Tokens of the model's vocabulary, and logits in a row.
    fn vocab_size(&self) -> usize;

    /// Values in a hidden state.
    fn hidden_size(&self) -> usize;

    /// Positions that a sequence may have.
    fn context_length(&self) -> usize;

    /// The largest batch that [`run`](Self::run) takes.
    fn limits(&self) -> BatchLimits;

    /// The cache's dimensions.
    fn kv_layout(&self) -> &KvLayout;

    /// Identifies the model and the cache's format, so that another model's state is not mistaken
    /// for this one's.
    fn fingerprint(&self) -> Fingerprint;

    /// Runs one forward pass, and gives a row of logits for each of the batch's `logit_rows`.
    ///
    /// **Errors**: a batch beyond the limits, a token beyond the vocabulary, a device that fails. The
    /// cache may hold anything in the batch's own slots then, and is unchanged elsewhere.
    fn run(&mut self, batch: &Batch) -> Result<&[f32], EngineError>;

    /// Runs one forward pass as [`run`](Self::run) does, and gives in place of each row of logits the
    /// hidden state after the final norm. There may be as many rows as tokens.
    ///
    /// **Errors**: as [`run`](Self::run).
    fn run_hidden(&mut self, batch: &Batch) -> Result<&[f32], EngineError>;

    /// Appends the contents of one block to `bytes`.
    ///
    /// **Errors**: a device that fails.
    fn read_kv_block(&self, block: BlockId, bytes: &mut Vec<u8>) -> Result<(), EngineError>;

    /// Fills one block with what [`read_kv_block`](Self::read_kv_block) gave.
    ///
    /// **Errors**: bytes of another size than a block, a device that fails.
    fn write_kv_block(&mut self, block: BlockId, bytes: &[u8]) -> Result<(), EngineError>;
}
