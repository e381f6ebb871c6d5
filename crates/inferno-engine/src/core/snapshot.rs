//! The state and counters of a core.

use super::draft_model::DraftCounts;
use crate::scheduler::{BlockUsage, SchedulerCounts, StateUsage};

/// The state and counters of a core after its last step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EngineSnapshot {
    /// Running sequences.
    pub num_running: usize,
    /// Waiting sequences.
    pub num_waiting: usize,
    /// Waiting sequences that could share blocks which a running one is about to compute.
    pub num_deferred: usize,
    /// How the blocks of the KV cache are used.
    pub blocks: BlockUsage,
    /// How the slots of recurrent state are used.
    pub states: StateUsage,
    /// Positions in a block.
    pub block_tokens: usize,
    /// Counters of the scheduler.
    pub scheduler: SchedulerCounts,
    /// Counters of the draft model.
    pub draft_model: DraftCounts,
    /// Forward passes.
    pub steps: u64,
    /// Forward passes that failed.
    pub failed_steps: u64,
    /// Distribution of the number of tokens per step.
    pub step_tokens: StepTokens,
    /// Prompt tokens of the sequences that were admitted.
    pub prompt_tokens: u64,
    /// Tokens that were sampled.
    pub generation_tokens: u64,
    /// Whether a part of the model that runs in another process was lost when it was last needed. Requests wait for it.
    pub is_stage_lost: bool,
}

/// A histogram of the number of tokens per step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StepTokens {
    /// Steps by the power of two that their tokens do not exceed, from 1 on; the last bucket is unbounded.
    pub num_steps: [u64; Self::NUM_BOUNDS + 1],
    /// Number of tokens of all steps.
    pub num_tokens: u64,
}

impl StepTokens {
    const NUM_BOUNDS: usize = 15;

    /// Returns the upper bounds of all buckets but the last.
    pub fn bounds() -> [u64; Self::NUM_BOUNDS] {
        std::array::from_fn(|place| 1 << place)
    }

    fn plus(mut self, other: Self) -> Self {
        self.num_steps.iter_mut().zip(other.num_steps).for_each(|(own, others)| *own += others);
        self.num_tokens += other.num_tokens;
        self
    }

    pub(crate) fn add(&mut self, num_tokens: usize) {
        let place = num_tokens.next_power_of_two().trailing_zeros() as usize;
        self.num_steps[place.min(Self::NUM_BOUNDS)] += 1;
        self.num_tokens += num_tokens as u64;
    }
}

impl EngineSnapshot {
    /// Adds the state of another core with the same model.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            num_running: self.num_running + other.num_running,
            num_waiting: self.num_waiting + other.num_waiting,
            num_deferred: self.num_deferred + other.num_deferred,
            blocks: self.blocks.plus(other.blocks),
            states: self.states.plus(other.states),
            block_tokens: self.block_tokens,
            scheduler: self.scheduler.plus(other.scheduler),
            draft_model: self.draft_model.plus(other.draft_model),
            steps: self.steps + other.steps,
            failed_steps: self.failed_steps + other.failed_steps,
            step_tokens: self.step_tokens.plus(other.step_tokens),
            prompt_tokens: self.prompt_tokens + other.prompt_tokens,
            generation_tokens: self.generation_tokens + other.generation_tokens,
            is_stage_lost: self.is_stage_lost || other.is_stage_lost,
        }
    }

    /// Returns the share of the KV cache that sequences hold, from 0 to 1.
    pub fn kv_usage(&self) -> f64 {
        match self.blocks.num_blocks {
            0 => 0.0,
            num_blocks => self.blocks.num_in_use() as f64 / num_blocks as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::StepTokens;

    #[test]
    fn steps_are_counted_by_the_bound_that_they_do_not_exceed() {
        let mut steps = StepTokens::default();
        for num_tokens in [1, 2, 3, 4, 5, 16384, 16385, 1 << 20] {
            steps.add(num_tokens);
        }
        for (place, (&num_steps, bound)) in
            steps.num_steps.iter().zip(StepTokens::bounds()).enumerate()
        {
            let expected = match bound {
                1 | 2 | 8 | 16384 => 1,
                4 => 2,
                _ => 0,
            };
            assert_eq!(num_steps, expected, "{place}");
        }
        assert_eq!(steps.num_steps[15], 2);
        assert_eq!(steps.num_tokens, 15 + 16384 + 16385 + (1 << 20));
    }
}
