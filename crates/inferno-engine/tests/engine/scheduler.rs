//! The scheduler, with a simulated memory that detects computation in the wrong slot.

mod order;
mod properties;
mod sharing;

use std::collections::{BTreeMap, HashSet};
use std::time::Instant;

use inferno_backend::{LogitRows, SequenceChunk};
use inferno_engine::{
    Continuation, Plan, PlannedChunk, RowRequest, Scheduler, SchedulerLimits, SequenceId,
};

pub const BLOCK_TOKENS: usize = 4;

pub fn limits(num_blocks: usize) -> SchedulerLimits {
    SchedulerLimits {
        num_state_slots: 0,
        num_blocks,
        block_tokens: BLOCK_TOKENS,
        max_num_sequences: 4,
        max_num_batched_tokens: 10,
        max_num_logit_rows: 5,
        prefix_cache: true,
        whole_prompts: false,
        window: None,
    }
}

/// A scheduler with the simulated memory of its plans. Each sampled token is a
/// function of those before it.
pub struct Machine {
    pub scheduler: Scheduler,
    limits: SchedulerLimits,
    /// For each slot, the tokens computed up to and including it.
    memory: Vec<Vec<u32>>,
    /// The final number of tokens of each sequence.
    lengths: BTreeMap<SequenceId, usize>,
    /// For each sequence, the first logit row that it still needs.
    rows_from: BTreeMap<SequenceId, usize>,
    /// Finished sequences, with their tokens.
    pub ended: BTreeMap<SequenceId, Vec<u32>>,
    pub now: Instant,
    /// Whether to draft tokens, some of them correct.
    pub drafts: bool,
    /// Whether the next token of some sequences is known only one step later.
    pub holds: bool,
    /// Those sequences, with their tokens.
    held: Vec<(SequenceId, Vec<u32>)>,
}

impl Machine {
    pub fn new(limits: SchedulerLimits) -> Self {
        Self {
            scheduler: Scheduler::new(limits),
            limits,
            memory: vec![Vec::new(); limits.num_blocks * BLOCK_TOKENS],
            lengths: BTreeMap::new(),
            rows_from: BTreeMap::new(),
            ended: BTreeMap::new(),
            now: Instant::now(),
            drafts: false,
            holds: false,
            held: Vec::new(),
        }
    }

    pub fn add(&mut self, prompt: &[u32], num_generated: usize, priority: i32) -> SequenceId {
        self.add_until(prompt, RowRequest::Last, num_generated, priority, None)
    }

    pub fn add_until(
        &mut self,
        prompt: &[u32],
        rows: RowRequest,
        num_generated: usize,
        priority: i32,
        deadline: Option<Instant>,
    ) -> SequenceId {
        let id = self.scheduler.add(prompt, rows, priority, deadline);
        let rows_from = match rows {
            RowRequest::All | RowRequest::AllHidden => 0,
            RowRequest::From(position) => position,
            RowRequest::Last | RowRequest::LastHidden => prompt.len() - 1,
        };
        self.rows_from.insert(id, rows_from);
        let length = (prompt.len() + num_generated).min(self.scheduler.capacity());
        assert!(self.lengths.insert(id, length).is_none(), "an id was assigned twice");
        id
    }

    /// Unfinished sequences.
    pub fn open(&self) -> Vec<SequenceId> {
        self.lengths.keys().copied().collect()
    }

    pub fn remove(&mut self, id: SequenceId) {
        self.lengths.remove(&id);
        assert!(self.scheduler.remove(id));
        assert!(!self.scheduler.remove(id), "it has finished");
        self.check_blocks();
    }

