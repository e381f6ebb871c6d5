//! Perplexity and divergence as Markdown tables and as JSON.

use std::fmt;

use inferno_engine::{Distribution, Estimate, KlDivergence, Perplexity, TextWindows};
use serde_json::{Map, Value, json};

use crate::plural::count;

/// The perplexity of a model.
pub(super) struct PerplexityReport<'a>(pub(super) &'a Perplexity);

impl PerplexityReport<'_> {
    pub(super) fn json(&self) -> Value {
        json!({
            "perplexity": self.0.value(),
            "standard_error": self.0.standard_error(),
            "tokens": self.0.num_scored,
        })
    }
}

impl fmt::Display for PerplexityReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, standard_error) = (self.0.value(), self.0.standard_error());
        writeln!(f, "| | value | standard error |")?;
        writeln!(f, "|---|---:|---:|")?;
        write_estimate(f, "perplexity", Estimate { value, standard_error }, 6)
    }
}

/// The divergence of a model from a base.
pub(super) struct KlReport<'a> {
    pub(super) result: &'a KlDivergence,
    pub(super) text: &'a TextWindows,
}

/// Names of percentiles.
const PERCENTILES: [(&str, f64); 13] = [
    ("maximum", 100.0),
    ("99.9%", 99.9),
    ("99%", 99.0),
    ("95%", 95.0),
    ("90%", 90.0),
    ("75%", 75.0),
    ("median", 50.0),
    ("25%", 25.0),
    ("10%", 10.0),
    ("5%", 5.0),
    ("1%", 1.0),
    ("0.1%", 0.1),
    ("minimum", 0.0),
];

impl KlReport<'_> {
    pub(super) fn json(&self) -> Value {
        let Self { result, text } = self;
        let mut divergence = distribution(&result.distribution());
        divergence.extend(estimate("mean", result.mean()));
        let mut difference = distribution(&result.probability_difference_distribution());
        difference.extend(estimate("mean", result.mean_probability_difference()));
        difference.extend(estimate("rms", result.rms_probability_difference()));
        let mut report = Map::new();
        for (name, value) in [
            ("perplexity", result.perplexity()),
            ("base_perplexity", result.base_perplexity()),
            ("perplexity_ratio", result.ratio()),
            ("log_perplexity_ratio", result.log_ratio()),
            ("perplexity_difference", result.difference()),
            ("same_top", result.same_top()),
        ] {
            report.extend(estimate(name, value));
        }
        report.insert("correlation".to_owned(), json!(result.correlation()));
        report.insert("kl_divergence".to_owned(), Value::Object(divergence));
        report.insert("probability_difference".to_owned(), Value::Object(difference));
        report.insert("tokens".to_owned(), json!(result.num_tokens()));
        report.insert("windows".to_owned(), json!(text.num_windows()));
        report.insert("window".to_owned(), json!(text.window()));
        Value::Object(report)
    }
}

/// A value and its standard error, by name.
fn estimate(name: &str, estimate: Estimate) -> [(String, Value); 2] {
    let Estimate { value, standard_error } = estimate;
    [(name.to_owned(), json!(value)), (format!("{name}_standard_error"), json!(standard_error))]
}

fn distribution(values: &Distribution) -> Map<String, Value> {
    let named = PERCENTILES.iter().map(|&(name, percent)| {
        (name.trim_end_matches('%').to_owned(), json!(values.percentile(percent)))
    });
    named.collect()
}

impl fmt::Display for KlReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { result, text } = self;
        let windows = count(text.num_windows(), "window");
        let tokens = count(result.num_tokens(), "token");
        writeln!(f, "{tokens} compared, in {windows} of {} tokens.\n", text.window())?;

        writeln!(f, "| perplexity | value | standard error |")?;
        writeln!(f, "|---|---:|---:|")?;
        write_estimate(f, "PPL(model)", result.perplexity(), 6)?;
        write_estimate(f, "PPL(base)", result.base_perplexity(), 6)?;
        write_estimate(f, "PPL(model) / PPL(base)", result.ratio(), 6)?;
        write_estimate(f, "ln(PPL(model) / PPL(base))", result.log_ratio(), 6)?;
        write_estimate(f, "PPL(model) - PPL(base)", result.difference(), 6)?;
        let correlation = result.correlation().map_or("-".to_owned(), |it| format!("{it:.6}"));
        writeln!(f, "| correlation of ln(PPL) | {correlation} | - |")?;

        writeln!(f, "\n| per token | KL divergence (nats) | Δp (percentage points) |")?;
        writeln!(f, "|---|---:|---:|")?;
        let percent = |estimate: Estimate| Estimate {
            value: 100.0 * estimate.value,
            standard_error: estimate.standard_error.map(|error| 100.0 * error),
        };
        let mean = with_error(result.mean(), 6);
        let difference = with_error(percent(result.mean_probability_difference()), 3);
        writeln!(f, "| mean | {mean} | {difference} |")?;
        let (divergences, differences) =
            (result.distribution(), result.probability_difference_distribution());
        for (name, place) in PERCENTILES {
            let (divergence, difference) =
                (divergences.percentile(place), 100.0 * differences.percentile(place));
            writeln!(f, "| {name} | {divergence:.6} | {difference:.3} |")?;
        }
        let rms = with_error(percent(result.rms_probability_difference()), 3);
        writeln!(f, "| root mean square | | {rms} |")?;

        let same_top = with_error(percent(result.same_top()), 3);
        writeln!(f, "\nSame most probable token: {same_top} % of positions.")
    }
}

fn write_estimate(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    estimate: Estimate,
    decimals: usize,
) -> fmt::Result {
    let Estimate { value, standard_error } = estimate;
    let error = standard_error.map_or("-".to_owned(), |error| format!("{error:.decimals$}"));
    writeln!(f, "| {name} | {value:.decimals$} | {error} |")
}

/// A value with its standard error in one cell.
fn with_error(estimate: Estimate, decimals: usize) -> String {
    let Estimate { value, standard_error } = estimate;
    match standard_error {
        Some(error) => format!("{value:.decimals$} ± {error:.decimals$}"),
        None => format!("{value:.decimals$}"),
    }
}
