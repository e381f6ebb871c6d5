//! A runner that panics on one token.

use inferno_backend::{Batch, BlockId, KvBlockPart, KvLayout};
use inferno_engine::{EngineError, Fingerprint, PassRows, Rows, Runner, WindowUpdate};
use inferno_model::BatchLimits;

/// The token.
pub const DEADLY: u32 = 7;

/// Runs another runner, and panics at [`DEADLY`].
pub struct FragileRunner<R>(pub R);

impl<R: Runner> Runner for FragileRunner<R> {
    fn vocab_size(&self) -> usize {
        self.0.vocab_size()
    }

    fn hidden_size(&self) -> usize {
        self.0.hidden_size()
    }

    fn context_length(&self) -> usize {
        self.0.context_length()
    }

    fn limits(&self) -> BatchLimits {
        self.0.limits()
    }

    fn kv_layout(&self) -> &KvLayout {
        self.0.kv_layout()
    }

    fn fingerprint(&self) -> Fingerprint {
        self.0.fingerprint()
    }

    fn submit(&mut self, batch: &Batch, rows: PassRows) -> Result<(), EngineError> {
        let is_deadly = rows != PassRows::Hidden && batch.token_ids().contains(&DEADLY);
        assert!(!is_deadly, "a test kills the engine");
        self.0.submit(batch, rows)
    }

    fn wait(&mut self) -> Result<Rows<'_>, EngineError> {
        self.0.wait()
    }

    fn update_windows(&mut self, updates: &[WindowUpdate]) {
        self.0.update_windows(updates);
    }

    fn read_kv_block(
        &self,
        block: BlockId,
        part: KvBlockPart,
        bytes: &mut Vec<u8>,
    ) -> Result<(), EngineError> {
        self.0.read_kv_block(block, part, bytes)
    }

    fn write_kv_block(
        &mut self,
        block: BlockId,
        part: KvBlockPart,
        bytes: &[u8],
    ) -> Result<(), EngineError> {
        self.0.write_kv_block(block, part, bytes)
    }
}
