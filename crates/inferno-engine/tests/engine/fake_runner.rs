//! A runner without a model: logits are a function of the tokens and positions that the cache
//! holds, so that a wrong slot, block or position changes the output or is detected at once.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use inferno_backend::{
    BackendError, Batch, BlockId, CandidateRows, KvBlockPart, KvDType, KvLayer, KvLayout, KvWindow,
    KvWindowMap, SequenceState, StateLayout, StateMatrices, StateSlot,
};
use inferno_engine::{EngineError, Fingerprint, PassRows, Rows, Runner, WindowUpdate};
use inferno_model::{BatchLimits, LogitSource, StageOutput};

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
    LosesDevice,
    LosesCache,
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
    windows: Option<WindowSlots>,
    logit: Logits,
    logits: Vec<f32>,
    /// What the current pass returns.
    pass_rows: PassRows,
    selects_candidates: bool,
    candidates: Vec<f32>,
    num_read_rows: Arc<Mutex<usize>>,
    hook: Hook,
    fails_hidden_passes: bool,
    fails_state_writes: bool,
    /// Attempts to recover that are still to come; 0 unless the cache is lost.
    num_attempts: usize,
    passes: Arc<Mutex<Vec<usize>>>,
}

/// The slots of a layer with a sliding window, in the memory of the blocks that have some.
struct WindowSlots {
    window: KvWindow,
    map: KvWindowMap,
    slots: Vec<Slot>,
    max_num_used: Arc<Mutex<usize>>,
}

impl WindowSlots {
    /// The slot of an offset in a block that has memory.
    fn slot(&mut self, block: BlockId, offset: usize, block_tokens: usize) -> &mut Slot {
        let part = self.map.part(block).expect("a block within a window has memory");
        &mut self.slots[part * block_tokens + offset]
    }
}

