//! Results of samples, and the metrics of a task.

use inferno_engine::Estimate;

use super::python_text::num_words;
use super::task::{Choice, ChoiceSample};

/// The results of a task.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskResult {
    /// The task's name.
    pub name: String,
    /// The result of each sample.
    pub samples: Vec<SampleResult>,
    /// Number of samples whose contexts were too long and lost their beginnings.
    pub num_truncated: usize,
}

/// The result of a sample.
#[derive(Debug, Clone, PartialEq)]
pub enum SampleResult {
    /// Of a question.
    Choice(ChoiceResult),
    /// Of a text.
    Text(TextResult),
}

/// The result of a question.
#[derive(Debug, Clone, PartialEq)]
pub struct ChoiceResult {
    /// The log-likelihood of each choice, in nats.
    pub log_likelihoods: Vec<f64>,
    /// Whether greedy decoding generates each choice.
    pub is_greedy: Vec<bool>,
    /// The most probable choice.
    pub prediction: usize,
    /// The choice with the highest log-likelihood per character, if choices have lengths.
    pub prediction_per_character: Option<usize>,
    /// The choice with the highest log-likelihood per byte, if choices have lengths.
    pub prediction_per_byte: Option<usize>,
    /// The right choice.
    pub answer: usize,
}

/// The result of a text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TextResult {
    /// The log-likelihood of the text, in nats.
    pub log_likelihood: f64,
    /// Number of tokens.
    pub num_tokens: usize,
    /// Number of words.
    pub num_words: usize,
    /// Number of bytes.
    pub num_bytes: usize,
}

/// A number that summarizes a task.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Metric {
    /// The name, as in lm-evaluation-harness.
    pub name: &'static str,
    /// The value.
    pub estimate: Estimate,
    /// Whether higher values are better.
    pub is_higher_better: bool,
}

impl ChoiceResult {
    /// Of the log-likelihoods of the choices, and whether greedy decoding generates them.
    pub(super) fn new(sample: &ChoiceSample, scores: Vec<(f64, bool)>) -> Self {
        let (log_likelihoods, is_greedy): (Vec<_>, Vec<_>) = scores.into_iter().unzip();
        let per = |length: fn(&str) -> usize| {
            let lengths =
                sample.choices.iter().map(|Choice { text, .. }| Some(length(text.as_deref()?)));
            let lengths: Vec<usize> = lengths.collect::<Option<_>>()?;
            let scores = log_likelihoods.iter().zip(lengths);
            Some(highest(scores.map(|(score, length)| score / length as f64)))
        };
        Self {
            prediction: highest(log_likelihoods.iter().copied()),
            prediction_per_character: per(|text| text.chars().count()),
            prediction_per_byte: per(str::len),
            answer: sample.answer,
            log_likelihoods,
            is_greedy,
        }
    }
}

impl TextResult {
    pub(super) fn new(text: &str, log_likelihood: f64, num_tokens: usize) -> Self {
        Self { log_likelihood, num_tokens, num_words: num_words(text), num_bytes: text.len() }
    }
}

impl TaskResult {
    /// Returns the metrics. Of questions: `acc`, the share of right predictions; `acc_norm` and `acc_bytes`, with
    /// log-likelihoods per character and per byte. Of texts: the perplexity per word and per byte, and the bits per byte.
    /// Standard errors are those over samples; of perplexities, by the delta method.
    pub fn metrics(&self) -> Vec<Metric> {
        let choices: Vec<_> = self.samples.iter().filter_map(SampleResult::choice).collect();
        let texts: Vec<_> = self.samples.iter().filter_map(SampleResult::text).collect();
        let mut metrics = Vec::new();
        let mut add_accuracy = |name, prediction: fn(&ChoiceResult) -> Option<usize>| {
            let predictions =
                choices.iter().map(|&choice| Some(prediction(choice)? == choice.answer));
            let right: Option<Vec<bool>> = predictions.collect();
            if let Some(right) = right.filter(|right| !right.is_empty()) {
                metrics.push(Metric { name, estimate: share(&right), is_higher_better: true });
            }
        };
        add_accuracy("acc", |choice| Some(choice.prediction));
        add_accuracy("acc_norm", |choice| choice.prediction_per_character);
        add_accuracy("acc_bytes", |choice| choice.prediction_per_byte);
        if !texts.is_empty() {
            let loss = |length: fn(&TextResult) -> usize| {
                ratio(texts.iter().map(|&text| (-text.log_likelihood, length(text) as f64)))
            };
            let (per_word, per_byte) = (loss(|text| text.num_words), loss(|text| text.num_bytes));
            let exp = |loss: Estimate| {
                let value = loss.value.exp();
                Estimate { value, standard_error: loss.standard_error.map(|error| value * error) }
            };
            let bits = Estimate {
                value: per_byte.value / std::f64::consts::LN_2,
                standard_error: per_byte.standard_error.map(|error| error / std::f64::consts::LN_2),
            };
            for (name, estimate) in [
                ("word_perplexity", exp(per_word)),
                ("byte_perplexity", exp(per_byte)),
                ("bits_per_byte", bits),
            ] {
                metrics.push(Metric { name, estimate, is_higher_better: false });
            }
        }
        metrics
    }
}

impl SampleResult {
    fn choice(&self) -> Option<&ChoiceResult> {
        match self {
            Self::Choice(choice) => Some(choice),
            Self::Text(_) => None,
        }
    }

    fn text(&self) -> Option<&TextResult> {
        match self {
            Self::Text(text) => Some(text),
            Self::Choice(_) => None,
        }
    }
}

/// The index of the highest value, the first of several.
fn highest(values: impl Iterator<Item = f64>) -> usize {
    let mut best = (0, f64::NEG_INFINITY);
    for (index, value) in values.enumerate() {
        if value > best.1 {
            best = (index, value);
        }
    }
    best.0
}

/// The share of true values, with the standard error of a mean.
fn share(values: &[bool]) -> Estimate {
    let count = values.len() as f64;
    let value = values.iter().filter(|&&value| value).count() as f64 / count;
    let variance = value * (1.0 - value) / (count - 1.0);
    Estimate { value, standard_error: (count > 1.0).then(|| variance.sqrt()) }
}

/// The ratio of two sums, with the standard error of a ratio estimator.
///
/// **Source**: Cochran, Sampling Techniques, section 6.3.
fn ratio(pairs: impl Iterator<Item = (f64, f64)> + Clone) -> Estimate {
    let (mut count, mut numerator, mut denominator) = (0.0, 0.0, 0.0);
    for (above, below) in pairs.clone() {
        count += 1.0;
        numerator += above;
        denominator += below;
    }
    let value = numerator / denominator;
    let squares: f64 = pairs.map(|(above, below)| (above - value * below).powi(2)).sum();
    let variance = count / (count - 1.0) * squares / (denominator * denominator);
    Estimate { value, standard_error: (count > 1.0).then(|| variance.sqrt()) }
}
