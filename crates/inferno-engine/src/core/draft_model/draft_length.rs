//! How many tokens are drafted: as many as promise the most tokens per time, and none if drafts cost more than they gain.
//!
//! A step with `k` drafts takes a pass of the model with `k + 1` rows and `k` passes of the draft model, and yields
//! `1 + a_1 + a_1 a_2 + …` tokens if draft `i` is accepted with probability `a_i` after those before it.

use super::acceptance::Acceptance;
use super::pass_times::PassTimes;

/// The share of a token's duration that drafts must save to be worth it.
const MIN_GAIN: f64 = 0.02;

/// The share of the time of passes without drafts that is spent on trying whether drafts are accepted again. A draft model of
/// a tenth of the size needs most of it to compute what was generated in the meantime.
const TRIAL_SHARE: f64 = 0.015;

/// Passes whose share of trials is saved up.
const MAX_SAVED_PASSES: f64 = 400.0;

/// Tokens over which a sequence is expected to earn what it costs to compute its prompt in the draft model.
const HORIZON: usize = 256;

/// The circumstances of a sequence's drafts in a step.
#[derive(Debug, Clone, Copy)]
pub(super) struct Circumstances {
    /// Sequences that are computed together.
    pub(super) num_sequences: usize,
    /// Maximum number of drafts.
    pub(super) room: usize,
    /// Number of drafts whether they are worth it or not, at most `room`.
    pub(super) min_num_drafts: usize,
    /// Maximum number of tokens before the sequence ends.
    pub(super) num_left: usize,
    /// Tokens that the draft model has not computed yet.
    pub(super) num_behind: usize,
}

/// Time that may be spent on drafts that promise nothing, in seconds.
#[derive(Debug, Default)]
pub(super) struct TrialTime(f64);

impl TrialTime {
    /// Saves a share of the duration of a pass without drafts.
    pub(super) fn save(&mut self, seconds: f64) {
        self.0 = (self.0 + TRIAL_SHARE * seconds).min(TRIAL_SHARE * MAX_SAVED_PASSES * seconds);
    }

    /// Spends `seconds`, if there are so many.
    fn spend(&mut self, seconds: f64) -> bool {
        let is_enough = self.0 >= seconds;
        if is_enough {
            self.0 -= seconds;
        }
        is_enough
    }
}

/// The number of drafts of a sequence in a step.
#[derive(Debug, Clone)]
pub(super) struct DraftLength {
    min_num_drafts: usize,
    max_num_drafts: usize,
    num_sequences: usize,
    /// What a token takes, in seconds.
    token_time: f64,
    acceptance: Acceptance,
    /// For each number of drafts up to the current one, the expected number of tokens.
    expected: Vec<f64>,
    /// The probability that all drafts so far are accepted.
    chance: f64,
}

impl DraftLength {
    /// Plans the drafts of a sequence; `None` if it should have none.
    pub(super) fn plan(
        acceptance: Acceptance,
        times: &PassTimes,
        trials: &mut TrialTime,
        circumstances: Circumstances,
    ) -> Option<Self> {
        let Circumstances { num_sequences, room, min_num_drafts, num_left, num_behind } =
            circumstances;
        let min_num_drafts = min_num_drafts.min(room);
        let is_forced = min_num_drafts > 0;
        if room == 0 || !is_forced && !times.is_known(num_sequences) {
            return None;
        }
        let plan = |max_num_drafts, token_time| Self {
            min_num_drafts,
            max_num_drafts,
            num_sequences,
            token_time,
            acceptance,
            expected: vec![1.0],
            chance: 1.0,
        };
        let plain = times.model(num_sequences) / num_sequences as f64;
        let mean = acceptance.mean();
        let (mut expected, mut chance, mut best) = (1.0, 1.0, plain);
        for num_drafts in 1..=room {
            chance *= mean;
            expected += chance;
            best = best.min(step_time(times, num_sequences, num_drafts) / expected);
        }
        let catch_up = times.catch_up(num_behind);
        let gain = plain - best;
        if is_forced || gain > MIN_GAIN * plain {
            let is_worth_it = is_forced || catch_up <= gain * num_left.min(HORIZON) as f64;
            let max_num_drafts = match is_forced {
                true => room,
                false => room.min(acceptance.num_risked()),
            };
            return is_worth_it.then(|| plan(max_num_drafts, best));
        }
        let cost = catch_up + step_time(times, num_sequences, 1) - plain;
        trials.spend(cost).then(|| plan(1, plain))
    }

    /// Adds a draft to which the draft model assigned `probability`. Returns whether another one is worth its pass.
    pub(super) fn push(&mut self, probability: f64, times: &PassTimes) -> bool {
        let num_drafts = self.expected.len();
        self.chance *= self.acceptance.of(probability);
        self.expected.push(self.expected[num_drafts - 1] + self.chance);
        if num_drafts >= self.max_num_drafts || num_drafts < self.min_num_drafts {
            return num_drafts < self.min_num_drafts;
        }
        let now = self.model_time(times, num_drafts);
        let (mut gained, mut chance) = (0.0, self.chance);
        (1..=self.max_num_drafts - num_drafts).any(|num_more| {
            chance *= self.acceptance.mean();
            gained += chance;
            let drafting = times.draft() * num_more as f64 / self.num_sequences as f64;
            let verifying = self.model_time(times, num_drafts + num_more) - now;
            gained * self.token_time > drafting + verifying
        })
    }

