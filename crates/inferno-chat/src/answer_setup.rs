//! Requirements on an answer: the constraint that enforces them, and the parser that reads the answer.

use std::time::{Duration, Instant};

use inferno_tokenizer::{TokenConstraint, Tokenizer};
use thiserror::Error;

use crate::answer::ToolCallRules;
use crate::answer_grammar::lark;
use crate::enforcement::{Enforceable, compile_enforceable};
use crate::output_format::check_arguments;
use crate::reasoning::reasoning_tokens;
use crate::reasoning_budget::ReasoningBudget;
use crate::{
    AnswerForm, AnswerParser, ChatTemplate, GrammarCompiler, GrammarError, OutputFormat, Reasoning,
    Tools,
};

/// Time limit for locating the part of a grammar that does not compile.
const DIAGNOSIS_TIMEOUT: Duration = Duration::from_millis(500);

/// The requirements on an answer.
#[derive(Debug, Clone, Default)]
pub struct AnswerOptions {
    /// The tools that may be called.
    pub tools: Tools,
    /// The format of the content.
    pub format: OutputFormat,
    /// Maximum number of reasoning tokens.
    pub reasoning_budget: Option<usize>,
}

/// How answers to one prompt are constrained and parsed.
pub struct AnswerSetup {
    /// Restricts the tokens of an answer; `None` if any text is an answer.
    pub constraint: Option<Box<dyn TokenConstraint>>,
    /// The parts of schemas that are not enforced, such as `tool "search": "not" at /properties/query`.
    pub unenforced: Vec<String>,
    form: AnswerForm,
    rules: Option<ToolCallRules>,
    is_reasoning: bool,
    needs_control_tokens: bool,
}

/// Why the requirements on an answer cannot be met.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AnswerSetupError {
    /// The vocabulary has no reasoning delimiters.
    #[error("a reasoning limit requires reasoning delimiters, and this model has none")]
    ReasoningBudgetUnsupported,
    /// The output format does not compile.
    #[error("the schema, regular expression or grammar of the answer does not compile: {0}")]
    Format(GrammarError),
    /// The schema of a tool does not compile.
    #[error("the schema of {name:?}: {error}")]
    ToolSchema {
        /// Index of the tool.
        index: usize,
        /// Name of the tool.
        name: String,
        /// The problem.
        error: GrammarError,
    },
    /// The format and the schemas compile, but not together.
    #[error(transparent)]
    Combination(GrammarError),
}

impl AnswerSetup {
    /// Compiles the requirements on answers to `prompt`, which `template` has rendered.
    ///
    /// Needs [`GRAMMAR_STACK_BYTES`](crate::GRAMMAR_STACK_BYTES) of stack, and may take seconds.
    ///
    /// **Errors**: [`AnswerSetupError`].
    pub fn new(
        template: &ChatTemplate,
        prompt: &str,
        tokenizer: &Tokenizer,
        grammars: &GrammarCompiler,
        options: &AnswerOptions,
    ) -> Result<Self, AnswerSetupError> {
        let AnswerOptions { tools, reasoning_budget, .. } = options;
        let form = template.answer_form();
        let has_tools = tools.are_available();
        let reasoning = Reasoning::after(template, prompt);
        let control = |text: &str| tokenizer.token_id(text).filter(|&id| tokenizer.is_special(id));
        let budget = match *reasoning_budget {
            Some(limit) => {
                let delimiters = reasoning_tokens(tokenizer, &form.reasoning);
                Some((delimiters.ok_or(AnswerSetupError::ReasoningBudgetUnsupported)?, limit))
            }
            None => None,
        };
        let enforceable = compile_enforceable(options, grammars, |options| {
            let tools = has_tools.then_some(&options.tools);
            let lark = lark(&options.format, form, tools, reasoning, control);
            lark.map(|lark| grammars.compile(lark)).transpose()
        });
        let Enforceable { compiled: mut constraint, unenforced } =
            enforceable.map_err(|failed| diagnosis(&failed.options, grammars, failed.error))?;
        let is_reasoning = reasoning == Reasoning::Open;
        if let Some((delimiters, limit)) = budget {
            let bounded = ReasoningBudget::new(delimiters, limit, is_reasoning, constraint);
            constraint = Some(Box::new(bounded));
        }
        let rules = has_tools.then(|| ToolCallRules::new(tools, form));
        let needs_control_tokens = form.has_control_tokens(has_tools, control);
        let form = form.clone();
        Ok(Self { constraint, unenforced, form, rules, is_reasoning, needs_control_tokens })
    }

    /// Creates the parser of one answer.
    pub fn parser(&self) -> AnswerParser {
        AnswerParser::with_rules(&self.form, self.rules.clone(), self.is_reasoning)
    }

    /// Whether the parser needs control tokens in the text.
    pub fn needs_control_tokens(&self) -> bool {
        self.needs_control_tokens
    }
}

/// Which part of a grammar does not compile; `error` is that of the whole.
fn diagnosis(
    options: &AnswerOptions,
    grammars: &GrammarCompiler,
    error: GrammarError,
) -> AnswerSetupError {
    if let Err(error) = options.format.compile(grammars) {
        return AnswerSetupError::Format(error);
    }
    let started = Instant::now();
    for (index, tool) in options.tools.list.iter().enumerate() {
        // Each may take as long as the whole did.
        if started.elapsed() > DIAGNOSIS_TIMEOUT {
            break;
        }
        if let Err(error) = check_arguments(tool, grammars) {
            return AnswerSetupError::ToolSchema { index, name: tool.name.clone(), error };
        }
    }
    AnswerSetupError::Combination(error)
}
