//! Forward passes: chunks of sequences in, rows of logits or hidden states out.

use std::time::{Duration, Instant};

use inferno_backend::{
    Batch, CandidateShape, LogitRows, MAX_CANDIDATES, SequenceChunk, SequenceState, StateSlot,
};

use crate::window_blocks::WindowBlocks;
use crate::{BlockPool, EngineError, PassRows, Row, Rows, Runner, Sequence};

/// What the rows of a forward pass hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowKind {
    /// Logits: `vocab_size` values per row. A batch has a limited number of such rows.
    Logits,
    /// Hidden states after the final norm: `hidden_size` values per row. A batch may have one row per token.
    Hidden,
}

/// The result of one forward pass.
pub struct ForwardOutput<'a> {
    /// Tokens that were computed, over all sequences.
    pub num_tokens: usize,
    /// Duration of the pass.
    pub duration: Duration,
    rows: Rows<'a>,
    num_rows: usize,
    row_len: usize,
}

impl ForwardOutput<'_> {
    /// Returns the rows of logits or hidden states, in the order of the batch.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        (0..self.num_rows).map(|index| self.rows.row(index, self.row_len))
    }
}

/// Runs one forward pass over `chunks`, and returns its rows and its duration. `batch` is overwritten with it and keeps
/// its memory for the next pass. A prediction head needs the `hidden` state before each token.
///
/// **Errors**: a chunk without blocks for its positions, a runner that fails,
/// [`EngineError::LogitsLength`].
pub(crate) fn run_chunks<'a, 'r>(
    runner: &'r mut dyn Runner,
    batch: &mut Batch,
    rows: PassRows,
    hidden: Option<&[f32]>,
    chunks: impl Iterator<Item = (SequenceChunk<'a>, Option<SequenceState>)>,
) -> Result<(Rows<'r>, Duration), EngineError> {
    let mut builder = std::mem::take(batch).into_builder(runner.kv_layout().block_tokens);
    for (chunk, state) in chunks {
        builder.push_with_state(&chunk, state)?;
    }
    *batch = builder.build();
    let started = Instant::now();
    match hidden {
        Some(hidden) => runner.submit_after(batch, hidden, rows)?,
        None => runner.submit(batch, rows)?,
    }
    let rows = runner.wait()?;
    let duration = started.elapsed();
    rows.check_len(batch.logit_rows().len())?;
    Ok((rows, duration))
}

/// Computes sequences on a runner without a scheduler, for measurements and logit dumps.
///
/// The sequences share no blocks, and no other user of the runner's cache may run at the same time. There may be as
/// many as a batch has rows of logits.
///
/// ```
/// use inferno_backend::LogitRows;
/// use inferno_engine::{EngineError, Runner, SequenceRunner};
///
/// /// Returns the most probable token after each token of the prompt.
/// fn predictions(runner: &mut dyn Runner, prompt: &[u32]) -> Result<Vec<usize>, EngineError> {
///     let max_num_rows = runner.limits().max_num_logit_rows;
///     let mut forward = SequenceRunner::new(runner);
///     let mut sequences = [forward.sequence()];
///     sequences[0].extend(prompt);
///     let mut predictions = Vec::new();
///     while let Some(output) = forward.run_next(&mut sequences, max_num_rows, LogitRows::All)? {
///         for row in output.rows() {
///             let row = row.values()?;
///             predictions.extend((0..row.len()).max_by(|&a, &b| row[a].total_cmp(&row[b])));
///         }
///     }
///     Ok(predictions)
/// }
/// ```
pub struct SequenceRunner<'r> {
    runner: &'r mut dyn Runner,
    pool: BlockPool,
    windows: WindowBlocks,
    batch: Batch,
    /// What passes return for each row of logits.
    pass_rows: PassRows,
    /// Number of sequences that were created.
    num_sequences: usize,
}

impl<'r> SequenceRunner<'r> {
    /// Uses all blocks of the runner's cache; what they hold is overwritten.
    pub fn new(runner: &'r mut dyn Runner) -> Self {
        let pool = BlockPool::new(runner.kv_layout().num_blocks);
        let windows = WindowBlocks::of(runner.kv_layout());
        let pass_rows = PassRows::Logits;
        Self { runner, pool, windows, batch: Batch::default(), pass_rows, num_sequences: 0 }
    }

