//! A runner without a model: logits are a function of the tokens and positions that the cache
//! holds, so that a wrong slot, block or position changes the output or is detected at once.

use std::sync::{Arc, Mutex};

use inferno_backend::{
    BackendError, Batch, BlockId, KvDType, KvLayout, SequenceState, StateLayout, StateSlot,
};
use inferno_engine::{EngineError, Fingerprint, Runner};
use inferno_model::BatchLimits;

use crate::vocabulary::VOCAB_SIZE;

/// Values in a hidden state.
pub const HIDDEN_SIZE: usize = 5;

/// The contents of a cache slot: a token and its position, or nothing yet.
type Slot = Option<(u32, u32)>;

/// Called before each pass with its number, from 0.
type Hook = Box<dyn FnMut(usize) -> Outcome + Send>;

/// The logit of a token after a history.
type Logits = Box<dyn Fn(&[u32], usize) -> f32 + Send>;

/// The outcome of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Runs,
    Fails,
    GivesNan,
}

pub struct FakeRunner {
    layout: KvLayout,
    context_length: usize,
    limits: BatchLimits,
    fingerprint: Fingerprint,
    vocab_size: usize,
    slots: Vec<Slot>,
    state_layout: Option<StateLayout>,
    /// The tokens that each slot of the recurrent state has read.
    states: Vec<Vec<u32>>,
    logit: Logits,
    logits: Vec<f32>,
    hook: Hook,
    fails_hidden_passes: bool,
    passes: Arc<Mutex<Vec<usize>>>,
}

impl FakeRunner {
    /// A runner with blocks of 4 tokens and batches of at most `max_num_tokens`.
    pub fn new(context_length: usize, max_num_tokens: usize) -> Self {
        let block_tokens = 4;
        // With one layer, one head and one f32 per head, a slot needs two words.
        let layout = KvLayout {
            num_layers: 1,
            num_kv_heads: 1,
            head_dim: 1,
            block_tokens,
            num_blocks: context_length.div_ceil(block_tokens),
            dtype: KvDType::F32,
        };
        Self {
            slots: vec![None; layout.num_blocks * block_tokens],
            state_layout: None,
            states: Vec::new(),
            layout,
            context_length,
            limits: BatchLimits { max_num_tokens, max_num_logit_rows: 3 },
            fingerprint: Fingerprint(1),
            vocab_size: VOCAB_SIZE,
            logit: Box::new(hashed_logit),
            logits: Vec::new(),
            hook: Box::new(|_| Outcome::Runs),
            fails_hidden_passes: false,
            passes: Arc::default(),
        }
    }

    /// Sets the fingerprint, as of another model.
    pub fn with_fingerprint(self, fingerprint: u64) -> Self {
        Self { fingerprint: Fingerprint(fingerprint), ..self }
    }

    /// Adds a recurrent state, which must have read the tokens before each chunk.
    pub fn with_state_slots(mut self, num_slots: usize) -> Self {
        // A state needs a word for the number of its tokens, and one for each.
        let matrix_values = 1 + self.context_length;
        let layout = StateLayout { num_layers: 1, conv_values: 0, matrix_values, num_slots };
        self.state_layout = Some(layout);
        self.states = vec![vec![u32::MAX]; num_slots];
        self
    }

    /// Lets the state of a sequence read the tokens of its chunk.
    fn advance_state(&mut self, batch: &Batch, sequence: usize) {
        let state = batch.states()[sequence].expect("a sequence without a state");
        let SequenceState { slot, checkpoint } = state;
        let rows = batch.rows(sequence);
        let start = batch.positions()[rows.start];
        let mut tokens = std::mem::take(&mut self.states[slot.0 as usize]);
        match start {
            0 => tokens.clear(),
            _ => assert_eq!(tokens, self.history(batch.block_table(sequence), start - 1)),
        }
        for (count, row) in (1..).zip(rows) {
            tokens.push(batch.token_ids()[row]);
            if let Some(copy) = checkpoint.filter(|copy| copy.num_rows == count) {
                self.states[copy.slot.0 as usize] = tokens.clone();
            }
        }
        self.states[slot.0 as usize] = tokens;
    }

