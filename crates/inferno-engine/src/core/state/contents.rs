//! The computed blocks and states of sessions: read and restored, to save and load them.

use inferno_backend::{BlockId, KvBlockPart, StateLayout};

use super::CoreState;
use crate::EngineError;
use crate::scheduler::SequenceId;

impl CoreState {
    /// Applies the changes of window memory since the last step, so that blocks can be read.
    pub(crate) fn apply_window_updates(&mut self) {
        self.runner.update_windows(&self.scheduler.take_pending_window_updates());
    }

    /// Positions of a session's sequence that are computed, and the blocks that hold them.
    pub(crate) fn computed_blocks(&mut self, id: SequenceId) -> (usize, &[BlockId]) {
        self.apply_window_updates();
        self.scheduler.parked_blocks(id)
    }

    /// Appends the contents of one block, or a part of it, to `bytes`.
    pub(crate) fn read_block(
        &self,
        block: BlockId,
        part: KvBlockPart,
        bytes: &mut Vec<u8>,
    ) -> Result<(), EngineError> {
        self.runner.read_kv_block(block, part, bytes)
    }

    /// Replaces the tokens of a session's sequence, of which the first `num_computed` have their keys and
    /// values in blocks that `fill` reads one after another. Without room for them they are computed
    /// again. The sequence is empty after an error.
    pub(crate) fn restore(
        &mut self,
        id: SequenceId,
        tokens: &[u32],
        num_computed: usize,
        mut fill: impl FnMut(&mut [u8]) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        self.scheduler.set_parked_tokens(id, &[]);
        self.scheduler.set_parked_tokens(id, tokens);
        if num_computed == 0 {
            return Ok(());
        }
        let Some((blocks, updates)) = self.scheduler.restore(id, num_computed) else {
            return Ok(());
        };
        self.runner.update_windows(&updates);
        let filled = self.fill_blocks(&blocks, num_computed, &mut fill);
        let filled = filled.and_then(|()| self.fill_state(id, &mut fill));
        match filled {
            Ok(()) => self.scheduler.finish_restore(id, num_computed),
            Err(_) => self.scheduler.set_parked_tokens(id, &[]),
        }
        filled
    }

    /// Fills the slot of a session's sequence, if the model has a recurrent state.
    fn fill_state(
        &mut self,
        id: SequenceId,
        fill: &mut dyn FnMut(&mut [u8]) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let slot_bytes = self.runner.state_layout().map_or(0, StateLayout::slot_bytes);
        let Some(slot) = self.scheduler.parked_state(id) else { return Ok(()) };
        let mut bytes = vec![0; slot_bytes];
        fill(&mut bytes)?;
        self.runner.write_state(slot, &bytes)
    }

    /// Appends the recurrent state of a session's sequence to `bytes`, if it has one.
    pub(crate) fn read_state(
        &self,
        id: SequenceId,
        bytes: &mut Vec<u8>,
    ) -> Result<(), EngineError> {
        match self.scheduler.parked_state(id) {
            Some(slot) => self.runner.read_state(slot, bytes),
            None => Ok(()),
        }
    }

    fn fill_blocks(
        &mut self,
        blocks: &[BlockId],
        num_computed: usize,
        fill: &mut dyn FnMut(&mut [u8]) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let mut bytes = Vec::new();
        for (index, &block) in blocks.iter().enumerate() {
            let layout = self.runner.kv_layout();
            let part = layout.part_of_block(index, num_computed);
            bytes.resize(part.num_bytes(layout)?, 0);
            fill(&mut bytes)?;
            self.runner.write_kv_block(block, part, &bytes)?;
        }
        Ok(())
    }
}