    /// Requests only the `count` largest logits of each row, as an engine does for greedy or top-k sampling. Whole rows can
    /// still be read.
    pub fn with_candidates(self, count: usize) -> Self {
        let vocab_size = self.runner.vocab_size();
        let count = count.min(MAX_CANDIDATES).min(vocab_size).max(1);
        Self { pass_rows: PassRows::Candidates(CandidateShape { count, vocab_size }), ..self }
    }

    /// Requests hidden states instead of logits. A batch may have one of them per token.
    pub fn with_hidden_states(self) -> Self {
        Self { pass_rows: PassRows::Hidden, ..self }
    }

    /// Returns the runner.
    pub fn runner(&self) -> &dyn Runner {
        self.runner
    }

    /// Creates an empty sequence with blocks of the runner's size.
    pub fn sequence(&mut self) -> Sequence {
        let sequence = Sequence::new(self.runner.kv_layout().block_tokens);
        let Some(layout) = self.runner.state_layout() else { return sequence };
        let slot = StateSlot((self.num_sequences % layout.num_slots) as u32);
        self.num_sequences += 1;
        sequence.with_state_slot(slot)
    }

    /// Truncates `sequence` to `len` tokens and frees the blocks that only the others needed. A recurrent state cannot
    /// be truncated: the tokens that are left are then computed again by the next pass, as are tokens whose window has
    /// left the cache.
    pub fn truncate(&mut self, sequence: &mut Sequence, len: usize) {
        if sequence.state_slot().is_some() && len < sequence.num_computed() {
            sequence.recompute_from(0);
        }
        sequence.truncate(len, &mut self.pool);
        let block = |index: usize| sequence.block_table()[index];
        let num_usable = self.windows.num_usable(sequence.num_computed(), block);
        sequence.recompute_from(num_usable);
    }

    /// Computes the next tokens of each sequence, at most `max_num_tokens` of each, in one forward pass.
    /// Returns `None` when all tokens are computed.
    ///
    /// `rows` selects the tokens that return logits; with [`LogitRows::Last`] these are only the last
    /// tokens of whole sequences.
    ///
    /// **Errors**: [`EngineError::OutOfBlocks`]; the sequences are as before then. A runner that fails: the next call
    /// computes the same tokens again. A recurrent state may have advanced, so sequences with one are computed from their
    /// beginning.
    pub fn run_next(
        &mut self,
        sequences: &mut [Sequence],
        max_num_tokens: usize,
        rows: LogitRows,
    ) -> Result<Option<ForwardOutput<'_>>, EngineError> {
        for sequence in &mut *sequences {
            sequence.reserve(
                sequence.num_computed() + sequence.next_len(max_num_tokens),
                &mut self.pool,
            )?;
        }
        if sequences.iter().all(|sequence| sequence.next_len(max_num_tokens) == 0) {
            return Ok(None);
        }
        self.windows.begin_step();
        for sequence in &*sequences {
            let start = sequence.num_computed();
            let end = start + sequence.next_len(max_num_tokens);
            self.windows.use_positions(sequence.block_table(), start..end);
        }
        self.runner.update_windows(&self.windows.take_updates());
        let chunks = sequences.iter().filter(|sequence| sequence.next_len(max_num_tokens) > 0);
        let chunks = chunks.map(|sequence| {
            let chunk = sequence.chunk(sequence.next_len(max_num_tokens));
            let chunk = match rows {
                LogitRows::Last => chunk,
                logits => SequenceChunk { logits, ..chunk },
            };
            (chunk, sequence.state_slot().map(SequenceState::from))
        });
        let row_len = match self.pass_rows {
            PassRows::Hidden => self.runner.hidden_size(),
            PassRows::Logits | PassRows::Candidates(_) => self.runner.vocab_size(),
        };
        let output = run_chunks(self.runner, &mut self.batch, self.pass_rows, None, chunks);
        for sequence in sequences {
            match &output {
                Ok(_) => sequence.advance(sequence.next_len(max_num_tokens)),
                Err(_) if sequence.state_slot().is_some() => sequence.recompute_from(0),
                Err(_) => {}
            }
        }
        let (rows, duration) = output?;
        let (num_tokens, num_rows) = (self.batch.num_tokens(), self.batch.logit_rows().len());
        Ok(Some(ForwardOutput { num_tokens, duration, rows, num_rows, row_len }))
    }
}
