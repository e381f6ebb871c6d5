//! One head's use of a stage: its cache, and the requests on it.

use inferno_backend::{Batch, StateLayout};
use inferno_model::{BatchLimits, CacheLayout, StageOutput, StageRows};
use parking_lot::{Mutex, MutexGuard};

use super::batch::{BatchBounds, ChunkMessage};
use super::connection::{to_bytes, to_values};
use super::message::{self, Reply, Request, RowsMessage};
use super::server::StageModel;
use super::{Stage, StageError};
use crate::EngineError;

/// The cache of one head.
pub(super) struct Lane<'s> {
    model: &'s StageModel,
    /// Passes of all heads take turns on the device.
    turn: &'s Mutex<()>,
    stage: Box<dyn Stage>,
    /// The dimensions of the whole model's cache.
    layout: CacheLayout,
    limits: BatchLimits,
    context_length: usize,
    batch: Batch,
    residual: Vec<f32>,
    /// Rows of logits of the last pass.
    num_logit_rows: usize,
    /// The payload of the last reply.
    pub(super) result: Vec<u8>,
}

impl<'s> Lane<'s> {
    /// Allocates a cache for the first request of a head.
    ///
    /// **Errors**: another request, another model, a cache that does not fit the model or the memory.
    pub(super) fn open(
        model: &'s StageModel,
        turn: &'s Mutex<()>,
        request: &Request,
    ) -> Result<Self, EngineError> {
        let Request::Open(message) = request else {
            return Err(StageError::Message { what: "the first one opens the stage" }.into());
        };
        let (expected, found) = (message.fingerprint, model.fingerprint().0);
        if expected != found {
            return Err(StageError::OtherModel { expected, found }.into());
        }
        let options = message.options()?;
        let (context_length, layout) = options.layout(model.spec())?;
        let stage = model.open(&layout, options.limits, context_length)?;
        Ok(Self {
            model,
            turn,
            stage,
            layout,
            limits: options.limits,
            context_length,
            batch: Batch::default(),
            residual: Vec::new(),
            num_logit_rows: 0,
            result: Vec::new(),
        })
    }

    /// The reply to a head that opened the stage.
    pub(super) fn opened(&self) -> Reply {
        Reply::Opened {
            layers: self.model.layers(),
            devices: self.stage.devices(),
            has_long_rotary: self.stage.has_long_rotary(),
        }
    }

    /// Does what a request describes, and returns whether it has a reply, of which [`result`](Self::result) is the
    /// payload.
    ///
    /// **Errors**: an invalid request, a device that fails.
    pub(super) fn handle(&mut self, request: Request, payload: &[u8]) -> Result<bool, EngineError> {
        let (num_blocks, turn) = (self.layout.kv.num_blocks, self.turn);
        self.result.clear();
        match request {
            Request::Open(_) => {
                return Err(StageError::Message { what: "the stage is open already" }.into());
            }
            Request::Pass { chunks, rows } => self.compute(&chunks, rows, payload)?,
            Request::ReadLogits { start, end } => {
                let what = "the end of the rows of logits";
                message::check_below(what, end, self.num_logit_rows + 1)?;
                message::check_below("the first row of logits", start, end)?;
                let _turn = turn.lock();
                to_bytes(&self.stage.read_logits(start..end)?, &mut self.result);
            }
            Request::UpdateWindows(pairs) => {
                let updates = message::to_updates(&pairs, num_blocks)?;
                self.stage.update_windows(&updates);
                return Ok(false);
            }
            Request::CopyState { from, to } => {
                let (from, to) = (self.slot(from)?, self.slot(to)?);
                self.stage.copy_state(from, to);
                return Ok(false);
            }
            Request::ReadBlock { block, is_whole } => {
                let block = message::block(block, num_blocks)?;
                let _turn = turn.lock();
                let part = message::block_part(is_whole);
                self.stage.read_kv_block(block, part, &mut self.result)?;
            }
            Request::WriteBlock { block, is_whole } => {
                let block = message::block(block, num_blocks)?;
                let _turn = turn.lock();
                self.stage.write_kv_block(block, message::block_part(is_whole), payload)?;
            }
            Request::ReadState { slot } => {
                let slot = self.slot(slot)?;
                let _turn = turn.lock();
                self.stage.read_state(slot, &mut self.result)?;
            }
            Request::WriteState { slot } => {
                let slot = self.slot(slot)?;
                let _turn = turn.lock();
                self.stage.write_state(slot, payload)?;
            }
        }
        Ok(true)
    }

    fn slot(&self, id: u32) -> Result<inferno_backend::StateSlot, StageError> {
        let num_slots =
            self.layout.state.as_ref().map_or(0, |layout: &StateLayout| layout.num_slots);
        message::slot(id, num_slots)
    }

    /// Computes a batch when it is this head's turn.
    fn compute(
        &mut self,
        chunks: &[ChunkMessage],
        rows: RowsMessage,
        payload: &[u8],
    ) -> Result<(), EngineError> {
        self.model.check_file()?;
        let Self { model, turn, stage, layout, limits, context_length, batch, .. } = self;
        let bounds = BatchBounds { layout, limits: *limits, context_length: *context_length };
        *batch = bounds.build(chunks, std::mem::take(batch))?;
        model.check_rows(rows)?;
        let expected = batch.num_tokens() * model.residual_len();
        if payload.len() != expected * size_of::<f32>() {
            let what = "the residual stream does not match the batch";
            return Err(StageError::Message { what }.into());
        }
        to_values(payload, &mut self.residual);
        let residual = (expected > 0).then_some(&self.residual[..]);
        let rows = StageRows::from(rows);
        self.num_logit_rows = 0;
        let turn = turn.lock();
        stage.submit(batch, residual, rows)?;
        let output = stage.wait()?;
        // The head that has waited longest is next.
        MutexGuard::unlock_fair(turn);
        match (output, rows) {
            (StageOutput::Candidates { rows, .. }, _) => to_bytes(rows.words(), &mut self.result),
            (StageOutput::Values(logits), StageRows::Candidates(shape)) => {
                // The backend has no such operation.
                let mut words = vec![0.0; batch.logit_rows().len() * shape.row_len()];
                let of_rows = logits.chunks_exact(model.spec().vocab_size);
                for (logits, words) in of_rows.zip(words.chunks_exact_mut(shape.row_len())) {
                    shape.select(logits, words);
                }
                to_bytes(&words, &mut self.result);
            }
            (StageOutput::Values(values), _) => to_bytes(values, &mut self.result),
        }
        if let StageRows::Logits | StageRows::Candidates(_) = rows {
            self.num_logit_rows = batch.logit_rows().len();
        }
        Ok(())
    }
}
