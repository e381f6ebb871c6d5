//! The session's sequence on its runner: what is computed, and the next pass.

use std::time::{Duration, Instant};

use inferno_backend::{Batch, BlockId};

use crate::{BlockPool, EngineError, Fingerprint, Runner, Sequence};

/// One sequence that has a runner and all of its cache to itself.
pub(super) struct Context {
    runner: Box<dyn Runner>,
    kv_cache: bool,
    pool: BlockPool,
    sequence: Sequence,
    /// Its memory is used again by the next pass.
    batch: Batch,
}

/// A forward pass that was made.
pub(super) struct Pass<'a> {
    pub(super) num_tokens: usize,
    pub(super) duration: Duration,
    /// After the last token, a row of logits; nothing before.
    pub(super) logits: &'a [f32],
}

impl Context {
    pub(super) fn new(runner: Box<dyn Runner>, kv_cache: bool) -> Result<Self, EngineError> {
        let (layout, context_length) = (*runner.kv_layout(), runner.context_length());
        if layout.blocks_for(context_length) > layout.num_blocks {
            return Err(EngineError::CacheTooSmall {
                cache_tokens: layout.num_blocks * layout.block_tokens,
                context_length,
            });
        }
        Ok(Self {
            runner,
            kv_cache,
            pool: BlockPool::new(layout.num_blocks),
            sequence: Sequence::new(layout.block_tokens),
            batch: Batch::default(),
        })
    }

    pub(super) fn tokens(&self) -> &[u32] {
        self.sequence.tokens()
    }

    pub(super) fn num_computed(&self) -> usize {
        self.sequence.num_computed()
    }

    pub(super) fn context_length(&self) -> usize {
        self.runner.context_length()
    }

    pub(super) fn fingerprint(&self) -> Fingerprint {
        self.runner.fingerprint()
    }

    pub(super) fn extend(&mut self, tokens: &[u32]) {
        self.sequence.extend(tokens);
    }

    pub(super) fn truncate(&mut self, len: usize) {
        self.sequence.truncate(len, &mut self.pool);
    }

    /// Makes sure that the last token is still to be computed, so that its logits come.
    pub(super) fn want_logits(&mut self) {
        let kept = if self.kv_cache { self.tokens().len().saturating_sub(1) } else { 0 };
        self.sequence.recompute_from(kept);
    }

    /// Computes as many of the tokens that are not computed as one batch holds; `None` when all are.
    pub(super) fn run_chunk(&mut self) -> Result<Option<Pass<'_>>, EngineError> {
        let max_num_tokens = self.runner.limits().max_num_tokens;
        let block_tokens = self.runner.kv_layout().block_tokens;
        let Some(chunk) = self.sequence.next_chunk(max_num_tokens, &mut self.pool)? else {
            return Ok(None);
        };
        let num_tokens = chunk.tokens.len();
        let mut builder = std::mem::take(&mut self.batch).into_builder(block_tokens);
        builder.push(&chunk)?;
        self.batch = builder.build();

        let started = Instant::now();
        let logits = self.runner.run(&self.batch)?;
        let duration = started.elapsed();
        self.sequence.advance(num_tokens);
        Ok(Some(Pass { num_tokens, duration, logits }))
    }

    /// The blocks that hold the computed positions.
    pub(super) fn computed_blocks(&self) -> &[BlockId] {
        let num_blocks = self.runner.kv_layout().blocks_for(self.num_computed());
        &self.sequence.block_table()[..num_blocks]
    }

    pub(super) fn read_block(
        &self,
        block: BlockId,
        bytes: &mut Vec<u8>,
    ) -> Result<(), EngineError> {
        self.runner.read_kv_block(block, bytes)
    }

    /// Bytes of one block.
    pub(super) fn block_bytes(&self) -> Result<usize, EngineError> {
        Ok(self.runner.kv_layout().block_bytes()?)
    }

    pub(super) fn blocks_for(&self, num_tokens: usize) -> usize {
        self.runner.kv_layout().blocks_for(num_tokens)
    }

    /// Replaces everything by `tokens`, of which the first `num_computed` have their keys and values
    /// in blocks that `fill` gives one after another. Empty if that fails.
    pub(super) fn restore(
        &mut self,
        tokens: &[u32],
        num_computed: usize,
        mut fill: impl FnMut(&mut [u8]) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        self.truncate(0);
        self.extend(tokens);
        let mut copy = || {
            self.sequence.reserve(num_computed, &mut self.pool)?;
            let mut bytes = vec![0; self.runner.kv_layout().block_bytes()?];
            for &block in self.sequence.block_table() {
                fill(&mut bytes)?;
                self.runner.write_kv_block(block, &bytes)?;
            }
            self.sequence.advance(num_computed);
            Ok(())
        };
        let copied = copy();
        if copied.is_err() {
            self.truncate(0);
        }
        copied
    }
}
