//! Chat templates: conversations to text, as Hugging Face transformers renders them with Jinja2.
//!
//! [minijinja] runs the templates, after `syntax` has written them anew where the two differ;
//! the filters, tests, methods, operators and functions are ours, each as Python and Jinja2 have it.
//!
//! Invariants: a rendering ends, whatever the template says, after a bounded number of steps and
//! a bounded length of what it builds; a template that fails says so, and never renders in part.
//!
//! What still differs from Jinja2:
//!
//! - Whole numbers beyond 128 bits are an error.
//! - `d.keys()`, `d.values()` and `d.items()` are lists, and print as such; the addresses in the
//!   printed form of methods and generators are left out.
//! - `random`, `urlize`, `wordwrap` and `pprint` are unknown filters, `lipsum` is no function, and
//!   `self` is defined in no test; texts have no `encode`, `translate` and `format_map`.
//! - `1`, `1.0` and `true` are different keys of a dict literal; `l[1.0]` is `l[1]`.
//! - Groups of `groupby` are plain pairs, without `grouper` and `list`.
//! - All operands of `a < b < c` are evaluated, also where the first comparison is false.
//! - `map`, `select` and the like look at their items at once, so errors in items that nobody asks
//!   for are errors.
//! - Of an expression over several lines, the line of a sum's last operator is named, as in Jinja2,
//!   or the first line; Jinja2 may name another for other operators. Messages of attributes that
//!   are missing name a dict, whatever the object is.

mod arguments;
mod budget;
mod checks;
mod error;
mod expression;
mod format;
mod functions;
mod json;
mod lexer;
mod methods;
mod numbers;
mod objects;
mod operators;
mod percent;
mod request;
mod sequence_filters;
mod syntax;
mod text;
mod text_filters;
mod text_methods;
mod token_stream;
mod types;
mod values;

use std::fmt;

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, ErrorKind, UndefinedBehavior, Value};

pub use error::ChatTemplateError;
pub use request::ChatRequest;

use inferno_gguf::Metadata;

use crate::TokenizerError;
use crate::metadata::{CHAT_TEMPLATE, special_token_texts};
use functions::Clock;

/// Steps that one rendering may take; long conversations need thousands.
const MAX_STEPS: u64 = 20_000_000;

const DEFAULT: &str = "chat template";
const TOOL_USE: &str = "chat template for tools";

/// The template that turns a conversation into the text a model was trained on.
///
/// ```
/// use inferno_tokenizer::{ChatRequest, ChatTemplate};
/// use serde_json::json;
///
/// let source = "{% for message in messages %}[{{ message.role }}] {{ message.content }}\n{% endfor %}";
/// let template = ChatTemplate::new(source)?;
/// let request = ChatRequest::new([json!({"role": "user", "content": "Hello"})]);
/// assert_eq!(template.render(&request)?, "[user] Hello\n");
/// # Ok::<(), inferno_tokenizer::ChatTemplateError>(())
/// ```
pub struct ChatTemplate {
    environment: Environment<'static>,
    has_tool_use: bool,
    special_tokens: Vec<(String, String)>,
    source: String,
}

impl ChatTemplate {
    /// Compiles a template.
    ///
    /// **Errors**: [`ChatTemplateError::Syntax`], with the line.
    pub fn new(source: &str) -> Result<Self, ChatTemplateError> {
        let mut template = Self {
            environment: environment()?,
            has_tool_use: false,
            special_tokens: Vec::new(),
            source: String::new(),
        };
        template.add(DEFAULT, source)?;
        Ok(template)
    }

    /// Compiles the templates of a model's file, which know its special tokens; `None` if it has
    /// no template.
    ///
    /// **Errors**: [`ChatTemplateError::Syntax`], with the line; a key of another type.
    pub fn from_metadata(metadata: &Metadata) -> Result<Option<Self>, ChatTemplateError> {
        let source_of = |key: &str| metadata.optional::<&str>(key).map_err(TokenizerError::from);
        let Some(source) = source_of(CHAT_TEMPLATE)? else {
            return Ok(None);
        };
        let mut template = Self::new(source)?.with_special_tokens_of(metadata)?;
        if let Some(source) = source_of(&format!("{CHAT_TEMPLATE}.tool_use"))? {
            template.add(TOOL_USE, source)?;
            template.has_tool_use = true;
        }
        Ok(Some(template))
    }

