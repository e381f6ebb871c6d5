//! Jinja2 as Hugging Face transformers configures it for chat templates.
//!
//! A template is lexed, parsed into a syntax tree and evaluated over that tree with the semantics of
//! Python and Jinja2: `trim_blocks`, `lstrip_blocks`, the immutable sandbox, loop controls, the
//! `generation` tag, and the functions that transformers adds (`raise_exception`, `strftime_now` and
//! its own `tojson`).
//!
//! ```
//! use inferno_jinja::{Context, Limits, Template};
//! use serde_json::json;
//!
//! let template = Template::parse("{% for name in names %}Hello, {{ name }}!\n{% endfor %}")?;
//! let mut context = Context::new();
//! context.set("names", &json!(["Ada", "Grace"]));
//! assert_eq!(template.render(&context, Limits::default())?, "Hello, Ada!\nHello, Grace!\n");
//! # Ok::<(), inferno_jinja::Error>(())
//! ```
//!
//! | module | contents |
//! |---|---|
//! | `lexer`, `literal` | source text to tags and tokens; whitespace control |
//! | `parser`, `syntax_tree` | tokens to statements and expressions |
//! | `renderer` | the evaluator: statements, expressions, scopes, calls |
//! | `runtime`, `budget` | what built-in operations share: resource limits, namespaces, the clock |
//! | `value`, `dict`, `object`, `text`, `compare`, `operators`, `access` | values, their text forms, and what Python's operators do with them |
//! | `filters`, `predicates`, `methods`, `functions` | the built-in filters, tests, methods and functions, each a table by name |
//! | `format`, `percent`, `json`, `strftime` | `str.format`, the `%` operator, `tojson` and dates |
//! | `character` | Python's classes of characters |
//!
//! Invariants: rendering stops after a bounded number of steps and a bounded number of bytes
//! ([`Limits`]), whatever the template contains; recursion is bounded while parsing and rendering; a
//! template that fails produces an error and no partial text.
//!
//! Known differences from Jinja2:
//!
//! - Integers are limited to 128 bits, precisions of formats to 1000; larger ones are an error.
//! - The printed form of methods and generators has no address.
//! - The filters `random`, `urlize`, `wordwrap` and `pprint`, the function `lipsum`, and the string
//!   methods `encode`, `translate`, `maketrans` and `format_map` do not exist.
//! - `map`, `select` and similar filters process their items immediately, so an error in an item that
//!   is never used is still an error.
//! - Marking as safe (`safe`, `escape`) survives concatenation with `+` only, not other string methods.
//! - NaN equals itself as a key, and `values()` of one dict equal each other; in Python, objects are compared.
//! - String literals have no escapes of characters by name (`\N{…}`) and of surrogates (`\ud83d`).
//! - Identifiers may have a few characters, such as U+037A, that Python excludes for their compatibility forms.
//! - Classes and case of characters are those of the Unicode version of Rust, not of Python.

#![forbid(unsafe_code)]

mod access;
mod arguments;
mod budget;
mod character;
mod compare;
mod context;
mod dict;
mod error;
mod filters;
mod format;
mod functions;
mod json;
mod lexer;
mod literal;
mod methods;
mod object;
mod operators;
mod parser;
mod percent;
mod predicates;
mod renderer;
mod runtime;
mod strftime;
mod syntax_tree;
mod template;
mod text;
mod value;

pub use budget::Limits;
pub use context::Context;
pub use error::Error;
pub use template::Template;
