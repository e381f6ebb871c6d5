//! Reduces the schemas of an answer until its grammar compiles.
//!
//! Strict schemas are never reduced. What others lose is logged and returned.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::answer_grammar::{lark_of_arguments, lark_of_text};
use crate::gbnf;
use crate::json_schema::{Enforcement, reduce};
use crate::{AnswerOptions, GrammarCompiler, GrammarError, OutputFormat, Tool};

/// Time limit for finding out which schemas do not compile. The others then count as too complex.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(3);

/// Requirements that compile.
pub(crate) struct Enforceable<T> {
    pub(crate) compiled: T,
    /// The parts of schemas that are not enforced.
    pub(crate) unenforced: Vec<String>,
}

/// Why requirements do not compile.
pub(crate) struct Failed {
    /// The requirements, reduced as far as they may be.
    pub(crate) options: AnswerOptions,
    pub(crate) error: GrammarError,
}

/// Compiles requirements with `compile`, which sees grammars in Lark only, and reduces the schemas that are not strict
/// as little as necessary.
///
/// **Errors**: a response schema with an unknown type; a strict schema or another format that does not compile.
pub(crate) fn compile_enforceable<T>(
    options: &AnswerOptions,
    grammars: &GrammarCompiler,
    compile: impl Fn(&AnswerOptions) -> Result<T, GrammarError>,
) -> Result<Enforceable<T>, Box<Failed>> {
    let mut options = options.clone();
    if let OutputFormat::Lark(grammar) = &mut options.format
        && gbnf::is_gbnf(grammar)
    {
        match gbnf::to_lark(grammar) {
            Ok(lark) => *grammar = lark,
            Err(error) => return Err(Box::new(Failed { options, error })),
        }
    }
    if let Some(problem) = problem_of(&options.format) {
        return Err(Box::new(Failed { options, error: GrammarError(problem) }));
    }
    let options = &options;
    let mut levels = Levels::of(options);
    let attempts: [fn(&mut Levels, &AnswerOptions, &GrammarCompiler); 3] =
        [Levels::fit_each, Levels::limit_to_structure, Levels::limit_to_objects];
    let mut attempts = attempts.into_iter();
    loop {
        let (reduced, unenforced) = levels.reduced(options);
        let error = match compile(&reduced) {
            Ok(compiled) => {
                if !unenforced.is_empty() {
                    // As a field, so that line breaks in names are escaped.
                    let ignored = unenforced.join("; ");
                    tracing::warn!(ignored, "parts of a JSON schema cannot be enforced");
                }
                return Ok(Enforceable { compiled, unenforced });
            }
            Err(error) => error,
        };
        let before = levels.clone();
        while levels == before {
            let Some(attempt) = attempts.next() else {
                return Err(Box::new(Failed { options: reduced, error }));
            };
            attempt(&mut levels, options, grammars);
        }
    }
}

/// Why a format cannot be meant; `None` if it can.
fn problem_of(format: &OutputFormat) -> Option<String> {
    match format {
        // Without its type, the schema would accept anything. Those of tools are often written by others than the caller.
        OutputFormat::JsonSchema(schema @ (Value::Object(_) | Value::Bool(_))) => {
            reduce(schema, Enforcement::Structure).unknown_type
        }
        OutputFormat::JsonSchema(_) => {
            Some("a JSON schema must be an object, such as {\"type\": \"object\"}".to_owned())
        }
        OutputFormat::Choice(texts) if texts.is_empty() => {
            Some("there must be at least one choice".to_owned())
        }
        _ => None,
    }
}

/// How much of each schema is enforced; `None` for all of it.
#[derive(Clone, PartialEq, Eq)]
struct Levels {
    format: Option<Enforcement>,
    tools: Vec<Option<Enforcement>>,
}

impl Levels {
    fn of(options: &AnswerOptions) -> Self {
        let is_lenient = matches!(options.format, OutputFormat::JsonSchema(_));
        let of_tool = |tool: &Tool| (!tool.strict).then_some(Enforcement::Keywords);
        Self {
            format: is_lenient.then_some(Enforcement::Keywords),
            tools: options.tools.list.iter().map(of_tool).collect(),
        }
    }

    /// The requirements at these levels, and what they ignore, with the schema that it is in.
    fn reduced(&self, options: &AnswerOptions) -> (AnswerOptions, Vec<String>) {
        let (mut reduced, mut unenforced) = (options.clone(), Vec::new());
        let mut reduce =
            |schema: &mut serde_json::Value, level: Option<Enforcement>, what: &str| {
                let Some(level) = level else { return };
                let result = reduce(schema, level);
                /// Keywords of a schema that are named.
                const MAX_NAMES: usize = 8;
                let num_more = result.ignored.len().saturating_sub(MAX_NAMES);
                let names = result.ignored.into_iter().take(MAX_NAMES);
                let more = (num_more > 0).then(|| format!("{num_more} more"));
                unenforced.extend(names.chain(more).map(|name| format!("{what}: {name}")));
                *schema = result.schema;
            };
        if let OutputFormat::JsonSchema(schema) = &mut reduced.format {
            reduce(schema, self.format, "response schema");
        }
        for (tool, &level) in reduced.tools.list.iter_mut().zip(&self.tools) {
            let what = format!("tool {:?}", tool.name);
            reduce(&mut tool.parameters, level, &what);
        }
        (reduced, unenforced)
    }

    /// Reduces each schema that does not compile by itself.
    fn fit_each(&mut self, options: &AnswerOptions, grammars: &GrammarCompiler) {
        let started = Instant::now();
        let compiles =
            |lark: String| started.elapsed() < SEARCH_TIMEOUT && grammars.compile(lark).is_ok();
        for index in 0..self.tools.len() {
            for level in [Enforcement::Keywords, Enforcement::Structure, Enforcement::Object] {
                if self.tools[index].is_none() {
                    break;
                }
                self.tools[index] = Some(level);
                let (reduced, _) = self.reduced(options);
                if compiles(lark_of_arguments(&reduced.tools.list[index])) {
                    break;
                }
            }
        }
        let (reduced, _) = self.reduced(options);
        if self.format.is_some() && !lark_of_text(&reduced.format).is_none_or(compiles) {
            self.format = Some(Enforcement::Structure);
        }
    }

    fn limit_to_structure(&mut self, _: &AnswerOptions, _: &GrammarCompiler) {
        for level in self.tools.iter_mut().chain([&mut self.format]).flatten() {
            if *level == Enforcement::Keywords {
                *level = Enforcement::Structure;
            }
        }
    }

    fn limit_to_objects(&mut self, _: &AnswerOptions, _: &GrammarCompiler) {
        self.tools.iter_mut().flatten().for_each(|level| *level = Enforcement::Object);
    }
}
