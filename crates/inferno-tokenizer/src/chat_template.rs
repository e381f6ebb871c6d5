//! Chat templates: conversations to text, as Hugging Face transformers renders them with Jinja2.
//!
//! [minijinja] parses and runs the templates; this module makes it answer as Jinja2 does under
//! Python: its values print as Python prints them, its filters and methods are Jinja2's and
//! Python's, and the few statements that minijinja reads otherwise are rewritten first.
//!
//! Invariants: a rendering ends, whatever the template says, after a bounded number of steps and a
//! bounded length of text; a template that fails says so, and never renders in part.

mod arguments;
mod error;
mod functions;
mod json;
mod request;
mod source;
mod values;

use std::fmt;
use std::io;

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, ErrorKind, UndefinedBehavior, Value};

pub use error::ChatTemplateError;
pub use request::ChatRequest;

use inferno_gguf::Metadata;

use crate::TokenizerError;
use crate::metadata::{CHAT_TEMPLATE, special_token_texts};
use arguments::variadic;
use functions::Clock;

/// Steps that one rendering may take; long conversations need thousands.
const MAX_STEPS: u64 = 20_000_000;
/// Bytes that one rendering may have.
const MAX_OUTPUT_BYTES: usize = 64 << 20;

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
}

impl ChatTemplate {
    /// Compiles a template.
    ///
    /// **Errors**: [`ChatTemplateError::Syntax`], with the line.
    pub fn new(source: &str) -> Result<Self, ChatTemplateError> {
        let mut template =
            Self { environment: environment()?, has_tool_use: false, special_tokens: Vec::new() };
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
        let mut output = Bounded::default();
        self.environment
            .get_template(name)
            .and_then(|template| {
                template.render_captured_to(Value::from_pairs(variables), &mut output).map(drop)
            })
            .map_err(ChatTemplateError::from_jinja)?;
        Ok(output.into_text())
    }

    fn add(&mut self, name: &'static str, source: &str) -> Result<(), ChatTemplateError> {
        let source = source::rewrite(source);
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
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.map_err(ChatTemplateError::from_jinja)?);
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    environment.set_undefined_behavior(UndefinedBehavior::Lenient);
    // So that errors name what is undefined.
    environment.set_debug(true);
    environment.set_fuel(Some(MAX_STEPS));
    environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    environment.add_filter("tojson", variadic(json::to_json));
    environment.add_filter(source::ITERATED, functions::iterated);
    environment.add_function("raise_exception", functions::raise_exception);
    functions::add_clock(&mut environment, Clock::System);
    Ok(environment)
}

/// Output that refuses to grow beyond a limit.
#[derive(Default)]
struct Bounded(Vec<u8>);

impl Bounded {
    fn into_text(self) -> String {
        String::from_utf8(self.0)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }
}

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MAX_OUTPUT_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The error of an operation that Python refuses, worded as Python words it.
fn refused(message: impl Into<String>) -> minijinja::Error {
    minijinja::Error::new(ErrorKind::InvalidOperation, message.into())
}
