//! A replica: the engine's own scheduler, block pool and prefix cache.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use inferno_engine::{
    Continuation, Plan, PrefillPacing, RowRequest, Scheduler, SchedulerCounts, SchedulerLimits,
    SequenceId,
};

use crate::cost::StepWork;
use crate::error::Error;
use crate::workload::Request;

/// The options of a server that decide how it schedules, with the defaults of `inferno serve`.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Server")]
pub struct ReplicaOptions {
    /// Size of the KV cache in tokens
    #[arg(long, value_name = "N", default_value_t = 16_384)]
    pub kv_cache_tokens: usize,
    /// Maximum number of sequences in a batch
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..))]
    pub max_num_seqs: u32,
    /// Maximum number of tokens per forward pass
    #[arg(long, value_name = "N", default_value_t = 256)]
    pub max_num_batched_tokens: usize,
    /// Target for the time between two tokens while prompts are processed, in milliseconds; 0 for none
    #[arg(long, value_name = "MS", default_value_t = 100)]
    pub target_itl: u64,
}

impl ReplicaOptions {
    /// Tokens of a block of the KV cache.
    const BLOCK_TOKENS: usize = 16;

    /// Checks the options for sequences of up to `context` tokens.
    ///
    /// **Errors**: [`Error::CacheTooSmall`], [`Error::BatchTooSmall`].
    pub fn check(&self, context: usize) -> Result<(), Error> {
        let &Self { kv_cache_tokens, max_num_batched_tokens: tokens, .. } = self;
        let sequences = self.max_num_seqs as usize;
        if kv_cache_tokens / Self::BLOCK_TOKENS * Self::BLOCK_TOKENS < context {
            return Err(Error::CacheTooSmall { kv_cache_tokens, context });
        }
        if tokens < sequences {
            return Err(Error::BatchTooSmall { tokens, sequences });
        }
        Ok(())
    }

    fn limits(&self) -> SchedulerLimits {
        let max_num_sequences = self.max_num_seqs as usize;
        SchedulerLimits {
            num_blocks: self.kv_cache_tokens / Self::BLOCK_TOKENS,
            block_tokens: Self::BLOCK_TOKENS,
            max_num_sequences,
            max_num_batched_tokens: self.max_num_batched_tokens,
            max_num_logit_rows: max_num_sequences,
            prefix_cache: true,
            whole_prompts: false,
            num_state_slots: 0,
            window: None,
        }
    }
}

/// A server. Times are relative to the start of the simulation.
pub struct Replica {
    scheduler: Scheduler,
    pacing: PrefillPacing,
    requests: HashMap<SequenceId, Running>,
    step: Option<Step>,
    /// What the scheduler's times count from.
    epoch: Instant,
}

/// A request that is not finished.
struct Running {
    id: usize,
    reply: Vec<u32>,
    num_generated: usize,
}

/// The step in progress.
struct Step {
    plan: Plan,
    work: StepWork,
    start: Duration,
}

/// What a step did for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// It was admitted with this many prompt tokens from the prefix cache.
    Admitted {
        /// The request.
        id: usize,
        /// Prompt tokens that were in the prefix cache.
        cached_tokens: usize,
    },
    /// A token was generated.
    Token {
        /// The request.
        id: usize,
        /// Whether it was the last one.
        is_last: bool,
    },
}

impl Replica {
    /// Creates an idle replica with an empty cache.
    pub fn new(options: &ReplicaOptions) -> Self {
        let target = (options.target_itl > 0).then(|| Duration::from_millis(options.target_itl));
        Self {
            scheduler: Scheduler::new(options.limits()),
            pacing: PrefillPacing::new(target),
            requests: HashMap::new(),
            step: None,
            epoch: Instant::now(),
        }
    }

    /// Adds a request; it is scheduled in the next step.
    ///
    /// **Panics** if it has no tokens, or more than the cache.
    pub fn submit(&mut self, id: usize, request: Request) {
        let Request { prompt, reply, .. } = request;
        let sequence = self.scheduler.add(&prompt, RowRequest::Last, 0, None);
        self.requests.insert(sequence, Running { id, reply, num_generated: 0 });
    }

    /// Returns the counters of the scheduler.
    pub fn counts(&self) -> SchedulerCounts {
        self.scheduler.counts()
    }

    /// Whether a step is in progress.
    pub fn is_busy(&self) -> bool {
        self.step.is_some()
    }

