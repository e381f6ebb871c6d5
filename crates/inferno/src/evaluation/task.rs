//! Tasks and their samples.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::records::{Record, read_record};
use crate::Error;
use crate::evaluation::EvaluationError;

/// Samples of one kind, which are measured together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The name in reports.
    pub name: String,
    /// The samples; at least one. All are of the same kind.
    pub samples: Vec<Sample>,
}

/// A sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sample {
    /// Continuations, of which one is right.
    Choice(ChoiceSample),
    /// A text that is scored as a whole.
    Text(String),
}

/// A question with several answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChoiceSample {
    /// The answers to choose from.
    pub choices: Vec<Choice>,
    /// Index of the right one.
    pub answer: usize,
}

/// An answer: a continuation of a context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// What precedes the continuation.
    pub context: Arc<str>,
    /// What is scored, with the delimiter before it.
    pub continuation: String,
    /// The answer without delimiter, by whose length `acc_norm` and `acc_bytes` divide; `None` if the answers differ in
    /// their contexts only.
    pub text: Option<String>,
}

/// How tasks are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskOptions {
    /// What is between a context and a continuation.
    pub target_delimiter: String,
    /// Maximum number of samples.
    pub limit: Option<usize>,
    /// Examples in JSONL that precede each context with their right answers.
    pub few_shot: Option<FewShot>,
}

/// Examples that precede each context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FewShot {
    /// The name of the examples in errors.
    pub name: String,
    /// The examples, in JSONL.
    pub lines: String,
    /// Number of examples before each context, the first ones with the same description.
    pub num_examples: usize,
}

impl Default for TaskOptions {
    fn default() -> Self {
        Self { target_delimiter: " ".to_owned(), limit: None, few_shot: None }
    }
}

/// What separates examples.
const FEW_SHOT_DELIMITER: &str = "\n\n";

impl Task {
    /// Reads a task from lines with one JSON object each: `{"context": …, "choices": […], "answer": INDEX}`, `{"text": …}`,
    /// or a record of HellaSwag, ARC, MMLU, PIQA or WinoGrande, whose prompts are those of lm-evaluation-harness.
    ///
    /// **Errors**: [`EvaluationError::InvalidSample`], [`EvaluationError::NoSamples`], [`EvaluationError::TooFewExamples`].
    pub fn from_jsonl(name: &str, lines: &str, options: &TaskOptions) -> Result<Self, Error> {
        let examples = match &options.few_shot {
            Some(few_shot) => Examples::read(few_shot, &options.target_delimiter)?,
            None => Examples::default(),
        };
        let mut samples = Vec::new();
        for (line, record) in records(name, lines) {
            if options.limit.is_some_and(|limit| samples.len() >= limit) {
                break;
            }
            let invalid = |reason| {
                Error::Evaluation(EvaluationError::InvalidSample {
                    input: name.to_owned(),
                    line,
                    reason,
                })
            };
            let sample = match record? {
                Record::Text(text) => Sample::Text(text),
                Record::Question(question) => {
                    let prefix = examples.before(question.description.as_deref());
                    if prefix.len() < examples.num_examples {
                        return Err(Error::Evaluation(EvaluationError::TooFewExamples {
                            few_shot: examples.name.clone(),
                            found: prefix.len(),
                            num_examples: examples.num_examples,
                            input: name.to_owned(),
                            line,
                            is_by_subject: question.description.is_some(),
                        }));
                    }
                    let before =
                        question.description.clone().unwrap_or_default() + &prefix.concat();
                    Sample::Choice(question.sample(&before, &options.target_delimiter))
                }
            };
            let same_kind =
                |first: &Sample| std::mem::discriminant(first) == std::mem::discriminant(&sample);
            if !samples.first().is_none_or(same_kind) {
                return Err(invalid(
                    "it is of another kind than the first; put texts and questions in separate files"
                        .to_owned(),
                ));
            }
            if matches!(sample, Sample::Text(_)) && options.few_shot.is_some() {
                return Err(invalid(
                    "few-shot examples require questions, but it is a text".to_owned(),
                ));
            }
            samples.push(sample);
        }
        match samples.is_empty() {
            true => Err(Error::Evaluation(EvaluationError::NoSamples { input: name.to_owned() })),
            false => Ok(Self { name: name.to_owned(), samples }),
        }
    }
}

/// The records of `lines` with their numbers, from 1.
fn records<'a>(
    name: &'a str,
    lines: &'a str,
) -> impl Iterator<Item = (usize, Result<Record, Error>)> + 'a {
    let filled = (1..).zip(lines.lines()).filter(|(_, text)| !text.trim().is_empty());
    filled.map(move |(line, text)| {
        let record = serde_json::from_str::<Map<String, Value>>(text)
            .map_err(|error| format!("it is not a JSON object: {error}"))
            .and_then(read_record);
        let invalid = |reason| {
            Error::Evaluation(EvaluationError::InvalidSample {
                input: name.to_owned(),
                line,
                reason,
            })
        };
        (line, record.map_err(invalid))
    })
}

/// Examples with their right answers.
#[derive(Default)]
struct Examples {
    /// The name of the examples in errors.
    name: String,
    /// Descriptions and texts.
    examples: Vec<(Option<String>, String)>,
    num_examples: usize,
}

impl Examples {
    fn read(few_shot: &FewShot, delimiter: &str) -> Result<Self, Error> {
        let FewShot { name, lines, num_examples } = few_shot;
        let mut examples = Vec::new();
        for (line, record) in records(name, lines) {
            let Record::Question(question) = record? else {
                let reason = "few-shot examples must be questions, but it is a text".to_owned();
                return Err(Error::Evaluation(EvaluationError::InvalidSample {
                    input: name.clone(),
                    line,
                    reason,
                }));
            };
            let ChoiceSample { choices, answer } = question.sample("", delimiter);
            let Choice { context, continuation, .. } = &choices[answer];
            let text = format!("{context}{continuation}{FEW_SHOT_DELIMITER}");
            examples.push((question.description, text));
        }
        Ok(Self { name: name.clone(), examples, num_examples: *num_examples })
    }

    /// The examples before a question with this description.
    fn before(&self, description: Option<&str>) -> Vec<&str> {
        let matching = self.examples.iter().filter(|(of, _)| of.as_deref() == description);
        matching.map(|(_, text)| text.as_str()).take(self.num_examples).collect()
    }
}