    /// Sets variables that name special tokens, such as `bos_token`, beside those known already.
    pub fn with_special_tokens<N: Into<String>, T: Into<String>>(
        mut self,
        tokens: impl IntoIterator<Item = (N, T)>,
    ) -> Self {
        let tokens = tokens.into_iter().map(|(name, text)| (name.into(), text.into()));
        self.special_tokens.extend(tokens);
        self
    }

    /// Sets the variables that name the special tokens of a model's file.
    ///
    /// **Errors**: a key of another type, an id out of range.
    pub fn with_special_tokens_of(self, metadata: &Metadata) -> Result<Self, ChatTemplateError> {
        Ok(self.with_special_tokens(special_token_texts(metadata)?))
    }

    /// Lets `strftime_now` return this text, whatever it is asked for, so that renderings repeat.
    pub fn with_fixed_time(mut self, text: impl Into<String>) -> Self {
        functions::add_clock(&mut self.environment, Clock::Fixed(text.into()));
        self
    }

    /// Whether the template, or the one for tools beside it, contains this text: the name of a
    /// variable that it reads, or a mark that it writes.
    pub fn mentions(&self, text: &str) -> bool {
        self.source.contains(text)
    }

    /// The text of a conversation.
    ///
    /// A file that has a template for tools of its own uses it where the request offers tools.
    ///
    /// **Errors**: [`ChatTemplateError::Raised`] where the template refuses the conversation;
    /// otherwise what went wrong, with the line.
    pub fn render(&self, request: &ChatRequest) -> Result<String, ChatTemplateError> {
        let name = if self.has_tool_use && request.tools.is_some() { TOOL_USE } else { DEFAULT };
        let variables = self
            .special_tokens
            .iter()
            .map(|(name, text)| (name.clone(), Value::from(text.as_str())))
            .chain(request.variables());
        self.environment
            .get_template(name)
            .and_then(|template| template.render(Value::from_pairs(variables)))
            .map_err(ChatTemplateError::from_jinja)
    }

    fn add(&mut self, name: &'static str, source: &str) -> Result<(), ChatTemplateError> {
        self.source.push_str(source);
        let source = syntax::rewrite(source)?;
        self.environment.add_template_owned(name, source).map_err(ChatTemplateError::from_jinja)
    }
}

impl fmt::Debug for ChatTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatTemplate")
            .field("has_tool_use", &self.has_tool_use)
            .field("special_tokens", &self.special_tokens)
            .finish_non_exhaustive()
    }
}

/// Jinja as transformers sets it up.
fn environment() -> Result<Environment<'static>, ChatTemplateError> {
    let mut environment = Environment::empty();
    // Whitespace is settled before the engine sees a template.
    let syntax = SyntaxConfig::builder().keep_trailing_newline(true).build();
    environment.set_syntax(syntax.map_err(ChatTemplateError::from_jinja)?);
    environment.set_undefined_behavior(UndefinedBehavior::Lenient);
    // So that errors name what is undefined.
    environment.set_debug(true);
    environment.set_fuel(Some(MAX_STEPS));
    environment.set_unknown_method_callback(methods::call_method);
    environment.set_formatter(|output, state, value| {
        let text = text::text_of(state, value)?;
        Ok(output.write_str(&text)?)
    });
    operators::add_operators(&mut environment);
    sequence_filters::add_sequence_filters(&mut environment);
    text_filters::add_text_filters(&mut environment);
    checks::add_tests(&mut environment);
    functions::add_functions(&mut environment);
    functions::add_clock(&mut environment, Clock::System);
    Ok(environment)
}

/// The error of an operation that Python refuses, worded as Python words it.
fn refused(message: impl Into<String>) -> minijinja::Error {
    minijinja::Error::new(ErrorKind::InvalidOperation, message.into())
}
