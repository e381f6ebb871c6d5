//! The forms of samples in JSONL files.
//!
//! **Source**: the prompts of data sets are those of lm-evaluation-harness's tasks of these names.

use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::python_text::{capitalize, strip, without_brackets};
use super::task::{Choice, ChoiceSample};

/// A line of a file.
pub(super) enum Record {
    Text(String),
    Question(Question),
}

/// A question before it has a delimiter and examples.
pub(super) struct Question {
    /// What the questions of a subject begin with, before any examples.
    pub(super) description: Option<String>,
    prompt: Prompt,
    answer: usize,
}

/// What answers have in common.
enum Prompt {
    /// The context.
    Context { context: String, choices: Vec<String> },
    /// The continuation.
    Continuation { contexts: Vec<String>, continuation: String },
}

impl Question {
    fn new(context: String, choices: Vec<String>, answer: usize) -> Result<Self, String> {
        if choices.len() < 2 {
            return Err(format!("it has {} choices, but at least 2 are required", choices.len()));
        }
        if answer >= choices.len() {
            return Err(format!(
                "its answer is {answer}, but it has {} choices, counted from 0",
                choices.len()
            ));
        }
        Ok(Self { description: None, prompt: Prompt::Context { context, choices }, answer })
    }

    /// The sample with the text `before` it and `delimiter` before each continuation.
    pub(super) fn sample(&self, before: &str, delimiter: &str) -> ChoiceSample {
        let choices = match &self.prompt {
            Prompt::Context { context, choices } => {
                let context: Arc<str> = format!("{before}{context}").into();
                let choice = |text: &String| Choice {
                    context: Arc::clone(&context),
                    continuation: format!("{delimiter}{text}"),
                    text: Some(text.clone()),
                };
                choices.iter().map(choice).collect()
            }
            Prompt::Continuation { contexts, continuation } => {
                let choice = |context: &String| Choice {
                    context: format!("{before}{context}").into(),
                    continuation: format!("{delimiter}{continuation}"),
                    text: None,
                };
                contexts.iter().map(choice).collect()
            }
        };
        ChoiceSample { choices, answer: self.answer }
    }
}

/// Reads a record, whose form is recognized by its keys.
///
/// **Errors**: what is wrong with it, for an error that names the line.
pub(super) fn read_record(record: Map<String, Value>) -> Result<Record, String> {
    let has = |key: &str| record.contains_key(key);
    let question = if has("context") && has("choices") {
        parse::<PlainRecord>(record, "a question")?.question()
    } else if has("endings") {
        parse::<HellaSwagRecord>(record, "HellaSwag")?.question()
    } else if has("goal") {
        parse::<PiqaRecord>(record, "PIQA")?.question()
    } else if has("sentence") && has("option1") {
        parse::<WinoGrandeRecord>(record, "WinoGrande")?.question()
    } else if has("answerKey") {
        parse::<ArcRecord>(record, "ARC")?.question()
    } else if has("question") && has("choices") {
        parse::<MmluRecord>(record, "MMLU")?.question()
    } else if has("text") {
        let TextRecord { text } = parse(record, "a text")?;
        return match text.is_empty() {
            true => Err("its text is empty".to_owned()),
            false => Ok(Record::Text(text)),
        };
    } else {
        let keys: Vec<_> = record.keys().map(String::as_str).collect();
        return Err(format!(
            "expected {{\"context\", \"choices\", \"answer\"}}, {{\"text\"}}, or a record of HellaSwag, ARC, MMLU, PIQA or WinoGrande, but found the keys {}",
            keys.join(", ")
        ));
    };
    question.map(Record::Question)
}

fn parse<T: DeserializeOwned>(record: Map<String, Value>, form: &str) -> Result<T, String> {
    serde_json::from_value(Value::Object(record))
        .map_err(|error| format!("it is not a valid record of {form}: {error}"))
}

/// A number, or a string with one.
#[derive(Deserialize)]
#[serde(untagged)]
enum Label {
    Number(usize),
    Text(String),
}

impl Label {
    /// The index that a number is, after `first`, the label of the first choice.
    fn index(&self, first: usize) -> Result<usize, String> {
        let number = match self {
            Self::Number(number) => Some(*number),
            Self::Text(text) => text.trim().parse().ok(),
        };
        let index = number.and_then(|number| number.checked_sub(first));
        index.ok_or_else(|| match self {
            Self::Text(text) if text.is_empty() => {
                "it has no label; use a part of the data set with labels".to_owned()
            }
            _ => format!("its label is not a number from {first} on"),
        })
    }
}

#[derive(Deserialize)]
struct TextRecord {
    text: String,
}

/// The form of inferno.
#[derive(Deserialize)]
struct PlainRecord {
    context: String,
    choices: Vec<String>,
    answer: Label,
}

