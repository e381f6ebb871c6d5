//! Templates: parsed once, rendered any number of times.

use std::fmt;

use crate::budget::Limits;
use crate::context::Context;
use crate::error::Error;
use crate::parser::{ParsedTemplate, parse};
use crate::renderer::render;

/// A parsed template.
///
/// ```
/// use inferno_jinja::{Context, Error, Limits, Template};
///
/// let template = Template::parse("first line\n{{ raise_exception('not supported') }}")?;
/// let error = template.render(&Context::new(), Limits::default()).unwrap_err();
/// assert_eq!(error, Error::Raised { message: "not supported".into(), line: 2 });
/// # Ok::<(), Error>(())
/// ```
pub struct Template(ParsedTemplate);

impl Template {
    /// Parses a template.
    ///
    /// **Errors**: [`Error::Syntax`].
    pub fn parse(source: &str) -> Result<Self, Error> {
        parse(source).map(Self)
    }

    /// Renders the template with the variables of `context`.
    ///
    /// **Errors**: [`Error::Raised`] if the template calls `raise_exception`, [`Error::Failed`] if an
    /// operation fails, [`Error::TooManySteps`] and [`Error::TooManyBytes`] beyond `limits`.
    pub fn render(&self, context: &Context, limits: Limits) -> Result<String, Error> {
        render(&self.0, context, limits)
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Template").finish_non_exhaustive()
    }
}
