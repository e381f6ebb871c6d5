//! The durations of passes, from which the cost of drafts follows.

use std::time::Duration;

/// Measurements that an average reaches back to.
const MAX_COUNT: u32 = 8;

/// Measurements from which on longer ones are limited: on a busy machine, some passes take many times as long.
const MIN_COUNT_TO_LIMIT: u32 = 3;

/// The share of the duration of a pass that another row adds, before it is known.
const ASSUMED_ROW_SHARE: f64 = 0.2;

/// Rows of a pass that durations are recorded for.
const MAX_NUM_ROWS: usize = 65;

/// Durations of passes in seconds.
#[derive(Debug, Default)]
pub(super) struct PassTimes {
    /// Of the model's passes in which all sequences decode, by their number of rows, from 1 on.
    model: Vec<Average>,
    /// Of a pass of the draft model with one token per sequence.
    draft: Average,
    /// Of a token in a larger pass of the draft model.
    draft_token: Average,
}

/// A mean of the last measurements.
#[derive(Debug, Clone, Copy, Default)]
struct Average {
    value: f64,
    count: u32,
}

impl Average {
    fn record(&mut self, value: f64) {
        let value = match self.count >= MIN_COUNT_TO_LIMIT {
            true => value.min(2.0 * self.value),
            false => value,
        };
        self.count = MAX_COUNT.min(self.count + 1);
        self.value += (value - self.value) / f64::from(self.count);
    }

    fn get(self) -> Option<f64> {
        (self.count > 0).then_some(self.value)
    }
}

impl PassTimes {
    /// Records a pass of the model in which all sequences decode.
    pub(super) fn record_model(&mut self, num_rows: usize, duration: Duration) {
        if (1..=MAX_NUM_ROWS).contains(&num_rows) {
            self.model.resize(self.model.len().max(num_rows), Average::default());
            self.model[num_rows - 1].record(duration.as_secs_f64());
        }
    }

    /// Records a pass of the draft model over tokens of `num_sequences` sequences.
    pub(super) fn record_draft(
        &mut self,
        num_sequences: usize,
        num_tokens: usize,
        duration: Duration,
    ) {
        // The accepted draft and the token after it are computed together.
        if num_tokens <= 2 * num_sequences {
            self.draft.record(duration.as_secs_f64());
        } else {
            self.draft_token.record(duration.as_secs_f64() / num_tokens as f64);
        }
    }

    /// Whether passes of one row per sequence were measured for `num_sequences`.
    pub(super) fn is_known(&self, num_sequences: usize) -> bool {
        self.measured(num_sequences).is_some()
    }

    /// The duration of a pass of the draft model with one token per sequence.
    pub(super) fn draft(&self) -> f64 {
        self.draft.value
    }

    /// The duration of computing `num_tokens` tokens of a sequence in the draft model.
    pub(super) fn catch_up(&self, num_tokens: usize) -> f64 {
        self.draft_token.value * num_tokens as f64
    }

    /// The duration of a pass of the model with `num_rows` rows, estimated from those of other numbers if it has not been
    /// measured. At most that of more rows: passes without drafts may have been measured long ago, and the first ones were
    /// slower.
    pub(super) fn model(&self, num_rows: usize) -> f64 {
        let above = (num_rows + 1..=self.model.len()).filter_map(|rows| self.measured(rows));
        above.fold(self.estimate(num_rows), f64::min)
    }

    fn estimate(&self, num_rows: usize) -> f64 {
        if let Some(time) = self.measured(num_rows) {
            return time;
        }
        let below = (1..num_rows).rev().find_map(|rows| Some((rows, self.measured(rows)?)));
        let above =
            (num_rows..=self.model.len()).find_map(|rows| Some((rows, self.measured(rows)?)));
        let position = |rows: usize| num_rows as f64 - rows as f64;
        match (below, above) {
            (Some((low, time)), Some((high, more))) => {
                time + (more - time) * position(low) / (high - low) as f64
            }
            (Some((low, time)), None) => {
                let (first, shortest) = (1..=low)
                    .find_map(|rows| Some((rows, self.measured(rows)?)))
                    .unwrap_or((low, time));
                let per_row = match low > first {
                    true => ((time - shortest) / (low - first) as f64).max(0.0),
                    false => ASSUMED_ROW_SHARE * time,
                };
                time + per_row * position(low)
            }
            (None, Some((_, time))) => time,
            (None, None) => 0.0,
        }
    }

    fn measured(&self, num_rows: usize) -> Option<f64> {
        self.model.get(num_rows.checked_sub(1)?)?.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    #[test]
    fn durations_of_other_numbers_of_rows_are_estimated() {
        let mut times = PassTimes::default();
        assert!(!times.is_known(1) && times.model(4) == 0.0);
        times.record_model(1, 100 * MILLISECOND);
        assert!((times.model(2) - 0.12).abs() < 1e-9, "one row is assumed to add a fifth");
        times.record_model(5, 140 * MILLISECOND);
        assert!((times.model(2) - 0.11).abs() < 1e-9, "between two of them");
        assert!((times.model(7) - 0.16).abs() < 1e-9, "beyond the largest");
    }

    #[test]
    fn more_rows_do_not_take_less_time() {
        let mut times = PassTimes::default();
        times.record_model(1, 140 * MILLISECOND);
        times.record_model(3, 103 * MILLISECOND);
        assert!([1, 2, 3].iter().all(|&rows| (times.model(rows) - 0.103).abs() < 1e-9));
    }

    #[test]
    fn single_delays_hardly_count() {
        let mut times = PassTimes::default();
        (0..8).for_each(|_| times.record_model(1, 10 * MILLISECOND));
        times.record_model(1, 1000 * MILLISECOND);
        assert!(times.model(1) < 0.012, "{}", times.model(1));
        (0..30).for_each(|_| times.record_model(1, 30 * MILLISECOND));
        assert!((times.model(1) - 0.03).abs() < 1e-3, "{}", times.model(1));
    }

    #[test]
    fn tokens_that_the_draft_model_has_to_catch_up_with_are_counted_apart() {
        let mut times = PassTimes::default();
        times.record_draft(1, 100, 50 * MILLISECOND);
        times.record_draft(1, 2, 3 * MILLISECOND);
        assert!((times.catch_up(200) - 0.1).abs() < 1e-9 && (times.draft() - 0.003).abs() < 1e-9);
    }
}
