//! What is measured of two distributions after each token, and its statistics.

use crate::EngineError;
use crate::sampler::{LANES, Softmax, exp_of_negative};

/// A value with its uncertainty.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// Its standard error, for independent tokens; `None` for fewer than two tokens, and if it is undefined.
    pub standard_error: Option<f64>,
}

/// The distribution of a quantity over all tokens.
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution {
    sorted: Vec<f64>,
}

/// A token whose probabilities were compared.
#[derive(Debug, Clone, Copy)]
struct ComparedToken {
    divergence: f64,
    /// Its negative log-probability.
    loss: f64,
    /// Its negative log-probability in the base model.
    base_loss: f64,
}

/// The divergence of a model from a base model.
///
/// **Source**: the figures and their uncertainties are those of llama.cpp's `perplexity --kl-divergence`.
#[derive(Debug, Clone)]
pub struct KlDivergence {
    tokens: Vec<ComparedToken>,
    num_same_top: usize,
    lowest: f32,
}

impl KlDivergence {
    /// Without tokens. Log-probabilities up to `lowest` in the base model do not count.
    pub(super) fn new(lowest: f32) -> Self {
        Self { tokens: Vec::new(), num_same_top: 0, lowest }
    }

    /// Adds the distribution of the token `next`: the base model's log-probabilities, and logits.
    ///
    /// **Errors**: [`EngineError::NonFiniteLogit`].
    pub(super) fn add(
        &mut self,
        base: &[f32],
        logits: &[f32],
        next: u32,
    ) -> Result<(), EngineError> {
        let softmax = Softmax::of_finite(logits)?;
        let (lowest, next) = (self.lowest, next as usize);
        // Rounded as the log-probabilities of the base model are, so that equal models have no divergence.
        let log_probability = |logit: f32| softmax.log_probability(logit) as f32;
        let term = |base: f32, logit: f32| {
            let is_counted = base > lowest;
            let difference = base - log_probability(logit);
            f64::from(if is_counted { exp_of_negative(base) * difference } else { 0.0 })
        };
        self.tokens.push(ComparedToken {
            divergence: sum_of_pairs(base, logits, term),
            loss: -f64::from(log_probability(logits[next])),
            base_loss: -f64::from(base[next]),
        });
        self.num_same_top += usize::from(highest(base) == highest(logits));
        Ok(())
    }

    /// Returns the number of tokens that were compared.
    pub fn num_tokens(&self) -> usize {
        self.tokens.len()
    }

    /// Returns the mean Kullback-Leibler divergence of a token, in nats: the expectation, over the base model's
    /// distribution, of the difference of log-probabilities.
    pub fn mean(&self) -> Estimate {
        mean(self.divergences())
    }

    /// Returns the divergences of all tokens.
    pub fn distribution(&self) -> Distribution {
        Distribution::of(self.divergences())
    }

    /// Returns the model's perplexity.
    pub fn perplexity(&self) -> Estimate {
        exp(mean(self.losses()))
    }

    /// Returns the base model's perplexity.
    pub fn base_perplexity(&self) -> Estimate {
        exp(mean(self.base_losses()))
    }

    /// Returns the correlation of the logarithms of both perplexities over the tokens; `None` if it is undefined.
    pub fn correlation(&self) -> Option<f64> {
        let [error, base_error] =
            [mean(self.losses()), mean(self.base_losses())].map(|mean| mean.standard_error);
        let correlation = self.covariance()? / (error? * base_error?);
        correlation.is_finite().then_some(correlation)
    }

    /// Returns the logarithm of the ratio of the model's perplexity to that of the base model.
    pub fn log_ratio(&self) -> Estimate {
        mean(self.tokens.iter().map(|token| token.loss - token.base_loss))
    }

    /// Returns the ratio of the model's perplexity to that of the base model.
    pub fn ratio(&self) -> Estimate {
        exp(self.log_ratio())
    }

    /// Returns the difference between the model's perplexity and that of the base model.
    pub fn difference(&self) -> Estimate {
        let (own, base) = (self.perplexity(), self.base_perplexity());
        let standard_error = || {
            let (error, base_error) = (own.standard_error?, base.standard_error?);
            let covariance = own.value * base.value * self.covariance()?;
            Some((error * error + base_error * base_error - 2.0 * covariance).max(0.0).sqrt())
        };
        Estimate { value: own.value - base.value, standard_error: standard_error() }
    }