impl FakeRunner {
    /// A runner with blocks of 4 tokens and batches of at most `max_num_tokens`.
    pub fn new(context_length: usize, max_num_tokens: usize) -> Self {
        let block_tokens = 4;
        // With one layer, one head and one f32 per head, a slot needs two words.
        let layout = KvLayout {
            layers: vec![KvLayer::new(1, 1)],
            window: None,
            block_tokens,
            num_blocks: context_length.div_ceil(block_tokens),
            dtype: KvDType::F32,
        };
        Self {
            slots: vec![None; layout.num_blocks * block_tokens],
            state_layout: None,
            states: Vec::new(),
            windows: None,
            layout,
            context_length,
            limits: BatchLimits { max_num_tokens, max_num_logit_rows: 3 },
            fingerprint: Fingerprint(1),
            vocab_size: VOCAB_SIZE,
            logit: Box::new(hashed_logit),
            logits: Vec::new(),
            pass_rows: PassRows::Logits,
            selects_candidates: false,
            candidates: Vec::new(),
            num_read_rows: Arc::default(),
            hook: Box::new(|_| Outcome::Runs),
            fails_hidden_passes: false,
            fails_state_writes: false,
            num_attempts: 0,
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
        let matrices = StateMatrices { count: 1, rows: 1, cols: 1 + self.context_length };
        let layout = StateLayout { num_layers: 1, conv_values: 0, matrices, num_slots };
        self.state_layout = Some(layout);
        self.states = vec![vec![u32::MAX]; num_slots];
        self
    }

    /// Adds a recurrent state if there are slots for it.
    pub fn with_optional_state(self, num_slots: Option<usize>) -> Self {
        match num_slots {
            Some(num_slots) => self.with_state_slots(num_slots),
            None => self,
        }
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

    /// Adds a layer with a window of `len` positions, with as little memory as the batches allow. To be called after
    /// the functions that set the number of blocks and of logit rows.
    pub fn with_window(mut self, len: usize) -> Self {
        let KvLayout { block_tokens, num_blocks: all, .. } = self.layout;
        let BatchLimits { max_num_tokens, max_num_logit_rows } = self.limits;
        let window = KvWindow::for_sequences(len, block_tokens, max_num_logit_rows, max_num_tokens);
        self.layout.layers.push(KvLayer { is_windowed: true, ..KvLayer::new(1, 1) });
        self.layout.window = Some(window);
        self.windows = Some(WindowSlots {
            window,
            map: KvWindowMap::new(window, all, block_tokens),
            slots: vec![None; window.num_blocks * block_tokens],
            max_num_used: Arc::default(),
        });
        self
    }

    /// The largest number of blocks with memory for the window's layer after a pass so far.
    pub fn max_window_blocks(&self) -> Arc<Mutex<usize>> {
        Arc::clone(&self.windows.as_ref().expect("a window").max_num_used)
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

    /// Selects candidates if they are requested, like a device that the host cannot read.
    pub fn with_candidates(self) -> Self {
        Self { selects_candidates: true, ..self }
    }

    /// The number of whole rows that were read after passes for candidates so far.
    pub fn num_read_rows(&self) -> Arc<Mutex<usize>> {
        Arc::clone(&self.num_read_rows)
    }

    /// Makes restoring a recurrent state fail.
    pub fn with_failing_state_writes(self) -> Self {
        Self { fails_state_writes: true, ..self }
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

    /// Stores a token in the layer with a window, and checks the positions that it attends to.
    fn attend_in_window(&mut self, table: &[BlockId], token: u32, position: u32) {
        let block_tokens = self.layout.block_tokens;
        let Some(windows) = &mut self.windows else { return };
        let first = (position + 1).saturating_sub(windows.window.len as u32);
        for attended in (first..=position).rev() {
            let (block, offset) = (table[attended as usize / block_tokens], attended as usize);
            let slot = windows.slot(block, offset % block_tokens, block_tokens);
            if attended == position {
                *slot = Some((token, position));
            }
            let own = self.slots[block.0 as usize * block_tokens + offset % block_tokens];
            assert_eq!(*slot, own, "position {attended} as seen from {position}");
        }
    }

    /// Computes a pass; its rows are in `logits`.
    fn run(&mut self, batch: &Batch) -> Result<(), BackendError> {
        assert!(batch.num_tokens() <= self.limits.max_num_tokens, "the batch is too large");
        assert!(batch.logit_rows().len() <= self.limits.max_num_logit_rows, "too many logit rows");
        // The hook may block while other threads read the list of passes.
        let num_passes = self.passes.lock().expect("no pass panicked").len();
        let outcome = (self.hook)(num_passes);
        self.passes.lock().expect("no pass panicked").push(batch.num_tokens());
        if outcome == Outcome::LosesDevice {
            let reason = "as the test requested".to_owned();
            return Err(BackendError::DeviceLost { reason });
        }
        if outcome == Outcome::LosesCache {
            self.lose_cache(num_passes);
            let reason = "as the test requested".to_owned();
            return Err(BackendError::Device { reason });
        }
        if outcome == Outcome::Fails {
            // A device that fails halfway leaves arbitrary contents in the slots of the pass.
            batch.slot_mapping().iter().for_each(|&slot| self.slots[slot] = Some((99, 99_999)));
            for state in batch.states().iter().flatten() {
                self.states[state.slot.0 as usize] = vec![99];
            }
            let reason = "as the test requested".to_owned();
            return Err(BackendError::Device { reason });
        }
        if let Some(windows) = &mut self.windows {
            windows.map.assign_all(batch)?;
            let parts = windows.map.parts().iter();
            let num_used =
                parts.filter(|&&part| (part as usize) < windows.window.num_blocks).count();
            let mut most = windows.max_num_used.lock().expect("no pass panicked");
            *most = num_used.max(*most);
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
                self.attend_in_window(table, batch.token_ids()[row], position);
            }
            for row in batch.rows(sequence).filter(|row| batch.logit_rows().contains(row)) {
                let history = self.history(table, batch.positions()[row]);
                self.logits.extend((0..self.vocab_size).map(|token| (self.logit)(&history, token)));
            }
        }
        if outcome == Outcome::GivesNan {
            self.logits.fill(f32::NAN);
        }
        Ok(())
    }

    /// Loses everything that was computed, as if some of a model's stages were replaced.
    fn lose_cache(&mut self, num_passes: usize) {
        self.num_attempts = 2;
        self.slots.fill(None);
        self.states.fill(vec![99]);
        if let Some(windows) = &mut self.windows {
            windows.slots.fill(None);
            // Stages that remain know which blocks had memory, new ones do not.
            if num_passes.is_multiple_of(2) {
                let KvLayout { num_blocks, block_tokens, .. } = self.layout;
                windows.map = KvWindowMap::new(windows.window, num_blocks, block_tokens);
            }
        }
    }

    /// Computes a pass for hidden states.
    fn run_hidden(&mut self, batch: &Batch) -> Result<(), BackendError> {
        // One row per token; like logits, each value is a function of the history.
        if self.fails_hidden_passes {
            return Err(BackendError::Device { reason: "no hidden states".to_owned() });
        }
        let BatchLimits { max_num_tokens, max_num_logit_rows } = self.limits;
        let vocab_size = self.vocab_size;
        self.limits.max_num_logit_rows = max_num_tokens;
        self.vocab_size = HIDDEN_SIZE;
        let ran = self.run(batch);
        (self.vocab_size, self.limits.max_num_logit_rows) = (vocab_size, max_num_logit_rows);
        ran
    }

    fn slot(&self, table: &[BlockId], position: u32) -> usize {
        let (block, offset) = (
            position as usize / self.layout.block_tokens,
            position as usize % self.layout.block_tokens,
        );
        table[block].0 as usize * self.layout.block_tokens + offset
    }
}

/// The logits of a pass for candidates.
struct StoredLogits<'a> {
    values: &'a [f32],
    row_len: usize,
    num_read: &'a Mutex<usize>,
}

impl LogitSource for StoredLogits<'_> {
    fn read_logits(&self, rows: Range<usize>) -> Result<Vec<f32>, BackendError> {
        *self.num_read.lock().expect("no pass panicked") += 1;
        Ok(self.values[rows.start * self.row_len..rows.end * self.row_len].to_vec())
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
        if self.fails_state_writes {
            let reason = "as the test requested".to_owned();
            return Err(BackendError::Device { reason }.into());
        }
        let words = bytes.chunks_exact(4);
        let words = words.map(|word| u32::from_le_bytes(word.try_into().expect("four")));
        let words: Vec<u32> = words.collect();
        self.states[slot.0 as usize] = words[1..][..words[0] as usize].to_vec();
        Ok(())
    }

    fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    fn submit(&mut self, batch: &Batch, rows: PassRows) -> Result<(), EngineError> {
        assert!(!self.is_lost(), "a pass without a cache");
        self.pass_rows = rows;
        let ran = match rows {
            PassRows::Logits | PassRows::Candidates(_) => self.run(batch),
            PassRows::Hidden => self.run_hidden(batch),
        };
        Ok(ran?)
    }

    fn wait(&mut self) -> Result<Rows<'_>, EngineError> {
        let (row_len, values) = match self.pass_rows {
            PassRows::Hidden => (HIDDEN_SIZE, &self.logits),
            PassRows::Logits | PassRows::Candidates(_) => (self.vocab_size, &self.logits),
        };
        let (PassRows::Candidates(shape), true) = (self.pass_rows, self.selects_candidates) else {
            return Ok(Rows::new(StageOutput::Values(values), row_len));
        };
        self.candidates.resize(values.len() / row_len * shape.row_len(), 0.0);
        let rows = values.chunks(row_len).zip(self.candidates.chunks_mut(shape.row_len()));
        rows.for_each(|(logits, words)| shape.select(logits, words));
        let rows = CandidateRows::new(shape, &self.candidates);
        let logits = StoredLogits { values, row_len, num_read: &self.num_read_rows };
        Ok(Rows::new(StageOutput::Candidates { rows, logits: Box::new(logits) }, row_len))
    }