    /// Begins a step at `now`, as the engine does, and returns its work; `None` if there is nothing to do.
    pub fn begin_step(&mut self, now: Duration) -> Option<StepWork> {
        self.scheduler.limit_prefill(self.pacing.max_tokens());
        let plan = self.scheduler.schedule(self.epoch + now);
        if plan.chunks.is_empty() {
            return None;
        }
        let mut work = StepWork::default();
        for planned in &plan.chunks {
            let start = self.scheduler.chunk(planned).start;
            match planned.is_decode {
                true => work.add_decode(start),
                false => work.add_prompt(start, planned.num_tokens),
            }
        }
        self.step = Some(Step { plan, work, start: now });
        Some(work)
    }

    /// Ends the step in progress at `now`, and calls `observe` with what it did.
    ///
    /// **Panics** if no step is in progress.
    pub fn finish_step(&mut self, now: Duration, mut observe: impl FnMut(Progress)) {
        let Step { plan, work, start } = self.step.take().expect("a step is in progress");
        for admission in &plan.admitted {
            let id = self.requests[&admission.id].id;
            observe(Progress::Admitted { id, cached_tokens: admission.num_cached_tokens });
        }
        let mut continuations = vec![Continuation::default(); plan.chunks.len()];
        for (chunk, continuation) in plan.chunks.iter().zip(&mut continuations) {
            if !chunk.is_last {
                continue;
            }
            let Some(running) = self.requests.get_mut(&chunk.id) else { continue };
            let token = running.reply[running.num_generated];
            running.num_generated += 1;
            let (id, is_last) = (running.id, running.num_generated == running.reply.len());
            if is_last {
                self.requests.remove(&chunk.id);
            } else {
                continuation.next = Some(token);
            }
            observe(Progress::Token { id, is_last });
        }
        self.scheduler.commit(&plan, &continuations);
        self.pacing.record(
            work.decode_sequences > 0,
            work.prompt_tokens,
            now.saturating_sub(start),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::CostModel;

    fn options() -> ReplicaOptions {
        ReplicaOptions {
            kv_cache_tokens: 1024,
            max_num_seqs: 4,
            max_num_batched_tokens: 64,
            target_itl: 0,
        }
    }

    /// Runs until the replica is idle, and returns the durations and what happened.
    fn run(replica: &mut Replica, costs: CostModel) -> (Vec<f64>, Vec<Progress>) {
        let (mut now, mut durations, mut progress) = (Duration::ZERO, Vec::new(), Vec::new());
        while let Some(work) = replica.begin_step(now) {
            let seconds = costs.seconds(&work);
            now += Duration::from_secs_f64(seconds);
            durations.push(seconds);
            replica.finish_step(now, |event| progress.push(event));
        }
        (durations, progress)
    }

    #[test]
    fn a_request_is_prefilled_in_chunks_and_decoded_token_by_token() {
        let costs =
            CostModel { step: 1.0, token: 0.01, decode_sequence: 0.49, ..CostModel::default() };
        let mut replica = Replica::new(&options());
        let request = || Request {
            prompt: (0..100).collect(),
            reply: vec![1, 2, 3],
            think_time: Duration::ZERO,
        };
        replica.submit(7, request());
        let (durations, progress) = run(&mut replica, costs);
        let close = |durations: &[f64], expected: &[f64]| {
            assert_eq!(durations.len(), expected.len());
            durations
                .iter()
                .zip(expected)
                .for_each(|(a, b)| assert!((a - b).abs() < 1e-9, "{a} {b}"));
        };
        close(&durations, &[1.64, 1.36, 1.5, 1.5]);
        let token = |is_last| Progress::Token { id: 7, is_last };
        let admitted = |cached_tokens| Progress::Admitted { id: 7, cached_tokens };
        assert_eq!(progress, [admitted(0), token(false), token(false), token(true)]);
        // Six blocks of 16 tokens are cached.
        replica.submit(7, request());
        let (durations, progress) = run(&mut replica, costs);
        close(&durations, &[1.04, 1.5, 1.5]);
        assert_eq!(progress[0], admitted(96));
        assert_eq!(replica.counts().prefix_hits, 96);
        assert!(!replica.is_busy());
    }

    #[test]
    fn options_that_cannot_hold_a_sequence_or_a_batch_are_rejected() {
        assert!(options().check(1024).is_ok());
        assert!(matches!(options().check(1025), Err(Error::CacheTooSmall { context: 1025, .. })));
        let options = ReplicaOptions { max_num_seqs: 65, ..options() };
        assert!(matches!(
            options.check(1),
            Err(Error::BatchTooSmall { tokens: 64, sequences: 65 })
        ));
    }
}
