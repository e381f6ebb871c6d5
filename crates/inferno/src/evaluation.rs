//! Evaluation of models by log-likelihoods, with the rules of lm-evaluation-harness.
//!
//! A [`Task`] is a list of samples of one kind. A multiple-choice sample has contexts with continuations, of which the most
//! probable should be the right one; a text is scored as a whole. [`evaluate`] computes many samples at once through an
//! engine; continuations of the same context share its computation through the prefix cache. The results do not depend on
//! which samples are computed together.
//!
//! ```
//! use inferno::Model;
//! use inferno::evaluation::{Task, TaskOptions, evaluate};
//!
//! # if cfg!(not(feature = "embedded-model")) {
//! #     return Ok(());
//! # }
//! let lines = r#"{"context": "The sky is", "choices": ["blue", "seven"], "answer": 0}"#;
//! let task = Task::from_jsonl("colors", lines, &TaskOptions::default())?;
//! let model = Model::embedded()?.load()?;
//! let results = evaluate(&model, &[task], &mut |_| std::ops::ControlFlow::Continue(()))?;
//! for metric in results[0].metrics() {
//!     println!("{} {}", metric.name, metric.estimate.value);
//! }
//! # Ok::<(), inferno::Error>(())
//! ```

mod error;
mod metrics;
mod python_text;
mod records;
mod run;
mod task;
mod tokens;

pub use error::EvaluationError;
pub use metrics::{ChoiceResult, Metric, SampleResult, TaskResult, TextResult};
pub use run::{EvaluationProgress, evaluate};
pub use task::{Choice, ChoiceSample, FewShot, Sample, Task, TaskOptions};