    /// Returns the mean difference between the probabilities that the models give to the text's own tokens.
    pub fn mean_probability_difference(&self) -> Estimate {
        mean(self.probability_differences())
    }

    /// Returns the differences between the probabilities that the models give to the text's own tokens.
    pub fn probability_difference_distribution(&self) -> Distribution {
        Distribution::of(self.probability_differences())
    }

    /// Returns the root of the mean square of the [probability
    /// differences](Self::probability_difference_distribution).
    pub fn rms_probability_difference(&self) -> Estimate {
        let square = mean(self.probability_differences().map(|difference| difference * difference));
        let value = square.value.sqrt();
        let standard_error = square.standard_error.map(|error| 0.5 / value * error);
        Estimate { value, standard_error: standard_error.filter(|error| error.is_finite()) }
    }

    /// Returns the share of positions at which both models have the same most probable token.
    pub fn same_top(&self) -> Estimate {
        let count = self.tokens.len() as f64;
        let value = self.num_same_top as f64 / count;
        let variance = value * (1.0 - value) / (count - 1.0);
        Estimate { value, standard_error: (count > 1.0).then(|| variance.sqrt()) }
    }

    fn divergences(&self) -> impl Iterator<Item = f64> + Clone {
        self.tokens.iter().map(|token| token.divergence)
    }

    fn losses(&self) -> impl Iterator<Item = f64> + Clone {
        self.tokens.iter().map(|token| token.loss)
    }

    fn base_losses(&self) -> impl Iterator<Item = f64> + Clone {
        self.tokens.iter().map(|token| token.base_loss)
    }

    fn probability_differences(&self) -> impl Iterator<Item = f64> + Clone {
        self.tokens.iter().map(|token| libm::exp(-token.loss) - libm::exp(-token.base_loss))
    }

    /// The covariance of the mean losses of both models.
    fn covariance(&self) -> Option<f64> {
        let count = self.tokens.len() as f64;
        let (own, base) = (mean(self.losses()).value, mean(self.base_losses()).value);
        let products = self.losses().zip(self.base_losses());
        let sum: f64 = products.map(|(loss, other)| (loss - own) * (other - base)).sum();
        (count > 1.0).then(|| sum / count / (count - 1.0))
    }
}

impl Distribution {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = values.collect();
        sorted.sort_unstable_by(f64::total_cmp);
        Self { sorted }
    }

    /// Returns the value that `percent` of all values do not exceed, interpolated between two values: 0 for the lowest, 50
    /// for the median, 100 for the highest. Not a number without values.
    pub fn percentile(&self, percent: f64) -> f64 {
        let Some(last) = self.sorted.len().checked_sub(1) else { return f64::NAN };
        let place = percent.clamp(0.0, 100.0) / 100.0 * last as f64;
        let (below, share) = (place as usize, place.fract());
        let above = self.sorted[(below + 1).min(last)];
        (1.0 - share) * self.sorted[below] + share * above
    }
}

/// The mean, with the standard error of independent values.
fn mean(values: impl Iterator<Item = f64> + Clone) -> Estimate {
    let count = values.clone().count() as f64;
    let value = values.clone().sum::<f64>() / count;
    let squares: f64 = values.map(|it| (it - value) * (it - value)).sum();
    let standard_error = (count > 1.0).then(|| (squares / count / (count - 1.0)).sqrt());
    Estimate { value, standard_error }
}

/// The exponential of an estimate.
fn exp(logarithm: Estimate) -> Estimate {
    let value = libm::exp(logarithm.value);
    Estimate { value, standard_error: logarithm.standard_error.map(|error| value * error) }
}

/// The sum of `term` over pairs, in [`LANES`] lanes that are added in order.
fn sum_of_pairs(left: &[f32], right: &[f32], term: impl Fn(f32, f32) -> f64) -> f64 {
    let mut sums = [0f64; LANES];
    for (left, right) in left.chunks(LANES).zip(right.chunks(LANES)) {
        for ((sum, &left), &right) in sums.iter_mut().zip(left).zip(right) {
            *sum += term(left, right);
        }
    }
    sums.iter().sum()
}

/// The index of the highest value, the first of several.
fn highest(values: &[f32]) -> Option<usize> {
    let highest = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    values.iter().position(|&value| value == highest)
}