    /// The number of drafts to verify: later ones may promise less than their rows cost. At least one, since something is
    /// learned from it.
    pub(super) fn num_worth_verifying(&self, times: &PassTimes) -> usize {
        let value = |num_drafts: usize| {
            self.expected[num_drafts] * self.token_time - self.model_time(times, num_drafts)
        };
        let num_drafted = self.expected.len() - 1;
        let numbers = self.min_num_drafts.max(1).min(num_drafted.max(1))..self.expected.len();
        numbers.max_by(|&one, &other| value(one).total_cmp(&value(other))).unwrap_or(0)
    }

    /// The share of a sequence in the duration of a pass of the model.
    fn model_time(&self, times: &PassTimes, num_drafts: usize) -> f64 {
        times.model(self.num_sequences * (1 + num_drafts)) / self.num_sequences as f64
    }
}

/// The share of a sequence in the duration of a step.
fn step_time(times: &PassTimes, num_sequences: usize, num_drafts: usize) -> f64 {
    let drafting = times.draft() * num_drafts as f64;
    (times.model(num_sequences * (1 + num_drafts)) + drafting) / num_sequences as f64
}

#[cfg(test)]
mod simulated_generation;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Passes of 100 ms, 10 ms for each further row and 10 ms for a draft.
    fn times() -> PassTimes {
        let mut times = PassTimes::default();
        for num_rows in 1..=17 {
            let milliseconds = 90 + 10 * num_rows as u64;
            times.record_model(num_rows, Duration::from_millis(milliseconds));
        }
        times.record_draft(1, 1, Duration::from_millis(10));
        times.record_draft(1, 100, Duration::from_millis(100));
        times
    }

    const ROOM: Circumstances = Circumstances {
        num_sequences: 1,
        room: 8,
        min_num_drafts: 0,
        num_left: 1000,
        num_behind: 1,
    };

    fn acceptance(rate: f64) -> Acceptance {
        let mut acceptance = Acceptance::default();
        let mut owed = 0.0;
        for _ in 0..300 {
            owed += rate;
            acceptance.record(rate, owed >= 1.0);
            owed -= if owed >= 1.0 { 1.0 } else { 0.0 };
        }
        acceptance
    }

    /// The number of drafts if the draft model assigns these probabilities.
    fn num_drafts(acceptance: Acceptance, probabilities: &[f64]) -> usize {
        let mut trials = TrialTime::default();
        let Some(mut plan) = DraftLength::plan(acceptance, &times(), &mut trials, ROOM) else {
            return 0;
        };
        for &probability in probabilities {
            if !plan.push(probability, &times()) {
                break;
            }
        }
        plan.num_worth_verifying(&times())
    }

    #[test]
    fn more_is_drafted_the_more_is_accepted() {
        let drafted = [0.1, 0.6, 0.9, 0.98].map(|rate| num_drafts(acceptance(rate), &[rate; 8]));
        assert!(drafted.is_sorted() && drafted[0] == 0 && drafted[3] == 8, "{drafted:?}");
    }

    #[test]
    fn drafts_end_where_the_draft_model_is_in_doubt() {
        let acceptance = acceptance(0.9);
        assert_eq!(num_drafts(acceptance, &[0.95, 0.95, 0.2, 0.95, 0.95, 0.95, 0.95, 0.95]), 2);
    }

    #[test]
    fn a_long_prompt_is_only_computed_if_enough_tokens_follow() {
        let plan = |num_left, num_behind| {
            let circumstances = Circumstances { num_left, num_behind, ..ROOM };
            let mut trials = TrialTime::default();
            DraftLength::plan(acceptance(0.9), &times(), &mut trials, circumstances).is_some()
        };
        assert!(plan(10, 10) && plan(200, 1000));
        assert!(!plan(10, 1000), "10 tokens do not save two seconds");
    }

    #[test]
    fn rejected_drafts_are_tried_again_in_a_small_share_of_the_time() {
        let (mut trials, mut num_trials) = (TrialTime::default(), 0);
        let mut num_behind = 0;
        for _ in 0..10_000 {
            let circumstances = Circumstances { num_behind, ..ROOM };
            num_behind += 1;
            if DraftLength::plan(acceptance(0.0), &times(), &mut trials, circumstances).is_some() {
                (num_trials, num_behind) = (num_trials + 1, 0);
            }
            trials.save(0.1);
        }
        // A trial takes 20 ms, and 1 ms for each token since the last one.
        assert!((1..500).contains(&num_trials), "{num_trials}");
    }
}
