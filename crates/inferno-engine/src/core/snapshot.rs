//! The state of the engine, in numbers.

use crate::scheduler::{BlockUsage, SchedulerCounts};

/// What the engine does at one moment, and has done so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EngineSnapshot {
    /// Sequences that hold blocks.
    pub num_running: usize,
    /// Sequences that wait for blocks.
    pub num_waiting: usize,
    /// Those of them that wait for blocks that another one is about to compute, to share them.
    pub num_deferred: usize,
    /// Where the blocks of the KV cache are.
    pub blocks: BlockUsage,
    /// Positions in a block.
    pub block_tokens: usize,
    /// What the scheduler has done.
    pub scheduler: SchedulerCounts,
    /// Forward passes.
    pub steps: u64,
    /// Forward passes that failed.
    pub failed_steps: u64,
    /// How many tokens were computed in a step.
    pub step_tokens: StepTokens,
    /// Tokens of the prompts that were begun.
    pub prompt_tokens: u64,
    /// Tokens that were sampled.
    pub generation_tokens: u64,
}

/// How many steps computed how many tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StepTokens {
    /// By the power of two that the tokens of a step do not exceed, from 1 on; the last has no bound.
    pub num_steps: [u64; Self::NUM_BOUNDS + 1],
    /// Tokens of all steps.
    pub num_tokens: u64,
}

impl StepTokens {
    const NUM_BOUNDS: usize = 15;

    /// The most tokens of the steps in each of the places but the last.
    pub fn bounds() -> [u64; Self::NUM_BOUNDS] {
        std::array::from_fn(|place| 1 << place)
    }

    pub(crate) fn add(&mut self, num_tokens: usize) {
        let place = num_tokens.next_power_of_two().trailing_zeros() as usize;
        self.num_steps[place.min(Self::NUM_BOUNDS)] += 1;
        self.num_tokens += num_tokens as u64;
    }
}

impl EngineSnapshot {
    /// The share of the KV cache that running sequences hold, from 0 to 1.
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
