//! The duration of a step, as a linear function of the work in it.

use serde::{Deserialize, Serialize};

use crate::error::Error;

/// The number of coefficients.
const NUM_TERMS: usize = 6;
/// Up to this many tokens, a step takes about as long as reading the weights.
const FEW_TOKENS: usize = 8;

/// The duration of a step, in seconds: a constant and coefficients for each kind of work.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CostModel {
    /// A step with nothing in it: mostly reading the weights.
    pub step: f64,
    /// A token, of a prompt or of a sequence that decodes.
    pub token: f64,
    /// A token after the first 8 of a step, in addition.
    #[serde(default)]
    pub token_after_8: f64,
    /// A sequence that decodes, in addition to its token.
    pub decode_sequence: f64,
    /// A token of context of a sequence that decodes.
    pub decode_context_token: f64,
    /// A token of context of a prompt token.
    pub prompt_context_token: f64,
}

/// The costs of steps on a machine with several replicas.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MachineCosts {
    /// While one replica computes.
    pub alone: CostModel,
    /// While as many replicas compute as the machine has cores for: they compete for the memory.
    pub contended: CostModel,
    /// Time of each step beyond its forward pass, in seconds, in which no weights are read.
    pub overhead: f64,
}

/// How long a step takes, in seconds, by the number of replicas that compute.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepDuration {
    /// While its replica computes alone.
    pub alone: f64,
    /// While as many replicas compute as the machine has cores for, if all do the same.
    pub contended: f64,
    /// The part of the time alone in which the weights are read, from 0 to 1: how much the step slows down others.
    pub memory_share: f64,
}

impl MachineCosts {
    /// Returns the duration of a step.
    pub fn duration(&self, work: &StepWork) -> StepDuration {
        let alone = self.alone.seconds(work) + self.overhead;
        let memory_share = if alone > 0.0 { (self.alone.step / alone).min(1.0) } else { 0.0 };
        StepDuration {
            alone,
            contended: self.contended.seconds(work) + self.overhead,
            memory_share,
        }
    }
}

impl From<CostModel> for MachineCosts {
    /// Costs that do not depend on other replicas.
    fn from(costs: CostModel) -> Self {
        Self { alone: costs, contended: costs, overhead: 0.0 }
    }
}

/// The work in a step.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StepWork {
    /// Sequences that decode.
    pub decode_sequences: usize,
    /// Prompt tokens.
    pub prompt_tokens: usize,
    /// Tokens of context of all sequences that decode.
    pub decode_context: usize,
    /// Tokens of context of all prompt tokens.
    pub prompt_context: usize,
}

impl StepWork {
    /// Adds a token of a sequence that decodes, at `position`.
    pub fn add_decode(&mut self, position: usize) {
        self.decode_sequences += 1;
        self.decode_context += position + 1;
    }

    /// Adds `num_tokens` prompt tokens, the first of which is at position `start`.
    pub fn add_prompt(&mut self, start: usize, num_tokens: usize) {
        self.prompt_tokens += num_tokens;
        self.prompt_context += num_tokens * start + num_tokens * (num_tokens + 1) / 2;
    }

    fn terms(&self) -> [f64; NUM_TERMS] {
        let tokens = self.prompt_tokens + self.decode_sequences;
        let counts = [
            1,
            tokens,
            tokens.saturating_sub(FEW_TOKENS),
            self.decode_sequences,
            self.decode_context,
            self.prompt_context,
        ];
        counts.map(|count| count as f64)
    }
}

impl CostModel {
    /// Returns the duration of a step, in seconds.
    pub fn seconds(&self, work: &StepWork) -> f64 {
        self.coefficients()
            .iter()
            .zip(work.terms())
            .map(|(coefficient, term)| coefficient * term)
            .sum()
    }

    /// Fits the coefficients to measured steps and their durations in seconds: the smallest sum of squared relative
    /// errors with coefficients of at least 0.
    ///
    /// **Errors**: [`Error::NoMeasurements`].
    pub fn fit(measured: &[(StepWork, f64)]) -> Result<Self, Error> {
        let rows: Vec<[f64; NUM_TERMS]> = measured
            .iter()
            .map(|(work, seconds)| work.terms().map(|term| term / seconds))
            .collect();
        if rows.is_empty() {
            return Err(Error::NoMeasurements);
        }
        let mut is_used = [true; NUM_TERMS];
        loop {
            let solution = least_squares(&rows, is_used);
            let worst = (0..NUM_TERMS).filter(|&term| solution[term] < 0.0);
            let Some(worst) = worst.min_by(|&a, &b| solution[a].total_cmp(&solution[b])) else {
                return Ok(Self::from_coefficients(solution));
            };
            is_used[worst] = false;
        }
    }

    fn coefficients(&self) -> [f64; NUM_TERMS] {
        [
            self.step,
            self.token,
            self.token_after_8,
            self.decode_sequence,
            self.decode_context_token,
            self.prompt_context_token,
        ]
    }

    fn from_coefficients(coefficients: [f64; NUM_TERMS]) -> Self {
        let [
            step,
            token,
            token_after_8,
            decode_sequence,
            decode_context_token,
            prompt_context_token,
        ] = coefficients;
        Self {
            step,
            token,
            token_after_8,
            decode_sequence,
            decode_context_token,
            prompt_context_token,
        }
    }
}