    fn is_lost(&self) -> bool {
        self.num_attempts > 0
    }

    fn recover(&mut self) -> Result<bool, EngineError> {
        self.num_attempts -= 1;
        Ok(self.num_attempts == 0)
    }

    fn update_windows(&mut self, updates: &[WindowUpdate]) {
        let Some(windows) = &mut self.windows else { return };
        for &update in updates {
            match update {
                WindowUpdate::Release(block) => windows.map.release(block),
                WindowUpdate::Move(from, to) => windows.map.reassign(from, to),
            }
        }
    }

    fn read_kv_block(
        &self,
        block: BlockId,
        part: KvBlockPart,
        bytes: &mut Vec<u8>,
    ) -> Result<(), EngineError> {
        let block_tokens = self.layout.block_tokens;
        let start = block.0 as usize * block_tokens;
        write_slots(&self.slots[start..start + block_tokens], bytes);
        if let (Some(windows), KvBlockPart::All) = (&self.windows, part) {
            let part = windows.map.part(block).expect("it has memory");
            write_slots(&windows.slots[part * block_tokens..][..block_tokens], bytes);
        }
        Ok(())
    }

    fn write_kv_block(
        &mut self,
        block: BlockId,
        part: KvBlockPart,
        bytes: &[u8],
    ) -> Result<(), EngineError> {
        let block_tokens = self.layout.block_tokens;
        let (own, windowed) = bytes.split_at(8 * block_tokens);
        read_slots(own, &mut self.slots[block.0 as usize * block_tokens..]);
        match (&mut self.windows, part) {
            (Some(windows), KvBlockPart::All) => {
                let part = windows.map.assign(block)?;
                assert_eq!(windowed.len(), own.len());
                read_slots(windowed, &mut windows.slots[part * block_tokens..]);
            }
            _ => assert!(windowed.is_empty()),
        }
        Ok(())
    }
}

fn write_slots(slots: &[Slot], bytes: &mut Vec<u8>) {
    for slot in slots {
        let (token, position) = slot.unwrap_or((u32::MAX, u32::MAX));
        bytes.extend(token.to_le_bytes());
        bytes.extend(position.to_le_bytes());
    }
}

fn read_slots(bytes: &[u8], slots: &mut [Slot]) {
    for (slot, bytes) in slots.iter_mut().zip(bytes.chunks_exact(8)) {
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four"));
        *slot = Some((word(0), word(4)));
    }
}