    /// Sets the number of blocks.
    pub fn with_num_blocks(mut self, num_blocks: usize) -> Self {
        self.layout.num_blocks = num_blocks;
        self.slots = vec![None; num_blocks * self.layout.block_tokens];
        self
    }

    /// Sets the number of logit rows in a batch.
    pub fn with_num_logit_rows(mut self, max_num_logit_rows: usize) -> Self {
        self.limits.max_num_logit_rows = max_num_logit_rows;
        self
    }

    /// Sets the number of logits, which may exceed the tokenizer's vocabulary.
    pub fn with_vocab_size(self, vocab_size: usize) -> Self {
        Self { vocab_size, ..self }
    }

    /// Sets the function of the logits.
    pub fn with_logits(self, logit: impl Fn(&[u32], usize) -> f32 + Send + 'static) -> Self {
        Self { logit: Box::new(logit), ..self }
    }

    /// Calls `hook` before each pass.
    pub fn with_hook(self, hook: impl FnMut(usize) -> Outcome + Send + 'static) -> Self {
        Self { hook: Box::new(hook), ..self }
    }

    /// Makes every pass for hidden states fail.
    pub fn with_failing_hidden_passes(self) -> Self {
        Self { fails_hidden_passes: true, ..self }
    }

    /// The number of tokens in each pass so far.
    pub fn passes(&self) -> Arc<Mutex<Vec<usize>>> {
        Arc::clone(&self.passes)
    }

    /// The tokens of positions 0 to `position`, read from the cache.
    fn history(&self, table: &[BlockId], position: u32) -> Vec<u32> {
        (0..=position)
            .map(|position| {
                let slot = self.slot(table, position);
                let (token, stored) = self.slots[slot].expect("every earlier position is stored");
                assert_eq!(stored, position, "slot {slot} holds another position");
                token
            })
            .collect()
    }

    fn slot(&self, table: &[BlockId], position: u32) -> usize {
        let (block, offset) = (
            position as usize / self.layout.block_tokens,
            position as usize % self.layout.block_tokens,
        );
        table[block].0 as usize * self.layout.block_tokens + offset
    }
}

