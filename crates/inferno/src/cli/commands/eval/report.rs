//! The results of tasks as a Markdown table and as JSON.

use std::fmt;

use serde_json::{Map, Value, json};

use crate::evaluation::{SampleResult, TaskResult};

/// The results of all tasks.
pub(super) struct EvaluationReport<'a> {
    pub(super) results: &'a [TaskResult],
}

impl EvaluationReport<'_> {
    /// The form of lm-evaluation-harness: metrics by task and name.
    pub(super) fn json(&self) -> Value {
        let tasks = self.results.iter().map(|task| {
            let mut metrics = Map::new();
            metrics.insert("samples".to_owned(), json!(task.samples.len()));
            for metric in task.metrics() {
                let name = metric.name;
                metrics.insert(name.to_owned(), json!(metric.estimate.value));
                let standard_error = json!(metric.estimate.standard_error);
                metrics.insert(format!("{name}_stderr"), standard_error);
            }
            metrics.insert("truncated".to_owned(), json!(task.num_truncated));
            (task.name.clone(), Value::Object(metrics))
        });
        json!({ "results": Map::from_iter(tasks) })
    }
}

impl fmt::Display for EvaluationReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| task | samples | metric | | value | standard error |")?;
        writeln!(f, "|---|---:|---|---|---:|---:|")?;
        for task in self.results {
            let mut cells = (task.name.replace('|', "\\|"), task.samples.len().to_string());
            for metric in task.metrics() {
                let (task, samples) = std::mem::take(&mut cells);
                let arrow = if metric.is_higher_better { "↑" } else { "↓" };
                let estimate = metric.estimate;
                let error = estimate.standard_error.map_or("-".to_owned(), |it| format!("{it:.4}"));
                let (name, value) = (metric.name, estimate.value);
                writeln!(f, "| {task} | {samples} | {name} | {arrow} | {value:.4} | {error} |")?;
            }
        }
        Ok(())
    }
}

/// One JSON object for each sample of a task.
pub(super) fn sample_lines(task: &TaskResult) -> impl Iterator<Item = Value> {
    (1..).zip(&task.samples).map(|(number, sample)| match sample {
        SampleResult::Choice(choice) => json!({
            "task": task.name,
            "sample": number,
            "answer": choice.answer,
            "prediction": choice.prediction,
            "prediction_per_character": choice.prediction_per_character,
            "prediction_per_byte": choice.prediction_per_byte,
            "log_likelihoods": choice.log_likelihoods,
            "is_greedy": choice.is_greedy,
        }),
        SampleResult::Text(text) => json!({
            "task": task.name,
            "sample": number,
            "log_likelihood": text.log_likelihood,
            "tokens": text.num_tokens,
            "words": text.num_words,
            "bytes": text.num_bytes,
        }),
    })
}