    /// Schedules, computes and commits one step.
    pub fn step(&mut self) -> Plan {
        let held = std::mem::take(&mut self.held);
        let mut plan = self.scheduler.schedule(self.now);
        if self.drafts {
            self.draft(&mut plan);
        }
        for id in &plan.expired {
            assert!(self.lengths.remove(id).is_some(), "it finishes once");
        }
        assert!(plan.num_tokens() <= self.limits.max_num_batched_tokens);
        assert!(plan.chunks.len() <= self.limits.max_num_sequences);
        assert!(plan.num_logit_rows() <= self.limits.max_num_logit_rows);
        if held.is_empty() {
            assert_eq!(
                plan.chunks.is_empty(),
                self.lengths.is_empty(),
                "a plan is empty only if no sequences are left"
            );
        }
        let mut written = HashSet::new();
        let mut sampled = Vec::new();
        let mut last = Vec::new();
        for planned in &plan.chunks {
            let chunk = self.scheduler.chunk(planned);
            let slot = |position: usize| {
                let block = chunk.block_table[position / BLOCK_TOKENS].0 as usize;
                block * BLOCK_TOKENS + position % BLOCK_TOKENS
            };
            for (position, &token) in (chunk.start..).zip(chunk.tokens) {
                let mut history = match position {
                    0 => Vec::new(),
                    _ => self.memory[slot(position - 1)].clone(),
                };
                assert_eq!(history.len(), position, "preceding tokens were computed");
                history.push(token);
                assert!(written.insert(slot(position)), "two sequences write to one slot");
                self.memory[slot(position)] = history;
            }
            let end = chunk.start + chunk.tokens.len();
            let rows_from = self.rows_from.get_mut(&planned.id).expect("it was added");
            check_rows(planned, &chunk, rows_from);
            let mut continuation = Continuation::default();
            if planned.is_last {
                let tokens: Vec<_> = (0..end).map(|at| self.memory[slot(at)][at]).collect();
                assert_eq!(tokens, self.memory[slot(end - 1)], "a prefix is of other tokens");
                // The tokens before the drafts, and the correct drafts.
                let mut len = end - planned.num_drafts;
                while len < end && tokens[len] == next_token(&tokens[..len]) {
                    len += 1;
                }
                continuation.num_accepted = len - (end - planned.num_drafts);
                self.rows_from.insert(planned.id, len);
                if self.holds && (len + planned.num_tokens).is_multiple_of(3) {
                    self.scheduler.hold(planned.id);
                    self.held.push((planned.id, tokens[..len].to_vec()));
                    sampled.push(continuation);
                    continue;
                }
                let goes_on = len < self.lengths[&planned.id];
                continuation.next = goes_on.then(|| next_token(&tokens[..len]));
                if !goes_on {
                    last.push((planned.id, tokens[..len].to_vec()));
                }
            }
            sampled.push(continuation);
        }
        self.scheduler.commit(&plan, &sampled);
        for (id, tokens) in held {
            let Some(&length) = self.lengths.get(&id) else { continue };
            let goes_on = tokens.len() < length;
            self.scheduler.continue_held(id, goes_on.then(|| next_token(&tokens)));
            if !goes_on {
                last.push((id, tokens));
            }
        }
        for (id, tokens) in last {
            self.lengths.remove(&id);
            assert!(self.ended.insert(id, tokens).is_none(), "it finishes once");
        }
        self.check_blocks();
        plan
    }

    /// Drafts as many tokens as fit, some of them wrong.
    fn draft(&mut self, plan: &mut Plan) {
        for place in 0..plan.chunks.len() {
            let mut chunk = plan.chunks[place];
            let room = self.scheduler.room_for_drafts(plan, &chunk);
            let mut tokens = self.scheduler.tokens(chunk.id).to_vec();
            let len = tokens.len();
            let end = self.lengths[&chunk.id].min(len + room);
            while tokens.len() < end {
                let right = next_token(&tokens);
                let is_wrong = (right as usize + 3 * tokens.len()).is_multiple_of(7);
                tokens.push(right + u32::from(is_wrong));
            }
            self.scheduler.draft(&mut chunk, &tokens[len..]);
            plan.chunks[place] = chunk;
        }
    }

    /// Steps until all sequences have finished, at most `max_num_steps` times.
    pub fn run(&mut self, max_num_steps: usize) {
        for _ in 0..max_num_steps {
            if self.lengths.is_empty() {
                return;
            }
            self.step();
        }
        panic!("{} sequences have not finished", self.lengths.len());
    }

    /// Checks that every block is free, cached or in use.
    pub fn check_blocks(&self) {
        let in_use: HashSet<_> = self.scheduler.block_tables().flatten().collect();
        let usage = self.scheduler.block_usage();
        assert_eq!(usage.num_free + usage.num_cached + in_use.len(), self.limits.num_blocks);
        assert_eq!(usage.num_in_use(), in_use.len());
        let open = self.scheduler.num_running() + self.scheduler.num_waiting();
        assert_eq!(open, self.lengths.len());
    }
}

/// Checks that all required rows are computed, and none that are not required.
fn check_rows(planned: &PlannedChunk, chunk: &SequenceChunk<'_>, rows_from: &mut usize) {
    let end = chunk.start + chunk.tokens.len();
    let first = end - planned.num_rows;
    match planned.num_rows {
        0 => assert!(end <= *rows_from, "a required row is missing"),
        _ => assert!(first <= *rows_from && end > *rows_from, "rows are missing or not required"),
    }
    let expected = match planned.num_rows {
        0 => LogitRows::None,
        1 => LogitRows::Last,
        all if all == planned.num_tokens => LogitRows::All,
        num_rows => LogitRows::Tail(num_rows),
    };
    assert_eq!(chunk.logits, expected);
    *rows_from = end.max(*rows_from);
}

/// A token that depends on all tokens before it.
pub fn next_token(tokens: &[u32]) -> u32 {
    tokens.iter().fold(7u32, |hash, token| hash.wrapping_mul(31).wrapping_add(*token)) % 5
}

/// The final tokens of a sequence that runs alone.
pub fn alone(prompt: &[u32], num_generated: usize, capacity: usize) -> Vec<u32> {
    let mut tokens = prompt.to_vec();
    while tokens.len() < (prompt.len() + num_generated).min(capacity) {
        tokens.push(next_token(&tokens));
    }
    tokens
}