/// A hash of `history` and `token`, from -8 to 8.
fn hashed_logit(history: &[u32], token: usize) -> f32 {
    let mut hash = token as u64 + 1;
    for &word in history {
        hash = (hash ^ u64::from(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }
    hash = (hash ^ hash >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (hash >> 40) as f32 / (1 << 20) as f32 - 8.0
}

impl Runner for FakeRunner {
    fn vocab_size(&self) -> usize {
        self.vocab_size
    }

    fn hidden_size(&self) -> usize {
        HIDDEN_SIZE
    }

    fn context_length(&self) -> usize {
        self.context_length
    }

    fn limits(&self) -> BatchLimits {
        self.limits
    }

    fn kv_layout(&self) -> &KvLayout {
        &self.layout
    }

    fn state_layout(&self) -> Option<&StateLayout> {
        self.state_layout.as_ref()
    }

    fn copy_state(&mut self, from: StateSlot, to: StateSlot) {
        self.states[to.0 as usize] = self.states[from.0 as usize].clone();
    }

    fn read_state(&self, slot: StateSlot, bytes: &mut Vec<u8>) -> Result<(), EngineError> {
        let tokens = &self.states[slot.0 as usize];
        let len = tokens.len() as u32;
        let mut words = [&[len], &tokens[..]].concat();
        words.resize(1 + self.context_length, 0);
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        Ok(())
    }

    fn write_state(&mut self, slot: StateSlot, bytes: &[u8]) -> Result<(), EngineError> {
        assert_eq!(Some(bytes.len()), self.state_layout.map(|layout| layout.slot_bytes()));
        let words = bytes.chunks_exact(4);
        let words = words.map(|word| u32::from_le_bytes(word.try_into().expect("four")));
        let words: Vec<u32> = words.collect();
        self.states[slot.0 as usize] = words[1..][..words[0] as usize].to_vec();
        Ok(())
    }

    fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    fn run(&mut self, batch: &Batch) -> Result<&[f32], EngineError> {
        assert!(batch.num_tokens() <= self.limits.max_num_tokens, "the batch is too large");
        assert!(batch.logit_rows().len() <= self.limits.max_num_logit_rows, "too many logit rows");
        // The hook may block while other threads read the list of passes.
        let num_passes = self.passes.lock().expect("no pass panicked").len();
        let outcome = (self.hook)(num_passes);
        self.passes.lock().expect("no pass panicked").push(batch.num_tokens());
        if outcome == Outcome::Fails {
            // A device that fails halfway leaves arbitrary contents in the slots of the pass.
            batch.slot_mapping().iter().for_each(|&slot| self.slots[slot] = Some((99, 99_999)));
            for state in batch.states().iter().flatten() {
                self.states[state.slot.0 as usize] = vec![99];
            }
            let reason = "as the test requested".to_owned();
            return Err(BackendError::Device { reason }.into());
        }
        self.logits.clear();
        for sequence in 0..batch.num_sequences() {
            if self.state_layout.is_some() {
                self.advance_state(batch, sequence);
            }
            let table = batch.block_table(sequence);
            for row in batch.rows(sequence) {
                let position = batch.positions()[row];
                let slot = self.slot(table, position);
                assert_eq!(batch.slot_mapping()[row], slot);
                self.slots[slot] = Some((batch.token_ids()[row], position));
            }
            for row in batch.rows(sequence).filter(|row| batch.logit_rows().contains(row)) {
                let history = self.history(table, batch.positions()[row]);
                self.logits.extend((0..self.vocab_size).map(|token| (self.logit)(&history, token)));
            }
        }
        if outcome == Outcome::GivesNan {
            self.logits.fill(f32::NAN);
        }
        Ok(&self.logits)
    }

    fn run_hidden(&mut self, batch: &Batch) -> Result<&[f32], EngineError> {
        // One row per token; like logits, each value is a function of the history.
        if self.fails_hidden_passes {
            return Err(BackendError::Device { reason: "no hidden states".to_owned() }.into());
        }
        let BatchLimits { max_num_tokens, max_num_logit_rows } = self.limits;
        let vocab_size = self.vocab_size;
        self.limits.max_num_logit_rows = max_num_tokens;
        self.vocab_size = HIDDEN_SIZE;
        let ran = self.run(batch).map(drop);
        (self.vocab_size, self.limits.max_num_logit_rows) = (vocab_size, max_num_logit_rows);
        ran?;
        Ok(&self.logits)
    }

    fn read_kv_block(&self, block: BlockId, bytes: &mut Vec<u8>) -> Result<(), EngineError> {
        let start = block.0 as usize * self.layout.block_tokens;
        for slot in &self.slots[start..start + self.layout.block_tokens] {
            let (token, position) = slot.unwrap_or((u32::MAX, u32::MAX));
            bytes.extend(token.to_le_bytes());
            bytes.extend(position.to_le_bytes());
        }
        Ok(())
    }

    fn write_kv_block(&mut self, block: BlockId, bytes: &[u8]) -> Result<(), EngineError> {
        assert_eq!(bytes.len(), 8 * self.layout.block_tokens);
        let start = block.0 as usize * self.layout.block_tokens;
        for (slot, bytes) in self.slots[start..].iter_mut().zip(bytes.chunks_exact(8)) {
            let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four"));
            *slot = Some((word(0), word(4)));
        }
        Ok(())
    }
}