/// Returns the coefficients, 0 for unused terms, whose products with `rows` are closest to 1.
fn least_squares(rows: &[[f64; NUM_TERMS]], is_used: [bool; NUM_TERMS]) -> [f64; NUM_TERMS] {
    // Columns differ by six orders of magnitude, so they are scaled to length 1.
    let square = |term: usize| rows.iter().map(|row| row[term] * row[term]).sum::<f64>();
    let scales: [f64; NUM_TERMS] = std::array::from_fn(|term| square(term).sqrt());
    let used: Vec<usize> =
        (0..NUM_TERMS).filter(|&term| is_used[term] && scales[term] > 0.0).collect();
    let product = |a: usize, b: usize| {
        rows.iter().map(|row| row[a] * row[b]).sum::<f64>() / (scales[a] * scales[b])
    };
    let mut system: Vec<Vec<f64>> = used
        .iter()
        .map(|&a| {
            let target = rows.iter().map(|row| row[a]).sum::<f64>() / scales[a];
            used.iter().map(|&b| product(a, b)).chain([target]).collect()
        })
        .collect();
    let solution = solve(&mut system);
    let mut coefficients = [0.0; NUM_TERMS];
    for (&term, value) in used.iter().zip(solution) {
        coefficients[term] = value / scales[term];
    }
    coefficients
}

/// Solves linear equations, one per row with the right side last, by elimination. Unknowns that the equations do not
/// determine are 0.
fn solve(system: &mut [Vec<f64>]) -> Vec<f64> {
    const SMALLEST_PIVOT: f64 = 1e-9;
    let num_unknowns = system.len();
    for column in 0..num_unknowns {
        let candidates = column..num_unknowns;
        let largest =
            candidates.max_by(|&a, &b| system[a][column].abs().total_cmp(&system[b][column].abs()));
        system.swap(column, largest.unwrap_or(column));
        let pivot = system[column].clone();
        if pivot[column].abs() < SMALLEST_PIVOT {
            system[column].fill(0.0);
            continue;
        }
        for (_, row) in system.iter_mut().enumerate().filter(|(index, _)| *index != column) {
            let factor = row[column] / pivot[column];
            row.iter_mut().zip(&pivot).for_each(|(value, above)| *value -= factor * above);
        }
    }
    let value = |(column, row): (usize, &Vec<f64>)| match row[column].abs() < SMALLEST_PIVOT {
        true => 0.0,
        false => row[num_unknowns] / row[column],
    };
    system.iter().enumerate().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(decode_sequences: usize, prompt_tokens: usize, start: usize) -> StepWork {
        let mut work = StepWork::default();
        (0..decode_sequences).for_each(|_| work.add_decode(start));
        work.add_prompt(start, prompt_tokens);
        work
    }

    #[test]
    fn the_context_of_a_prompt_token_ends_with_itself() {
        let mut work = StepWork::default();
        work.add_prompt(10, 3);
        assert_eq!(work, StepWork { prompt_tokens: 3, prompt_context: 11 + 12 + 13, ..work });
        work.add_decode(7);
        assert_eq!((work.decode_sequences, work.decode_context), (1, 8));
    }

    #[test]
    fn tokens_of_all_kinds_count_together() {
        let model = CostModel { token_after_8: 1.0, decode_sequence: 0.1, ..CostModel::default() };
        assert!((model.seconds(&work(4, 6, 0)) - 2.4).abs() < 1e-9);
        assert!((model.seconds(&work(4, 4, 0)) - 0.4).abs() < 1e-9);
    }

    #[test]
    fn no_weights_are_read_in_the_overhead() {
        let pass = CostModel { step: 0.02, decode_sequence: 0.02, ..CostModel::default() };
        let costs = MachineCosts { overhead: 0.04, ..pass.into() };
        let duration = costs.duration(&work(1, 0, 0));
        assert!((duration.alone - 0.08).abs() < 1e-9 && duration.contended == duration.alone);
        assert!((duration.memory_share - 0.25).abs() < 1e-9, "{duration:?}");
    }

    #[test]
    fn a_fit_finds_the_coefficients_of_exact_durations() {
        let model = CostModel {
            step: 0.02,
            token: 0.0002,
            token_after_8: 0.0003,
            decode_sequence: 0.001,
            decode_context_token: 1e-6,
            prompt_context_token: 2e-7,
        };
        let works = [
            (1, 0, 0),
            (4, 0, 0),
            (16, 0, 100),
            (1, 0, 2000),
            (4, 0, 2000),
            (0, 256, 0),
            (0, 256, 1000),
            (0, 64, 0),
            (0, 8, 0),
            (0, 16, 0),
        ];
        let measured: Vec<_> = works
            .map(|(sequences, tokens, start)| work(sequences, tokens, start))
            .map(|work| (work, model.seconds(&work)))
            .to_vec();
        let fitted = CostModel::fit(&measured).expect("there are measurements");
        for (fitted, exact) in fitted.coefficients().iter().zip(model.coefficients()) {
            assert!((fitted / exact - 1.0).abs() < 1e-6, "{fitted} {exact}");
        }
    }

    #[test]
    fn coefficients_are_not_negative() {
        // Durations fall with the context, which no work does.
        let measured = [
            (work(1, 0, 0), 0.02),
            (work(2, 0, 0), 0.03),
            (work(1, 0, 1000), 0.019),
            (work(2, 0, 1000), 0.029),
        ];
        let fitted = CostModel::fit(&measured).expect("there are measurements");
        assert_eq!(fitted.decode_context_token, 0.0);
        let sequence = fitted.token + fitted.decode_sequence;
        assert!((sequence - 0.01).abs() < 0.001, "{fitted:?}");
        assert!(matches!(CostModel::fit(&[]), Err(Error::NoMeasurements)));
    }
}