impl PlainRecord {
    fn question(self) -> Result<Question, String> {
        let Self { context, choices, answer } = self;
        let index = match &answer {
            Label::Text(text) => choices.iter().position(|choice| choice == text),
            Label::Number(_) => None,
        };
        let index = match index {
            Some(index) => index,
            None => answer.index(0).map_err(|_| {
                "its answer is neither the index of a choice, counted from 0, nor the text of one"
                    .to_owned()
            })?,
        };
        Question::new(context, choices, index)
    }
}

#[derive(Deserialize)]
struct HellaSwagRecord {
    activity_label: String,
    ctx_a: String,
    ctx_b: String,
    endings: Vec<String>,
    label: Label,
}

impl HellaSwagRecord {
    fn question(self) -> Result<Question, String> {
        let clean = |text: &str| {
            let text = strip(text).replace(" [title]", ". ");
            without_brackets(&text).replace("  ", " ")
        };
        let Self { activity_label, ctx_a, ctx_b, endings, label } = &self;
        let context = clean(&format!("{activity_label}: {ctx_a} {}", capitalize(ctx_b)));
        let endings = endings.iter().map(|ending| clean(ending)).collect();
        Question::new(context, endings, label.index(0)?)
    }
}

#[derive(Deserialize)]
struct PiqaRecord {
    goal: String,
    sol1: String,
    sol2: String,
    label: Label,
}

impl PiqaRecord {
    fn question(self) -> Result<Question, String> {
        let Self { goal, sol1, sol2, label } = self;
        Question::new(question_prompt(&goal), vec![sol1, sol2], label.index(0)?)
    }
}

fn question_prompt(question: &str) -> String {
    format!("Question: {question}\nAnswer:")
}

#[derive(Deserialize)]
struct WinoGrandeRecord {
    sentence: String,
    option1: String,
    option2: String,
    answer: Label,
}

impl WinoGrandeRecord {
    fn question(self) -> Result<Question, String> {
        let Self { sentence, option1, option2, answer } = self;
        let Some((before, after)) = sentence.split_once('_') else {
            return Err("its sentence has no _ to fill".to_owned());
        };
        let answer = answer.index(1)?;
        if answer > 1 {
            return Err("its answer is neither 1 nor 2".to_owned());
        }
        let contexts = [option1, option2].map(|option| format!("{before}{option}")).to_vec();
        let prompt = Prompt::Continuation { contexts, continuation: strip(after).to_owned() };
        Ok(Question { description: None, prompt, answer })
    }
}

#[derive(Deserialize)]
struct ArcRecord {
    question: ArcQuestion,
    choices: Option<ArcChoices>,
    #[serde(rename = "answerKey")]
    answer_key: String,
}

/// The question, as in the data set on the hub or as in the original files.
#[derive(Deserialize)]
#[serde(untagged)]
enum ArcQuestion {
    Text(String),
    WithChoices { stem: String, choices: Vec<ArcChoice> },
}

#[derive(Deserialize)]
struct ArcChoices {
    text: Vec<String>,
    label: Vec<String>,
}

#[derive(Deserialize)]
struct ArcChoice {
    text: String,
    label: String,
}

impl ArcRecord {
    fn question(self) -> Result<Question, String> {
        let (stem, text, label) = match (self.question, self.choices) {
            (ArcQuestion::Text(stem), Some(ArcChoices { text, label })) => (stem, text, label),
            (ArcQuestion::WithChoices { stem, choices }, _) => {
                let (text, label) =
                    choices.into_iter().map(|choice| (choice.text, choice.label)).unzip();
                (stem, text, label)
            }
            (ArcQuestion::Text(_), None) => return Err("it has no choices".to_owned()),
        };
        let Some(answer) = label.iter().position(|label| *label == self.answer_key) else {
            return Err(format!(
                "its answerKey is {:?}, but its labels are {}",
                self.answer_key,
                label.join(", ")
            ));
        };
        Question::new(question_prompt(&stem), text, answer)
    }
}

#[derive(Deserialize)]
struct MmluRecord {
    question: String,
    subject: Option<String>,
    choices: Vec<String>,
    answer: Label,
}

/// The letters of answers.
const LETTERS: [&str; 4] = ["A", "B", "C", "D"];

impl MmluRecord {
    fn question(self) -> Result<Question, String> {
        let Self { question, subject, choices, answer } = self;
        if choices.len() != LETTERS.len() {
            return Err(format!("it has {} choices, but MMLU has 4", choices.len()));
        }
        let index = match &answer {
            Label::Text(text) => LETTERS.iter().position(|letter| letter == text),
            Label::Number(_) => None,
        };
        let index = index.map_or_else(|| answer.index(0), Ok)?;
        let lines =
            LETTERS.iter().zip(&choices).map(|(letter, text)| format!("{letter}. {text}\n"));
        let context = format!("{}\n{}Answer:", strip(&question), lines.collect::<String>());
        let letters = LETTERS.map(str::to_owned).to_vec();
        let description = subject.map(|subject| {
            let subject = subject.replace('_', " ");
            format!(
                "The following are multiple choice questions (with answers) about {subject}.\n\n"
            )
        });
        Ok(Question { description, ..Question::new(context, letters, index)? })
    }
}
