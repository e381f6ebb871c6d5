//! How likely drafts are to be accepted, by what happened to earlier ones.

/// Drafts that an estimate reaches back to.
const MAX_TRIED: f64 = 64.0;

/// Weight, in drafts, of what is expected of a sequence before any of its own drafts was verified. Low, so that useless drafts
/// end after four steps if one costs a seventh of a token.
const PRIOR: f64 = 2.0;

/// What is expected of the first sequence: enough that drafts are tried, one at a time.
const FIRST_ACCEPTANCE: f64 = 0.5;

/// The acceptance of the drafts of one sequence, or of all.
///
/// A draft model that assigns probability `p` to the token that it drafts is wrong with probability `1 - p` if it is as
/// good as the model, and more often if it is not: by a factor that is measured. The factor is below 1 if the same random
/// numbers select both tokens.
#[derive(Debug, Clone, Copy)]
pub(super) struct Acceptance {
    tried: f64,
    accepted: f64,
    /// The sum of `1 - p` of the drafts.
    doubt: f64,
}

impl Default for Acceptance {
    fn default() -> Self {
        let accepted = FIRST_ACCEPTANCE * PRIOR;
        Self { tried: PRIOR, accepted, doubt: PRIOR - accepted }
    }
}

impl Acceptance {
    /// What is expected of another sequence.
    pub(super) fn as_prior(self) -> Self {
        self.times(PRIOR / self.tried)
    }

    fn times(self, factor: f64) -> Self {
        let Self { tried, accepted, doubt } = self;
        Self { tried: factor * tried, accepted: factor * accepted, doubt: factor * doubt }
    }

    /// Records a draft to which the draft model assigned `probability`.
    pub(super) fn record(&mut self, probability: f64, is_accepted: bool) {
        if self.tried >= MAX_TRIED {
            *self = self.times((MAX_TRIED - 1.0) / self.tried);
        }
        self.tried += 1.0;
        self.accepted += f64::from(u8::from(is_accepted));
        // A little doubt always remains.
        self.doubt += (1.0 - probability).max(0.001);
    }

    /// The number of drafts that is risked at once: one, and one more for each that was accepted.
    pub(super) fn num_risked(self) -> usize {
        (self.accepted.ceil() as usize).max(1)
    }

    /// The probability that a draft is accepted, if those before it are.
    pub(super) fn mean(self) -> f64 {
        self.accepted / self.tried
    }

    /// The probability that a draft is accepted to which the draft model assigns `probability`.
    pub(super) fn of(self, probability: f64) -> f64 {
        let factor = (self.tried - self.accepted) / self.doubt;
        (1.0 - factor * (1.0 - probability)).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probability_counts_as_much_as_it_proved_to() {
        let mut exact = Acceptance::default();
        let mut wrong = Acceptance::default();
        for at in 0..100 {
            exact.record(0.75, at % 4 != 0);
            wrong.record(0.75, false);
        }
        assert!((exact.mean() - 0.75).abs() < 0.02 && (exact.of(0.5) - 0.5).abs() < 0.03);
        assert!(wrong.mean() < 0.03 && wrong.of(0.75) < 0.05, "{wrong:?}");
    }

    #[test]
    fn few_rejections_outweigh_what_was_expected() {
        let mut acceptance = Acceptance::default();
        (0..4).for_each(|_| acceptance.record(0.5, false));
        assert!(acceptance.mean() < 0.33);
        let prior = acceptance.as_prior();
        assert!((prior.mean() - acceptance.mean()).abs() < 1e-9 && prior.tried == PRIOR);
    }
}
