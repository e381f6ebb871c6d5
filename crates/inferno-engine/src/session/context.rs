//! The session's sequence on its runner: what is computed, and the next pass.

use std::time::{Duration, Instant};

use inferno_backend::{Batch, BlockId, LogitRows, SequenceChunk};
use inferno_model::BatchLimits;

use crate::{BlockPool, EngineError, Fingerprint, Runner, Sequence};

/// One sequence that has a runner and all of its cache to itself.
pub(super) struct Context {
    runner: Box<dyn Runner>,
    kv_cache: bool,
    pool: BlockPool,
    sequence: Sequence,
    /// Tokens at the sequence's end that are drafts, accepted perhaps, and not said yet.
    num_ahead: usize,
    /// Its memory is used again by the next pass.
    batch: Batch,
}

/// A forward pass that was made.
pub(super) struct Pass<'a> {
    pub(super) num_tokens: usize,
    pub(super) duration: Duration,
    /// After the last token, a row of logits, and one after each draft; nothing before.
    pub(super) logits: &'a [f32],
    row_len: usize,
}

impl<'a> Pass<'a> {
    /// The rows of `logits`.
    pub(super) fn logit_rows(&self) -> impl Iterator<Item = &'a [f32]> + use<'a> {
        self.logits.chunks_exact(self.row_len)
    }
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
            num_ahead: 0,
            batch: Batch::default(),
        })
    }

    /// The tokens that were read and said, without drafts.
    pub(super) fn tokens(&self) -> &[u32] {
        let tokens = self.sequence.tokens();
        &tokens[..tokens.len() - self.num_ahead]
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

    /// Drops all drafts, and all tokens from the `len`-th on.
    pub(super) fn truncate(&mut self, len: usize) {
        let len = len.min(self.tokens().len());
        self.sequence.truncate(len, &mut self.pool);
        self.num_ahead = 0;
    }

    /// Appends a token that was drawn, unless it stands there already, as a draft that was accepted.
    pub(super) fn say(&mut self, token: u32) {
        match self.num_ahead {
            0 => self.extend(&[token]),
            _ => self.num_ahead -= 1,
        }
    }

    /// Checks that passes may have `num_drafts` drafts.
    ///
    /// **Errors**: [`EngineError::SpeculationWithoutCache`], [`EngineError::TooManyDrafts`].
    pub(super) fn check_speculation(&self, num_drafts: usize) -> Result<(), EngineError> {
        let BatchLimits { max_num_tokens, max_num_logit_rows } = self.runner.limits();
        let limit = max_num_tokens.min(max_num_logit_rows).saturating_sub(1);
        match num_drafts {
            0 => Ok(()),
            _ if !self.kv_cache => Err(EngineError::SpeculationWithoutCache),
            asked_for if asked_for > limit => Err(EngineError::TooManyDrafts { asked_for, limit }),
            _ => Ok(()),
        }
    }

    /// Drafts that find room in the context, with one more token after them.
    pub(super) fn room_for_drafts(&self) -> usize {
        self.context_length().saturating_sub(self.tokens().len() + 1)
    }

    /// Appends drafts, to be computed in one pass with the last token.
    pub(super) fn draft(&mut self, drafts: &[u32]) {
        self.extend(drafts);
        self.num_ahead = drafts.len();
    }

    /// Drops all but the first `num_accepted` drafts, with their keys and values.
    pub(super) fn accept(&mut self, num_accepted: usize) {
        let len = self.tokens().len() + num_accepted;
        self.sequence.truncate(len, &mut self.pool);
        self.num_ahead = num_accepted;
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
        let logits = if self.num_ahead > 0 { LogitRows::All } else { chunk.logits };
        let chunk = SequenceChunk { logits, ..chunk };
        let num_tokens = chunk.tokens.len();
        let mut builder = std::mem::take(&mut self.batch).into_builder(block_tokens);
        builder.push(&chunk)?;
        self.batch = builder.build();

        let row_len = self.runner.vocab_size();
        let started = Instant::now();
        let logits = self.runner.run(&self.batch)?;
        let duration = started.elapsed();
        self.sequence.advance(num_tokens);
        Ok(Some(Pass { num_tokens, duration, logits, row_len }))
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
