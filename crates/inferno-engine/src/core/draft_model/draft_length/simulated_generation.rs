//! What drafts gain and cost, with simulated durations and acceptance.

use std::time::Duration;

use super::{Circumstances, DraftLength, TrialTime};
use crate::core::draft_model::acceptance::Acceptance;
use crate::core::draft_model::pass_times::PassTimes;
use crate::sampler::random::Random;

/// The duration of a pass of the model with one row, in seconds.
const PASS: f64 = 0.01;

/// What another row adds to it.
const ROW: f64 = 0.03 * PASS;

/// The duration of a pass of the draft model, which has a tenth of the size.
const DRAFT: f64 = 0.1 * PASS;

/// What another token adds to it.
const DRAFT_ROW: f64 = 0.005 * PASS;

/// Room for drafts in a step.
const ROOM: usize = 8;

/// Tokens of the prompt.
const PROMPT: usize = 8;

/// Factors of durations on a machine that is not idle: the first pass is slow, and every tenth.
struct Delays {
    random: Random,
    sum: f64,
    count: u32,
}

impl Delays {
    fn next(&mut self) -> f64 {
        let uniform = self.random.unit();
        let factor = match self.count {
            0 => 1.4,
            _ if uniform < 0.1 => 1.5,
            _ => 1.0 + 0.1 * uniform,
        };
        self.sum += factor;
        self.count += 1;
        factor
    }

    fn mean(&self) -> f64 {
        self.sum / f64::from(self.count)
    }
}

/// How many times as fast `num_tokens` tokens are generated if drafts are accepted with probability `rate` and the draft model
/// always assigns `probability` to them.
fn speedup(rate: f64, probability: f64, num_tokens: usize, seed: u64) -> f64 {
    let mut random = Random::from_seed(seed);
    let mut delays = Delays { random: Random::from_seed(seed + 1), sum: 0.0, count: 0 };
    let (mut times, mut trials) = (PassTimes::default(), TrialTime::default());
    let mut acceptance = Acceptance::default();
    let (mut num_left, mut num_behind, mut elapsed) = (num_tokens, PROMPT, 0.0);
    while num_left > 0 {
        let room = ROOM.min(num_left);
        let circumstances =
            Circumstances { num_sequences: 1, room, min_num_drafts: 0, num_left, num_behind };
        let mut num_drafts = 0;
        if let Some(mut plan) = DraftLength::plan(acceptance, &times, &mut trials, circumstances) {
            let mut draft = |num_tokens: usize| {
                let duration = DRAFT + DRAFT_ROW * (num_tokens - 1) as f64;
                times.record_draft(1, num_tokens, Duration::from_secs_f64(duration));
                elapsed += duration;
                plan.push(probability, &times)
            };
            let mut is_worth_more = draft(num_behind);
            while is_worth_more {
                is_worth_more = draft(1);
            }
            num_drafts = plan.num_worth_verifying(&times);
            num_behind = 0;
        }
        let duration = (PASS + ROW * num_drafts as f64) * delays.next();
        times.record_model(1 + num_drafts, Duration::from_secs_f64(duration));
        elapsed += duration;
        let num_accepted = (0..num_drafts).take_while(|_| random.unit() < rate).count();
        (0..num_accepted).for_each(|_| acceptance.record(probability, true));
        if num_accepted < num_drafts {
            acceptance.record(probability, false);
        } else if num_drafts == 0 {
            trials.save(duration);
        }
        num_left = num_left.saturating_sub(num_accepted + 1);
        num_behind += 1;
    }
    num_tokens as f64 * PASS * delays.mean() / elapsed
}

/// The median of many texts of 192 tokens.
fn median_speedup(rate: f64, probability: f64) -> f64 {
    let mut speedups: Vec<f64> =
        (0..99).map(|seed| speedup(rate, probability, 192, 2 * seed)).collect();
    speedups.sort_by(f64::total_cmp);
    speedups[speedups.len() / 2]
}

#[test]
fn useless_drafts_cost_little_even_if_the_first_pass_was_slow() {
    for probability in [0.5, 0.9] {
        for rate in [0.0, 0.02, 0.05, 0.1, 0.15] {
            let speedup = median_speedup(rate, probability);
            assert!(speedup > 0.985, "{rate} accepted, {probability} promised: {speedup}");
        }
    }
}

#[test]
fn useful_drafts_gain_much_of_what_is_possible() {
    for (rate, expected) in [(0.3, 1.1), (0.5, 1.35), (0.7, 1.8), (0.9, 2.9), (0.99, 4.1)] {
        for probability in [0.5, 0.9] {
            let speedup = median_speedup(rate, probability);
            assert!(speedup > expected, "{rate} accepted, {probability} promised: {speedup}");
        }
    }
}
