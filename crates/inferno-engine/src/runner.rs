//! The interface between the engine and a model on a device.

use std::sync::Arc;

use inferno_backend::{Batch, BlockId, KvBlockPart, KvLayout, StateLayout, StateSlot};
use inferno_model::{BatchLimits, PooledHead};

use crate::{EngineError, Fingerprint, PassRows, Rows, WindowUpdate};

/// A model on a device, as the engine uses it. Nothing above it names a backend.
///
/// The runner owns the memory of the KV cache; the engine decides what each block holds.
pub trait Runner: Send {
    /// Returns the size of the model's vocabulary, which is the number of logits per row.
    fn vocab_size(&self) -> usize;

    /// Returns the number of values of a hidden state.
    fn hidden_size(&self) -> usize;

    /// Whether tokens attend to those before them alone; if not, a sequence is computed in one pass.
    fn is_causal(&self) -> bool {
        true
    }

    /// Whether the model computes logits; if not, passes return hidden states only.
    fn has_logits(&self) -> bool {
        true
    }

    /// Returns what follows the pooling of hidden states.
    fn pooled_head(&self) -> Arc<PooledHead> {
        Arc::default()
    }

    /// Returns the maximum number of positions of a sequence.
    fn context_length(&self) -> usize;

    /// Returns the limits of a batch for [`submit`](Self::submit).
    fn limits(&self) -> BatchLimits;

    /// Returns the maximum number of sequences that are computed together. Each needs a row of logits, and a prompt one
    /// token in addition to those of decoding sequences.
    fn max_num_sequences(&self) -> usize {
        let BatchLimits { max_num_tokens, max_num_logit_rows } = self.limits();
        max_num_logit_rows.min(max_num_tokens.saturating_sub(1).max(1))
    }

    /// Returns descriptions of the devices that compute, in the order of the layers.
    fn devices(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the dimensions of the KV cache.
    fn kv_layout(&self) -> &KvLayout;

    /// Returns the dimensions of the recurrent state; `None` if the model has no recurrent layers.
    fn state_layout(&self) -> Option<&StateLayout> {
        None
    }

    /// Returns a fingerprint of the model and the cache's format, which saved state is checked against.
    fn fingerprint(&self) -> Fingerprint;

    /// Starts one forward pass, which [`wait`](Self::wait) completes. The device may compute in the meantime.
    ///
    /// **Errors**: a batch beyond the limits, a token beyond the vocabulary, no memory, a device that fails.
    /// The cache and the recurrent state may hold anything in the batch's own slots then, and are unchanged elsewhere.
    /// Later passes must work.
    fn submit(&mut self, batch: &Batch, rows: PassRows) -> Result<(), EngineError>;

    /// Starts a pass of a prediction head as [`submit`](Self::submit) does that of a model. `hidden` holds the hidden state
    /// before each token of the batch.
    ///
    /// **Errors**: as [`submit`](Self::submit); a runner that [reads](Self::reads_hidden_rows) no hidden states.
    fn submit_after(
        &mut self,
        _batch: &Batch,
        _hidden: &[f32],
        _rows: PassRows,
    ) -> Result<(), EngineError> {
        Err(EngineError::NoHiddenRows)
    }

    /// Whether passes are started by [`submit_after`](Self::submit_after): the runner is a prediction head.
    fn reads_hidden_rows(&self) -> bool {
        false
    }

    /// Returns the hidden states of all tokens of the last pass, which was completed by [`wait`](Self::wait); empty unless
    /// the runner captures them.
    ///
    /// **Errors**: a device that fails.
    fn hidden_rows(&mut self) -> Result<&[f32], EngineError> {
        Ok(&[])
    }

    /// Removes and returns the prediction head that was loaded with the model, if there is one.
    fn take_prediction_head(&mut self) -> Option<Box<dyn Runner>> {
        None
    }

    /// Waits for the pass that was started last, and returns a row for each of its batch's `logit_rows`.
    ///
    /// **Errors**: a device that fails, with the consequences of a [`submit`](Self::submit) that fails.
    ///
    /// **Panics** if no pass was started since the last call.
    fn wait(&mut self) -> Result<Rows<'_>, EngineError>;

    /// Whether a part of the runner is lost, and with it the contents of the whole cache: passes fail until
    /// [`recover`](Self::recover) succeeds.
    fn is_lost(&self) -> bool {
        false
    }

    /// Tries to replace what is lost; false if that is not possible yet. May wait for a moment.
    ///
    /// **Errors**: what is lost will not return.
    fn recover(&mut self) -> Result<bool, EngineError> {
        Ok(true)
    }

    /// Changes which blocks hold keys and values of windowed layers.
    fn update_windows(&mut self, updates: &[WindowUpdate]);

    /// Appends the contents of one block, or a part of it, to `bytes`.
    ///
    /// **Errors**: a device that fails.
    fn read_kv_block(
        &self,
        block: BlockId,
        part: KvBlockPart,
        bytes: &mut Vec<u8>,
    ) -> Result<(), EngineError>;

    /// Fills one block, or a part of it, with the contents that [`read_kv_block`](Self::read_kv_block) appended.
    ///
    /// **Errors**: bytes of another size than a block, a device that fails.
    fn write_kv_block(
        &mut self,
        block: BlockId,
        part: KvBlockPart,
        bytes: &[u8],
    ) -> Result<(), EngineError>;

    /// Copies the recurrent state in slot `from` to slot `to`. Never called without a
    /// [`state_layout`](Self::state_layout).
    fn copy_state(&mut self, _from: StateSlot, _to: StateSlot) {}

    /// Appends the recurrent state in a slot to `bytes`; nothing without a [`state_layout`](Self::state_layout).
    ///
    /// **Errors**: a device that fails.
    fn read_state(&self, _slot: StateSlot, _bytes: &mut Vec<u8>) -> Result<(), EngineError> {
        Ok(())
    }

    /// Fills a slot with the state that [`read_state`](Self::read_state) appended.
    ///
    /// **Errors**: bytes of another size than a slot, a device that fails.
    fn write_state(&mut self, _slot: StateSlot, _bytes: &[u8]) -> Result<(), EngineError> {
        Ok(())
    }
}
